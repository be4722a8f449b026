"""The text of a document that people sent: it is made once, with the file, and kept beside it, so
that a later page is read without the document being opened again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct, json

if TYPE_CHECKING:
    from functions.agent.memory.helpers import OpenedDocument


class HeadingText(Struct):
    """A line of an outline; see `helpers.Heading`."""

    title: str
    page: int


class PageText(Struct):
    """A page; see `helpers.Page`."""

    number: int
    text: str
    is_scan: bool = False
    is_cut: bool = False


class DocumentText(Struct):
    """What is known of a document, with its first pages, mostly all of them; see
    `helpers.OpenedDocument`.
    """

    type: str
    title: str
    page_count: int
    outline: list[HeadingText]
    pages: list[PageText]
    notes: list[str]


def pack_text(document: OpenedDocument) -> bytes:
    """Return a document as it is kept."""
    outline = [HeadingText(each.title, each.page) for each in document.outline]
    pages = [PageText(each.number, each.text, each.is_scan, each.is_cut) for each in document.pages]
    text = DocumentText(
        document.type, document.title, document.page_count, outline, pages, [*document.notes]
    )
    return json.encode(text)


def unpack_text(kept: bytes) -> DocumentText | None:
    """Return a document that was kept; None for what is none."""
    try:
        return json.decode(kept, type=DocumentText)
    except DecodeError:
        return None
