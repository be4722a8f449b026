"""The best documents for weighted terms, without adding up those that cannot be among them
(MaxScore).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from sigil.search.postings import Posting

LOOKUP: Final = 12
"""Entries of a posting that are read in the time of one lookup in it."""
SLACK: Final = 1 - 1e-9
"""Keeps what only rounding puts below a bound."""


@dataclass(frozen=True, slots=True)
class Weighted:
    """A term that is looked for."""

    weight: float
    term: str
    posting: Posting


def rank(
    terms: Sequence[Weighted], count: int, share: float, gone: Collection[int] = ()
) -> dict[int, float]:
    """Document → score for at least the best `count` documents (with all that tie) that reach
    `share` of the best score.

    Others may be in it too, those of `gone` never; every score in it is complete, and added up in
    an order that only the terms decide.
    """
    ordered = _ordered(terms)
    rest = _rest(ordered)
    scores: dict[int, float] = {}
    closed = False
    for term, ahead in zip(ordered, rest, strict=True):
        if closed:
            _add_known(scores, term)
        else:
            _add_all(scores, term)
            for number in gone:
                scores.pop(number, None)
        bound = _bound(scores, count, share, ahead, closed)
        if bound > ahead:
            closed = True
            floor = (bound - ahead) * SLACK
            scores = {number: score for number, score in scores.items() if score >= floor}
    return scores


def score_of(terms: Sequence[Weighted], number: int) -> float:
    """One document's score, to the last bit the one that `rank` gives."""
    return sum((term.weight * term.posting.strength(number) for term in _ordered(terms)), 0.0)


def _ordered(terms: Sequence[Weighted]) -> list[Weighted]:
    return sorted(terms, key=lambda term: (-term.weight, term.term))


def _rest(ordered: Sequence[Weighted]) -> list[float]:
    """For each term, what all terms after it can add at most."""
    bounds = accumulate(
        (term.weight * term.posting.strongest for term in reversed(ordered[1:])), initial=0.0
    )
    return list(bounds)[::-1] if ordered else []


def _bound(scores: dict[int, float], count: int, share: float, ahead: float, closed: bool) -> float:
    """What a document must reach in the end, as far as is known by now; 0 where finding it out
    cannot pay yet.
    """
    if not scores:
        return 0.0
    best = max(scores.values())
    if not closed and best <= ahead:
        return 0.0
    kth = heapq.nlargest(count, scores.values())[-1] if len(scores) >= count else 0.0
    return max(kth, best * share)


def _add_all(scores: dict[int, float], term: Weighted) -> None:
    weight, posting = term.weight, term.posting
    if not scores:
        scores.update(zip(posting.numbers, map(weight.__mul__, posting.strengths), strict=True))
        return
    get = scores.get
    for number, strength in zip(posting.numbers, posting.strengths, strict=True):
        scores[number] = get(number, 0.0) + weight * strength


def _add_known(scores: dict[int, float], term: Weighted) -> None:
    weight, posting = term.weight, term.posting
    if len(scores) * LOOKUP < len(posting):
        for number in scores:
            scores[number] += weight * posting.strength(number)
        return
    for number, strength in zip(posting.numbers, posting.strengths, strict=True):
        if number in scores:
            scores[number] += weight * strength
