"""The budget bounds the tokens that an agent spends in a period, over all of its sessions.

Each session writes its own sum (`session_usage`); nobody else does. So that no turn has to read
them all, the agent has a running total beside them, changed by compare-and-set. The sums of the
sessions are the truth: the total is made from them when there is none, once an hour (a crash
between the two writes, or a version that knows of no total, leaves it wrong), and before it stops
anybody.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.safety.session_usage import SessionUsage, read_tokens
from functions.time.time_zone import DAY_SECONDS, DEFAULT, find_first_day, find_midnight
from sigil.errors import Conflict
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps, later

PAGE = 1_000
FORGIVEN = ""
"""The key of the sum that an owner's unlock took off has this in place of a session."""
KEPT_SECONDS = 400 * 86_400.0
"""The sums of a period can be read for so long."""
TOLD_SHARE = 0.8
"""People are told when so much of a budget is used."""
SUMMED_SECONDS = 3_600.0
"""A total is believed for so long after it was summed up from the sessions."""
CHECKED_SECONDS = 60.0
"""A total that stops somebody is believed for so long."""


@dataclass(frozen=True, slots=True)
class RunningTotal(Stored):
    """All that the sessions of an agent spent in a period, what was forgiven included.

    `summed` is when it was last made from the sums of the sessions, in seconds since 1970. `cost`
    is what it cost in money, as far as that is known: the sums of the sessions have only tokens, so
    a crash between two writes loses a turn's cost, and nothing depends on it.
    """

    tokens: Annotated[int, Meta(ge=0)]
    summed: float
    cost: Annotated[float, Meta(ge=0)] = later(0.0)

    def add(self, tokens: int, cost: float) -> RunningTotal:
        """Return the total with more tokens and what they cost."""
        return evolve(self, tokens=self.tokens + tokens, cost=self.cost + cost)


_TOTAL: Final = Shape[RunningTotal](RunningTotal)


@dataclass(frozen=True, slots=True)
class SafetyLimits:
    """The limits of one agent; 0 is no limit.

    The root and all agents below it may spend `tokens` together, one of those agents
    `agent_tokens` and one session `session_tokens` in a period of `seconds`. One
    piece of work may take `ticks` requests. All that one cause sets off may use `chain_tokens`. A
    tool call is waited for `call_seconds`, as a task `task_call_seconds`. A day
    begins at midnight in the time zone `zone`.
    """

    tokens: int = 1_500_000
    seconds: int = 86_400
    session_tokens: int = 0
    ticks: int = 50
    call_seconds: float = 30.0
    zone: str = DEFAULT
    agent_tokens: int = 0
    chain_tokens: int = 500_000
    task_call_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class PeriodTokens:
    """The tokens of a period.

    `total` were used; `counted` of them count against the budget, since an owner's unlock took
    off the rest. `cost` is what they cost in money, as far as that is known.
    """

    total: int
    counted: int
    cost: float = 0.0


def name_period(now: float, limits: SafetyLimits) -> str:
    """Return the name of the budget's period that `now` (seconds since 1970) is in.

    It is the date at which it began in the agent's time zone, `2026-11-22`; periods that are no
    whole days have the time in UTC. Names sort by time.
    """
    days, rest = divmod(limits.seconds, DAY_SECONDS)
    if not rest:
        return _name_first_day(int(now // 1), days, limits.zone)
    return _format_beginning(int(now // limits.seconds) * limits.seconds)


def find_period_end(now: float, limits: SafetyLimits) -> float:
    """Return when the budget's period ends that `now` is in, in seconds since 1970."""
    days, rest = divmod(limits.seconds, DAY_SECONDS)
    if not rest:
        first = find_first_day(now, days, limits.zone)
        return find_midnight(first + timedelta(days=days), limits.zone)
    return (now // limits.seconds + 1) * limits.seconds


@lru_cache(maxsize=64)
def _name_first_day(second: int, days: int, zone: str) -> str:
    """Return the name of the period of so many days that a second since 1970 is in: no date begins
    within a second.
    """
    return find_first_day(second, days, zone).isoformat()


@lru_cache(maxsize=64)
def _format_beginning(began: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(began))


class TokenBudget:
    """The budget of a root and all agents below it, or the one that such an agent has beside that.

    All their sessions write their sums into the partition of the root.
    """

    def __init__(
        self, kv: KV, agent: str, limits: SafetyLimits, now: Callable[[], float] = time.time
    ) -> None:
        self._kv = kv
        self._agent = agent
        self._root = keys.root_of(agent)
        self._now = now
        self.limits = limits

    @property
    def is_roots(self) -> bool:
        """Return whether it holds for the root and all agents below it together."""
        return self._agent == self._root

    @property
    def most(self) -> int:
        """Return the tokens that may be spent in a period; 0 is no limit."""
        return self.limits.tokens if self.is_roots else self.limits.agent_tokens

    @property
    def reason(self) -> str:
        """Return why a session stops when it is used up, a key of `REASONS`."""
        return "budget" if self.is_roots else "agent-budget"

    def key(self, name: str, session: str) -> Key:
        """Return where a session (S of the keys) writes down what it spends in a period."""
        return keys.session_usage(self._root, name, session)

    def forgiven_key(self, name: str) -> Key:
        """Return the key of what an unlock took off a period's sum."""
        return keys.bare_session_usage(self._agent, name, FORGIVEN)

    def total_key(self, name: str) -> Key:
        """Return the key of a period's total."""
        return keys.usage_total(self._agent, name)

    def read_spent(self, session: str, name: str) -> Item | None:
        """Return what a session (S of the keys) wrote down for a period."""
        return self._kv.get(self.key(name, session))

    def write_spent(self, session: str, name: str, usage: SessionUsage) -> Item:
        """Write down all that a session (S of the keys) has spent in a period."""
        value = dumps(usage)
        return Item(value, self._kv.put(self.key(name, session), value, ttl=KEPT_SECONDS))

    def add_to_total(self, name: str, tokens: int, cost: float, known: Item | None) -> Item:
        """Add what a session wrote down to the period's total, and return the new total.

        `known` is the total of a moment ago: mostly nobody has changed it, and one write is enough.
        It is None when the total is not known any more.
        """
        key = self.total_key(name)
        before = read_total(known)
        if known and before and known.version:
            value = dumps(before.add(tokens, cost))
            with suppress(Conflict):
                version = self._kv.put(key, value, expect=known.version, ttl=KEPT_SECONDS)
                return Item(value, version)

        def decide(value: bytes | None) -> tuple[bytes, bytes]:
            total = read_total(Item(value, "") if value is not None else None)
            if total is None:  # the tokens that are added are in the sums by now
                total = self._sum_sessions(name).add(0, cost)
            else:
                total = total.add(tokens, cost)
            changed = dumps(total)
            return changed, changed

        return Item(update(self._kv, key, decide, KEPT_SECONDS), "")

    def sum_again(self, name: str) -> Item:
        """Make the period's total from the sums of all sessions, and return it."""

        cost = 0.0

        def decide(value: bytes | None) -> tuple[bytes, bytes]:
            nonlocal cost
            before = read_total(Item(value, "") if value is not None else None)
            cost = before.cost if before else 0.0
            total = dumps(self._sum_sessions(name).add(0, cost))
            return total, total

        try:
            value = update(self._kv, self.total_key(name), decide, KEPT_SECONDS)
        except Conflict:  # others add to it all the time; this reader knows the sum all the same
            value = dumps(self._sum_sessions(name).add(0, cost))
        return Item(value, "")

    def is_recent(self, total: RunningTotal, seconds: float) -> bool:
        """Return whether the total was made from the sums within so many seconds."""
        return 0.0 <= self._now() - total.summed <= seconds

    def count_spent(self, name: str) -> int:
        """Return the tokens of a period that count against the budget, read from all sums."""
        forgiven = read_forgiven(self._kv.get(self.forgiven_key(name)))
        return self._sum_sessions(name).tokens - forgiven

    def _sum_sessions(self, name: str) -> RunningTotal:
        """Return the total as the sums say it; one that cannot be read counts as a whole budget."""
        sums = self._read_sums(name, self.most)
        return RunningTotal(sum(sums.values()), self._now())

    def _read_sums(self, name: str, unreadable: int) -> dict[str, int]:
        """Return what each session has spent in a period; `unreadable` for what is no sum."""
        sums: dict[str, int] = {}
        for _, session, item in self._scan_sums(name):
            # another version may have written a sum of the same session
            sums[session] = max(read_tokens(item, unreadable), sums.get(session, 0))
        return sums

    def _scan_sums(self, name: str) -> Iterator[tuple[Key, str, Item]]:
        """Yield the sums of a period, each with its key and its session."""
        begin = "" if self.is_roots else keys.session_of(self._agent, "")
        for name_key in (keys.session_usage, keys.bare_session_usage):
            first = name_key(self._root, name, begin)
            for sort, item in scan_all(self._kv, first.partition, first.sort, page=PAGE):
                _, session = keys.split_usage(sort)
                if session != FORGIVEN:
                    yield Key(first.partition, sort), session, item

    def restart_period(self, name: str) -> None:
        """Start the period's sum anew, because an owner unlocked the agent.

        A sum that cannot be read is set to 0; its session writes it again.
        """
        sums = self._read_sums(name, 0)
        for key, session, item in self._scan_sums(name):
            if read_tokens(item, -1) < 0:
                is_bare = key == keys.bare_session_usage(self._root, name, session)
                self._kv.put(key, b"0" if is_bare else dumps(SessionUsage(0)), ttl=KEPT_SECONDS)
        forgiven = sum(sums.values())
        self._kv.put(self.forgiven_key(name), b"%d" % forgiven, ttl=KEPT_SECONDS)
        before = read_total(self._kv.get(self.total_key(name)))
        total = RunningTotal(forgiven, self._now(), cost=before.cost if before else 0.0)
        self._kv.put(self.total_key(name), dumps(total), ttl=KEPT_SECONDS)


def read_total(item: Item | None) -> RunningTotal | None:
    """Return the total in an item; None when there is none, or none that can be read."""
    return _parse_total(item.value) if item else None


@lru_cache(maxsize=64)
def _parse_total(value: bytes) -> RunningTotal | None:
    try:
        return _TOTAL.read(value)
    except ValueError:
        return None


def read_forgiven(item: Item | None) -> int:
    """Return the tokens of a period that an unlock took off; 0 for what cannot be read."""
    return read_tokens(item, 0) if item else 0
