"""One group's documents: its entries and its postings, always changed together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sigil.search.entries import Entries, Entry
from sigil.search.file_documents import hashed
from sigil.search.postings import UNIT, Posting, Postings
from sigil.search.ranking import Weighted, rank, score_of


class Shelf:
    """Documents that come and go. Not for two threads at once."""

    def __init__(self) -> None:
        self._entries = Entries()
        self._postings = Postings()
        self._vectors: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[int]:
        """The numbers of the documents, ascending."""
        return iter(self._entries)

    def scattered(self) -> Iterator[tuple[int, int]]:
        """The hash of each reference, ascending, and the number of its document."""
        return iter(sorted((hashed(self.entry(number).ref), number) for number in self))

    def put(self, entry: Entry, strengths: Mapping[str, float], vector: bytes = b"") -> None:
        """Its reference is new here. `vector`: what it means, see `meaning`."""
        number = self._entries.put(entry, tuple(strengths))
        self._postings.add(number, strengths)
        if vector:
            self._vectors[number] = vector

    def drop(self, ref: str) -> None:
        number = self._entries.with_ref(ref)
        if number is not None:
            self._postings.remove(number, self._entries.drop(number))
            self._vectors.pop(number, None)

    def with_ref(self, ref: str) -> int | None:
        return self._entries.with_ref(ref)

    def entry(self, number: int) -> Entry:
        return self._entries[number]

    def terms(self, number: int) -> tuple[str, ...]:
        return self._entries.terms(number)

    def holders(self, term: str) -> int:
        return len(self._postings.get(term) or ())

    def posting(self, term: str) -> Posting | None:
        return self._postings.get(term)

    def neighbours(self, term: str) -> list[tuple[float, str]]:
        return self._postings.neighbours(term)

    def ranked(
        self, weights: Mapping[str, float], count: int, share: float
    ) -> Iterator[tuple[int, float]]:
        """At least the best `count` documents with their scores, as `rank` has it."""
        return iter(rank(self._found(weights), count, share).items())

    def called(self, said: str, weights: Mapping[str, float]) -> Iterator[tuple[int, float]]:
        """The documents whose name or alias is this phrase, with their scores."""
        return ((number, self.points(number, weights)) for number in self._entries.called(said))

    def points(self, number: int, weights: Mapping[str, float]) -> float:
        """The score of one document."""
        return score_of(self._found(weights), number)

    def vectors(self) -> tuple[list[int], bytes]:
        """The numbers of the documents, and their vectors one after the other."""
        return list(self._vectors), b"".join(self._vectors.values())

    def vector(self, number: int) -> bytes:
        return self._vectors.get(number, b"")

    def copy(self) -> Shelf:
        """What `seal` reads of it, as it is now; not for searching."""
        other = Shelf()
        other._entries, other._postings, other._vectors = (
            self._entries.copy(),
            self._postings.copy(),
            dict(self._vectors),
        )
        return other

    def _found(self, weights: Mapping[str, float]) -> list[Weighted]:
        postings = ((term, weight, self._postings.get(term)) for term, weight in weights.items())
        return [
            Weighted(weight / UNIT, term, posting)
            for term, weight, posting in postings
            if posting is not None
        ]
