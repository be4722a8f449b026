"""One group of documents: its entries and its postings, always changed together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sigil.search.entries import Entries, Entry
from sigil.search.postings import Posting, Postings
from sigil.search.ranking import Weighted, rank, score_of


class Shelf:
    """Documents that are seen together or not at all. Not for two threads at once."""

    def __init__(self) -> None:
        self._entries = Entries()
        self._postings = Postings()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, entry: Entry, strengths: Mapping[str, float]) -> str | None:
        """Takes the place of the entry with this name, whose reference it returns."""
        number = self._entries.with_name(entry.name)
        replaced = None if number is None else self._drop(number)
        self._postings.add(self._entries.put(entry), strengths)
        return replaced

    def drop(self, ref: str) -> None:
        number = self._entries.with_ref(ref)
        if number is not None:
            self._drop(number)

    def posting(self, term: str) -> Posting | None:
        return self._postings.get(term)

    def neighbours(self, term: str) -> list[tuple[float, str]]:
        return self._postings.neighbours(term)

    def ranked(self, weights: Mapping[str, float], count: int, share: float) -> Iterator[tuple[Entry, float]]:
        """At least the best `count` entries with their scores, as `rank` has it."""
        return ((self._entries[number], score) for number, score in rank(self._found(weights), count, share).items())

    def called(self, said: str, weights: Mapping[str, float]) -> Iterator[tuple[Entry, float]]:
        """The entries whose name or alias is this phrase, with their scores."""
        found = self._found(weights)
        return ((self._entries[number], score_of(found, number)) for number in self._entries.called(said))

    def _found(self, weights: Mapping[str, float]) -> list[Weighted]:
        postings = ((term, weight, self._postings.get(term)) for term, weight in weights.items())
        return [Weighted(weight, term, posting) for term, weight, posting in postings if posting is not None]

    def _drop(self, number: int) -> str:
        entry = self._entries.drop(number)
        self._postings.remove(number, entry.terms)
        return entry.ref
