"""Words of the index that look like a word that it does not have: for typing errors and other forms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest
from itertools import chain
from typing import Final

MOST: Final = 2
ALIKE: Final = 0.5
SHORTEST: Final = 4
# a number in a word is its meaning: sha256 is no sha512
LETTERS: Final = re.compile(r"[^\W\d_]+")


class Neighbours:
    """The vocabulary by its groups of three and four characters."""

    def __init__(self) -> None:
        self._words: dict[str, list[str]] = {}

    def add(self, word: str) -> None:
        if _compared(word):
            for gram in _grams(word):
                self._words.setdefault(gram, []).append(word)

    def remove(self, word: str) -> None:
        if not _compared(word):
            return
        for gram in _grams(word):
            words = self._words[gram]
            words.remove(word)
            if not words:
                del self._words[gram]

    def of(self, word: str) -> list[tuple[float, str]]:
        """At most two words whose groups agree at least by half with this word's, each after its likeness (Dice, 0.5 to 1)."""
        if not _compared(word):
            return []
        grams = _grams(word)
        shared = Counter(chain.from_iterable(self._words.get(gram, ()) for gram in grams))
        # half of both means at least a third of one: spares most of the comparisons
        alike = ((_dice(count, len(grams), other), other) for other, count in shared.items() if 3 * count >= len(grams))
        return nsmallest(MOST, (found for found in alike if found[0] >= ALIKE), key=_order)


def best(found: Iterable[tuple[float, str]]) -> list[str]:
    """The words most alike, of those that several vocabularies gave."""
    return [word for _, word in nsmallest(MOST, set(found), key=_order)]


def _order(found: tuple[float, str]) -> tuple[float, str]:
    likeness, word = found
    return -likeness, word


def _compared(word: str) -> bool:
    return len(word) >= SHORTEST and LETTERS.fullmatch(word) is not None


def _grams(word: str) -> set[str]:
    bounded = f"^{word}$"
    return {bounded[start : start + size] for size in (3, 4) for start in range(len(bounded) - size + 1)}


def _dice(shared: int, grams: int, other: str) -> float:
    return 2 * shared / (grams + len(_grams(other)))
