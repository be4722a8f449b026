"""The fields and files that a form of a page sends, counted while they come in."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import FormData, Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from sigil.errors import UsageError, one_line
from sigil.http.body import count_body, read_body, refuse_claimed_length

FORM_BYTES: Final = 64 << 10
FIELDS_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a form: its name, its content, and the type that its sender states."""

    name: str
    body: bytes
    type: str = ""


@dataclass(frozen=True, slots=True)
class FormLimits:
    """How large a form may be: the bytes of its fields together, how many files it may have, and
    their bytes together.
    """

    fields_bytes: int = FORM_BYTES
    files: int = 0
    files_bytes: int = 0


@dataclass(frozen=True, slots=True)
class SentForm:
    """The fields of a form, of which the last of one name counts, and its files in order."""

    fields: dict[str, str] = field(default_factory=dict)
    files: tuple[SentFile, ...] = ()


async def read_form(request: Request, limits: FormLimits) -> SentForm:
    """Return what a form sends; `UsageError` ETOOBIG, EBODY, EMEDIA or EINVAL."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await _read_parts(request, limits)
    if kind not in ("", "application/x-www-form-urlencoded"):
        raise UsageError("EMEDIA", "a form is sent here, and nothing else", source="page")
    refuse_claimed_length(request, limits.fields_bytes)
    body = await read_body(request, limits.fields_bytes)
    try:
        # what is no UTF-8 becomes a sign that says so
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=FIELDS_MOST,
            errors="replace",
        )
    except ValueError:
        raise _refuse("it is no form") from None
    return SentForm(dict(pairs))


class _WholeFormParser(MultiPartParser):
    """Reads a form, and refuses one that ends before its last part does: a file that was cut is no
    file.
    """

    def __init__(self, request: Request, limits: FormLimits) -> None:
        self._bytes_most = limits.fields_bytes + limits.files_bytes
        self._has_ended = False
        super().__init__(
            request.headers,
            self._read(request),
            max_files=limits.files,
            max_fields=FIELDS_MOST,
            max_part_size=limits.fields_bytes,
        )

    async def parse(self) -> FormData:
        """Read the form; its words are UTF-8, whatever it says of them. Another encoding can make
        half characters (`utf-7`), fail in a way of its own (`undefined`) or take a time that grows
        with the square of what is sent (`punycode`).
        """
        kind = self.headers.get("content-type", "")
        bare = [each for each in kind.split(";") if not each.strip().lower().startswith("charset")]
        self.headers = Headers({"content-type": ";".join(bare)})
        return await super().parse()

    def on_end(self) -> None:
        """Note the end of the last part."""
        self._has_ended = True

    async def _read(self, request: Request) -> AsyncGenerator[bytes, None]:
        refuse_claimed_length(request, self._bytes_most)
        async for part in count_body(request, self._bytes_most):
            yield part
        if not self._has_ended:
            raise MultiPartException("it ends before its last part does")


async def _read_parts(request: Request, limits: FormLimits) -> SentForm:
    try:
        form = await _WholeFormParser(request, limits).parse()
    except MultiPartException as problem:
        raise _refuse(problem.message) from None
    except ClientDisconnect:
        raise UsageError("EBODY", "the request ended before its body did", source="page") from None
    try:
        fields: dict[str, str] = {}
        files: list[SentFile] = []
        for name, value in form.multi_items():
            if not isinstance(value, UploadFile):
                fields[name] = value
            elif value.filename or value.size:  # a field for files that nobody chose one in
                body = await value.read()
                files.append(SentFile(value.filename or "", body, value.content_type or ""))
        return SentForm(fields, tuple(files))
    finally:
        await form.close()


def _refuse(problem: str) -> UsageError:
    return UsageError("EINVAL", f"the form cannot be read: {one_line(problem, 200)}", source="page")
