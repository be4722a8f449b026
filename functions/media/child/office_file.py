"""Reads the parts of a docx or pptx: XML files in a zip file, and the relations between them."""

from __future__ import annotations

import posixpath
import zipfile
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from functions.media.child.zip_file import open_zip
from functions.media.limits import MAX_DEPTH
from functions.media.protocol import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_CHUNK = 64 << 10
_MAX_PART_BYTES = 12_000_000
"""Bytes of a part that is read as a whole."""


def name_of(element: Element) -> str:
    """Return the name of an element without its namespace, of which there are two dialects."""
    return str(element.tag).rpartition("}")[2]


def get(element: Element | None, name: str) -> str:
    """Return an attribute by its name without namespace; empty where it is not there."""
    if element is not None:
        for key, value in element.items():
            if key.rpartition("}")[2] == name:
                return value
    return ""


def find(element: Element | None, *path: str) -> Element | None:
    """Return the first element down a path of names; None where one of them is missing."""
    for name in path:
        children = () if element is None else element
        element = next((child for child in children if name_of(child) == name), None)
    return element


class OfficeFile:
    """The parts of an office file by name."""

    def __init__(self, data: bytes) -> None:
        self._archive = open_zip(data)
        self._names = set(self._archive.namelist())

    def has(self, name: str) -> bool:
        return name in self._names

    def read_tree(self, name: str) -> Element:
        """Return a part as a whole; an empty element where it is not there."""
        if name not in self._names:
            return Element("none")
        if self._archive.getinfo(name).file_size > _MAX_PART_BYTES:
            raise Unreadable("too_large")
        for event, element, depth in self._parse(name):
            if event == "end" and not depth:
                return element
        raise Unreadable("broken")

    def read_elements(self, name: str, wanted: frozenset[str]) -> Iterator[Element]:
        """Yield the elements of some names as soon as they are read, but for those inside another
        one of them. They are empty afterwards.
        """
        inside = 0
        for event, element, _ in self._parse(name):
            is_wanted = name_of(element) in wanted
            if event == "start":
                inside += is_wanted
                continue
            inside -= is_wanted
            if is_wanted and not inside:
                yield element
            if not inside:
                element.clear()

    def _parse(self, name: str) -> Iterator[tuple[str, Element, int]]:
        """Yield `start` and `end` of each element of a part with its depth, 0 for the root;
        `Unreadable` for what is no XML.
        """
        parser: Any = XMLPullParser(("start", "end"))
        depth = 0
        try:
            with self._archive.open(name) as stream:
                while chunk := stream.read(_CHUNK):
                    if b"<!DOCTYPE" in chunk:  # no office program writes one
                        raise Unreadable("broken")
                    parser.feed(chunk)
                    for event, element in parser.read_events():
                        depth -= event == "end"
                        yield event, element, depth
                        depth += event == "start"
                        if depth > MAX_DEPTH:
                            raise Unreadable("too_large")
                parser.close()
        except (ParseError, KeyError, zipfile.BadZipFile, EOFError, ValueError):
            raise Unreadable("broken") from None

    def read_relations(self, part: str) -> dict[str, tuple[str, str]]:
        """Return the relations of a part: the id → the last word of its type, and the part that it
        names.
        """
        folder, name = posixpath.split(part)
        relations = {}
        for each in self.read_tree(f"{folder}/_rels/{name}.rels"):
            target = posixpath.normpath(posixpath.join("/", folder, get(each, "Target")))
            kind = get(each, "Type").rpartition("/")[2]
            relations[get(each, "Id")] = (kind, target.lstrip("/"))
        return relations

    def read_title(self) -> str:
        """Return the title that the file has among its properties."""
        for each in self.read_tree("docProps/core.xml"):
            if name_of(each) == "title":
                return each.text or ""
        return ""


def write_row(cells: list[str]) -> str:
    """Return a row of a table in Markdown."""
    plain = (" ".join(cell.replace("|", "\\|").split()) for cell in cells)
    return f"| {' | '.join(plain)} |"


def write_table(rows: list[list[str]]) -> str:
    """Return a table in Markdown, whose first row is its head."""
    width = max(map(len, rows), default=0)
    if not width:
        return ""
    lines = [write_row(row + [""] * (width - len(row))) for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])
