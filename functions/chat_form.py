"""The form of a POST /chat with files: the fields `session` and `text`, and `file` up to six times.

It is counted while it comes in, and read only once its sender is known.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from functions.agent.workspace.received import BYTES_MOST, FILES_MOST
from functions.events import TEXT_LIMIT
from functions.message_files import UploadedFile, require_bounded
from sigil.errors import UsageError, one_line
from sigil.http.body import count_body, refuse_claimed_length

BODY_BYTES: Final = BYTES_MOST + (1 << 20)
TEXT_BYTES: Final = 4 * TEXT_LIMIT
FILE: Final = "file"
FIELDS: Final = ("session", "text")


async def read_form(request: Request) -> tuple[dict[str, str], list[UploadedFile]]:
    """Return the fields of a form, each of which is there once at most, and its files.

    `UsageError` ETOOBIG for too much, EBODY when its sender left before its end, and EINVAL for
    what is no such form.
    """
    refuse_claimed_length(request, BODY_BYTES)
    try:
        form = await _WholeFormParser(request).parse()
    except MultiPartException as problem:
        raise _refuse(problem.message) from None
    except ClientDisconnect:
        raise UsageError("EBODY", "the request ended before its body did", source="chat") from None
    try:
        return await _read_parts(form)
    finally:
        await form.close()


class _WholeFormParser(MultiPartParser):
    """Reads a form, and refuses one that ends before its last part does: a file that was cut is no
    file.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(
            request.headers,
            self._read(request),
            max_files=FILES_MOST,
            max_fields=len(FIELDS),
            max_part_size=TEXT_BYTES,
        )
        self._has_ended = False

    def on_end(self) -> None:
        """Note the end of the last part."""
        self._has_ended = True

    async def _read(self, request: Request) -> AsyncGenerator[bytes, None]:
        async for part in count_body(request, BODY_BYTES):
            yield part
        if not self._has_ended:
            raise MultiPartException("it ends before its last part does")


async def _read_parts(form: FormData) -> tuple[dict[str, str], list[UploadedFile]]:
    fields: dict[str, str] = {}
    uploads: list[UploadFile] = []
    for name, value in form.multi_items():
        is_file = isinstance(value, UploadFile)
        if name not in (*FIELDS, FILE) or is_file != (name == FILE):
            raise _refuse(f"{one_line(name, 40)!r} is no {'file' if is_file else 'field'} of it")
        if isinstance(value, UploadFile):
            uploads.append(value)
        elif name in fields:
            raise _refuse(f"{name} is there twice")
        else:
            fields[name] = value
    require_bounded([(each.filename or FILE, each.size or 0) for each in uploads])
    files = [
        UploadedFile(each.filename or "", await each.read(), each.content_type or "")
        for each in uploads
    ]
    return fields, files


def _refuse(problem: str) -> UsageError:
    return UsageError(
        "EINVAL",
        f"the form cannot be read: {one_line(problem, 200)}",
        source="chat",
        suggestion=f"send the fields session and text, and {FILE} up to {FILES_MOST} times",
    )
