"""`uncaged sessions`: which sessions there are, who writes there, and what they cost."""

from __future__ import annotations

from functions.agent.management.sessions import DAYS_MOST, scan_sessions
from functions.cli.local_agent import open_agent
from sigil.cli.printing import Printer
from sigil.cli.times import format_count, format_time
from sigil.errors import UsageError
from sigil.storage.stored import row

SHOWN = 50


def show_sessions(agent: str | None, *, days: int, json: bool) -> None:
    """Print the sessions of the last days, whoever was at work last first: as JSON all of them."""
    if not 1 <= days <= DAYS_MOST:
        raise UsageError("EINVAL", f"days is a number from 1 to {DAYS_MOST}", source="sessions")
    with open_agent(switch=True, name=agent) as (app, _):
        found = scan_sessions(app, app.name if agent else "", days)
    if json:
        Printer(json=True).document({"items": [row(each) for each in found]})
        return
    if not found:
        Printer().note(f"no session has asked the model in the last {format_count(days, 'day')}")
        return
    rows = []
    for each in found[:SHOWN]:
        name = each.session if each.agent == app.root else f"{each.session} ({each.agent})"
        used = f"{each.tokens:,}"
        uncounted = f"{each.usage.total - each.usage.counted:,}"
        at = format_time(each.at)
        rows.append((at, name, each.person, f"{each.turns:,}", used, uncounted, each.title))
    heads = ("last at work", "session", "person", "turns", "tokens", "not counted", "title")
    Printer().table(heads, rows)
    if len(found) > SHOWN:
        Printer().note(f"and {len(found) - SHOWN:,} more, which --json prints")
