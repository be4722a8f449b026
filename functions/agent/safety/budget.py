"""What an agent may spend: tokens in a period, over all of its sessions. Each session writes its
own sum; nobody else does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from sigil.storage.kv import KV, keys

PAGE = 1_000
FORGIVEN = ""
"""Where a session's name would stand: the sum that an owner's unlock took off."""
KEPT_SECONDS = 400 * 86_400.0
"""For so long it can be read what was spent."""
DIGITS = 15
"""Of a sum: nobody spends more, and a larger one would not fit into a document."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`tokens` an agent, `session_tokens` one session may spend in a period of `seconds`; `ticks`:
    requests for one piece of work. 0 is no limit. `call_seconds`: how long a tool call is waited
    for.
    """

    tokens: int = 100_000
    seconds: int = 86_400
    session_tokens: int = 0
    ticks: int = 50
    call_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Tally:
    """A period's tokens: all that were used, and those of them that count against the budget, since
    an owner's unlock took off the rest.
    """

    total: int
    counted: int


def period(now: float, seconds: int) -> str:
    """The name of the period that `now` is in: `2026-11-22`, of shorter ones with the time at which
    it began. Names sort by time.
    """
    return _name(int(now // seconds) * seconds, seconds)


@lru_cache(maxsize=64)
def _name(began: int, seconds: int) -> str:
    return time.strftime(
        "%Y-%m-%d" if seconds % 86_400 == 0 else "%Y-%m-%dT%H:%M:%S", time.gmtime(began)
    )


class Budget:
    """The sums of one agent's sessions in a store."""

    def __init__(self, kv: KV, agent: str, limits: Limits) -> None:
        self._kv = kv
        self._agent = agent
        self.limits = limits

    def note(self, session: str, name: str, tokens: int) -> None:
        """Write down what a session (S of the keys) has spent in a period, all of it."""
        if tokens:
            self._kv.put(keys.usage(self._agent, name, session), b"%d" % tokens, ttl=KEPT_SECONDS)

    def own(self, session: str, name: str, known: int) -> int:
        """What a session has spent in a period: what it knows of, or what it wrote down before a
        crash or under another clock.
        """
        item = self._kv.get(keys.usage(self._agent, name, session))
        return max(known, _read(item.value, 0) if item else 0)

    def tally(self, name: str) -> Tally:
        """A period's tokens, of all sessions."""
        sums = self._sums(name, self.limits.tokens)
        return Tally(sum(sums.values()) - sums.get(FORGIVEN, 0), _counted(sums))

    def spent(self, name: str) -> int:
        """What counts of a period's tokens."""
        return self.tally(name).counted

    def _sums(self, name: str, unreadable: int) -> dict[str, int]:
        """What each session has spent in a period, and what of it all does not count any more;
        `unreadable` where that cannot be read.
        """
        sums: dict[str, int] = {}
        prefix, after = keys.usage(self._agent, name, "").sort, ""
        while page := self._kv.scan(
            keys.usage(self._agent, "", "").partition, prefix, after=after, limit=PAGE
        ):
            for sort, item in page:
                session = sort.removeprefix(prefix)
                sums[session] = _read(item.value, 0 if session == FORGIVEN else unreadable)
                after = sort
        return sums

    def forgive(self, name: str) -> None:
        """Start the period's sum anew: an owner unlocked the agent. What could not be read is
        written anew by its session.
        """
        sums = self._sums(name, 0)
        sums.pop(FORGIVEN, None)
        for session in (session for session, tokens in sums.items() if not tokens):
            self._kv.put(keys.usage(self._agent, name, session), b"0", ttl=KEPT_SECONDS)
        self._kv.put(
            keys.usage(self._agent, name, FORGIVEN), b"%d" % sum(sums.values()), ttl=KEPT_SECONDS
        )

    def exceeded(self, name: str, session: str, free: int = 0) -> str:
        """Why a session may ask for nothing more in this period; empty when it may. `free` tokens
        do not count for its own cap.
        """
        if self.limits.tokens <= 0 and self.limits.session_tokens <= 0:
            return ""
        sums = self._sums(name, self.limits.tokens)
        if 0 < self.limits.session_tokens <= sums.get(session, 0) - free:
            return "session-budget"
        return "budget" if 0 < self.limits.tokens <= _counted(sums) else ""


def _read(value: bytes, unreadable: int) -> int:
    return int(value) if value.isdigit() and len(value) <= DIGITS else unreadable


def _counted(sums: Mapping[str, int]) -> int:
    """What is left of a period's sums when what was forgiven is taken off."""
    return sum(sums.values()) - 2 * sums.get(FORGIVEN, 0)
