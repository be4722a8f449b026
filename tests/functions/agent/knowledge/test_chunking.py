"""A text is cut into chunks that together are the text, each with its headings and lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.agent.knowledge.chunking import SIZE, measure, split_text
from tests.functions.agent.knowledge.documents import HANDBOOK

PARAGRAPH = "The money comes the way it was paid, within a week after the goods have arrived. " * 5


def join(text: str) -> str:
    return "".join(chunk.text for chunk in split_text(text))


def test_a_chunk_has_the_headings_above_it_and_its_lines() -> None:
    first, second = split_text(HANDBOOK)
    assert first.headings == ("Handbook",)
    assert (first.first, first.last) == (1, 11)
    assert second.headings == ("Handbook", "Holidays")
    assert second.text.startswith("## Holidays\n")
    assert HANDBOOK.splitlines()[second.first - 1] == "## Holidays"
    assert second.last == len(HANDBOOK.splitlines())
    assert second.place == "Handbook > Holidays, lines 12-16"


def test_a_heading_of_a_level_ends_those_below_it() -> None:
    levels = (("a", 1), ("b", 2), ("c", 3), ("d", 2))
    text = "".join(f"{'#' * level} {name}\n\n{PARAGRAPH}\n\n" for name, level in levels)
    paths = [chunk.headings for chunk in split_text(text)]
    assert paths == [("a",), ("a", "b"), ("a", "b", "c"), ("a", "d")]


def test_underlined_headings_count_and_comments_in_code_do_not() -> None:
    text = f"Refunds\n=======\n\n{PARAGRAPH}\n\n```sh\n# no heading\n```\n\nOther\n-----\n{PARAGRAPH}\n"
    assert [chunk.headings for chunk in split_text(text)] == [("Refunds",), ("Refunds", "Other")]


def test_a_long_paragraph_is_cut_at_the_end_of_a_sentence() -> None:
    chunks = split_text(PARAGRAPH * 10)
    assert len(chunks) > 2
    assert all(chunk.text.rstrip().endswith(".") for chunk in chunks)
    assert {(chunk.first, chunk.last) for chunk in chunks} == {(1, 1)}


def test_wide_characters_make_shorter_chunks() -> None:
    chunks = split_text("商品在三十天内可以退货。" * 200)
    assert max(len(chunk.text) for chunk in chunks) <= SIZE / 2.5
    assert all(chunk.text.endswith("。") for chunk in chunks)


def test_a_text_without_any_place_to_cut_is_cut_all_the_same() -> None:
    assert join("x" * 5_000) == "x" * 5_000
    assert len(split_text("x" * 5_000)) == 5


@given(
    st.lists(
        st.sampled_from(
            (
                "# a\n",
                "## b\n",
                "\n",
                "```\n",
                "~~~\n",
                "----\n",
                "===\n",
                "word " * 60 + "\n",
                "x" * 700,
                "退货。" * 300,
                "- item\n",
                "\n\n\n",
                "a\n",
            )
        ),
        max_size=40,
    )
)
def test_the_chunks_of_any_text_are_the_text_and_none_is_too_long(parts: list[str]) -> None:
    text = "".join(parts)
    chunks = split_text(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(measure(chunk.text) <= SIZE for chunk in chunks)
    lines = text.split("\n")
    for chunk in chunks:
        assert chunk.first <= chunk.last <= max(len(lines), 1)
        assert lines[chunk.first - 1].endswith(chunk.text.partition("\n")[0]) or (
            chunk.text.partition("\n")[0] in lines[chunk.first - 1]
        )


@pytest.mark.parametrize("text", ["", "\n", "word"])
def test_a_short_text_is_one_chunk(text: str) -> None:
    assert join(text) == text
    assert len(split_text(text)) == 1
