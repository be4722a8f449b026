"""What people and programs ask about use: what the last days cost, by day, agent, person, model,
kind of work, chat or tool.

It is made from the sums of the days that are over, and from the runs of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from functions.agent.app import App
from functions.agent.conversation.messages import Usage
from functions.agent.runs.spending import Spending, Spent
from functions.agent.runs.tree import list_agents
from functions.time.time_zone import to_local
from sigil.errors import UsageError
from sigil.storage.stored import row

DAYS: Final = 7
DAYS_MOST: Final = 400
"""Sums of days are kept for so long."""
ROWS_MOST: Final = 200
_DAYS: Final = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What belongs to one `name`: a day, an agent, a person and so on. The tokens are those of the
    model's endpoint; `saved` ones do not count for the limits.

    Of a tool only `calls` and `failed` are known: a request has many tools. An empty name is what
    has none, or of tools what the rows of long turns leave out.
    """

    name: str
    usage: Usage = Usage()
    turns: int = 0
    requests: int = 0
    calls: int = 0
    failed: int = 0

    def add(self, spent: Spent) -> UsageRow:
        """Return the row with one more sum."""
        return replace(
            self,
            usage=self.usage + spent.usage,
            turns=self.turns + spent.turns,
            requests=self.requests + spent.requests,
            calls=self.calls + spent.calls,
            failed=self.failed + spent.failed,
        )


@dataclass(frozen=True, slots=True)
class DaySum:
    """What one kind of work of an agent (its full name) cost on a day: see `Spent`."""

    day: date
    agent: str
    spent: Spent


@dataclass(frozen=True, slots=True)
class AllTools:
    """Requests compared with the same ones that had all capabilities as tools.

    `tokens` are those of all definitions in one request, at least so many unless `is_whole`.
    `measured` counts the requests of which it is known what was in them, and `resident` are the
    tokens of the tools that had been paged in, in all of these together. `saved` is `measured` ×
    `tokens` − `resident`.
    """

    capabilities: int
    tokens: int
    is_whole: bool
    requests: int
    measured: int
    resident: int

    @property
    def saved(self) -> int:
        """Return the tokens that were not sent."""
        return self.measured * self.tokens - self.resident

    def describe(self) -> dict[str, object]:
        """Return it as programs see it."""
        return {
            "capabilities": self.capabilities,
            "tokens": self.tokens,
            "whole": self.is_whole,
            "requests": self.requests,
            "measured": self.measured,
            "resident": self.resident,
            "saved": self.saved,
        }


Compare = Callable[[App, Sequence[DaySum]], AllTools | None]
"""Compares what requests had in them with all capabilities that there are."""
_NAMES: Final[Mapping[str, Callable[[DaySum], str]]] = {
    "day": lambda each: each.day.isoformat(),
    "agent": lambda each: each.agent,
    "person": lambda each: each.spent.by,
    "model": lambda each: each.spent.model,
    "work": lambda each: each.spent.work,
    "session": lambda each: each.spent.session,
}
TOOL: Final = "tool"
GROUPS: Final = (*_NAMES, TOOL)


def list_sums(app: App, agent: str = "", days: int = DAYS) -> list[DaySum]:
    """Return what the last days cost, today included, of an agent, or of the root and all agents
    below it.
    """
    last = to_local(app.clock.now(), app.zone).date()
    first = last - timedelta(days=days - 1)
    return [
        DaySum(day, each, spent)
        for each in ([agent] if agent else list_agents(app.kv, app.root))
        for day, sums in Spending(app.kv, each, app.zone).read(first, last).items()
        for spent in sums
    ]


def sum_usage(found: Sequence[DaySum], by: str = "day") -> list[UsageRow]:
    """Return sums as rows: by day the newest first, else what cost the most."""
    if by == TOOL:
        return _sum_tools([each.spent for each in found])
    name_of = _NAMES[by]
    rows: dict[str, UsageRow] = {}
    for each in found:
        name = name_of(each)
        rows[name] = rows.get(name, UsageRow(name)).add(each.spent)
    if by == "day":
        return sorted(rows.values(), key=lambda each: each.name, reverse=True)
    return sorted(rows.values(), key=lambda each: (-each.usage.total, each.name))


def _sum_tools(sums: Sequence[Spent]) -> list[UsageRow]:
    rows: dict[str, UsageRow] = {}
    for spent in sums:
        for name, (calls, failed) in spent.tools.items():
            known = rows.get(name, UsageRow(name))
            rows[name] = replace(known, calls=known.calls + calls, failed=known.failed + failed)
    return sorted(rows.values(), key=lambda each: (-each.calls, each.name))


def list_usage(
    app: App, agent: str, query: Mapping[str, str], compare: Compare
) -> dict[str, object]:
    """Return what the parameters of a request ask for, at most `ROWS_MOST` rows; `left_out` counts
    those beyond.

    `UsageError` EINVAL for parameters that mean nothing.
    """
    if not set(query) <= {"days", "by"}:
        raise _refuse("ask by agent, by, days")
    days = query.get("days", str(DAYS))
    by = query.get("by", "day")
    if not _DAYS.fullmatch(days) or int(days) > DAYS_MOST:
        raise _refuse(f"days is a number from 1 to {DAYS_MOST}")
    if by not in GROUPS:
        raise _refuse(f"by is one of {', '.join(GROUPS)}")
    found = list_sums(app, agent, int(days))
    return describe_usage(found, int(days), by, compare(app, found))


def describe_usage(
    found: Sequence[DaySum], days: int, by: str, compared: AllTools | None
) -> dict[str, object]:
    """Return the rows of sums as programs get them."""
    rows = sum_usage(found, by)
    answer: dict[str, object] = {"by": by, "days": days}
    answer["all_tools"] = compared.describe() if compared else None
    answer["items"] = [row(each) for each in rows[:ROWS_MOST]]
    if len(rows) > ROWS_MOST:
        answer["left_out"] = len(rows) - ROWS_MOST
    return answer


def _refuse(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="http")
