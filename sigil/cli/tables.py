"""Tables: aligned columns in a pipe; on a terminal drawn as its width allows, and never cut."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Rows = Sequence[Sequence[str]]

GAP = 2
LAST_COLUMN_LEAST = 30
"""With less space than this beside the others, a last column of sentences goes below them."""
_COLOURS = {"ok": "green", "warn": "yellow", "FAIL": "bold red", "degraded": "red"}
"""The colours of cells that are one of these words."""


def align_columns(rows: Rows) -> list[str]:
    """Return the rows as lines, each column as wide as its widest cell; wide East Asian characters
    count as two.
    """
    widths = _measure_columns(rows)
    lines = []
    for row in rows:
        padded = [
            cell + " " * (width - _measure_width(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        lines.append((" " * GAP).join(padded).rstrip())
    return lines


def draw_table(header: Sequence[str], rows: Rows, *, color: bool) -> None:
    """Print a table as the terminal's width allows: side by side, the last column below the others,
    or a line for each cell.

    A word such as a digest is never folded where a line of its own has room for it.
    """
    from rich.console import Console

    console = Console(no_color=None if color else True, highlight=False)
    widths = _measure_columns([header, *rows])
    left = console.width - sum(widths[:-1]) - GAP * len(widths)
    longest = max((_measure_longest_word(row[-1]) for row in rows), default=0)
    is_folded = longest > left and widths[-1] > left
    if len(header) == 2 and is_folded:
        _draw_pairs(console, header, rows)
    elif len(header) <= 2 or (left >= min(LAST_COLUMN_LEAST, widths[-1]) and not is_folded):
        _draw_grid(console, header, rows)
    elif left >= 0:
        _draw_last_column_below(console, header, rows)
    else:
        _draw_records(console, header, rows)


def _draw_grid(console: Console, header: Sequence[str], rows: Rows) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")  # a cell that is too wide is folded, never cut
    for row in rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    console.print(table)


def _draw_pairs(console: Console, header: Sequence[str], rows: Rows) -> None:
    """Print names and values side by side, and a value that would be folded in a word below."""
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    first = _measure_columns([header, *rows])[0] + GAP
    console.print(Text(f"{header[0].ljust(first)}{header[1]}", style="bold"))
    console.print(Rule(style="dim"))
    for name, value in rows:
        if _measure_longest_word(value) > console.width - first:
            console.print(Text(name))
            console.print(Padding(Text(value, overflow="fold"), (0, 0, 0, 4)))
            continue
        lines = Text(value, overflow="fold").wrap(console, console.width - first)
        for number, line in enumerate(lines):
            label = name if not number else ""
            padding = " " * (first - _measure_width(label))
            console.print(Text.assemble(label, padding, line))


def _draw_last_column_below(console: Console, header: Sequence[str], rows: Rows) -> None:
    """Print each row's first cells on one line, and the last cell under them."""
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    first = align_columns([list(header[:-1]), *(row[:-1] for row in rows)])
    console.print(Text(f"{first[0]}\n    {header[-1]}", style="bold"))
    console.print(Rule(style="dim"))
    for line, row in zip(first[1:], rows, strict=True):
        console.print(Text(line))
        if row[-1]:
            console.print(Padding(Text(row[-1], overflow="fold"), (0, 0, 0, 4)))


def _draw_records(console: Console, header: Sequence[str], rows: Rows) -> None:
    """Print a line for each cell, and an empty one between two rows."""
    from rich.text import Text

    width = max(map(_measure_width, header)) + GAP
    for number, row in enumerate(rows):
        if number:
            console.print()
        for name, cell in zip(header, row, strict=True):
            if cell:
                line = Text.assemble((name.ljust(width), "bold"), cell, overflow="fold")
                console.print(line)


def _measure_columns(rows: Rows) -> list[int]:
    return [max(map(_measure_width, column)) for column in zip(*rows, strict=True)]


def _measure_longest_word(text: str) -> int:
    return max(map(_measure_width, text.split()), default=0)


def _measure_width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide
