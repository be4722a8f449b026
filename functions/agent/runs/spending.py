"""Spending is what runs cost, summed up by day: by chat, person, model and kind of work, with the
tools that were called.

A day that is over is summed up once, and kept longer than its runs. The sums of other days are made
from the runs themselves. Nothing is written in a turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from hashlib import sha256
from typing import Final

from functions.agent.conversation.messages import Count, Number, Usage
from functions.agent.runs.run import Run, scan_runs
from functions.agent.session.document import name_run
from functions.time.time_zone import find_midnight, to_local
from sigil.json_fields import as_number
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import Shape, Stored, dumps, later

KEPT_SECONDS: Final = 400 * 86_400.0
LATE_SECONDS: Final = 7_200.0
"""A day is summed up when it has been over for so long: the runs of its last turns are there."""
FOLDED_MOST: Final = 7
"""So many days back the daily task looks for one that was not summed up."""
TOOLS_MOST: Final = 50
"""So many tools are named in a sum; calls of others are under `OTHERS`."""
OTHERS: Final = ""
STATIC_TOOLS: Final = 2
"""Every request has `sigil_query` and `sigil_deploy`; in one with no other nothing is paged in."""
WORK: Final = ("chat", "command", "memory", "wakeup", "mail", "task")
"""The kinds of work, in the order in which people read them."""
_CHAT: Final = frozenset(("message", "say"))
_COMMAND: Final = frozenset(("command", "control", "joined", "refused"))


@dataclass(frozen=True, slots=True)
class Spent(Stored):
    """What one kind of work in one chat cost in a day, for one person and with one model.

    `turns` counts the runs, `at` is when the last of them began (seconds since 1970). `tools` has
    how often each tool was called and how often that failed; `OTHERS` are calls that a long run's
    row leaves out, and those beyond `TOOLS_MOST`. What was summed up before there were `tools` has
    none. `measured` counts the requests of which a row tells what tools they had, and `resident`
    are about the tokens of those that had been paged in, in all of these requests together.
    """

    session: str
    by: str
    model: str
    work: str
    usage: Usage = Usage()
    turns: Count = 0
    requests: Count = 0
    calls: Count = 0
    failed: Count = 0
    at: Number = 0.0
    tools: Mapping[str, tuple[Count, Count]] = later(default_factory=dict)
    measured: Count = later(0)
    resident: Count = later(0)

    def add(self, run: Run) -> Spent:
        """Return the sum with one more run."""
        resident = _list_resident(run)
        return replace(
            self,
            usage=self.usage + run.usage,
            turns=self.turns + 1,
            requests=self.requests + run.requests,
            calls=self.calls + run.calls,
            failed=self.failed + run.failed,
            at=max(self.at, run.began),
            tools=_add_tools(self.tools, run),
            measured=self.measured + len(resident),
            resident=self.resident + sum(resident),
        )


def _list_resident(run: Run) -> list[int]:
    """Return about how many tokens the tools took that had been paged in, for each request whose
    step tells it.
    """
    steps = [step for step in run.steps if step["kind"] == "request" and "tools" in step]
    known = [step for step in steps if "tool_tokens" in step or step["tools"] == STATIC_TOOLS]
    return [round(as_number(step.get("tool_tokens"))) for step in known]


def _add_tools(
    tools: Mapping[str, tuple[Count, Count]], run: Run
) -> dict[str, tuple[Count, Count]]:
    """Return the sums of tools with the calls of one more run."""
    sums = dict(tools)

    def add(name: str, calls: int, failed: int) -> None:
        place = name if name in sums or len(sums) < TOOLS_MOST else OTHERS
        before = sums.get(place, (0, 0))
        sums[place] = (before[0] + calls, before[1] + failed)

    steps = [step for step in run.steps if step["kind"] == "call"]
    for step in steps:
        add(str(step["name"]), 1, bool(step.get("error")))
    missing = run.calls - len(steps)
    if missing > 0:
        known = sum(bool(step.get("error")) for step in steps)
        add(OTHERS, missing, max(run.failed - known, 0))
    return sums


_SPENT: Final = Shape[Spent](Spent)


def name_work(run: Run) -> str:
    """Return which kind of work a run was, one of `WORK`."""
    if run.reason in _COMMAND:
        return "command"
    if run.kind in _CHAT:
        return "chat"
    return run.reason if run.reason in WORK else "task"


def sum_runs(runs: Iterable[Run]) -> list[Spent]:
    """Return what runs cost; those that cost nothing count as turns."""
    sums: dict[tuple[str, str, str, str], Spent] = {}
    for run in runs:
        group = (run.session, run.by, run.model, name_work(run))
        sums[group] = sums.get(group, Spent(*group)).add(run)
    return list(sums.values())


class Spending:
    """What one agent spent, by the days of a time zone."""

    def __init__(self, kv: KV, agent: str, zone: str) -> None:
        self._kv = kv
        self._agent = agent
        self._zone = zone

    def read(self, first: date, last: date) -> dict[date, list[Spent]]:
        """Return what was spent on each of these days."""
        found, whole = self._read_sums(first, last)
        days = [first + timedelta(days=number) for number in range((last - first).days + 1)]
        open_days = [day for day in days if day not in whole]
        if open_days:
            runs: dict[date, list[Run]] = {day: [] for day in open_days}
            for run in self._scan(open_days[0], open_days[-1]):
                day = to_local(run.began, self._zone).date()
                if day in runs:
                    runs[day].append(run)
            found |= {day: sum_runs(runs[day]) for day in open_days}
        return {day: found.get(day, []) for day in days}

    def fold(self, now: float) -> int:
        """Sum up the days that are over and were not summed up yet; return how many."""
        last = to_local(now - LATE_SECONDS, self._zone).date() - timedelta(days=1)
        first = last - timedelta(days=FOLDED_MOST - 1)
        _, whole = self._read_sums(first, last)
        count = 0
        for number in range(FOLDED_MOST):
            day = first + timedelta(days=number)
            if day in whole:
                continue
            for spent in sum_runs(self._scan(day, day)):
                group = "\n".join((spent.session, spent.by, spent.model, spent.work))
                name = sha256(group.encode(errors="replace")).hexdigest()[:16]
                key = keys.spent(self._agent, day.isoformat(), name)
                self._kv.put(key, dumps(spent), ttl=KEPT_SECONDS)
            # the mark is written last: whoever crashes before it writes the same sums again
            key = keys.spent(self._agent, day.isoformat(), "")
            self._kv.put(key, b"{}", ttl=KEPT_SECONDS)
            count += 1
        return count

    def _read_sums(self, first: date, last: date) -> tuple[dict[date, list[Spent]], set[date]]:
        """Return the sums of days, and which of the days were summed up as a whole."""
        sums: dict[date, list[Spent]] = {}
        whole: set[date] = set()
        begin = keys.spent(self._agent, (first - timedelta(days=1)).isoformat(), "~")
        for sort, item in scan_all(self._kv, begin.partition, after=begin.sort):
            named, _, name = sort.partition("#")
            day = date.fromisoformat(named)
            if day > last:
                break
            if not name:
                whole.add(day)
                continue
            try:
                sums.setdefault(day, []).append(_SPENT.read(item.value))
            except ValueError:
                continue
        return {day: rows for day, rows in sums.items() if day in whole}, whole

    def _scan(self, first: date, last: date) -> Iterable[Run]:
        """Yield the runs that began on these days, the newest first."""
        begin = find_midnight(first, self._zone)
        end = find_midnight(last + timedelta(days=1), self._zone)
        for run in scan_runs(self._kv, self._agent, name_run("", end)):
            if run.began < begin:
                return
            if run.began < end:
                yield run


def total(rows: Sequence[Spent]) -> Usage:
    """Return all that was used."""
    usage = Usage()
    for row in rows:
        usage += row.usage
    return usage


def total_by_work(rows: Sequence[Spent]) -> Mapping[str, Usage]:
    """Return what was used by each kind of work that used anything, in the order of `WORK`."""
    sums = {}
    for work in WORK:
        usage = total([row for row in rows if row.work == work])
        if usage.total:
            sums[work] = usage
    return sums
