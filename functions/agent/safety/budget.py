"""What an agent may spend: tokens in a period, over all of its sessions. Each session writes its own sum; nobody else does."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import lru_cache

from sigil.kv import KV, keys

PAGE = 1_000
FORGIVEN = ""
"""Where a session's name would stand: the sum that an owner's unlock took off."""
KEPT_SECONDS = 400 * 86_400.0
"""For so long it can be read what was spent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """`tokens` an agent, `session_tokens` one session may spend in a period of `seconds`; `ticks`: requests for one piece of work.
    0 is no limit. `call_seconds`: how long a tool call is waited for.
    """

    tokens: int = 100_000
    seconds: int = 86_400
    session_tokens: int = 0
    ticks: int = 50
    call_seconds: float = 30.0


def period(now: float, seconds: int) -> str:
    """The name of the period that `now` is in: `2026-11-22`, of shorter ones with the time at which it began. Names sort by time."""
    return _name(int(now // seconds) * seconds, seconds)


@lru_cache(maxsize=64)
def _name(began: int, seconds: int) -> str:
    return time.strftime("%Y-%m-%d" if seconds % 86_400 == 0 else "%Y-%m-%dT%H:%M:%S", time.gmtime(began))


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

    def spent(self, name: str, session: str, own: int) -> int:
        """What counts of a period's tokens when one session, whatever it wrote down, has spent `own`."""
        sums = self._sums(name)
        return own + sum(tokens for other, tokens in sums.items() if other not in (session, FORGIVEN)) - sums.get(FORGIVEN, 0)

    def _sums(self, name: str) -> dict[str, int]:
        """What each session has spent in a period, and what of it all does not count any more."""
        sums: dict[str, int] = {}
        prefix, after = keys.usage(self._agent, name, "").sort, ""
        while page := self._kv.scan(keys.usage(self._agent, "", "").partition, prefix, after=after, limit=PAGE):
            for sort, item in page:
                sums[sort.removeprefix(prefix)] = int(item.value)
                after = sort
        return sums

    def forgive(self, name: str) -> None:
        """Start the period's sum anew: an owner unlocked the agent."""
        sums = self._sums(name)
        sums.pop(FORGIVEN, None)
        self._kv.put(keys.usage(self._agent, name, FORGIVEN), b"%d" % sum(sums.values()), ttl=KEPT_SECONDS)

    def exceeded(self, name: str, session: str, own: int, free: int = 0) -> str:
        """Why a session that has spent `own` tokens in this period may ask for nothing more; empty when it may.

        `free` of them do not count for the session's own cap.
        """
        if 0 < self.limits.session_tokens <= own - free:
            return "session-budget"
        if 0 < self.limits.tokens <= self.spent(name, session, own):
            return "budget"
        return ""
