"""The difference of two texts, in the unified form that `diff -u` writes, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LINES_MOST: Final = 200
LINE_CHARACTERS: Final = 500
COMPARED_MOST: Final = 600
"""Two texts are compared line by line where so many lines of each differ at most; of longer ones,
it is only told that they were replaced. Hostile texts make the comparison quadratic.
"""
CONTEXT: Final = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed between two texts: how many lines came and went, and the lines of the diff, of
    which there may be `left_out` more.
    """

    added: int = 0
    removed: int = 0
    lines: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def text(self) -> str:
        """Return the lines as one text."""
        more = [f"[… {self.left_out:,} more lines …]"] if self.left_out else []
        return "\n".join([*self.lines, *more])


def compare_texts(before: str, after: str, first: str, second: str) -> Difference:
    """Return what changed from one text to another; `first` and `second` name them."""
    # a turn that compares nothing need not load it
    from difflib import unified_diff

    old = before.splitlines()
    new = after.splitlines()
    if old == new:
        return Difference()
    head = _count_equal(old, new)
    tail = _count_equal(old[head:][::-1], new[head:][::-1])
    gone = old[head : len(old) - tail]
    come = new[head : len(new) - tail]
    if max(len(gone), len(come)) > COMPARED_MOST:
        lines = [f"--- {first}", f"+++ {second}"]
        lines.append(f"@@ -{head + 1},{len(gone)} +{head + 1},{len(come)} @@")
        lines += [f"-{line}" for line in gone] + [f"+{line}" for line in come]
        return _bound(lines, len(come), len(gone))
    # the numbers of the lines count from the top, so some of what is equal goes along
    kept = max(head - CONTEXT, 0)
    stop = max(tail - CONTEXT, 0)
    part_old = old[kept : len(old) - stop]
    part_new = new[kept : len(new) - stop]
    lines = list(unified_diff(part_old, part_new, first, second, n=CONTEXT, lineterm=""))
    lines = [_shift_hunk(line, kept) if line.startswith("@@ ") else line for line in lines]
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    return _bound(lines, added, removed)


def _count_equal(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many lines two lists begin with alike."""
    count = 0
    for before, after in zip(old, new, strict=False):
        if before != after:
            break
        count += 1
    return count


def _shift_hunk(line: str, by: int) -> str:
    """Return the head of a hunk with its line numbers counted from the top of the whole texts."""
    _, old, new, _ = line.split(" ")
    return f"@@ {_shift_range(old, by)} {_shift_range(new, by)} @@"


def _shift_range(place: str, by: int) -> str:
    start, mark, count = place[1:].partition(",")
    return f"{place[0]}{int(start) + by}{mark}{count}"


def _bound(lines: Sequence[str], added: int, removed: int) -> Difference:
    shown = []
    for line in lines[:LINES_MOST]:
        more = len(line) - LINE_CHARACTERS
        shown.append(line if more <= 0 else f"{line[:LINE_CHARACTERS]}[… {more:,} more …]")
    return Difference(added, removed, tuple(shown), max(len(lines) - LINES_MOST, 0))
