"""Words of the index that look like a word that it does not have: for typing errors and other
forms.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
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
        if compared(word):
            for gram in grams(word):
                self._words.setdefault(gram, []).append(word)

    def remove(self, word: str) -> None:
        if not compared(word):
            return
        for gram in grams(word):
            words = self._words[gram]
            words.remove(word)
            if not words:
                del self._words[gram]

    def of(self, word: str) -> list[tuple[float, str]]:
        """At most two words whose groups agree at least by half with this word's, each after its
        likeness (Dice, 0.5 to 1).
        """
        if not compared(word):
            return []
        mine = grams(word)
        return closest(
            len(mine), Counter(chain.from_iterable(self._words.get(gram, ()) for gram in mine))
        )


def closest(mine: int, shared: Mapping[str, int]) -> list[tuple[float, str]]:
    """What `Neighbours.of` says of a word with `mine` groups; `shared`: how many of them each other
    word has too.
    """
    # half of both means at least a third of one: spares most of the comparisons
    alike = (
        (_dice(count, mine, other), other) for other, count in shared.items() if 3 * count >= mine
    )
    return nsmallest(MOST, (found for found in alike if found[0] >= ALIKE), key=_order)


def best(found: Iterable[tuple[float, str]]) -> list[str]:
    """The words most alike, of those that several vocabularies gave."""
    return [word for _, word in nsmallest(MOST, set(found), key=_order)]


def _order(found: tuple[float, str]) -> tuple[float, str]:
    likeness, word = found
    return -likeness, word


def compared(word: str) -> bool:
    """Whether a word is long enough, and made of letters alone."""
    return len(word) >= SHORTEST and LETTERS.fullmatch(word) is not None


def grams(word: str) -> set[str]:
    """Its groups of three and four characters, its ends marked."""
    bounded = f"^{word}$"
    return {
        bounded[start : start + size] for size in (3, 4) for start in range(len(bounded) - size + 1)
    }


def _dice(shared: int, mine: int, other: str) -> float:
    return 2 * shared / (mine + len(grams(other)))
