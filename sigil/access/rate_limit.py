"""Rates: token buckets in this process's memory, one for each key."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

BUCKETS_MOST = 10_000


class RateLeft(NamedTuple):
    """What a key may still do: `most` a minute, `left` of them at once, and the whole of it again
    in `seconds`.
    """

    most: int
    left: int
    seconds: int


class RateLimiter:
    """At most `per_minute` a minute for each key, and as many at once after a quiet minute. Each
    process counts for itself.

    The bucket of the key that was asked about longest ago makes room for a new one; by then it is
    mostly full again. Thread-safe.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = per_minute
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, key: str) -> float:
        """Take one: 0 when there was one, else the seconds until there is."""
        with self._lock:
            left, now = self._left(key)
            missing = 1.0 - left
            self._buckets[key] = (left if missing > 0 else left - 1.0, now)
            self._buckets.move_to_end(key)
            if len(self._buckets) > BUCKETS_MOST:
                self._buckets.popitem(last=False)
        return missing * 60.0 / self._most if missing > 0 else 0.0

    def exhausted(self, key: str) -> bool:
        """Whether `take` would have to wait; takes nothing."""
        with self._lock:
            return self._left(key)[0] < 1.0

    def left(self, key: str) -> RateLeft:
        """How much there is for a key; takes nothing."""
        with self._lock:
            left, _ = self._left(key)
        return RateLeft(
            int(self._most), int(left), math.ceil((self._most - left) * 60.0 / self._most)
        )

    def _left(self, key: str) -> tuple[float, float]:
        now = self._clock()
        left, then = self._buckets.get(key, (self._most, now))
        return min(self._most, left + (now - then) * self._most / 60.0), now
