"""The function `media` of AWS Lambda: it opens one file that the worker sends, in a child process
as everywhere else, and has no rights at all.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from dataclasses import asdict
from typing import Final
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, build_opener

from msgspec import ValidationError, convert

from functions.media.file_reader import FileReader
from functions.media.invocation import Order, encode_answer
from functions.media.limits import MAX_FILE_BYTES
from functions.media.results import Picture, Reason, UnreadableFile
from sigil.errors import BackendError

_FETCH_SECONDS: Final = 10.0
_SCHEMES: Final = ("https://", "http://")
_READER: Final = FileReader()


class _NoRedirects(HTTPRedirectHandler):
    """The worker names the file itself: nothing leads elsewhere."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def handler(event: object, context: object) -> dict[str, str]:
    """Return the answer to an order, see `functions.media.invocation`."""
    try:
        order = convert(event, Order)
        return _open(order)
    except UnreadableFile as problem:
        return encode_answer({"problem": problem.reason, "help": problem.suggestion})
    except BackendError as problem:
        return encode_answer({"busy": problem.code})
    except ValidationError:
        return encode_answer({"problem": Reason.BROKEN.value})


def _open(order: Order) -> dict[str, str]:
    data = _read_file(order)
    if order.verb == "read":
        document = _READER.read(data, order.first, order.count)
        return encode_answer({"document": asdict(document)})
    if order.verb == "scale":
        return _encode_picture(_READER.scale(data))
    if order.verb == "look":
        return _encode_picture(_READER.look(data, order.page))
    if order.verb == "draw":
        return _encode_picture(_READER.draw(data.decode("utf-8", "replace")))
    raise UnreadableFile(Reason.BROKEN)


def _encode_picture(picture: Picture) -> dict[str, str]:
    head = {
        "type": picture.type,
        "width": picture.width,
        "height": picture.height,
        "undrawn": picture.undrawn,
    }
    return encode_answer({"picture": head}, picture.data)


def _read_file(order: Order) -> bytes:
    """Return the file of an order; `BackendError` where it cannot be fetched."""
    if not order.url:
        try:
            return b64decode(order.data, validate=True)
        except binascii.Error:
            raise UnreadableFile(Reason.BROKEN) from None
    if not order.url.startswith(_SCHEMES):
        raise UnreadableFile(Reason.BROKEN)
    try:
        with build_opener(_NoRedirects).open(order.url, timeout=_FETCH_SECONDS) as answer:
            data: bytes = answer.read(MAX_FILE_BYTES + 1)
    except (URLError, OSError):
        raise BackendError("EUNAVAILABLE", "the file cannot be fetched", source="media") from None
    return data
