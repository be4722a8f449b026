"""The budget bounds the tokens that an agent spends in a period, over all of its sessions.

Each session writes its own sum; nobody else does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sigil.storage.kv import KV, keys

PAGE = 1_000
FORGIVEN = ""
"""The sum that an owner's unlock took off stands where a session's name would stand."""
KEPT_SECONDS = 400 * 86_400.0
"""The sums of a period can be read for so long."""
DIGITS = 15
"""The most digits of a sum: nobody spends more, and a larger one would not fit into a document."""


@dataclass(frozen=True, slots=True)
class SafetyLimits:
    """The limits of one agent; 0 is no limit.

    An agent may spend `tokens` and one session `session_tokens` in a period of `seconds`. One
    piece of work may take `ticks` requests. A tool call is waited for `call_seconds`.
    """

    tokens: int = 100_000
    seconds: int = 86_400
    session_tokens: int = 0
    ticks: int = 50
    call_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class PeriodTokens:
    """The tokens of a period.

    `total` were used; `counted` of them count against the budget, since an owner's unlock took
    off the rest.
    """

    total: int
    counted: int


def name_period(now: float, seconds: int) -> str:
    """Return the name of the period that `now` (seconds since 1970) is in.

    It is the date, `2026-11-22`; periods shorter than a day add the time at which they began.
    Names sort by time.
    """
    return _format_period(int(now // seconds) * seconds, seconds)


@lru_cache(maxsize=64)
def _format_period(began: int, seconds: int) -> str:
    whole_days = seconds % 86_400 == 0
    return time.strftime("%Y-%m-%d" if whole_days else "%Y-%m-%dT%H:%M:%S", time.gmtime(began))


class Budget:
    """The sums of one agent's sessions in a store."""

    def __init__(self, kv: KV, agent: str, limits: SafetyLimits) -> None:
        self._kv = kv
        self._agent = agent
        self.limits = limits

    def write_spent(self, session: str, name: str, tokens: int) -> None:
        """Write down all that a session (S of the keys) has spent in a period."""
        if tokens:
            self._kv.put(keys.usage(self._agent, name, session), b"%d" % tokens, ttl=KEPT_SECONDS)

    def read_spent(self, session: str, name: str, known: int) -> int:
        """Return what a session has spent in a period.

        That is what it knows of, or what it wrote down before a crash or under another clock,
        whichever is more.
        """
        item = self._kv.get(keys.usage(self._agent, name, session))
        return max(known, _read_sum(item.value, 0) if item else 0)

    def sum_period(self, name: str) -> PeriodTokens:
        """Return the tokens of a period, of all sessions together."""
        sums = self._read_sums(name, self.limits.tokens)
        return PeriodTokens(sum(sums.values()) - sums.get(FORGIVEN, 0), _subtract_forgiven(sums))

    def count_spent(self, name: str) -> int:
        """Return the tokens of a period that count against the budget."""
        return self.sum_period(name).counted

    def _read_sums(self, name: str, unreadable: int) -> dict[str, int]:
        """Return what each session has spent in a period, and under `FORGIVEN` what counts no more.

        A sum that cannot be read is `unreadable`.
        """
        sums: dict[str, int] = {}
        prefix, after = keys.usage(self._agent, name, "").sort, ""
        while page := self._kv.scan(
            keys.usage(self._agent, "", "").partition, prefix, after=after, limit=PAGE
        ):
            for sort, item in page:
                session = sort.removeprefix(prefix)
                sums[session] = _read_sum(item.value, 0 if session == FORGIVEN else unreadable)
                after = sort
        return sums

    def restart_period(self, name: str) -> None:
        """Start the period's sum anew, because an owner unlocked the agent.

        A sum that cannot be read is set to 0; its session writes it again.
        """
        sums = self._read_sums(name, 0)
        sums.pop(FORGIVEN, None)
        for session in (session for session, tokens in sums.items() if not tokens):
            self._kv.put(keys.usage(self._agent, name, session), b"0", ttl=KEPT_SECONDS)
        self._kv.put(
            keys.usage(self._agent, name, FORGIVEN), b"%d" % sum(sums.values()), ttl=KEPT_SECONDS
        )

    def find_exceeded(self, name: str, session: str, free: int = 0) -> str:
        """Return the name of the budget that is used up in this period, empty when none is.

        `free` tokens do not count for the session's own cap.
        """
        if self.limits.tokens <= 0 and self.limits.session_tokens <= 0:
            return ""
        sums = self._read_sums(name, self.limits.tokens)
        if 0 < self.limits.session_tokens <= sums.get(session, 0) - free:
            return "session-budget"
        return "budget" if 0 < self.limits.tokens <= _subtract_forgiven(sums) else ""


def _read_sum(value: bytes, unreadable: int) -> int:
    return int(value) if value.isdigit() and len(value) <= DIGITS else unreadable


def _subtract_forgiven(sums: Mapping[str, int]) -> int:
    """Return what is left of a period's sums when the forgiven sum is taken off."""
    return sum(sums.values()) - 2 * sums.get(FORGIVEN, 0)
