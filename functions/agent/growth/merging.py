"""Merging brings two changes of one text together, where they are about different lines."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final

LINES_MOST: Final = 600
"""Longer texts are not merged: hostile ones make the comparison quadratic."""
Edit = tuple[int, int, list[str]]
"""The lines of a text from one number to another, and what replaces them."""


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with the changes of both since `base`; None where they change the same lines,
    or lines side by side.
    """
    before = base.splitlines()
    if max(len(each.splitlines()) for each in (base, ours, theirs)) > LINES_MOST:
        return None
    edits = sorted([*_list_edits(before, ours), *_list_edits(before, theirs)])
    merged: list[str] = []
    place = 0
    last: Edit | None = None
    for start, end, lines in edits:
        if (start, end, lines) == last:
            continue  # both have made it
        if last and start <= last[1]:
            return None
        merged += [*before[place:start], *lines]
        place = end
        last = (start, end, lines)
    return "\n".join([*merged, *before[place:]])


def _list_edits(before: list[str], text: str) -> Iterator[Edit]:
    after = text.splitlines()
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag != "equal":
            yield start, end, after[first:last]
