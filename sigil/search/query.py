"""A query: its terms, and what each of them weighs among the documents that are searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from sigil.search.dense import QueryVector
from sigil.search.document import STRONGEST
from sigil.search.inflection import list_forms, split_compound
from sigil.search.postings import rarity
from sigil.search.spelling import MOST_SIMILAR, most_similar
from sigil.search.words import QUERY_LIMIT, QueryTerms, Tokenizer, normalize_phrase, swap_letters

TOOL_PREFIX: Final = "cap_"
MOST_TERMS: Final = 64
MOST_UNKNOWN: Final = 8
SIMILAR_WEIGHT: Final = 0.5
"""What a word counts that only looks like the query's."""
FORM_WEIGHT: Final = 1.0
"""What another form of the query's word counts, in German, French and Spanish."""
COMPOUND_WEIGHT: Final = 0.6
"""What a part of a German compound counts."""
SWAPPED_WEIGHT: Final = 1.0
"""What the query's word counts with two letters in each other's place: hardly anybody writes a word
that nobody knows by that.
"""

# Points of score that the best document needs: FEWEST, FEWEST_RARE times the rarity of a word that
# one document has, which grows with their number, and LEAST_SHARE of the most that the query could
# give. But ENOUGH is enough however long the query's payload is, and MOST_SHARE however common its
# few words are. Measured on MetaTool and Seal-Tools, together with BESIDE of `matching.py`.
FEWEST: Final = 3.3
FEWEST_RARE: Final = 0.8
LEAST_SHARE: Final = 0.02
ENOUGH: Final = 12.0
MOST_SHARE: Final = 0.2


class Vocabulary(Protocol):
    """The terms of some documents."""

    def __len__(self) -> int:
        """Return the number of the documents."""

    def count_holders(self, term: str) -> int:
        """Return how many of them have a term."""

    def similar_words(self, term: str) -> list[tuple[float, str]]:
        """Return the terms that look like one, each with how much."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query as it is read: its terms, itself as a phrase, and as a tool's name; its vector where
    meaning counts.

    `exploring`: it is no question, but a place to look around. `asks_nothing`: it is small talk, or
    a number alone, which finds nothing but what is called so.
    """

    terms: QueryTerms
    phrase: str
    tool_name: str
    vector: QueryVector | None = None
    exploring: bool = False
    asks_nothing: bool = False

    @classmethod
    def read(cls, text: str, tokenizer: Tokenizer, vector: QueryVector | None = None) -> Query:
        """Read the first `QUERY_LIMIT` characters of a text."""
        from sigil.search.small_talk import is_small_talk  # a start searches for nothing

        text = text[:QUERY_LIMIT]
        return cls(
            tokenizer.query_terms(text),
            normalize_phrase(text),
            normalize_phrase(text.strip().removeprefix(TOOL_PREFIX)),
            vector,
            asks_nothing=is_small_talk(text),
        )


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """Term → weight, the score of a document that had every term at its strongest, the rarity of a
    word that one document has, and the terms that are the query's own or surely meant by it.
    """

    weights: Mapping[str, float]
    most: float
    rarest: float
    sure: frozenset[str]

    @property
    def least_points(self) -> float:
        """The points that the best document needs to be an answer."""
        least = max(FEWEST, FEWEST_RARE * self.rarest, LEAST_SHARE * self.most)
        return min(least, ENOUGH, MOST_SHARE * self.most)

    def measure_coverage(self, has_term: Callable[[str], bool]) -> float:
        """Return the share of the weight of the query's words, unknown ones too, that a document
        has; its repetitions do not count.
        """
        if not self.most:
            return 0.0
        weight = math.fsum(weight for term, weight in self.weights.items() if has_term(term))
        return min(weight * STRONGEST / self.most, 1.0)

    def share_of_most(self, score: float) -> float:
        """Return the share that a score has of the most that the query could give."""
        return score / self.most if self.most else 0.0


def weigh_terms(query: QueryTerms, parts: Sequence[Vocabulary]) -> QueryWeights:
    """Weigh the terms of a query as if there were no other documents than those of `parts`."""
    documents = sum(map(len, parts))
    holders = {term: _count_holders(term, parts) for term in query.weights}
    known = {
        term: weight * rarity(holders[term], documents)
        for term, weight in query.weights.items()
        if holders[term]
    }
    unknown = [term for term in query.weights if not holders[term] and term not in query.optional]
    asked = [weight for term, weight in known.items() if term not in query.payload]
    most = sum(asked or known.values())
    most += rarity(0, documents) * sum(query.weights[term] for term in unknown)
    sure = set(query.weights)
    for term in unknown[:MOST_UNKNOWN]:
        for other, counts in _find_corrections(term, query.language, parts):
            weight = counts * query.weights[term] * rarity(_count_holders(other, parts), documents)
            known[other] = known.get(other, 0.0) + weight
            if counts > SIMILAR_WEIGHT:
                sure.add(other)
    rarest = sorted(known.items(), key=lambda item: (-item[1], item[0]))
    weights = dict(rarest[:MOST_TERMS])
    return QueryWeights(weights, STRONGEST * most, rarity(1, documents), frozenset(sure))


def _find_corrections(
    term: str, language: str, parts: Sequence[Vocabulary]
) -> list[tuple[str, float]]:
    """Return the words that an unknown one may have been meant to be, with what each counts."""

    def is_known(word: str) -> bool:
        return _count_holders(word, parts) > 0

    forms = list(filter(is_known, list_forms(term, language)))
    if forms:
        return [(word, FORM_WEIGHT) for word in forms[:MOST_SIMILAR]]
    swapped = list(filter(is_known, dict.fromkeys(swap_letters(term))))
    if swapped:
        return [(word, SWAPPED_WEIGHT) for word in swapped[:MOST_SIMILAR]]
    if language == "de":
        compounded = split_compound(term, is_known)
        if compounded:
            return [(word, COMPOUND_WEIGHT) for word in compounded]
    candidates = [candidate for part in parts for candidate in part.similar_words(term)]
    return [(word, SIMILAR_WEIGHT) for word in most_similar(candidates)]


def _count_holders(term: str, parts: Sequence[Vocabulary]) -> int:
    return sum(part.count_holders(term) for part in parts)
