"""`--timeout`: a command that takes longer ends as Ctrl-C would end it, with another exit code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Deadline:
    """The time limit of a command; `seconds` 0 is none."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.over = False

    @contextmanager
    def enforce(self) -> Iterator[None]:
        """Raise `KeyboardInterrupt` in the main thread once the time is over, so that everything
        that cleans up after Ctrl-C does.
        """
        if not self.seconds or threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            self.over = True
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
