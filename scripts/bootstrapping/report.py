"""Writes the report: a table of at most 100 columns, the same in Markdown, or JSON for programs;
then the misses and the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from scripts.bootstrapping.facts import TurnFacts
from scripts.bootstrapping.verdicts import RequestResult, sum_up
from sigil.errors import one_line
from sigil.protocol import Json

YES, NO, ODD, NONE = "✓", "✗", "~", "–"
NAME_CHARACTERS: Final = 16
LEGEND = (
    f"{YES} yes, {NO} no, {ODD} called but no output held the true answer, {NONE} not asked.\n"
    f"wrote: deploys tried; tests: tests passed, and behind {NO} the deploys that were refused."
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of both tables, about the first turn or, with `again`, about the second."""

    title: str
    format: Callable[[TurnFacts], str]
    again: bool = False


def _mark(value: object) -> str:
    return YES if value else NO


def _mark_call(turn: TurnFacts) -> str:
    if not turn.called:
        return NO
    return YES if turn.computed else ODD


def _count_tests(turn: TurnFacts) -> str:
    return f"{turn.tests} {NO}{len(turn.refused)}" if turn.refused else str(turn.tests)


def _format_seconds(turn: TurnFacts) -> str:
    seconds = turn.worklog.seconds
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


COLUMNS = (
    Column("search", lambda turn: _mark(turn.searched)),
    Column("wrote", lambda turn: str(turn.written)),
    Column("tests", _count_tests),
    Column("deployed", lambda turn: _mark(turn.deployed)),
    Column("called", _mark_call),
    Column("right", lambda turn: _mark(turn.right)),
    Column("rounds", lambda turn: str(turn.worklog.rounds)),
    Column("tokens", lambda turn: f"{turn.worklog.tokens:,}"),
    Column("s", _format_seconds),
    Column("found", lambda turn: _mark(turn.found), again=True),
    Column("new", lambda turn: str(turn.written), again=True),
    Column("called", _mark_call, again=True),
    Column("right", lambda turn: _mark(turn.right), again=True),
)


def format_table(rows: Sequence[RequestResult]) -> str:
    """Return the rows as aligned columns, the two turns side by side."""
    header = ["request", *(column.title for column in COLUMNS)]
    lines = [header, *map(_format_row, rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    # The line over the header separates the two turns.
    first = 1 + sum(not column.again for column in COLUMNS)
    left = " first ".center(sum(widths[1:first]) + first - 2, "─")
    right = " again ".center(sum(widths[first:]) + len(widths[first:]) - 1, "─")
    text = [f"{'':<{widths[0]}} {left} {right}"]
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        text.append(" ".join(cells))
    return "\n".join(text)


def format_markdown(rows: Sequence[RequestResult]) -> str:
    """Return the rows as a table in Markdown."""
    titles = ["request"]
    for column in COLUMNS:
        titles.append(f"again: {column.title}" if column.again else column.title)
    lines = [titles, ["---", *["--:"] * len(COLUMNS)], *map(_format_row, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def list_misses(rows: Sequence[RequestResult]) -> list[str]:
    """Return one line for each request that is not complete."""
    return [
        one_line(f"{row.name}: {'; '.join(row.misses)}", 600) for row in rows if not row.complete
    ]


def format_summary(rows: Sequence[RequestResult], model: str) -> str:
    """Return the sums in three lines."""
    sums = sum_up(rows)
    return (
        f"{sums.complete} of {sums.requests} complete with {one_line(model, 60)}; {sums.tokens:,}"
        f" tokens, {sums.seconds:.1f} s\nfirst: {sums.searched} searched, {sums.written} written,"
        f" {sums.tested} tested, {sums.deployed} deployed, {sums.called} called, {sums.right}"
        f" right\nagain: {sums.found_again} found and nothing new, {sums.right_again} right"
    )


def build_document(rows: Sequence[RequestResult], model: str, endpoint: str) -> dict[str, Json]:
    """Return the whole report as a JSON document."""
    requests = [
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
        "requests": requests,
        "summary": asdict(sum_up(rows)),
    }


def _format_row(row: RequestResult) -> list[str]:
    cells = [row.name[:NAME_CHARACTERS]]
    for column in COLUMNS:
        turn = row.again if column.again else row.first
        if turn is None or turn.error:
            cells.append(NONE)
        else:
            cells.append(column.format(turn))
    return cells
