"""Tables: aligned columns in a pipe; on a terminal drawn as its width allows, and never cut."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Rows = Sequence[Sequence[str]]

GAP = 2
_COLOURS = {"ok": "green", "warn": "yellow", "FAIL": "bold red", "degraded": "red"}
"""Cells that are one of these words."""
LAST_LEAST = 30
"""With less room than this beside the others, a last column of sentences goes below them."""


def align_columns(rows: Rows) -> list[str]:
    """Return the rows as lines, each column as wide as its widest cell; wide East Asian characters
    count as two.
    """
    widths = _widths(rows)
    return [_joined(row, widths) for row in rows]


def draw_table(header: Sequence[str], rows: Rows, *, color: bool) -> None:
    """Print a table as the terminal's width allows: side by side, the last column below the others,
    or a line for each cell.
    """
    from rich.console import Console

    console = Console(no_color=None if color else True, highlight=False)
    widths = _widths([header, *rows])
    room = console.width - sum(widths[:-1]) - GAP * len(widths)
    if room >= min(LAST_LEAST, widths[-1]):
        _draw_grid(console, header, rows)
    elif room >= 0 and len(header) > 2:
        _draw_last_column_below(console, header, rows)
    elif len(header) > 2:
        _draw_records(console, header, rows)
    else:
        _draw_grid(console, header, rows)


def _draw_grid(console: Console, header: Sequence[str], rows: Rows) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in header:
        table.add_column(
            name, overflow="fold"
        )  # what is too wide goes on in the next line: nothing is cut
    for row in rows:
        table.add_row(*(Text(cell, style=_COLOURS.get(cell, "")) for cell in row))
    console.print(table)


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

    width = max(map(_width, header))
    for number, row in enumerate(rows):
        if number:
            console.print()
        for name, cell in zip(header, row, strict=True):
            if cell:
                console.print(
                    Text.assemble((name.ljust(width + GAP), "bold"), cell, overflow="fold")
                )


def _joined(row: Sequence[str], widths: Sequence[int]) -> str:
    return (
        (" " * GAP)
        .join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        .rstrip()
    )


def _widths(rows: Rows) -> list[int]:
    return [max(map(_width, column)) for column in zip(*rows, strict=True)]


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
