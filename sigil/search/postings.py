"""Which documents have a term, and how strongly: the inverted index, changed one document at a time."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from sigil.search.neighbours import Neighbours

PRIOR: Final = 50
"""Documents that every index is counted to have besides its own, so that in a registry of three a word that all three lack
does not outweigh the one that was found."""


class Posting:
    """The documents of one term: ascending numbers, and beside each the term's strength there (0 to 3, single precision)."""

    __slots__ = ("numbers", "strengths", "strongest")

    def __init__(self) -> None:
        self.numbers = array("I")
        self.strengths = array("f")
        self.strongest = 0.0

    def append(self, number: int, strength: float) -> None:
        self.numbers.append(number)
        self.strengths.append(strength)
        self.strongest = max(self.strongest, self.strengths[-1])

    def remove(self, number: int) -> None:
        """`strongest` stays: it is only a bound."""
        place = bisect_left(self.numbers, number)
        del self.numbers[place], self.strengths[place]

    def strength(self, number: int) -> float:
        """0 where the document does not have the term."""
        place = bisect_left(self.numbers, number)
        if place == len(self.numbers) or self.numbers[place] != number:
            return 0.0
        return self.strengths[place]

    def __len__(self) -> int:
        return len(self.numbers)


class Postings:
    """Term → posting. Not for two threads at once."""

    def __init__(self) -> None:
        self._terms: dict[str, Posting] = {}
        self._neighbours = Neighbours()

    def add(self, number: int, strengths: Mapping[str, float]) -> None:
        """`number` is higher than all before it."""
        for term, strength in strengths.items():
            posting = self._terms.get(term)
            if posting is None:
                posting = self._terms[term] = Posting()
                self._neighbours.add(term)
            posting.append(number, strength)

    def remove(self, number: int, terms: tuple[str, ...]) -> None:
        for term in terms:
            posting = self._terms[term]
            posting.remove(number)
            if not posting:
                del self._terms[term]
                self._neighbours.remove(term)

    def get(self, term: str) -> Posting | None:
        return self._terms.get(term)

    def neighbours(self, term: str) -> list[tuple[float, str]]:
        return self._neighbours.of(term)


def rarity(holders: int, documents: int) -> float:
    """BM25's inverse document frequency, never negative."""
    return math.log(1 + (documents + PRIOR - holders + 0.5) / (holders + 0.5))
