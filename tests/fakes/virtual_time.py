"""Time that passes only while everybody waits, so that what takes minutes is tested in no time."""

from __future__ import annotations

import threading
from collections.abc import Collection

from functions.time.clock import Clock

LOOK = 0.0005


class VirtualTime:
    """The time of the thread that made it and of the threads with certain names.

    It moves to the next moment that one of them waits for once all of them wait: what they do in
    between takes no time.
    """

    def __init__(self, names: Collection[str], wall: float = 1_800_000_000.0) -> None:
        self.now = 0.0
        self._wall = wall
        self._names = names
        self._own = threading.current_thread()
        self._changed = threading.Condition()
        self._waiting: dict[threading.Thread, tuple[float, threading.Event]] = {}

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self._wall + self.now, lambda: self.now, self.pause, self.wait)

    def pause(self, seconds: float) -> None:
        self.wait(threading.Event(), seconds)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        own = threading.current_thread()
        with self._changed:
            due = self.now + seconds
            self._waiting[own] = (due, event)
            while not event.is_set() and self.now < due:
                if self._all_wait():
                    self.now = min(due for due, _ in self._waiting.values())
                    self._changed.notify_all()
                else:
                    self._changed.wait(LOOK)
            del self._waiting[own]
            return event.is_set()

    def _all_wait(self) -> bool:
        there = [
            each for each in threading.enumerate() if each is self._own or each.name in self._names
        ]
        waiting = [self._waiting.get(each) for each in there]
        # one that was woken goes on before time does
        return all(found and not found[1].is_set() and self.now < found[0] for found in waiting)
