"""The report: a table of at most 100 columns, the same for Markdown, JSON for programs; then what
was missed, and the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from scripts.bootstrapping.facts import Half
from scripts.bootstrapping.verdicts import Row, totals
from sigil.errors import one_line
from sigil.protocol import Json

YES, NO, ODD, NONE = "✓", "✗", "~", "–"
NAME_CHARACTERS: Final = 16
LEGEND = (
    f"{YES} yes, {NO} no, {ODD} called but no output held the true answer, {NONE} not"
    f" asked.\nwrote: deploys that were tried; tests: how many passed, behind {NO} the tries that"
    " were refused."
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of both tables: of the first turn, or of the second."""

    title: str
    cell: Callable[[Half], str]
    again: bool = False


def _mark(holds: object) -> str:
    return YES if holds else NO


def _called(half: Half) -> str:
    return NO if not half.called else YES if half.computed else ODD


def _tests(half: Half) -> str:
    return f"{half.tests} {NO}{len(half.refused)}" if half.refused else str(half.tests)


COLUMNS = (
    Column("search", lambda half: _mark(half.searched)),
    Column("wrote", lambda half: str(half.written)),
    Column("tests", _tests),
    Column("deployed", lambda half: _mark(half.deployed)),
    Column("called", _called),
    Column("right", lambda half: _mark(half.right)),
    Column("rounds", lambda half: str(half.worklog.rounds)),
    Column("tokens", lambda half: f"{half.worklog.tokens:,}"),
    Column("s", lambda half: f"{half.worklog.seconds:.{1 if half.worklog.seconds < 10 else 0}f}"),
    Column("found", lambda half: _mark(half.found), again=True),
    Column("new", lambda half: str(half.written), again=True),
    Column("called", _called, again=True),
    Column("right", lambda half: _mark(half.right), again=True),
)


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned columns, the two turns side by side."""
    header = ["request", *(column.title for column in COLUMNS)]
    cells = [header, *map(_cells, rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(header))]
    lines = [
        " ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in cells
    ]
    return "\n".join([_above(widths), *lines])


def markdown(rows: Sequence[Row]) -> str:
    """The rows as a table for pasting."""
    titles = [
        "request",
        *(f"{'again: ' if column.again else ''}{column.title}" for column in COLUMNS),
    ]
    lines = [titles, ["---", *["--:"] * len(COLUMNS)], *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def misses(rows: Sequence[Row]) -> list[str]:
    """A line for each request that went otherwise than it should."""
    return [
        one_line(f"{row.name}: {'; '.join(row.misses)}", 600) for row in rows if not row.complete
    ]


def summary(rows: Sequence[Row], model: str) -> str:
    """The sums, three lines."""
    sums = totals(rows)
    return (
        f"{sums.complete} of {sums.requests} complete with {one_line(model, 60)}; {sums.tokens:,}"
        f" tokens, {sums.seconds:.1f} s\nfirst: {sums.searched} searched, {sums.written} written,"
        f" {sums.tested} tested, {sums.deployed} deployed, {sums.called} called, {sums.right}"
        f" right\nagain: {sums.found_again} found and nothing new, {sums.right_again} right"
    )


def document(rows: Sequence[Row], model: str, endpoint: str) -> dict[str, Json]:
    """Everything that is known, for programs."""
    listed = [
        {
            "name": row.name,
            "complete": row.complete,
            "misses": row.misses,
            "first": asdict(row.first),
            "again": row.again and asdict(row.again),
        }
        for row in rows
    ]
    return {
        "model": model,
        "endpoint": endpoint,
        "requests": listed,
        "summary": asdict(totals(rows)),
    }


def _cells(row: Row) -> list[str]:
    halves = ((column, row.again if column.again else row.first) for column in COLUMNS)
    return [
        row.name[:NAME_CHARACTERS],
        *(NONE if half is None or half.error else column.cell(half) for column, half in halves),
    ]


def _above(widths: Sequence[int]) -> str:
    """The line over the header that tells the two turns apart."""
    first = sum(not column.again for column in COLUMNS)
    left, right = (
        (sum(part) + len(part) - 1) for part in (widths[1 : 1 + first], widths[1 + first :])
    )
    return f"{'':<{widths[0]}} {' first '.center(left, '─')} {' again '.center(right, '─')}"
