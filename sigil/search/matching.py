"""Which documents answer a query, and how well: what is called so, what the words lead to, and what
they mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from sigil.search.cutoff import Floor
from sigil.search.dense import Meaning
from sigil.search.entries import Entry
from sigil.search.query import Part, weigh
from sigil.search.stopwords import STOP_WORDS
from sigil.search.words import QUERY_LIMIT, Query, Words, phrase, spans

TOOL_PREFIX: Final = "cap_"
EXACT_NAME: Final = 1.0
EXACT_ALIAS: Final = 0.99
INEXACT: Final = 0.98
SAID: Final = 1.25
"""The points of a document count so much more when one of its aliases stands in the query."""

Scored = tuple[Entry, float, float]
"""An entry, the score that is shown, and the points that decide between equals."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is read: its terms, itself as a phrase, and as a tool's name; what it means,
    where that is asked.

    `around`: it is no question, but a place to look around.
    """

    query: Query
    said: str
    tool: str
    meaning: Meaning | None = None
    around: bool = False

    @classmethod
    def of(cls, text: str, words: Words, meaning: Meaning | None = None) -> Asked:
        text = text[:QUERY_LIMIT]
        return cls(
            words.query(text), phrase(text), phrase(text.strip().removeprefix(TOOL_PREFIX)), meaning
        )


@dataclass(frozen=True, slots=True)
class _Found:
    part: Part
    number: int
    points: float
    said: bool = False
    near: float = 0.0


def answers(asked: Asked, parts: list[Part], words: Words, limit: int) -> list[Scored]:
    """At most `limit` documents of these parts, the best first; equal ones stand in the order of
    their names.
    """
    if limit < 1:
        return []
    wanted = weigh(asked.query, parts)
    floor = Floor(
        wanted,
        asked.said,
        asked.query.weights.keys() | wanted.weights.keys(),
        words.content,
        asked.around,
    )
    scored = {
        entry.ref: (entry, score, points)
        for entry, score, points in _inexact(asked, parts, floor, limit)
    }
    scored |= {
        entry.ref: (entry, score, points) for entry, score, points in _exact(asked, parts, floor)
    }
    return sorted(scored.values(), key=_order)[:limit]


def _inexact(asked: Asked, parts: list[Part], floor: Floor, limit: int) -> Iterator[Scored]:
    found = _by_words(asked, parts, floor, limit)
    best = max((each.points for each in found), default=0.0)
    if asked.meaning:
        yield from _fused(asked.meaning, found, (parts, floor), best)
        return
    for each in found:
        if _answers(each, floor, best):
            yield each.part.entry(each.number), _shown(floor.wanted.share(each.points)), each.points


def _by_words(asked: Asked, parts: list[Part], floor: Floor, limit: int) -> list[_Found]:
    weights = floor.wanted.weights
    found = {
        (id(part), number): _Found(part, number, points)
        for part in parts
        for number, points in part.ranked(weights, limit, floor.beside)
    }
    for said in dict.fromkeys(spans(asked.said, STOP_WORDS)):
        for part in parts:
            for number, points in part.called(said, weights):
                if part.entry(number).aliases:
                    found[id(part), number] = _Found(part, number, points * SAID, said=True)
    return list(found.values())


def _fused(
    meaning: Meaning, found: list[_Found], given: tuple[list[Part], Floor], best: float
) -> Iterator[Scored]:
    """What the words found, and what means the same, by both; nothing where neither leads to an
    answer.
    """
    parts, floor = given
    documents = sum(map(len, parts))
    near = _near(meaning, found, parts, floor)
    ranked = [
        (each, likeness, meaning.fused(each.points, likeness, documents)) for each, likeness in near
    ]
    most, top = (
        meaning.fused(floor.wanted.most, 1.0, documents),
        max((points for _, _, points in ranked), default=0.0),
    )
    if any(meaning.passes(likeness) or _answers(each, floor, best) for each, likeness, _ in ranked):
        beside = ((each, points) for each, _, points in ranked if points >= meaning.beside * top)
        yield from (
            (each.part.entry(each.number), _shown(points / most), points) for each, points in beside
        )


def _near(
    meaning: Meaning, found: list[_Found], parts: list[Part], floor: Floor
) -> Iterator[tuple[_Found, float]]:
    known = {(id(each.part), each.number): each for each in found}
    for part in parts:
        for number, likeness in meaning.near(
            part, [number for place, number in known if place == id(part)]
        ).items():
            yield (
                known.get((id(part), number))
                or _Found(part, number, part.points(number, floor.wanted.weights)),
                likeness,
            )


def _answers(each: _Found, floor: Floor, best: float) -> bool:
    if each.points < floor.beside * best:
        return False
    terms = partial(each.part.terms, each.number)
    return each.said or floor.passes(each.part.entry(each.number), each.points, best, terms)


def _exact(asked: Asked, parts: list[Part], floor: Floor) -> Iterator[Scored]:
    for part in parts:
        for said in {asked.said, asked.tool} - {""}:
            for number, points in part.called(said, floor.wanted.weights):
                entry = part.entry(number)
                yield entry, EXACT_NAME if entry.is_named(said) else EXACT_ALIAS, points


def _shown(share: float) -> float:
    return INEXACT * math.sqrt(min(max(share, 0.0), 1.0))


def _order(scored: Scored) -> tuple[float, float, str, str]:
    entry, score, points = scored
    return -score, -points, entry.name, entry.ref
