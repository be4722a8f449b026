"""A call while it runs: how far it has come, and how it is cancelled.

Whoever runs a call does so within `run_as`. What works for the call further down (a sandbox, a
connection, a program) finds it with `current_call`, in the same thread.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from sigil.errors import ToolError, one_line

INTERRUPTED = "EINTERRUPTED"
"""The code of a call that was cancelled; no guest may claim it."""
MESSAGE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class CallProgress:
    """How far a call says that it has come: `done` of `total`, and in one clean line, what it does.

    `total` is None where it is not known.
    """

    done: float
    total: float | None = None
    message: str = ""


def read_progress(done: object, total: object, message: object) -> CallProgress | None:
    """Return the progress that these values tell; None when `done` is no number.

    They come from whoever runs the call, so nothing is believed of them.
    """
    number = _read_number(done)
    if number is None:
        return None
    text = one_line(message, MESSAGE_CHARACTERS) if isinstance(message, str) else ""
    return CallProgress(number, _read_number(total), text)


def format_progress(progress: CallProgress) -> str:
    """Return a progress for people: `3/8 what it does`."""
    text = f"{progress.done:.10g}"
    if progress.total is not None:
        text = f"{text}/{progress.total:.10g}"
    return f"{text} {progress.message}".strip()


def show_nothing(progress: CallProgress) -> None:
    """Do nothing: nobody watches."""


def _read_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number that is larger than any float
        return None
    return number if math.isfinite(number) else None


class RunningCall:
    """A call that runs, as the one who runs it and those who work for it share it.

    `seconds` is the longest that a call of an MCP server may take while the server tells that it
    goes on, 0 for no longer than the capability's own limit; where it `is_patient`, a silent one
    may take as long. `show` gets how far it has come, in whichever thread reads that. Thread-safe.
    """

    def __init__(
        self,
        seconds: float = 0.0,
        *,
        is_patient: bool = False,
        show: Callable[[CallProgress], None] = show_nothing,
    ) -> None:
        self._show = show
        self.seconds = seconds
        self.is_patient = is_patient
        self.progress: CallProgress | None = None
        self.is_cancelled = False
        self._cancellers: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def report(self, progress: CallProgress) -> bool:
        """Take how far the call has come; return False for what is no further than before."""
        with self._lock:
            if self.progress and progress.done <= self.progress.done:
                return False
            self.progress = progress
        self._show(progress)
        return True

    def cancel(self) -> None:
        """Make all that works for the call give it up at once."""
        with self._lock:
            self.is_cancelled = True
            for cancel in self._cancellers:
                cancel()

    @contextmanager
    def cancelling(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Have `cancel` called, perhaps in another thread, when the call is cancelled meanwhile.

        It does not wait for anything. Raises `ToolError` EINTERRUPTED when the call is cancelled
        already.
        """
        with self._lock:
            if self.is_cancelled:
                raise interrupted_error()
            self._cancellers.append(cancel)
        try:
            yield
        finally:
            with self._lock:
                self._cancellers.remove(cancel)


_current: ContextVar[RunningCall | None] = ContextVar("running_call", default=None)


@contextmanager
def run_as(call: RunningCall) -> Iterator[RunningCall]:
    """Run what is within as part of a call."""
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


def current_call() -> RunningCall:
    """Return the call for which this thread works; one that nobody cancels where it is none."""
    return _current.get() or RunningCall()


def interrupted_error() -> ToolError:
    """Return the error of a call that was cancelled."""
    return ToolError(
        INTERRUPTED,
        "the call was interrupted; whether it took effect is unknown",
        suggestion="check before calling it again",
    )
