"""Which turns of one process may run at the same time: all of them, but for one that may be what
crashed the process before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TurnLock:
    """Workers enter before they take an event and leave when they are done with it, so turns run
    side by side.

    A worker that asks to be alone waits until all others have left, and nobody enters before it is
    done: a crash in its turn hits no other.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: set[int] = set()  # threads
        self._alone: int | None = None  # the thread that is alone, or waits to be
        self._closed = False

    def enter(self, wait: float) -> bool:
        """Join the others; False when somebody was alone, or waiting for it, for `wait` seconds, or
        when the lock is closed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._alone is None or self._closed, wait)
            if self._alone is not None or self._closed:
                return False
            self._inside.add(threading.get_ident())
            return True

    def leave(self) -> None:
        """Whoever entered is done."""
        with self._changed:
            self._inside.discard(threading.get_ident())
            self._changed.notify_all()

    @contextmanager
    def alone(self, wait: float) -> Iterator[bool]:
        """Keep everybody else out. Whether that came true: the others had `wait` seconds to leave,
        and only one can ask at a time.
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
        """Nobody enters, and nobody begins to be alone, any more: the process is ending."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
