"""Tables as columns of text, for platforms without tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MOST_CHARACTERS = 12_000
"""Padding may not blow a table up beyond this; a larger one is written without columns."""


def grid(rows: Sequence[Sequence[str]], aligns: Sequence[str]) -> str:
    """Return the table as lines, a rule under its first row. `aligns`: `left`, `right`, `center` or
    nothing, one a column.
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    if (sum(widths) + 3 * len(widths)) * (len(rows) + 1) > MOST_CHARACTERS:
        return "\n".join(" | ".join(row).rstrip() for row in rows)
    lines = [" | ".join(map(_pad, row, widths, aligns)).rstrip() for row in rows]
    return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def _width(text: str) -> int:
    """Return the columns that `text` takes in a fixed-width font: wide characters two, combining
    ones none.
    """
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _pad(text: str, width: int, align: str) -> str:
    room = width - _width(text)
    left = {"right": room, "center": room // 2}.get(align, 0)
    return " " * left + text + " " * (room - left)
