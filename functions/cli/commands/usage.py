"""`uncaged usage`: what the last days cost, by day, agent, person, model, kind of work, chat or
tool.
"""

from __future__ import annotations

from functions.agent.management.usage import (
    DAYS_MOST,
    ROWS_MOST,
    TOOL,
    AllTools,
    UsageRow,
    describe_usage,
    list_sums,
    sum_usage,
)
from functions.all_tools import compare_all_tools
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
        found = list_sums(app, app.name if agent else "", days)
        compared = compare_all_tools(app, found)
        currency = app.currency
    if json:
        Printer(json=True).document(describe_usage(found, days, by, compared))
        return
    rows = sum_usage(found, by)
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
    if compared and compared.measured:
        Printer().note(_format_compared(compared))


def _format_compared(compared: AllTools) -> str:
    """Return what the requests would have cost with all tools, and how that is estimated."""
    least = "" if compared.is_whole else "at least "
    known = f"{compared.measured:,} requests"
    if compared.measured < compared.requests:
        known = f"{compared.measured:,} of {compared.requests:,} requests, the others being unknown"
    return (
        f"about {compared.saved:,} tokens saved by paging tools in, an estimate:"
        f" {least}{compared.capabilities:,} capabilities as they are today would be"
        f" {compared.tokens:,} tokens in each of {known}; {compared.resident:,} were in them"
    )


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
