"""What the worker sends to the function `media` on AWS, and what comes back: one file, one answer.

An order is JSON: what is to be done, and the file in base64, or the address from which it can be
fetched, because Lambda takes no more than 6 MB. An answer is a frame of `protocol`, compressed.
"""

from __future__ import annotations

import binascii
import zlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from functions.media.limits import MAX_ANSWER_BYTES
from functions.media.protocol import BrokenFrame, pack, unpack
from functions.media.results import Document, Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_PAYLOAD_BYTES: Final = 6_291_456
"""Bytes of an order, and of an answer, that Lambda takes: "6 MB each",
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html.
"""
MAX_SENT_BYTES: Final = 4_000_000
"""A larger file does not go along with its order: base64 makes four bytes of three."""
_ANSWER: Final = "answer"


class Order(Struct, forbid_unknown_fields=True):
    """What is to be done with a file: one of the verbs of `FileReader`, with its arguments. The
    file is `data`, or what stands at `url`.
    """

    verb: str
    data: str = ""
    url: str = ""
    first: int = 1
    count: int = 1
    page: int = 1


class DrawnPicture(Struct):
    """What is said of a picture, whose bytes follow."""

    type: str
    width: int
    height: int
    undrawn: str = ""


class AnswerHead(Struct):
    """What an answer begins with: a document, or what is said of a picture, or why there is none of
    both. `busy` is the code of a `BackendError`.
    """

    document: Document | None = None
    picture: DrawnPicture | None = None
    problem: Reason | None = None
    help: str = ""
    busy: str = ""


def encode_file(data: bytes) -> str:
    """Return a file as an order has it."""
    return b64encode(data).decode()


def encode_answer(head: Mapping[str, object], body: bytes = b"") -> dict[str, str]:
    """Return an answer as the function returns it; one that Lambda does not take says that the
    file is too large.
    """
    sent = b64encode(zlib.compress(pack(head, body))).decode()
    if len(sent) > MAX_PAYLOAD_BYTES - len(f'{{"{_ANSWER}": ""}}'):
        return encode_answer({"problem": Reason.TOO_LARGE.value})
    return {_ANSWER: sent}


def decode_answer(answer: object) -> tuple[bytes, bytes]:
    """Return the head of an answer, in JSON that was not read yet, and its bytes; `BrokenFrame` for
    what is no answer.
    """
    sent = answer.get(_ANSWER) if isinstance(answer, dict) else None
    if not isinstance(sent, str):
        raise BrokenFrame("no answer")
    try:
        frame = zlib.decompressobj().decompress(b64decode(sent, validate=True), MAX_ANSWER_BYTES)
    except (binascii.Error, ValueError, zlib.error):
        raise BrokenFrame("no answer") from None
    return unpack(frame)
