"""Reads the slides of a pptx: the title, the text and the speaker's notes of each."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from functions.media.child.office_file import OfficeFile, find, get, name_of, write_table
from functions.media.child.paging import PageWriter
from functions.media.limits import MAX_PAGES
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PRESENTATION = "ppt/presentation.xml"
_TITLES = ("title", "ctrTitle")
_UNREAD = ("sldNum", "dt", "ftr", "hdr", "sldImg")
"""Placeholders that repeat on every slide."""


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the pages that the order names."""
    file = OfficeFile(data)
    if not file.has(_PRESENTATION):
        raise Unreadable("broken")
    pages = PageWriter()
    pages.title = file.read_title()
    slides = _list_slides(file)
    for number, part in enumerate(slides[:MAX_PAGES], 1):
        _add_slide(file, part, number, pages)
    if len(slides) > MAX_PAGES:
        pages.notes.append(f"Only the first {MAX_PAGES} of {len(slides)} slides were read.")
    return pages.finish(order), b""


def _list_slides(file: OfficeFile) -> list[str]:
    """Return the parts of the slides, in the order in which they are shown."""
    relations = file.read_relations(_PRESENTATION)
    listed = find(file.read_tree(_PRESENTATION), "sldIdLst")
    parts = []
    for each in () if listed is None else listed:
        keys = [value for key, value in each.items() if key.endswith("}id")]
        _, part = relations.get(keys[0] if keys else "", ("", ""))
        if file.has(part):
            parts.append(part)
    return parts


def _add_slide(file: OfficeFile, part: str, number: int, pages: PageWriter) -> None:
    title = ""
    texts = []
    for shape in _list_shapes(file.read_tree(part)):
        placeholder = get(find(shape, "nvSpPr", "nvPr", "ph"), "type")
        text = _read_shape(shape)
        if not text or placeholder in _UNREAD:
            continue
        if placeholder in _TITLES and not title:
            title = " ".join(text.split())
        else:
            texts.append(text)
    heading = f"Slide {number}: {title}" if title else f"Slide {number}"
    pages.add(f"\n## {heading}")
    pages.add_heading(heading, 0)
    for text in texts:
        pages.add(f"\n{text}")
    for kind, notes in file.read_relations(part).values():
        if kind == "notesSlide" and file.has(notes) and (spoken := _read_notes(file, notes)):
            pages.add(f"\nNotes: {spoken}")


def _read_notes(file: OfficeFile, part: str) -> str:
    texts = [
        _read_shape(shape)
        for shape in _list_shapes(file.read_tree(part))
        if get(find(shape, "nvSpPr", "nvPr", "ph"), "type") not in _UNREAD
    ]
    return "\n".join(filter(None, texts))


def _list_shapes(root: Element) -> Iterator[Element]:
    """Yield the shapes, tables and pictures of a slide, also those in groups."""
    for each in root:
        name = name_of(each)
        if name in ("sp", "graphicFrame", "pic"):
            yield each
        elif name in ("cSld", "spTree", "grpSp", "AlternateContent", "Choice"):
            yield from _list_shapes(each)


def _read_shape(shape: Element) -> str:
    name = name_of(shape)
    if name == "pic":
        shown = get(find(shape, "nvPicPr", "cNvPr"), "descr")
        return f"[picture: {shown}]" if shown else "[picture]"
    if name == "graphicFrame":
        table = find(shape, "graphic", "graphicData", "tbl")
        if table is None:
            return "[chart or diagram]"
        rows = [
            [_read_paragraphs(find(cell, "txBody")) for cell in row if name_of(cell) == "tc"]
            for row in table
            if name_of(row) == "tr"
        ]
        return write_table([row for row in rows if row])
    return _read_paragraphs(find(shape, "txBody"))


def _read_paragraphs(body: Element | None) -> str:
    lines = []
    for paragraph in () if body is None else body:
        if name_of(paragraph) != "p":
            continue
        level = get(find(paragraph, "pPr"), "lvl")
        pieces = []
        for run_ in paragraph:
            if name_of(run_) == "br":
                pieces.append("\n")
            piece = find(run_, "t")
            pieces.append((piece.text or "") if piece is not None else "")
        text = "".join(pieces).strip()
        if text:
            lines.append(f"{'  ' * int(level)}- {text}" if level.isdecimal() else text)
    return "\n".join(lines)
