"""The inverted index maps each term to the documents that have it, and how strongly.

It changes one document at a time.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from sigil.search.spelling import SimilarWords

PRIOR: Final = 50
"""Documents that every index is counted to have besides its own, so that in a registry of three a
word that all three lack does not outweigh the one that was found.
"""
UNIT: Final = 16_384
"""So many parts make a strength of 1: whole numbers below 65,536 take half the memory of floating
ones, here and where they are kept.
"""


class Posting:
    """The documents of one term: ascending numbers, and beside each the term's strength there, in
    parts of `UNIT`.
    """

    __slots__ = ("numbers", "strengths", "strongest")

    def __init__(
        self,
        numbers: array[int] | None = None,
        strengths: array[int] | None = None,
        strongest: int = 0,
    ) -> None:
        self.numbers = array("I") if numbers is None else numbers
        self.strengths = array("H") if strengths is None else strengths
        self.strongest = strongest

    def append(self, number: int, strength: float) -> None:
        self.numbers.append(number)
        self.strengths.append(max(round(strength * UNIT), 1))
        self.strongest = max(self.strongest, self.strengths[-1])

    def remove(self, number: int) -> None:
        """Remove a document; `strongest` stays as it is, since it is only a bound."""
        place = bisect_left(self.numbers, number)
        del self.numbers[place], self.strengths[place]

    def strength(self, number: int) -> int:
        """Return the strength in one document, 0 where it does not have the term."""
        place = bisect_left(self.numbers, number)
        if place == len(self.numbers) or self.numbers[place] != number:
            return 0
        return self.strengths[place]

    def copy(self) -> Posting:
        return Posting(self.numbers[:], self.strengths[:], self.strongest)

    def __len__(self) -> int:
        return len(self.numbers)


class Postings:
    """Term → posting. Not for two threads at once."""

    def __init__(self) -> None:
        self._terms: dict[str, Posting] = {}
        self._similar = SimilarWords()

    def add(self, number: int, strengths: Mapping[str, float]) -> None:
        """Add a document, whose number is higher than all before it."""
        for term, strength in strengths.items():
            posting = self._terms.get(term)
            if posting is None:
                posting = self._terms[term] = Posting()
                self._similar.add(term)
            posting.append(number, strength)

    def remove(self, number: int, terms: tuple[str, ...]) -> None:
        for term in terms:
            posting = self._terms[term]
            posting.remove(number)
            if not posting:
                del self._terms[term]
                self._similar.remove(term)

    def get(self, term: str) -> Posting | None:
        return self._terms.get(term)

    def copy(self) -> Postings:
        """Return the same postings, without the words that look alike."""
        other = Postings()
        other._terms = {term: posting.copy() for term, posting in self._terms.items()}
        return other

    def similar_words(self, term: str) -> list[tuple[float, str]]:
        return self._similar.find(term)


def rarity(holders: int, documents: int) -> float:
    """Return BM25's inverse document frequency, never negative."""
    return math.log(1 + (documents + PRIOR - holders + 0.5) / (holders + 0.5))
