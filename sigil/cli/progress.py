"""A spinner for long steps: on a terminal's stderr, after a moment, and cleared for every line that
is printed meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live

PATIENCE_SECONDS = 0.4
"""What is done sooner shows nothing, and costs no import."""


class Spinner:
    """One at a time. Thread-safe: it begins in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live: Live | None = None
        self._what = ""

    @contextmanager
    def turning(self, what: str, *, color: bool = True) -> Iterator[None]:
        """Show `what` with a spinner until the end; inside another one only the words change."""
        with self._lock:
            outer, self._what = self._what, what
        timer = threading.Timer(PATIENCE_SECONDS, self._begin, (color,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with self._lock:
                self._what = outer
                if not outer:
                    self._stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Clear the spinner while a line is printed."""
        with self._lock:
            live = self._live
            if live:
                live.stop()
            try:
                yield
            finally:
                if live:
                    live.start()

    def _begin(self, color: bool) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner as Turning

        with self._lock:
            if not self._what or self._live:
                return
            console = Console(stderr=True, no_color=None if color else True, highlight=False)
            turning = Turning(_form(console.encoding), self._what)
            self._live = Live(
                turning,
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def _stop(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None


def _form(encoding: str) -> str:
    """Return a spinner whose characters the terminal's encoding has."""
    try:
        "⠋".encode(encoding)
    except (UnicodeError, LookupError):
        return "line"
    return "dots"
