"""Keeps a caller and the runner that works for it on one processor, while nobody else calls: the
two take turns.

Linux spreads them over idle processors, where each message wakes one up (30 to 70 µs in a virtual
machine) and finds its caches cold; a switch on the same one costs 5 µs.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

CROWDED_SECONDS = 0.05
"""Calls that were side by side so recently are left to the kernel, which has them run at the same
time.
"""


class CpuAffinity:
    """The processors of one worker pool. Thread-safe; does nothing where the system does not offer
    it.
    """

    def __init__(self) -> None:
        self._processor = _offered()
        self._places: dict[int, int] = {}
        self._crowded = 0.0
        self._mine = threading.local()

    def join(self, pid: int, *, alone: bool) -> bool:
        """Put the calling thread beside the runner `pid` before that is given work; return whether
        the thread has to `part` from it afterwards.
        """
        if self._processor is None:
            return False
        now = monotonic()
        if not alone:
            self._crowded = now
        near = now - self._crowded > CROWDED_SECONDS
        try:
            everywhere = self._everywhere()
            place = self._processor() if near else -1
            if near:
                os.sched_setaffinity(0, (place,))
            if self._places.get(pid, -1) != place:
                self._places[pid] = place
                os.sched_setaffinity(pid, (place,) if near else everywhere)
        except OSError:  # not allowed here, or the runner is gone already
            self.part()
            return False
        return near

    def part(self) -> None:
        """Let the calling thread run anywhere again, as it did before its first call."""
        if self._processor is None:
            return
        try:
            os.sched_setaffinity(0, self._everywhere())
        except OSError:
            self._processor = None

    def leave(self, pid: int) -> None:
        """Let both run anywhere while the call waits for a service: its thread may start others."""
        self.part()
        if self._processor is not None and self._places.get(pid, -1) != -1:
            self._places[pid] = -1
            with suppress(OSError):
                os.sched_setaffinity(pid, self._everywhere())

    def forget(self, pid: int) -> None:
        self._places.pop(pid, None)

    def _everywhere(self) -> frozenset[int]:
        known: frozenset[int] | None = getattr(self._mine, "everywhere", None)
        if known is None:
            known = self._mine.everywhere = frozenset(os.sched_getaffinity(0))
        return known


def _offered() -> Callable[[], int] | None:
    """The C library's `sched_getcpu` where there is more than one processor to choose from."""
    if sys.platform != "linux" or (os.cpu_count() or 1) < 2:
        return None
    return getattr(ctypes.PyDLL(None), "sched_getcpu", None)
