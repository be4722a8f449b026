"""`uncaged usage`: what the last days cost, by day, agent, person, model, kind of work, chat or
tool.
"""

from __future__ import annotations

from functions.agent.management.usage import (
    DAYS_MOST,
    ROWS_MOST,
    TOOL,
    UsageRow,
    describe_usage,
    sum_usage,
)
from functions.cli.local_agent import open_agent
from functions.prices import format_money
from sigil.cli.printing import Printer
from sigil.cli.times import format_count
from sigil.errors import UsageError


def show_usage(agent: str | None, *, days: int, by: str, json: bool) -> None:
    """Print what the last days cost."""
    if not 1 <= days <= DAYS_MOST:
        raise UsageError("EINVAL", f"days is a number from 1 to {DAYS_MOST}", source="usage")
    with open_agent(switch=True, name=agent) as (app, _):
        rows = sum_usage(app, app.name if agent else "", days, by)
        currency = app.currency
    if json:
        Printer(json=True).document(describe_usage(rows, days, by))
        return
    if not rows:
        Printer().note(f"nothing was used in the last {format_count(days, 'day')}")
        return
    if by == TOOL:
        heads: tuple[str, ...] = (by, "calls", "failed")
        shown: list[tuple[str, ...]] = [
            (each.name or "-", f"{each.calls:,}", f"{each.failed:,}") for each in rows
        ]
    else:
        heads = (by, "turns", "requests", "tokens", "not counted", "calls", "failed", "cost")
        shown = [_format_row(each, currency) for each in rows]
    Printer().table(heads, shown[:ROWS_MOST])
    if len(rows) > ROWS_MOST:
        Printer().note(f"and {len(rows) - ROWS_MOST:,} more")


def _format_row(row: UsageRow, currency: str) -> tuple[str, ...]:
    usage = row.usage
    return (
        row.name or "-",
        f"{row.turns:,}",
        f"{row.requests:,}",
        f"{usage.counted:,}",
        f"{usage.total - usage.counted:,}",
        f"{row.calls:,}",
        f"{row.failed:,}",
        format_money(usage.cost, currency) if usage.cost else "",
    )
