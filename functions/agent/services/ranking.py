"""Ranking orders the passages that were read by how well they answer a query.

It scores them at the end, when it is known which words are rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, log2
from typing import Final

from functions.agent.services.search_terms import SearchTerms, Terms

EXCERPT: Final = 300
CLOSE: Final = 0.2
"""A passage that scores less than this part of the best is no answer."""
NEAR: Final = 0.4
"""A message gets this part of its neighbours' scores: an answer seldom says the question's words
again. A query of one word is no question, so it gets nothing there.
"""
APART: Final = 3_600.0
"""After so many seconds the next message belongs to another talk."""
USUAL: Final = 400
"""A passage of more characters has many words by chance: each doubling beyond counts as once more.
"""
FAINT: Final = 0.3
"""The weight of one character beside a word: Chinese and its like are found by characters and by
pairs of them.
"""


@dataclass(frozen=True, slots=True)
class Passage:
    """Something that can be found.

    `seq` is the number of a message, or of the first that an entry of HISTORY tells of. `name` is
    the person's who said it, a word of it like any other. `alone` says that what comes before and
    after it was not said before and after it.
    """

    seq: int
    at: float
    who: str
    text: str
    name: str = ""
    alone: bool = False


@dataclass(slots=True)
class RankedPassage:
    """A passage cut to an excerpt, its whole length, and the query's terms that it has, as bits."""

    passage: Passage
    terms: int
    size: int
    score: float = 0.0


class Ranking:
    """The ranking of passages for one query, each added once. `terms`: see `ServiceHelpers`."""

    def __init__(self, words: str, terms: Terms) -> None:
        self.query: Final = SearchTerms(words, terms)
        self._passages: dict[tuple[int, str, str], RankedPassage] = {}

    def __len__(self) -> int:
        return len(self._passages)

    def add(self, passage: Passage) -> None:
        """Add a passage; one that was added before changes nothing."""
        key = (passage.seq, passage.who, passage.text if passage.alone else "")
        if key in self._passages:
            return
        terms = self.query.find_in(passage.text)
        if passage.name:
            terms |= self.query.find_in_word(passage.name)
        size = len(passage.text)
        if size > EXCERPT:
            excerpt = self._cut_excerpt(passage.text)
            passage = Passage(passage.seq, passage.at, passage.who, excerpt, alone=passage.alone)
        self._passages[key] = RankedPassage(passage, terms, size)

    def best(self, limit: int) -> list[Passage]:
        """Return at most `limit` passages, the best first and the newest first among equals."""
        self._score_passages()
        share = NEAR if len(self.query.terms) > 1 else 0.0
        talk = [each for each in self._passages.values() if not each.passage.alone]
        talk.sort(key=lambda each: each.passage.seq)
        scored = []
        for place, each in enumerate(talk):
            scored.append((each.score + share * _sum_neighbours(talk, place), each.passage))
        for each in self._passages.values():
            if each.passage.alone:
                scored.append((each.score, each.passage))
        ranked = [(round(score, 6), passage) for score, passage in scored if score]
        ranked.sort(key=lambda row: (row[0], row[1].at, row[1].seq), reverse=True)
        return [passage for score, passage in ranked[:limit] if score >= ranked[0][0] * CLOSE]

    def _score_passages(self) -> None:
        """Score every passage: the rarer a term, the more it counts (the weight of BM25)."""
        counts: dict[int, int] = {}
        for each in self._passages.values():
            counts[each.terms] = counts.get(each.terms, 0) + 1
        weights: dict[int, float] = {}
        for term, bit in self.query.bits.items():
            having = sum(count for terms, count in counts.items() if terms & bit)
            rarity = log(1 + (len(self._passages) - having + 0.5) / (having + 0.5))
            is_character = len(term) == 1 and not term.isascii()
            weights[bit] = (FAINT if is_character else 1.0) * rarity
        scores = {
            terms: sum(weight for bit, weight in weights.items() if terms & bit) for terms in counts
        }
        for each in self._passages.values():
            length = 1 + log2(each.size / USUAL) if each.size > USUAL else 1.0
            each.score = scores[each.terms] / length if each.terms else 0.0

    def _cut_excerpt(self, text: str) -> str:
        """Return the part of a text around the first of the query's words."""
        low = text.lower()
        places = [low.find(term[:4]) for term in self.query.terms]
        first = min([place for place in places if place >= 0], default=0)
        begin = max(first - EXCERPT // 3, 0)
        end = begin + EXCERPT
        return f"{'…' if begin else ''}{text[begin:end]}{'…' if end < len(text) else ''}"


def _sum_neighbours(talk: list[RankedPassage], place: int) -> float:
    """Return the sum of the scores of the messages right before and after one, of the same talk."""
    total = 0.0
    for beside in (place - 1, place + 1):
        if 0 <= beside < len(talk):
            neighbour = talk[beside]
            if abs(neighbour.passage.at - talk[place].passage.at) <= APART:
                total += neighbour.score
    return total
