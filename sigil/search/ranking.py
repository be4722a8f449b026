"""Ranking finds the best documents for weighted terms without adding up those that cannot be among
them (MaxScore), and chooses among many those that are unlike each other.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from sigil.search.document import IndexHit
from sigil.search.postings import UNIT, Posting

LOOKUP: Final = 12
"""Entries of a posting that are read in the time of one lookup in it."""
SLACK: Final = 1 - 1e-9
"""Keeps what only rounding puts below a bound."""
RELEVANCE: Final = 0.7
"""The share of relevance in what decides who is shown; the rest is how little a document repeats
those above it.
"""


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A term that is looked for, with its weight in units of a posting's strength."""

    weight: float
    term: str
    posting: Posting


def weigh_postings(
    weights: Mapping[str, float], posting_of: Callable[[str], Posting | None]
) -> list[WeightedTerm]:
    """Return the terms that have a posting, weighted."""
    found: list[WeightedTerm] = []
    for term, weight in weights.items():
        posting = posting_of(term)
        if posting is not None:
            found.append(WeightedTerm(weight / UNIT, term, posting))
    return found


def rank(
    terms: Sequence[WeightedTerm], count: int, share: float, gone: Collection[int] = ()
) -> dict[int, float]:
    """Return document → score for at least the best `count` documents (with all that tie) that
    reach `share` of the best score.

    Others may be in it too, those of `gone` never; every score in it is complete, and added up in
    an order that only the terms decide.
    """
    ordered = _order_terms(terms)
    # for each term what all terms after it can add at most
    bounds = accumulate(
        (term.weight * term.posting.strongest for term in reversed(ordered[1:])), initial=0.0
    )
    rest = reversed(list(bounds))
    scores: dict[int, float] = {}
    closed = False
    for term, ahead in zip(ordered, rest, strict=bool(ordered)):
        if closed:
            _add_to_known(scores, term)
        else:
            _add_posting(scores, term)
            for number in gone:
                scores.pop(number, None)
        bound = _find_bound(scores, count, share, ahead, closed)
        if bound > ahead:
            closed = True
            floor = (bound - ahead) * SLACK
            scores = {number: score for number, score in scores.items() if score >= floor}
    return scores


def score_of(terms: Sequence[WeightedTerm], number: int) -> float:
    """Return one document's score, to the last bit the one that `rank` gives."""
    score = 0.0
    for term in _order_terms(terms):
        # one by one as `rank` does: since Python 3.12, sum() rounds less
        score += term.weight * term.posting.strength(number)
    return score


def _order_terms(terms: Sequence[WeightedTerm]) -> list[WeightedTerm]:
    return sorted(terms, key=lambda term: (-term.weight, term.term))


def _find_bound(
    scores: dict[int, float], count: int, share: float, ahead: float, closed: bool
) -> float:
    """Return the score that a document must reach in the end, as far as is known by now.

    It is 0 where finding it out cannot pay yet.
    """
    if not scores:
        return 0.0
    best = max(scores.values())
    if not closed and best <= ahead:
        return 0.0
    kth = heapq.nlargest(count, scores.values())[-1] if len(scores) >= count else 0.0
    return max(kth, best * share)


def _add_posting(scores: dict[int, float], term: WeightedTerm) -> None:
    """Add a term's strengths to the scores of all documents that have it."""
    weight = term.weight
    posting = term.posting
    if not scores:
        scores.update(zip(posting.numbers, map(weight.__mul__, posting.strengths), strict=True))
        return
    get = scores.get
    for number, strength in zip(posting.numbers, posting.strengths, strict=True):
        scores[number] = get(number, 0.0) + weight * strength


def _add_to_known(scores: dict[int, float], term: WeightedTerm) -> None:
    """Add a term's strengths to the documents that have a score already."""
    weight = term.weight
    posting = term.posting
    if len(scores) * LOOKUP < len(posting):
        for number in scores:
            scores[number] += weight * posting.strength(number)
        return
    for number, strength in zip(posting.numbers, posting.strengths, strict=True):
        if number in scores:
            scores[number] += weight * strength


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be shown: how well it answers (all alike where nothing was asked), and
    what its terms weigh.
    """

    ref: str
    score: float
    terms: Mapping[str, float]


def diversify(candidates: Sequence[Candidate], limit: int) -> list[IndexHit]:
    """Return at most `limit` of the candidates: first the first of the best, then again and again
    the one that adds most to those above it (maximal marginal relevance, Carbonell 1998).

    The score that is shown is its own; where all are alike, it is how much of it those above did
    not have.
    """
    lengths = [
        math.sqrt(sum(weight * weight for weight in each.terms.values())) or 1.0
        for each in candidates
    ]
    likeness = [0.0] * len(candidates)
    left = list(range(len(candidates)))
    scored = len({each.score for each in candidates}) > 1

    def adds(place: int) -> tuple[float, int]:
        repeats = (1 - RELEVANCE) * likeness[place]
        return RELEVANCE * candidates[place].score - repeats, -place

    chosen: list[IndexHit] = []
    while left and len(chosen) < limit:
        best = max(left, key=adds)
        left.remove(best)
        own = candidates[best]
        score = own.score if scored else own.score * (1 - likeness[best])
        chosen.append(IndexHit(own.ref, round(score, 3)))
        for place in left:
            other = candidates[place]
            shared = own.terms.keys() & other.terms.keys()
            product = sum(own.terms[term] * other.terms[term] for term in shared)
            alike = product / (lengths[best] * lengths[place])
            likeness[place] = min(max(likeness[place], alike), 1.0)
    return chosen
