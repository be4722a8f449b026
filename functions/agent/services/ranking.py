"""Which of the things that were looked at answer a question best: known at the end, when it is
known which words are rare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from math import log, log2
from typing import Final

from functions.agent.services.search_terms import Terms, Wanted

EXCERPT: Final = 300
CLOSE: Final = 0.2
"""What comes to less than this part of the best is no answer."""
NEAR: Final = 0.4
"""The part of what its neighbours come to that a message gets: an answer seldom says the question's
words again. Who looks for one word alone asks nothing.
"""
APART: Final = 3_600.0
"""Seconds after which the next message belongs to another talk."""
USUAL: Final = 400
"""Characters; what is longer has many words by chance, and each doubling beyond counts as once
more.
"""
FAINT: Final = 0.3
"""What one character counts beside a word: Chinese and its like are found by characters and by
pairs of them.
"""


@dataclass(frozen=True, slots=True)
class Said:
    """Something that can be found: `seq` is the number of a message, or of the first that an entry
    of HISTORY tells of. `name`: of the person who said it, a word of it like any other. `alone`:
    what stands before and after it is not what was said before and after.
    """

    seq: int
    at: float
    who: str
    text: str
    name: str = ""
    alone: bool = False


@dataclass(slots=True)
class Line:
    """What is kept of something that was looked at: an excerpt, its length, and which of the words
    it has, a bit each.
    """

    said: Said
    has: int
    size: int
    score: float = 0.0


class Ranking:
    """Looks at one thing after the other, each once. `terms`: see `Aids`."""

    def __init__(self, words: str, terms: Terms) -> None:
        self.wanted: Final = Wanted(words, terms)
        self._lines: dict[tuple[int, str, str], Line] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def look(self, said: Said) -> None:
        """Something more that was said."""
        key = (said.seq, said.who, said.text if said.alone else "")
        if key not in self._lines:
            has = self.wanted.of(said.text) | (self.wanted.word(said.name) if said.name else 0)
            self._lines[key] = Line(said, has, len(said.text))
            if len(said.text) > EXCERPT:
                self._lines[key].said = Said(
                    said.seq, said.at, said.who, self._excerpt(said.text), alone=said.alone
                )

    def best(self, limit: int) -> list[Said]:
        """At most `limit`, the best first and the newest first among equals."""
        self._weigh()
        talk = sorted(
            (line for line in self._lines.values() if not line.said.alone),
            key=lambda line: line.said.seq,
        )
        alone = ((line.score, line) for line in self._lines.values() if line.said.alone)
        part = NEAR if len(self.wanted.terms) > 1 else 0.0
        scored = [
            (round(score, 6), line.said.at, line.said.seq, line)
            for score, line in chain(_lifted(talk, part), alone)
            if score
        ]
        scored.sort(key=lambda each: each[:3], reverse=True)
        return [line.said for score, _, _, line in scored[:limit] if score >= scored[0][0] * CLOSE]

    def _weigh(self) -> None:
        """The rarer a word, the more it counts (the weight of BM25)."""
        counts: dict[int, int] = {}
        for line in self._lines.values():
            counts[line.has] = counts.get(line.has, 0) + 1
        weights = {
            bit: _weight(term) * _rarity(self._among(counts, bit), len(self._lines))
            for term, bit in self.wanted.bits.items()
        }
        scores = {
            has: sum(weight for bit, weight in weights.items() if has & bit) for has in counts
        }
        for line in self._lines.values():
            line.score = scores[line.has] / _length(line.size) if line.has else 0.0

    @staticmethod
    def _among(counts: dict[int, int], bit: int) -> int:
        return sum(count for has, count in counts.items() if has & bit)

    def _excerpt(self, text: str) -> str:
        """The part around the first of the words."""
        low = text.lower()
        places = [at for term in self.wanted.terms if (at := low.find(term[:4])) >= 0]
        begin = max(min(places, default=0) - EXCERPT // 3, 0)
        end = begin + EXCERPT
        return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _lifted(talk: list[Line], part: float) -> Iterator[tuple[float, Line]]:
    """Each line of a talk with its score and its part of its neighbours'."""
    for place, line in enumerate(talk):
        near = (talk[beside] for beside in (place - 1, place + 1) if 0 <= beside < len(talk))
        yield (
            line.score
            + part
            * sum(other.score for other in near if abs(other.said.at - line.said.at) <= APART),
            line,
        )


def _weight(term: str) -> float:
    return FAINT if len(term) == 1 and not term.isascii() else 1.0


def _rarity(among: int, all: int) -> float:
    return log(1 + (all - among + 0.5) / (among + 0.5))


def _length(size: int) -> float:
    return 1 + log2(size / USUAL) if size > USUAL else 1.0
