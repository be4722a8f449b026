"""The lock under which the turns of one process run side by side, except for a turn that may have
crashed the process before: it runs alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TurnLock:
    """Workers enter before they take an event and leave when they are done with it.

    Turns run side by side. A worker that asks to be alone waits until all others have left, and no
    worker enters before it is done: a crash in its turn hits no other turn.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: set[int] = set()  # threads
        self._alone: int | None = None  # the thread that is alone, or waits to be
        self._closed = False

    def enter(self, wait: float) -> bool:
        """Join the others; False when a worker was alone, or waited to be, for all of `wait`
        seconds, or when the lock is closed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._alone is None or self._closed, wait)
            if self._alone is not None or self._closed:
                return False
            self._inside.add(threading.get_ident())
            return True

    def leave(self) -> None:
        """Take the worker of this thread out again."""
        with self._changed:
            self._inside.discard(threading.get_ident())
            self._changed.notify_all()

    @contextmanager
    def alone(self, wait: float) -> Iterator[bool]:
        """Keep every other worker out, and yield whether that succeeded.

        It fails when the others have not left within `wait` seconds, or another one asked first.
        """
        me = threading.get_ident()
        with self._changed:
            free = self._alone is None and not self._closed
            if free:
                self._alone = me
                self._changed.wait_for(lambda: self._inside <= {me} or self._closed, wait)
            granted = free and self._inside <= {me} and not self._closed
        try:
            yield granted
        finally:
            with self._changed:
                if free:
                    self._alone = None
                self._changed.notify_all()

    def close(self) -> None:
        """Let no worker enter or be alone from now on: the process is ending."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
