"""What a query finds: its descriptions with and without examples, and the hits near the best."""

from __future__ import annotations

from sigil.protocol import (
    DESCRIPTION_MOST,
    Found,
    Hit,
    Offer,
    WeakHit,
    add_examples,
    remove_examples,
)
from tests.tables import each_row


@each_row(
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


def hit(name: str, score: float) -> Hit:
    return Hit(
        Offer(name, 1, f"sha256:{name}", f"Do {name}. Example: x.", {}), score, f"Do {name}."
    )


@each_row(
    ("scores", "kept"),
    [
        ({}, ""),
        ({"a": 0.2}, "a"),
        ({"a": 0.49, "b": 0.4, "c": 0.3}, "a b c"),
        ({"a": 0.5, "b": 0.4, "c": 0.39}, "a b"),
        ({"a": 1.0, "b": 0.98, "c": 0.79}, "a b"),
        ({"a": 0.6, "others-b": 0.9, "others-c": 0.7}, "a others-b"),
    ],
)
def test_a_hit_far_below_the_best_before_it_is_only_named(
    scores: dict[str, float], kept: str
) -> None:
    before = WeakHit("z", "Do z.")
    found = Found(tuple(hit(*each) for each in scores.items()), 7, (before,)).keep_near()

    left = [each.offer.name for each in found.hits]
    assert left == kept.split()
    named = [WeakHit(name, f"Do {name}.") for name in scores if name not in left]
    assert found.weak == (*named, before)
    assert found.total == 7
