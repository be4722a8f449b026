"""Which of many to show when somebody looks around: what is relevant and unlike the rest (maximal
marginal relevance, Carbonell 1998).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sigil.search.document import Hit

RELEVANCE: Final = 0.7
"""The share of relevance in what decides; the rest is how little a document repeats those above it.
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be shown: how well it answers (all alike where nothing was asked), and
    what its terms weigh.
    """

    ref: str
    score: float
    terms: Mapping[str, float]


def diverse(candidates: Sequence[Candidate], limit: int) -> list[Hit]:
    """At most `limit` of the candidates: first the first of the best, then again and again what
    adds most to those above it.

    The score that is shown is its own; where all are alike, it is how much of it those above did
    not have.
    """
    lengths = [
        math.sqrt(sum(weight * weight for weight in each.terms.values())) or 1.0
        for each in candidates
    ]
    likeness = [0.0] * len(candidates)
    left = list(range(len(candidates)))
    asked = len({each.score for each in candidates}) > 1
    chosen: list[Hit] = []
    while left and len(chosen) < limit:
        best = max(
            left,
            key=lambda place: (
                RELEVANCE * candidates[place].score - (1 - RELEVANCE) * likeness[place],
                -place,
            ),
        )
        left.remove(best)
        own = candidates[best]
        chosen.append(
            Hit(own.ref, round(own.score if asked else own.score * (1 - likeness[best]), 3))
        )
        for place in left:
            alike = _product(own.terms, candidates[place].terms) / (lengths[best] * lengths[place])
            likeness[place] = min(max(likeness[place], alike), 1.0)
    return chosen


def _product(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return sum(one[term] * other[term] for term in one.keys() & other.keys())
