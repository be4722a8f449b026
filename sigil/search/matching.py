"""Matching decides which documents answer a query, and how well.

Those are the documents that are called so, those that its words lead to, and those that mean the
same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from sigil.search.dense import QueryVector
from sigil.search.entries import IndexEntry
from sigil.search.group import Part
from sigil.search.query import Query, QueryWeights, weigh_terms
from sigil.search.words import STOP_WORDS, Tokenizer, list_spans

EXACT_NAME: Final = 1.0
EXACT_ALIAS: Final = 0.99
INEXACT: Final = 0.98
ALIAS_FACTOR: Final = 1.25
WORD_FACTOR: Final = 0.125
"""The points of a document count so much more when one of its aliases occurs in the query, and more
for each word beyond two: nobody says `what did we talk about` by chance.
"""
PHRASE_FACTOR: Final = 0.6
"""The points of an alias of common words, for each of them, in words that one document has: `what
did I tell you` is of words that count nothing.
"""

MANY_ALIASES: Final = 5
"""Aliases from which on a document meets so many queries by chance that its points alone say
little.
"""
COVERED: Final = 3.0
NAMED: Final = 1.2
OPENING: Final = 0.6
EVIDENCE: Final = 4.3
"""Such a document needs so much evidence: its points in words that one document has, COVERED for
all of the query's words (less for a part of them), NAMED for a name or an alias in it, and OPENING
for one that it begins with: `remember that …`, whatever follows. Measured
on the plain requests for tuning of `scripts/bench search`, of which nothing in the library can do
two in five: a logistic regression on them, most of the library's everyday words left out, has the
terms at 1 : 2.8 : 1.6, and EVIDENCE leaves at least nine in ten of what nothing can do unanswered.
"""
BESIDE: Final = 0.35
"""The share of the best document's points that any other needs."""
FEW_WORDS: Final = 3
"""Words up to which a query is answered by any document that has all of them:
`miles to kilometers`, `finance`. One of more words has to have WELL of its points besides.
"""
WELL: Final = 0.2
ALL: Final = 0.999

Scored = tuple[IndexEntry, float, float]
"""An entry, the score that is shown, and the points that decide between equals."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """Decides what is too little to be an answer to one query.

    It goes by the points alone, and for a document that has many aliases, by those words and how
    much of the query it covers. `phrase`: the query; `terms`: those that it asks for;
    `content_terms` returns a text's terms but for stop words. `exploring`: any document with a word
    of the query passes.
    """

    query: QueryWeights
    phrase: str
    terms: Collection[str]
    content_terms: Callable[[str], frozenset[str]]
    exploring: bool = False

    @property
    def beside(self) -> float:
        return 0.0 if self.exploring else BESIDE

    def is_named(self, entry: IndexEntry) -> bool:
        """Return whether the query holds the words of the entry's name or of an alias, in whatever
        order.
        """
        for name in (entry.called, *entry.aliases):
            words = self.content_terms(name)
            # what is one word only without its grammar (order by, all capitals) names nothing
            if words.issubset(self.query.sure) and (len(words) > 1 or (words and " " not in name)):
                return True
        return entry.is_named_in(self.phrase)

    def passes(
        self,
        entry: IndexEntry,
        points: float,
        best: float,
        has_term: Callable[[str], bool],
        *,
        named: bool,
    ) -> bool:
        """Return whether an entry with these points, whose document has the terms that `has_term`
        tells, is an answer; `best`: the most points that any entry has; `named`: a part of the
        query is its name or an alias.
        """
        if self.exploring:
            return True
        asked = self.content_terms(self.phrase)
        called = self.content_terms(entry.called)
        if called and len(asked) <= len(called) and called.issubset(self.terms):
            return True  # its name and nothing else, perhaps with a typing error
        covered = self.query.measure_coverage(has_term)
        if covered >= ALL and (len(asked) <= FEW_WORDS or self.query.share_of_most(points) >= WELL):
            return True
        if len(entry.aliases) < MANY_ALIASES:
            return best >= self.query.least_points or named or entry.is_named_in(self.phrase)
        missing = EVIDENCE - points / self.query.rarest - COVERED * covered
        if missing <= 0 or missing > NAMED + OPENING:
            return missing <= 0
        if missing > NAMED and not entry.opens(self.phrase):
            return False
        return named or self.is_named(entry)


@dataclass(frozen=True, slots=True)
class Answers:
    """The documents that answer a query, and the best of those that are too little of an answer."""

    found: list[Scored]
    weak: list[Scored]


@dataclass(frozen=True, slots=True)
class _Match:
    """A document with its points; `named`: a part of the query is its name or an alias."""

    part: Part
    number: int
    points: float
    named: bool = False

    @property
    def entry(self) -> IndexEntry:
        return self.part.get_entry(self.number)

    @property
    def key(self) -> tuple[int, int]:
        return id(self.part), self.number


def find_answers(query: Query, parts: list[Part], tokenizer: Tokenizer, limit: int) -> Answers:
    """Return at most `limit` documents of these parts, the best first; equal ones come in the order
    of their names.
    """
    if limit < 1:
        return Answers([], [])
    weights = weigh_terms(query.terms, parts)
    cutoff = Cutoff(
        weights,
        query.phrase,
        weights.sure | weights.weights.keys(),
        partial(tokenizer.content_terms, language=query.terms.language),
        query.exploring,
    )
    scored: dict[str, Scored] = {}
    weak: dict[str, Scored] = {}
    matches = _match_words(query, parts, cutoff, limit)
    best = max((match.points for match in matches), default=0.0)
    if query.vector and not query.asks_nothing:
        for answer in _fuse_meaning(query.vector, matches, parts, cutoff, best):
            scored[answer[0].ref] = answer
    else:
        for match in matches:
            is_answer = not query.asks_nothing and _is_answer(match, cutoff, best)
            chosen = scored if is_answer else weak
            entry = match.entry
            score = _to_score(weights.share_of_most(match.points))
            chosen[entry.ref] = entry, score, match.points
    for part in parts:
        for phrase in {query.phrase, query.tool_name} - {""}:
            for number, points in part.find_called(phrase, weights.weights):
                entry = part.get_entry(number)
                score = EXACT_NAME if entry.has_name(phrase) else EXACT_ALIAS
                scored[entry.ref] = entry, score, points

    def best_first(each: Scored) -> tuple[float, float, str, str]:
        entry, score, points = each
        return -score, -points, entry.name, entry.ref

    below = (each for ref, each in weak.items() if ref not in scored)
    return Answers(
        sorted(scored.values(), key=best_first)[:limit], sorted(below, key=best_first)[:limit]
    )


def _match_words(query: Query, parts: list[Part], cutoff: Cutoff, limit: int) -> list[_Match]:
    weights = cutoff.query.weights
    found: dict[tuple[int, int], _Match] = {}
    for part in parts:
        for number, points in part.rank_best(weights, limit, cutoff.beside):
            found[id(part), number] = _Match(part, number, points)
    for span in dict.fromkeys(list_spans(query.phrase, STOP_WORDS)):
        for part in parts:
            for number, points in part.find_called(span, weights):
                if part.get_entry(number).aliases:
                    further = max(len(span.split()) - 2, 0)
                    raised = points * (ALIAS_FACTOR + WORD_FACTOR * further)
                    if STOP_WORDS.issuperset(span.split()):
                        raised = PHRASE_FACTOR * (further + 2) * cutoff.query.rarest
                    known = found.get((id(part), number))
                    if known is None or known.points < raised:
                        found[id(part), number] = _Match(part, number, raised, named=True)
    return list(found.values())


def _fuse_meaning(
    vector: QueryVector, matches: list[_Match], parts: list[Part], cutoff: Cutoff, best: float
) -> Iterator[Scored]:
    """Yield what the words found and what means the same, ranked by both; nothing where neither
    leads to an answer.
    """
    documents = sum(map(len, parts))
    known = {match.key: match for match in matches}
    ranked: list[tuple[_Match, float, float]] = []
    for part in parts:
        numbers = [number for place, number in known if place == id(part)]
        for number, likeness in vector.find_nearest(part, numbers).items():
            match = known.get((id(part), number))
            if match is None:
                match = _Match(part, number, part.score_one(number, cutoff.query.weights))
            ranked.append((match, likeness, vector.fuse(match.points, likeness, documents)))
    if not any(
        vector.is_answer(likeness) or _is_answer(match, cutoff, best)
        for match, likeness, _ in ranked
    ):
        return
    most = vector.fuse(cutoff.query.most, 1.0, documents)
    top = max(points for _, _, points in ranked)
    for match, _, points in ranked:
        if points >= vector.beside * top:
            yield match.entry, _to_score(points / most), points


def _is_answer(match: _Match, cutoff: Cutoff, best: float) -> bool:
    if match.points <= 0 or match.points < cutoff.beside * best:
        return False
    has_term = partial(match.part.has_term, match.number)
    return cutoff.passes(match.entry, match.points, best, has_term, named=match.named)


def _to_score(share: float) -> float:
    return INEXACT * math.sqrt(min(max(share, 0.0), 1.0))
