"""A query as the searched documents see it: what each term weighs, and what is too little to be an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sigil.search.document import STRONGEST
from sigil.search.neighbours import best
from sigil.search.postings import rarity
from sigil.search.shelf import Shelf
from sigil.search.words import Query

MOST_TERMS: Final = 64
MOST_UNKNOWN: Final = 8
NEIGHBOUR: Final = 0.5
"""What a word that only looks like the query's counts."""

# Points of score that the best document needs: FEWEST, and LEAST_SHARE of the most that the query could give. But ENOUGH is
# enough however long the query's payload is, and MOST_SHARE however common its few words are. Measured on MetaTool and
# Seal-Tools, together with BESIDE of `index.py`: together they cost 0.4 and 0.1 points of recall@5 there.
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

    def share(self, score: float) -> float:
        return score / self.most if self.most else 0.0


def weigh(query: Query, shelves: Sequence[Shelf]) -> Wanted:
    """Counts only what stands on these shelves, as if there were no other documents."""
    documents = sum(map(len, shelves))
    holders = {term: _holders(term, shelves) for term in query.weights}
    known = {term: weight * rarity(holders[term], documents) for term, weight in query.weights.items() if holders[term]}
    unknown = [term for term in query.weights if not holders[term] and term not in query.optional]
    most = sum(known.values()) + rarity(0, documents) * sum(query.weights[term] for term in unknown)
    for term in unknown[:MOST_UNKNOWN]:
        for other in best([candidate for shelf in shelves for candidate in shelf.neighbours(term)]):
            weight = NEIGHBOUR * query.weights[term] * rarity(_holders(other, shelves), documents)
            known[other] = known.get(other, 0.0) + weight
    rarest = sorted(known.items(), key=lambda item: (-item[1], item[0]))
    return Wanted(dict(rarest[:MOST_TERMS]), STRONGEST * most)


def _holders(term: str, shelves: Sequence[Shelf]) -> int:
    return sum(len(posting) for shelf in shelves if (posting := shelf.posting(term)) is not None)
