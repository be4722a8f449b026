"""WeCom's XML: an element whose children have texts. Nothing else of XML is understood."""

from __future__ import annotations

from typing import Final
from xml.parsers import expat

FIELDS_MOST: Final = 200


class _Refused(Exception):
    """The XML has more than WeCom sends."""


class _FieldReader:
    """Collects the texts of the children of the root."""

    def __init__(self) -> None:
        self.fields: dict[str, str] = {}
        self._depth = 0
        self._name = ""
        self._pieces: list[str] = []

    def start(self, name: str, attributes: object) -> None:
        """Begin an element."""
        self._depth += 1
        if self._depth == 2:
            self._name = name
            self._pieces = []

    def add(self, text: str) -> None:
        """Add a piece of text."""
        if self._depth == 2:
            self._pieces.append(text)

    def end(self, name: str) -> None:
        """End an element; the first of a name counts."""
        if self._depth == 2 and len(self.fields) < FIELDS_MOST:
            self.fields.setdefault(self._name, "".join(self._pieces))
        self._depth -= 1

    def refuse(self, *_: object) -> None:
        """Refuse a document type: it could define entities that grow, or name files."""
        raise _Refused


def read_fields(document: bytes) -> dict[str, str]:
    """Return the texts of a document's fields, empty for what is no such document."""
    reader = _FieldReader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.CharacterDataHandler = reader.add
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        parser.Parse(document, True)
    except (expat.ExpatError, _Refused, ValueError):
        return {}
    return reader.fields
