"""Chunks of documents are found as capabilities are, by the same terms, weights and ranking; their
postings are kept by the caller.

An entry of a posting is one number: that of the chunk, and behind it 16 bits for the strength that
the term has there.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from sigil.search.document import Field, saturate, sum_fields
from sigil.search.inflection import list_forms
from sigil.search.postings import UNIT, Posting
from sigil.search.query import MOST_UNKNOWN, QueryWeights, weigh_terms
from sigil.search.ranking import rank, weigh_postings
from sigil.search.words import IS_UNSPACED, QueryTerms, Tokenizer, swap_letters

TITLE: Final = Field(2.1, 0.5, 3)
HEADINGS: Final = Field(0.8, 0.5, 8)
TAGS: Final = Field(0.5, 0.3, 3)
TEXT: Final = Field(1.0, 0.5, 120)
FEWEST_WORDS: Final = 30
"""A shorter chunk gains nothing by that."""
UNSPACED_SHARE: Final = 0.3
"""The part of a word that a term is where no spaces are written: each character is in three."""
STRENGTH_BITS: Final = 16
_STRENGTHS: Final = (1 << STRENGTH_BITS) - 1
CORRECTIONS_MOST: Final = 64
"""So many words are looked up that unknown ones may have been meant to be."""
BESIDE: Final = 0.3
"""The share of the best chunk's points that any other needs."""
LEAST: Final = 0.5
"""The share of the points of a capability's answer that the best chunk needs: a chunk is longer
than what is said of a capability, so that each of its words counts less.
"""
COVERED: Final = 0.5
"""The share of a question that answers it, whatever the points."""

FindEntries = Callable[[Collection[str]], Mapping[str, Sequence[int]]]
"""Terms → the entries of those that some chunk has."""


class ChunkRanker:
    """Reads the terms of chunks and ranks those that a question asks for. Any number of threads may
    use it.
    """

    def __init__(self) -> None:
        self._tokenizer = Tokenizer()

    def list_strengths(
        self, title: str, headings: Sequence[str], tags: Sequence[str], text: str
    ) -> dict[str, int]:
        """Return term → its strength in a chunk, without terms that no question looks for."""
        read = self._tokenizer.terms
        fields = ((TITLE, title), (HEADINGS, "\n".join(headings)), (TAGS, "\n".join(tags)))
        found = sum_fields(fields, read)
        words = read(text)
        length = sum(UNSPACED_SHARE if IS_UNSPACED(word) else 1.0 for word in words)
        each = TEXT.per_word(max(length, FEWEST_WORDS))
        for word in words:
            found[word] = found.get(word, 0.0) + each
        return {
            term: max(round(strength * UNIT), 1)
            for term, strength in saturate(found).items()
            if not self._tokenizer.is_stop_word(term)
        }

    def rank(
        self, question: str, chunks: int, find: FindEntries, count: int
    ) -> list[tuple[int, float]]:
        """Return the numbers of at most `count` of so many `chunks`, the best first, each with its
        score from 0 to 1; none where nothing answers the question.
        """
        asked = self._tokenizer.query_terms(question)
        known = _StoredTerms(max(chunks, 1), find)
        known.load(asked.weights)
        known.load(islice(_list_corrections(asked, known), CORRECTIONS_MOST))
        weights = weigh_terms(asked, [known])
        terms = weigh_postings(weights.weights, known.get_posting)
        points = rank(terms, count, BESIDE)
        best = max(points.values(), default=0.0)
        ordered = sorted(points.items(), key=lambda pair: (-pair[1], pair[0]))[:count]
        if not ordered or not _is_answer(weights, known, ordered[0]):
            return []
        return [
            (number, round(max(weights.share_of_most(score), 0.0) ** 0.5, 3))
            for number, score in ordered
            if score >= best * BESIDE
        ]


class _StoredTerms:
    """The terms of the chunks that were looked up, as a `Vocabulary`."""

    def __init__(self, chunks: int, find: FindEntries) -> None:
        self._chunks = chunks
        self._find = find
        self._postings: dict[str, Posting] = {}

    def __len__(self) -> int:
        return self._chunks

    def load(self, terms: Collection[str] | Iterator[str]) -> None:
        wanted = [term for term in dict.fromkeys(terms) if term not in self._postings]
        if wanted:
            for term, entries in self._find(wanted).items():
                self._postings[term] = _make_posting(entries)

    def count_holders(self, term: str) -> int:
        return min(len(self._postings.get(term) or ()), self._chunks)

    def similar_words(self, term: str) -> list[tuple[float, str]]:
        return []

    def get_posting(self, term: str) -> Posting | None:
        return self._postings.get(term)


def _make_posting(entries: Sequence[int]) -> Posting:
    ordered = sorted(entries)
    numbers = array("Q", [entry >> STRENGTH_BITS for entry in ordered])
    strengths = array("H", [entry & _STRENGTHS for entry in ordered])
    return Posting(numbers, strengths, max(strengths, default=0))


def _list_corrections(asked: QueryTerms, known: _StoredTerms) -> Iterator[str]:
    """Yield the words that the unknown ones of a question may have been meant to be."""
    unknown = [
        term
        for term in asked.weights
        if not known.count_holders(term) and term not in asked.optional
    ]
    for term in unknown[:MOST_UNKNOWN]:
        yield from list_forms(term, asked.language)
        yield from swap_letters(term)


def _is_answer(weights: QueryWeights, known: _StoredTerms, best: tuple[int, float]) -> bool:
    """Return whether the best chunk says enough of what was asked for."""
    number, points = best

    def has_term(term: str) -> bool:
        posting = known.get_posting(term)
        return posting is not None and posting.strength(number) > 0

    return points >= weights.least_points * LEAST or weights.measure_coverage(has_term) >= COVERED
