"""The watchdog ends a call at its deadline, and the runner when its server is gone."""

from __future__ import annotations

import _thread  # `threading` takes 4 ms to import
import os
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

TICK = 0.005
_IDLE = 1.0
_NEVER = float("inf")


class Watchdog:
    """A thread that looks at the clock while calls run, and sleeps after a second without one.

    A signal would not do: Python's handlers do not run while the main thread is inside a guest.
    """

    def __init__(self, bump: Callable[[], None], server: int) -> None:
        self._bump = bump
        self._server = server
        self._lock = _thread.allocate_lock()
        self._deadline = _NEVER
        self._last = monotonic()
        self._asleep = False
        self._wake = _thread.allocate_lock()  # held as long as nobody wakes the thread
        self._wake.acquire()
        _thread.start_new_thread(self._watch_clock, ())
        # A thread begins with system calls that the filter, which may come soon, does not allow.
        self._wake.acquire()

    def arm(self, seconds: float) -> None:
        """Call `bump` at each tick, from the moment when `seconds` have passed."""
        with self._lock:
            self._last = monotonic()
            self._deadline = self._last + seconds
            was_asleep = self._asleep
            self._asleep = False
        if was_asleep:
            self._wake.release()

    def disarm(self) -> None:
        """End the watch over a call: `bump` is not called any more after this returns."""
        with self._lock:
            self._deadline = _NEVER

    def _watch_clock(self) -> None:
        self._wake.release()
        while True:
            with self._lock:
                now = monotonic()
                if now >= self._deadline:
                    self._bump()
                falls_asleep = self._deadline == _NEVER and now - self._last > _IDLE
                self._asleep = falls_asleep
            if os.getppid() != self._server:
                os._exit(1)
            if falls_asleep:
                self._wake.acquire()
            else:
                sleep(TICK)
