"""`LambdaFileReader` lets the function `media` on AWS open files: the worker comes without what
parses them, and that function comes without rights.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson
from msgspec import DecodeError, json

from functions.media.file_types import DOCUMENTS, MADE_PICTURES, PICTURES, FileType, find_type
from functions.media.invocation import (
    MAX_SENT_BYTES,
    AnswerHead,
    decode_answer,
    encode_file,
)
from functions.media.protocol import BrokenFrame
from functions.media.results import (
    Document,
    Picture,
    Reason,
    UnreadableFile,
    clean_document,
    require_type,
)
from sigil.errors import BackendError, one_line
from sigil.storage import aws

if TYPE_CHECKING:
    from collections.abc import Callable

INVOKE_SECONDS: Final = 35.0
"""Longer than the function may take."""


class LambdaFileReader:
    """Opens files by invoking a function of AWS Lambda; see `FileReader` for what its methods do.

    `lend` lets a file be fetched for a while, and returns the address: one of more than 4 MB does
    not fit into an invocation. None where nothing lends files: such a file is too large then.
    """

    def __init__(
        self, function: str, lend: Callable[[bytes], AbstractContextManager[str]] | None = None
    ) -> None:
        self._function = function
        self._lend = lend

    def find_type(self, data: bytes) -> str:
        """See `FileReader.find_type`."""
        return find_type(data) or ""

    def scale(self, data: bytes) -> Picture:
        """See `FileReader.scale`."""
        require_type(data, PICTURES)
        return self._open_picture("scale", data)

    def read(self, data: bytes, first: int = 1, count: int = 1) -> Document:
        """See `FileReader.read`."""
        type = require_type(data, DOCUMENTS)
        head, _ = self._invoke("read", data, first=first, count=count)
        if head.document is None:
            raise UnreadableFile(Reason.BROKEN)
        known = FileType.TEXT if type is FileType.FOREIGN_TEXT else type
        return clean_document(replace(head.document, type=known.value), first)

    def look(self, data: bytes, page: int = 1) -> Picture:
        """See `FileReader.look`."""
        require_type(data, PICTURES | {FileType.PDF})
        return self._open_picture("look", data, page=page)

    def draw(self, svg: str) -> Picture:
        """See `FileReader.draw`."""
        return self._open_picture("draw", svg.encode("utf-8", "replace"))

    def fit(self, data: bytes, width: int, height: int, *, sixel: bool = False) -> bytes:
        """Raise `UnreadableFile`: on AWS nobody looks on at a terminal."""
        raise UnreadableFile(Reason.NOT_SUPPORTED, "look at pictures where the agent runs")

    def _open_picture(self, verb: str, data: bytes, **more: int) -> Picture:
        head, body = self._invoke(verb, data, **more)
        about = head.picture
        made = MADE_PICTURES.get(about.type) if about else None
        if about is None or made is None or find_type(body) is not made:
            raise UnreadableFile(Reason.BROKEN)
        return Picture(body, about.type, about.width, about.height, about.undrawn)

    def _invoke(self, verb: str, data: bytes, **more: int) -> tuple[AnswerHead, bytes]:
        """Return what the function answers; `UnreadableFile` says why it opens nothing,
        `BackendError` that it cannot now.
        """
        order: dict[str, object] = {"verb": verb, **more}
        with ExitStack() as lent:
            if len(data) <= MAX_SENT_BYTES:
                order["data"] = encode_file(data)
            elif self._lend:
                order["url"] = lent.enter_context(self._lend(data))
            else:
                raise UnreadableFile(Reason.TOO_LARGE)
            answer = self._call(orjson.dumps(order))
        try:
            found, body = decode_answer(orjson.loads(answer))
            head = json.decode(found, type=AnswerHead)
        except (BrokenFrame, DecodeError, orjson.JSONDecodeError):
            raise UnreadableFile(Reason.BROKEN) from None
        if head.problem:
            raise UnreadableFile(head.problem, one_line(head.help))
        if head.busy:
            raise _make_failure(head.busy)
        return head, body

    def _call(self, payload: bytes) -> bytes:
        client = aws.client("lambda", read_seconds=INVOKE_SECONDS)
        with aws.explain_errors(f"function {self._function}"):
            answer = client.invoke(FunctionName=self._function, Payload=payload)
            body: bytes = answer["Payload"].read()
        if answer.get("FunctionError"):
            raise _make_failure("EUNAVAILABLE")
        return body


def _make_failure(code: str) -> BackendError:
    return BackendError(
        code,
        "the function that opens files failed",
        source="media",
        suggestion="try again in a moment; its log says more",
    )
