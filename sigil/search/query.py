"""A query as the searched documents see it: what each term weighs, and what is too little to be an
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sigil.search.document import STRONGEST
from sigil.search.file_documents import Sealed
from sigil.search.group_documents import Shelf
from sigil.search.postings import rarity
from sigil.search.spelling import MOST, best
from sigil.search.words import Query

MOST_TERMS: Final = 64
MOST_UNKNOWN: Final = 8
NEIGHBOUR: Final = 0.5
"""What a word that only looks like the query's counts."""
SWAPPED: Final = 1.0
"""What the query's word counts with two letters in each other's place: hardly anybody writes a word
that nobody knows by that.
"""

# Points of score that the best document needs: FEWEST, and LEAST_SHARE of the most that the query
# could give. But ENOUGH is enough however long the query's payload is, and MOST_SHARE however
# common its few words are. Measured on MetaTool and Seal-Tools, together with BESIDE of `floor.py`:
# together they cost 0.4 and 0.1 points of recall@5 there.
FEWEST: Final = 4.5
LEAST_SHARE: Final = 0.02
ENOUGH: Final = 12.0
MOST_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True)
class Wanted:
    """Term → weight, and the score of a document that had every term at its strongest."""

    weights: Mapping[str, float]
    most: float

    @property
    def floor(self) -> float:
        return min(max(FEWEST, LEAST_SHARE * self.most), ENOUGH, MOST_SHARE * self.most)

    def covered(self, terms: Iterable[str]) -> float:
        """The share of what the query's words weigh, unknown ones too, that a document with these
        terms has; its repetitions apart.
        """
        return (
            sum(self.weights.get(term, 0.0) for term in terms) * STRONGEST / self.most
            if self.most
            else 0.0
        )

    def share(self, score: float) -> float:
        return score / self.most if self.most else 0.0


Part = Sealed | Shelf
"""Where documents are: in a file, or come since."""


def weigh(query: Query, parts: Sequence[Part]) -> Wanted:
    """Counts only what stands in these parts, as if there were no other documents."""
    documents = sum(map(len, parts))
    holders = {term: _holders(term, parts) for term in query.weights}
    known = {
        term: weight * rarity(holders[term], documents)
        for term, weight in query.weights.items()
        if holders[term]
    }
    unknown = [term for term in query.weights if not holders[term] and term not in query.optional]
    most = sum(known.values()) + rarity(0, documents) * sum(query.weights[term] for term in unknown)
    for term in unknown[:MOST_UNKNOWN]:
        for other, counts in _meant(term, query, parts):
            weight = counts * query.weights[term] * rarity(_holders(other, parts), documents)
            known[other] = known.get(other, 0.0) + weight
    rarest = sorted(known.items(), key=lambda item: (-item[1], item[0]))
    return Wanted(dict(rarest[:MOST_TERMS]), STRONGEST * most)


def _meant(term: str, query: Query, parts: Sequence[Part]) -> list[tuple[str, float]]:
    """The words that an unknown one may have been meant to be, and what each counts."""
    swapped = [
        (other, SWAPPED) for other in dict.fromkeys(query.swapped(term)) if _holders(other, parts)
    ]
    near = (
        []
        if swapped
        else best([candidate for part in parts for candidate in part.neighbours(term)])
    )
    return swapped[:MOST] or [(other, NEIGHBOUR) for other in near]


def _holders(term: str, parts: Sequence[Part]) -> int:
    return sum(part.holders(term) for part in parts)
