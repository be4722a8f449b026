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

DELAY_SECONDS = 0.4
"""A step that is done sooner shows nothing, and costs no import."""


class Spinner:
    """One at a time. Thread-safe: it begins in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live: Live | None = None
        self._text = ""

    @contextmanager
    def show(self, text: str, *, color: bool = True) -> Iterator[None]:
        """Show `text` with a spinner until the end; inside another one only the words change."""
        with self._lock:
            outer = self._text
            self._text = text
        timer = threading.Timer(DELAY_SECONDS, self._start_drawing, (color,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with self._lock:
                self._text = outer
                if self._live and not outer:
                    self._live.stop()
                    self._live = None

    def change(self, text: str) -> None:
        """Show another text in the place of the one that is shown, if any is."""
        with self._lock:
            if not self._text:
                return
            self._text = text
            if self._live:
                spinner = self._live.get_renderable()
                if hasattr(spinner, "update"):
                    spinner.update(text=text)

    @contextmanager
    def pause(self) -> Iterator[None]:
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

    def _start_drawing(self, color: bool) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner as RichSpinner

        with self._lock:
            if not self._text or self._live:
                return
            console = Console(stderr=True, no_color=None if color else True, highlight=False)
            name = "dots"
            try:
                "⠋".encode(console.encoding)
            except (UnicodeError, LookupError):
                name = "line"  # its characters are in every encoding
            self._live = Live(
                RichSpinner(name, self._text),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()
