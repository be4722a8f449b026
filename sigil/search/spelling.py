"""Spelling finds words of the index that look like a word that it does not have: for typing errors
and other forms.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nsmallest
from itertools import chain
from typing import Final

MOST_SIMILAR: Final = 2
LEAST_LIKENESS: Final = 0.5
SHORTEST: Final = 4
SURE_LENGTH: Final = 6
"""Letters from which on a word may begin with another letter than the one it looks like."""
# a number in a word is its meaning: sha256 is no sha512
LETTERS: Final = re.compile(r"[^\W\d_]+")


class SimilarWords:
    """The vocabulary by its groups of three and four characters."""

    def __init__(self) -> None:
        self._words: dict[str, list[str]] = {}

    def add(self, word: str) -> None:
        if is_comparable(word):
            for gram in list_grams(word):
                self._words.setdefault(gram, []).append(word)

    def remove(self, word: str) -> None:
        if not is_comparable(word):
            return
        for gram in list_grams(word):
            words = self._words[gram]
            words.remove(word)
            if not words:
                del self._words[gram]

    def find(self, word: str) -> list[tuple[float, str]]:
        """Return at most two words whose groups agree at least by half with this word's, each after
        its likeness (Dice, 0.5 to 1).
        """
        if not is_comparable(word):
            return []
        mine = list_grams(word)
        shared = Counter(chain.from_iterable(self._words.get(gram, ()) for gram in mine))
        return select_closest(word, shared)


def select_closest(word: str, shared: Mapping[str, int]) -> list[tuple[float, str]]:
    """Return what `SimilarWords.find` does for a word; `shared`: how many of its groups each other
    word has too.

    Few get the first letter of a short word wrong: `oven` is not `proven`.
    """
    mine = len(list_grams(word))
    found: list[tuple[float, str]] = []
    for other, count in shared.items():
        # half of both means at least a third of one: spares most of the comparisons
        if 3 * count >= mine and (other[0] == word[0] or len(word) >= SURE_LENGTH):
            likeness = 2 * count / (mine + len(list_grams(other)))
            if likeness >= LEAST_LIKENESS:
                found.append((likeness, other))
    return nsmallest(MOST_SIMILAR, found, key=_likest_first)


def most_similar(found: Iterable[tuple[float, str]]) -> list[str]:
    """Return the words most alike, of those that several vocabularies found."""
    return [word for _, word in nsmallest(MOST_SIMILAR, set(found), key=_likest_first)]


def _likest_first(found: tuple[float, str]) -> tuple[float, str]:
    likeness, word = found
    return -likeness, word


def is_comparable(word: str) -> bool:
    """Return whether a word is long enough, and made of letters alone."""
    return len(word) >= SHORTEST and LETTERS.fullmatch(word) is not None


def list_grams(word: str) -> set[str]:
    """Return the groups of three and four characters in a word, its ends marked."""
    bounded = f"^{word}$"
    return {
        bounded[start : start + size] for size in (3, 4) for start in range(len(bounded) - size + 1)
    }
