"""Chunks are ranked by the words that a question and they have, over postings kept elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from sigil.search.chunks import CORRECTIONS_MOST, STRENGTH_BITS, ChunkRanker
from tests.tables import each_row

RANKER = ChunkRanker()
TEXTS = (
    ("Refunds", (), "Whoever brings goods back within 30 days gets the money back."),
    ("Holidays", ("Handbook",), "Everybody has 28 days of vacation a year."),
    ("Tea", (), "Green tea is brewed at seventy degrees, and kept dry."),
    ("退货", (), "商品在三十天内可以退货，需要出示收据。"),
    ("Urlaub", (), "Jeder hat 28 Tage Urlaub, und Überstunden werden bezahlt."),
)


def post(texts: Sequence[tuple[str, Sequence[str], str]]) -> dict[str, list[int]]:
    entries: dict[str, list[int]] = {}
    for number, (title, headings, text) in enumerate(texts):
        for term, strength in RANKER.list_strengths(title, headings, (), text).items():
            entries.setdefault(term, []).append(number << STRENGTH_BITS | strength)
    return entries


POSTINGS = post(TEXTS)


def rank(question: str, count: int = 5) -> list[int]:
    def find(terms: Collection[str]) -> Mapping[str, Sequence[int]]:
        return {term: POSTINGS[term] for term in terms if term in POSTINGS}

    return [number for number, _ in RANKER.rank(question, len(TEXTS), find, count)]


@each_row(
    ("question", "number"),
    [
        ("can I bring the goods back", 0),
        ("how many vacation days do we have", 1),
        ("what does the handbook say about vacation", 1),
        ("temperature of green tea", 2),
        ("graen tea", 2),
        ("没有收据可以退货吗", 3),
        ("Wie viele Tage Urlaub habe ich?", 4),
    ],
)
def test_the_chunk_that_says_most_of_the_question_is_first(question: str, number: int) -> None:
    assert rank(question)[0] == number


@pytest.mark.parametrize("question", ["", "the of", "platinum price", "火星"])
def test_a_question_of_which_nothing_speaks_finds_nothing(question: str) -> None:
    assert rank(question) == []


def test_a_word_in_the_title_counts_more_than_one_in_the_text() -> None:
    in_title = RANKER.list_strengths("Refunds", (), (), "Nothing else.")
    in_text = RANKER.list_strengths("Nothing", (), (), "Refunds and more besides.")
    assert in_title["refund"] > in_text["refund"]
    assert all(0 < strength < 1 << STRENGTH_BITS for strength in in_title.values())


def test_a_word_of_grammar_leads_nowhere() -> None:
    assert RANKER.list_strengths("The", (), (), "of and the 的").keys() <= {"的"}


def test_no_more_than_the_asked_number_is_given() -> None:
    assert len(rank("days 28", 1)) == 1


def test_a_long_question_of_unknown_words_looks_few_of_them_up() -> None:
    asked: list[int] = []

    def find(terms: Collection[str]) -> Mapping[str, Sequence[int]]:
        asked.append(len(terms))
        return {}

    question = " ".join(f"überunwahrscheinlich{letter}wort" for letter in "abcdefghij" * 30)
    assert RANKER.rank(f"wie ist das {question}", 10, find, 5) == []
    assert len(asked) <= 2
    assert asked[-1] <= CORRECTIONS_MOST
