"""Keeps a caller and the runner that works for it on one processor, as long as there is one caller:
the two take turns.

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

CONTENTION_SECONDS = 0.05
"""After two calls at the same time, the kernel places callers and runners for so many seconds: it
lets them run side by side.
"""


class CpuAffinity:
    """The processors of one worker pool. Thread-safe; does nothing where the system does not offer
    it.
    """

    def __init__(self) -> None:
        self._processor: Callable[[], int] | None = None
        if sys.platform == "linux" and (os.cpu_count() or 1) > 1:
            self._processor = getattr(ctypes.PyDLL(None), "sched_getcpu", None)
        self._processor_by_pid: dict[int, int] = {}
        self._contended_at = 0.0
        self._mine = threading.local()

    def join(self, pid: int, *, alone: bool) -> bool:
        """Put the calling thread on the processor of the runner `pid`, before that is given work;
        return whether the thread has to `part` from it afterwards.
        """
        if self._processor is None:
            return False
        now = monotonic()
        if not alone:
            self._contended_at = now
        together = now - self._contended_at > CONTENTION_SECONDS
        try:
            allowed = self._allowed_processors()
            processor = self._processor() if together else -1
            if together:
                os.sched_setaffinity(0, (processor,))
            if self._processor_by_pid.get(pid, -1) != processor:
                self._processor_by_pid[pid] = processor
                os.sched_setaffinity(pid, (processor,) if together else allowed)
        except OSError:  # not allowed here, or the runner is gone already
            self.part()
            return False
        return together

    def part(self) -> None:
        """Let the calling thread run anywhere again, as it did before its first call."""
        if self._processor is None:
            return
        try:
            os.sched_setaffinity(0, self._allowed_processors())
        except OSError:
            self._processor = None

    def leave(self, pid: int) -> None:
        """Let both run anywhere while the call waits for a service: its thread may start others."""
        self.part()
        if self._processor is not None and self._processor_by_pid.get(pid, -1) != -1:
            self._processor_by_pid[pid] = -1
            with suppress(OSError):
                os.sched_setaffinity(pid, self._allowed_processors())

    def forget(self, pid: int) -> None:
        self._processor_by_pid.pop(pid, None)

    def _allowed_processors(self) -> frozenset[int]:
        """Return the processors on which the calling thread could run before its first call."""
        known: frozenset[int] | None = getattr(self._mine, "allowed", None)
        if known is None:
            known = self._mine.allowed = frozenset(os.sched_getaffinity(0))
        return known
