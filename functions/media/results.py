"""The values that come out of a file, and the reasons why nothing does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from functions.channels.visible_text import clean_text
from functions.media.file_types import FileType, find_type
from functions.media.limits import MAX_FILE_BYTES, MAX_TITLE_CHARACTERS
from sigil.errors import ToolError, one_line

INSTALL: Final = (
    "pip install --only-binary=:all: charset-normalizer==3.5.3 pillow==13.0.0 pypdfium2==5.15.2"
    " python-calamine==0.9.1 resvg-py==0.5.0"
)
"""What installs the packages of the extra `media`."""


class Reason(StrEnum):
    """Why a file is not opened. The set is closed: there is a sentence for each of them."""

    EMPTY = "empty"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    ENCRYPTED = "encrypted"
    BROKEN = "broken"
    NOT_SUPPORTED = "not_supported"
    NO_SUCH_PAGE = "no_such_page"
    PACKAGE_MISSING = "package_missing"


_SENTENCES: Final = {
    Reason.EMPTY: ("the file is empty", "send it once more"),
    Reason.TOO_LARGE: ("the file is too large to be opened", "send a smaller one, or a part of it"),
    Reason.TOO_SLOW: ("opening the file takes too long", "send a smaller one, or a part of it"),
    Reason.ENCRYPTED: (
        "the file is protected by a password",
        "send it without the password",
    ),
    Reason.BROKEN: ("the file is damaged or incomplete", "send it once more"),
    Reason.NOT_SUPPORTED: (
        "files of this type cannot be opened",
        "send a picture, PDF, docx, xlsx, pptx, ods, xls, html or text",
    ),
    Reason.NO_SUCH_PAGE: ("the file has no such page", "ask for a page that it has"),
    Reason.PACKAGE_MISSING: ("a package that opens files is not installed", INSTALL),
}


class UnreadableFile(ToolError):
    """A file is not opened; its `reason` is one of `Reason`, its code is EFILE.

    Nothing in it is the file's own text.
    """

    def __init__(self, reason: Reason, suggestion: str = "") -> None:
        message, usual = _SENTENCES[reason]
        super().__init__(
            "EFILE", message, source="media", suggestion=suggestion or usual, reason=reason.value
        )


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as it may be sent on: without the metadata of the one that it was made from.

    `type`: `image/jpeg` or `image/png`; `width` and `height` in pixels; `undrawn`: characters of a
    drawing that no font here has, each once.
    """

    data: bytes
    type: str
    width: int
    height: int
    undrawn: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A line of a document's outline: a chapter, a slide or a sheet. `depth` from 0, `page` from 1;
    0 where it names none.
    """

    title: str
    page: int
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a page, from 1 on, of at most 8,000 characters, and 200,000 where it is of a PDF.

    `is_scan`: it has a picture and next to no text, so it has to be looked at; `is_cut`: it has
    more text than that, or cannot be read.
    """

    number: int
    text: str
    is_scan: bool = False
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A document, or the pages of it that were asked for.

    `type`: such as `pdf`, see `FileType`; `title`: its own, empty where it has none; `page_count`:
    of all, also those beyond the 500 that can be read; `notes`: what was left out, in plain
    sentences, such as the rows of a long sheet.
    """

    type: str
    title: str
    page_count: int
    outline: tuple[Heading, ...]
    pages: tuple[Page, ...]
    notes: tuple[str, ...] = ()


def clean_document(document: Document, first: int) -> Document:
    """Return a document, as what parsed it says it, without what a reader does not see.
    `UnreadableFile` when it does not begin with the page `first`.
    """
    if not document.pages or document.pages[0].number != first:
        raise UnreadableFile(Reason.BROKEN)
    return replace(
        document,
        title=one_line(document.title, MAX_TITLE_CHARACTERS),
        outline=tuple(
            replace(each, title=one_line(each.title, MAX_TITLE_CHARACTERS))
            for each in document.outline
        ),
        pages=tuple(replace(each, text=clean_text(each.text)) for each in document.pages),
        notes=tuple(one_line(note) for note in document.notes),
    )


def require_type(data: bytes, types: frozenset[FileType]) -> FileType:
    """Return the type of a file, which has to be one of these; `UnreadableFile` says what else it
    is.
    """
    if not data:
        raise UnreadableFile(Reason.EMPTY)
    if len(data) > MAX_FILE_BYTES:
        raise UnreadableFile(Reason.TOO_LARGE)
    type = find_type(data)
    if type is FileType.ENCRYPTED_OFFICE:
        raise UnreadableFile(Reason.ENCRYPTED)
    if type not in types:
        raise UnreadableFile(Reason.NOT_SUPPORTED)
    return type
