"""Waiting for what passes by itself: a server that is away for a moment, a rate, a rest. Never for
a call that is not safe to repeat.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from functions.agent.safety.codes import code_of
from functions.clock import SYSTEM, Clock
from sigil.errors import SigilError

TRIES = 4
FIRST_SECONDS = 0.5
MOST_SECONDS = 10.0
"""What takes longer is told to the model instead."""
LOOK_SECONDS = 0.25
_T = TypeVar("_T")


def pause(number: int, first: float = FIRST_SECONDS) -> float:
    """The seconds before one more try, `number` counted from 0: twice as long each time, give or
    take a quarter.
    """
    return float(first * 2**number * random.uniform(0.75, 1.25))


@dataclass(frozen=True, slots=True)
class Patience:
    """`deadline`: the monotonic time by which a try must have begun; `seconds`: how long a call is
    waited for, its tries together.
    """

    clock: Clock = SYSTEM
    deadline: float = inf
    seconds: float = 30.0
    tries: int = TRIES

    def tried(self, attempt: Callable[[], _T], stopped: Callable[[], bool]) -> _T:
        """What `attempt` gives, tried again after failures that pass; the last failure as it is."""
        over = min(self.deadline, self.clock.monotonic() + self.seconds)
        for number in range(self.tries - 1):
            try:
                return attempt()
            except SigilError as problem:
                seconds = max(pause(number), problem.retry_after)
                if (
                    code_of(problem.code).kind != "transient"
                    or seconds > MOST_SECONDS
                    or not self._waited(seconds, over, stopped)
                ):
                    raise
        return attempt()

    def _waited(self, seconds: float, over: float, stopped: Callable[[], bool]) -> bool:
        """Wait; False when there is no time for it, or somebody said stop."""
        if self.clock.monotonic() + seconds >= over:
            return False
        while seconds > 0:
            self.clock.pause(min(seconds, LOOK_SECONDS))
            seconds -= LOOK_SECONDS
            if stopped():
                return False
        return True


NONE = Patience(tries=1)
