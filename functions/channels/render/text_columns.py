"""Tables as columns of text, for platforms without tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

MOST_CHARACTERS = 12_000
"""Padding may not blow a table up beyond this; a larger one is written without columns."""


def format_table(rows: Sequence[Sequence[str]], aligns: Sequence[str]) -> str:
    """Return the table as lines, with a rule under its first row.

    `aligns`: `left`, `right`, `center` or nothing, one a column.
    """
    widths = [max(map(_measure_width, column)) for column in zip(*rows, strict=True)]
    if (sum(widths) + 3 * len(widths)) * (len(rows) + 1) > MOST_CHARACTERS:
        return "\n".join(" | ".join(row).rstrip() for row in rows)
    lines = []
    for row in rows:
        cells = []
        for text, width, align in zip(row, widths, aligns, strict=False):
            padding = width - _measure_width(text)
            left = {"right": padding, "center": padding // 2}.get(align, 0)
            cells.append(" " * left + text + " " * (padding - left))
        lines.append(" | ".join(cells).rstrip())
    rule = "-+-".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]])


def _measure_width(text: str) -> int:
    """Return the columns that `text` takes in a fixed-width font: wide characters two, combining
    ones none.
    """
    width = 0
    for character in text:
        if not unicodedata.combining(character):
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width
