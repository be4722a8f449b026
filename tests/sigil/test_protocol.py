"""What a registry and its callers exchange: descriptions with and without examples."""

from __future__ import annotations

import pytest

from sigil.protocol import DESCRIPTION_MOST, add_examples, remove_examples


@pytest.mark.parametrize(
    ("description", "examples"),
    [
        ("Give a text back.", ()),
        ("Give a text back.", ("say cheese",)),
        ("Give a text back.", ("say cheese", "say: 1. one. 2. two", "说芝士", "a fourth")),
        ("d" * 500, ("e" * 490,) * 3),
        ('Find a place.\n Example: [{"latitude": 37.7}]\n venue: what it is.', ()),
        ('Find a place.\n Example: [{"latitude": 37.7}]\n venue: what it is.', ("a café",)),
        ("Cut a text. Example: abc.", ("one", "two", "three")),
    ],
)
def test_what_is_added_below_a_description_is_removed_again(
    description: str, examples: tuple[str, ...]
) -> None:
    offered = add_examples(description, examples)

    assert remove_examples(offered) == description
    assert len(offered) <= DESCRIPTION_MOST
    assert offered.count(" Example: ") - description.count(" Example: ") == min(
        len(examples), 3 if len(description) < 500 else 1
    )
