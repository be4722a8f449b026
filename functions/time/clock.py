"""The clock that tests replace: wall time for stamps and lifetimes, monotonic time for waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Four functions of time, all in seconds.

    `now` is since the epoch, and people and other machines set it as they like. `monotonic` only
    grows. `pause` waits. `wait` waits until an event is set, at most so long, and returns whether
    it is.
    """

    now: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait


SYSTEM = Clock()
"""The machine's own clock."""
