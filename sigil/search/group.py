"""Documents that are seen together or not at all: those of an opened file, and those that came
since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sigil.search.document import Document
from sigil.search.entries import Entry
from sigil.search.file_documents import Sealed
from sigil.search.group_documents import Shelf
from sigil.search.query import Part


class Group:
    """A file's documents with all that changed in them. Not for two threads at once."""

    def __init__(self, sealed: Sealed | None = None) -> None:
        self.sealed = sealed
        self.shelf = Shelf()
        self._ending: dict[str, float] = {ref: end for end, ref in sealed.until()} if sealed else {}

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def parts(self) -> list[Part]:
        """The file and what came since, as far as there is something in them."""
        return [part for part in (self.sealed, self.shelf) if part]

    def put(self, document: Document, strengths: Mapping[str, float], vector: bytes = b"") -> None:
        """Takes the place of what has the same reference."""
        self.drop(document.ref)
        self.shelf.put(Entry.of(document), strengths, vector)
        if document.until:
            self._ending[document.ref] = document.until

    def drop(self, ref: str) -> None:
        for part in self.parts:
            part.drop(ref)
        self._ending.pop(ref, None)

    def has(self, ref: str) -> bool:
        return any(part.with_ref(ref) is not None for part in self.parts)

    def stamp(self, ref: str) -> int | None:
        """The stamp of one document, None when it is not there."""
        places = ((part, part.with_ref(ref)) for part in self.parts)
        return next(
            (part.entry(number).stamp for part, number in places if number is not None), None
        )

    def stamps(self) -> dict[str, int]:
        """The stamp of every document."""
        return {entry.ref: entry.stamp for entry in self.entries()}

    def ended(self, now: float) -> list[str]:
        """The references of the documents whose time has run out."""
        return [ref for ref, end in self._ending.items() if end <= now] if self._ending else []

    def still(self) -> Group:
        """What `seal` reads of it, as it is at this moment."""
        other = Group()
        other.sealed, other.shelf = self.sealed.copy() if self.sealed else None, self.shelf.copy()
        other._ending = dict(self._ending)
        return other

    def entries(self) -> Iterator[Entry]:
        return (part.entry(number) for part in self.parts for number in part)
