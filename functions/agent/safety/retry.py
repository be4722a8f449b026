"""Retry waits for failures that pass by themselves: a server away for a moment, a rate limit.

A call that is not safe to repeat is never retried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from functions.agent.safety.failure_codes import code_of
from functions.time.clock import SYSTEM, Clock
from sigil.errors import SigilError
from sigil.storage.backoff import jitter

TRIES = 4
FIRST_SECONDS = 0.5
MOST_SECONDS = 10.0
"""A failure that needs a longer pause is told to the model instead."""
CHECK_SECONDS = 0.25
"""A pause asks so often whether it was told to stop."""
_T = TypeVar("_T")


def backoff_seconds(number: int, first: float = FIRST_SECONDS) -> float:
    """Return the seconds to wait before one more try; `number` counts them from 0.

    Each pause is twice as long as the one before, with a jitter of a quarter.
    """
    return jitter(first * 2**number, spread=0.25)


@dataclass(frozen=True, slots=True)
class Retry:
    """Retry tries a call again after transient failures.

    `deadline` is the monotonic time by which a try must have begun; `seconds` bounds all tries of
    a call together.
    """

    clock: Clock = SYSTEM
    deadline: float = inf
    seconds: float = 30.0
    tries: int = TRIES

    def run(self, attempt: Callable[[], _T], stopped: Callable[[], bool]) -> _T:
        """Return what `attempt` returns, tried again after transient failures.

        Raises the last failure when no time is left for one more try, or when told to stop.
        """
        over = min(self.deadline, self.clock.monotonic() + self.seconds)
        for number in range(self.tries - 1):
            try:
                return attempt()
            except SigilError as problem:
                # what has a reason of its own, as a task that is blocked, does not pass so soon
                if problem.reason or code_of(problem.code).kind != "transient":
                    raise
                seconds = max(backoff_seconds(number), problem.retry_after)
                if seconds > MOST_SECONDS or self.clock.monotonic() + seconds >= over:
                    raise
                while seconds > 0:
                    self.clock.pause(min(seconds, CHECK_SECONDS))
                    seconds -= CHECK_SECONDS
                    if stopped():
                        raise
        return attempt()


NO_RETRY = Retry(tries=1)
