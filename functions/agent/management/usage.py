"""What people and programs ask about use: what the last days cost, by day, agent, person, model,
kind of work, chat or tool.

It is made from the sums of the days that are over, and from the runs of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
class _DaySum:
    day: date
    agent: str
    spent: Spent


_NAMES: Final[Mapping[str, Callable[[_DaySum], str]]] = {
    "day": lambda each: each.day.isoformat(),
    "agent": lambda each: each.agent,
    "person": lambda each: each.spent.by,
    "model": lambda each: each.spent.model,
    "work": lambda each: each.spent.work,
    "session": lambda each: each.spent.session,
}
TOOL: Final = "tool"
GROUPS: Final = (*_NAMES, TOOL)


def sum_usage(app: App, agent: str = "", days: int = DAYS, by: str = "day") -> list[UsageRow]:
    """Return what the last days cost, today included, of an agent, or of the root and all agents
    below it: by day the newest first, else what cost the most.
    """
    found = list(_scan_sums(app, [agent] if agent else list_agents(app.kv, app.root), days))
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


def _scan_sums(app: App, agents: Sequence[str], days: int) -> Iterator[_DaySum]:
    last = to_local(app.clock.now(), app.zone).date()
    first = last - timedelta(days=days - 1)
    for agent in agents:
        for day, sums in Spending(app.kv, agent, app.zone).read(first, last).items():
            for spent in sums:
                yield _DaySum(day, agent, spent)


def list_usage(app: App, agent: str, query: Mapping[str, str]) -> dict[str, object]:
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
    return describe_usage(sum_usage(app, agent, int(days), by), int(days), by)


def describe_usage(rows: Sequence[UsageRow], days: int, by: str) -> dict[str, object]:
    """Return rows as programs get them."""
    answer: dict[str, object] = {"by": by, "days": days}
    answer["items"] = [row(each) for each in rows[:ROWS_MOST]]
    if len(rows) > ROWS_MOST:
        answer["left_out"] = len(rows) - ROWS_MOST
    return answer


def _refuse(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="http")
