"""Two changes of one text come together where they are about different lines."""

from __future__ import annotations

from functions.agent.growth.merging import merge_texts
from tests.tables import each_row

BASE = "a\nb\nc\nd\ne"


@each_row(
    ("ours", "theirs", "merged"),
    [
        (BASE, BASE, BASE),
        ("A\nb\nc\nd\ne", "a\nb\nc\nd\nE\nf", "A\nb\nc\nd\nE\nf"),
        ("b\nc\nd\ne", "a\nb\nc\nd\ne\nf", "b\nc\nd\ne\nf"),
        ("a\nB\nc\nd\ne", "a\nB\nc\nd\ne", "a\nB\nc\nd\ne"),
        ("a\nB\nc\nd\ne", "a\nx\nc\nd\ne", None),
        ("a\nB\nc\nd\ne", "a\nb\nC\nd\ne", None),
        (f"{BASE}\nf", f"{BASE}\ng", None),
        ("", f"{BASE}\ng", None),
        ("x\n" * 700, BASE, None),
    ],
)
def test_both_changes_are_kept_or_nobody_guesses(
    ours: str, theirs: str, merged: str | None
) -> None:
    assert merge_texts(BASE, ours, theirs) == merged
    assert merge_texts(BASE, theirs, ours) == merged
