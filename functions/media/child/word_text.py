"""Reads the text of a docx as Markdown: headings, lists and tables, with comments, notes and
tracked changes named.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.etree.ElementTree import Element

from functions.media.child.office_file import OfficeFile, find, get, name_of, write_table
from functions.media.child.paging import PageWriter
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DOCUMENT = "word/document.xml"
_MAX_HEADING = 6
_MAX_STYLES = 10
"""Styles that are based on each other and looked at for one paragraph."""
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
_SILENT = frozenset(("instrText", "delInstrText", "Fallback", "pPr", "rPr", "tblPr", "sdtPr"))
_CHANGES = {"ins": "inserted", "del": "deleted", "moveFrom": "moved away", "moveTo": "moved here"}
_NOTES = (
    ("word/comments.xml", "comment", "comment"),
    ("word/footnotes.xml", "footnote", "footnote"),
    ("word/endnotes.xml", "endnote", "endnote"),
)
"""The part, the elements in it, and what they are called."""
_REFERENCES = {f"{word}Reference": word for _, _, word in _NOTES}
_SEPARATORS = ("separator", "continuationSeparator")


def run(order: Mapping[str, object], data: bytes) -> tuple[Mapping[str, object], bytes]:
    """Return the pages that the order names."""
    file = OfficeFile(data)
    if not file.has(_DOCUMENT):
        raise Unreadable("broken")
    pages = PageWriter()
    pages.title = file.read_title()
    styles = _Styles(file)
    numbering = _Numbering(file)
    for block in file.read_elements(_DOCUMENT, frozenset(("p", "tbl"))):
        if name_of(block) == "tbl":
            pages.add(f"\n{_write_table(block)}\n")
        else:
            _add_paragraph(block, styles, numbering, pages)
    for part, element, word in _NOTES:
        if file.has(part):
            _add_notes(file.read_elements(part, frozenset((element,))), word, pages)
    return pages.finish(order), b""


def _add_paragraph(
    paragraph: Element, styles: _Styles, numbering: _Numbering, pages: PageWriter
) -> None:
    text = "".join(_list_text(paragraph)).strip()
    if not text:
        return
    properties = find(paragraph, "pPr")
    style = get(find(properties, "pStyle"), "val")
    level = _read_level(properties) or styles.find_level(style)
    if 0 < level <= _MAX_HEADING:
        line = " ".join(text.split())
        pages.add(f"\n{'#' * level} {line}")
        pages.add_heading(line, level - 1)
        return
    list_place = _read_list_place(properties) or styles.find_list_place(style)
    mark = numbering.next_mark(*list_place) if list_place else ""
    pages.add(f"{mark}{text}" if mark else f"\n{text}")


def _list_text(element: Element) -> Iterator[str]:
    """Yield the text of an element, in order."""
    for child in element:
        name = name_of(child)
        if name in ("t", "delText"):
            yield child.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name in _REFERENCES:
            yield f"[{_REFERENCES[name]} {get(child, 'id')}]"
        elif name in _CHANGES and len(child):
            text = "".join(_list_text(child))
            if text:
                yield f"[{_CHANGES[name]} by {get(child, 'author') or 'somebody'}: {text}]"
        elif name == "docPr":
            yield f"[picture: {get(child, 'descr') or get(child, 'name')}]"
        elif name == "p":
            yield from _list_text(child)
            yield "\n"
        elif name not in _SILENT:
            yield from _list_text(child)


def _write_table(table: Element) -> str:
    rows = [
        ["".join(_list_text(cell)) for cell in row if name_of(cell) == "tc"]
        for row in table
        if name_of(row) == "tr"
    ]
    return write_table([row for row in rows if row])


def _add_notes(notes: Iterator[Element], word: str, pages: PageWriter) -> None:
    for note in notes:
        text = " ".join("".join(_list_text(note)).split())
        if text and get(note, "type") not in _SEPARATORS:
            author = get(note, "author")
            pages.add(f"\n[{word} {get(note, 'id')}{f' by {author}' if author else ''}: {text}]")


def _read_level(properties: Element | None) -> int:
    """Return the level of a heading, from 1 on; 0 where the properties name none."""
    level = get(find(properties, "outlineLvl"), "val")
    return int(level) + 1 if level.isdecimal() else 0


def _read_list_place(properties: Element | None) -> tuple[str, int] | None:
    """Return the list that a paragraph is in and how deep, from 0 on; None where the properties
    name no list.
    """
    numbers = find(properties, "numPr")
    list_id = get(find(numbers, "numId"), "val")
    depth = get(find(numbers, "ilvl"), "val")
    return (list_id, min(int(depth), 8) if depth.isdecimal() else 0) if list_id else None


class _Styles:
    """The styles of a document, by which a paragraph is a heading or in a list."""

    def __init__(self, file: OfficeFile) -> None:
        root = file.read_tree("word/styles.xml")
        self._styles = {get(each, "styleId"): each for each in root if name_of(each) == "style"}

    def find_level(self, style: str) -> int:
        """Return the level of the headings that a style makes, from 1 on; 0 for other styles."""
        for each in self._follow(style):
            name = get(find(each, "name"), "val")
            match = _HEADING.fullmatch(name)
            level = int(match[1]) if match else _read_level(find(each, "pPr"))
            if level or name.lower() == "title":
                return level or 1
        return 0

    def find_list_place(self, style: str) -> tuple[str, int] | None:
        """Return what `_read_list_place` does, by a style."""
        places = (_read_list_place(find(each, "pPr")) for each in self._follow(style))
        return next(filter(None, places), None)

    def _follow(self, style: str) -> Iterator[Element]:
        """Yield a style and those that it is based on."""
        for _ in range(_MAX_STYLES):
            found = self._styles.get(style)
            if found is None:
                return
            yield found
            style = get(find(found, "basedOn"), "val")


class _Numbering:
    """The lists of a document, and how far each has come."""

    def __init__(self, file: OfficeFile) -> None:
        root = file.read_tree("word/numbering.xml")
        formats: dict[str, dict[str, str]] = {}
        self._formats: dict[str, dict[str, str]] = {}
        for each in root:
            if name_of(each) == "abstractNum":
                formats[get(each, "abstractNumId")] = {
                    get(level, "ilvl"): get(find(level, "numFmt"), "val")
                    for level in each
                    if name_of(level) == "lvl"
                }
        for each in root:
            if name_of(each) == "num":
                abstract = get(find(each, "abstractNumId"), "val")
                self._formats[get(each, "numId")] = formats.get(abstract, {})
        self._counts: Counter[tuple[str, int]] = Counter()

    def next_mark(self, list_id: str, depth: int) -> str:
        """Return what stands before the next paragraph of a list; empty for no list."""
        if list_id == "0":
            return ""
        for other in list(self._counts):
            if other[0] == list_id and other[1] > depth:
                del self._counts[other]
        self._counts[list_id, depth] += 1
        kind = self._formats.get(list_id, {}).get(str(depth), "bullet")
        sign = "-" if kind in ("bullet", "none", "") else f"{self._counts[list_id, depth]}."
        return f"{'  ' * depth}{sign} "
