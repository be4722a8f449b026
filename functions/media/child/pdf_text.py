"""Reads the pages of a PDF: their text, and the outline of the document."""

from __future__ import annotations

import time
from itertools import islice

import pypdfium2
from pypdfium2 import raw

from functions.media.child.paging import make_answer, read_range
from functions.media.child.pdf_file import open_pdf
from functions.media.child.pdf_form import list_fields
from functions.media.limits import (
    MAX_OUTLINE,
    MAX_PAGE_TEXT,
    MAX_PAGES,
    MAX_READ_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    MIN_TEXT_CHARACTERS,
    READ_SECONDS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_OUTLINE_DEPTH = 6
_OBJECT_DEPTH = 3
_UNMAPPED = str.maketrans("", "", "\0\ufffe\uffff")


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the pages that the order names."""
    document = open_pdf(data)
    first, count = read_range(order)
    total = len(document)
    numbers = range(first, min(first + count, total + 1, MAX_PAGES + 1))
    answer = make_answer(
        _read_pages(document, numbers),
        total,
        first=first,
        title=document.get_metadata_value("Title"),
        outline=_read_outline(document),
    )
    return answer, b""


def _read_pages(document: pypdfium2.PdfDocument, numbers: range) -> list[dict[str, object]]:
    """Return pages, until they have a lot of text together or have taken long."""
    pages: list[dict[str, object]] = []
    characters = 0
    deadline = time.monotonic() + READ_SECONDS
    for number in numbers:
        page = _read_page(document, number)
        characters += len(str(page["text"]))
        if pages and characters > MAX_READ_CHARACTERS:
            break
        pages.append(page)
        if time.monotonic() > deadline:
            break
    return pages


def _read_page(document: pypdfium2.PdfDocument, number: int) -> dict[str, object]:
    try:
        page = document[number - 1]
        letters = page.get_textpage()
        written = letters.count_chars()
        text = letters.get_text_range(0, min(written, MAX_PAGE_TEXT)) if written > 0 else ""
    except pypdfium2.PdfiumError:
        return {"number": number, "text": "", "is_cut": True}
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_UNMAPPED).strip()
    is_scan = len(text) < MIN_TEXT_CHARACTERS and _has_picture(page)
    text = "\n".join((text, *list_fields(page))).strip()
    letters.close()
    page.close()
    return {
        "number": number,
        "text": text[:MAX_PAGE_TEXT],
        "is_scan": is_scan,
        "is_cut": max(written, len(text)) > MAX_PAGE_TEXT,
    }


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    pictures = page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,), max_depth=_OBJECT_DEPTH)
    return next(iter(pictures), None) is not None


def _read_outline(document: pypdfium2.PdfDocument) -> list[dict[str, object]]:
    outline = []
    for mark in islice(document.get_toc(max_depth=_MAX_OUTLINE_DEPTH), MAX_OUTLINE):
        title = mark.get_title().strip()[:MAX_TITLE_CHARACTERS]
        place = mark.get_dest()
        index = place.get_index() if place else None
        page = 0 if index is None else index + 1
        outline.append({"title": title, "page": page, "depth": mark.level})
    return outline
