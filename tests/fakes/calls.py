"""A call that a test runs, looks at and cancels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from sigil.running_call import CallProgress, RunningCall, run_as
from tests.machine import within


class ReportedCall(RunningCall):
    """It remembers all the progress that it was told."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(seconds)
        self.told: list[CallProgress] = []
        self._changed = threading.Condition()

    def report(self, progress: CallProgress) -> bool:
        is_new = super().report(progress)
        if is_new:
            with self._changed:
                self.told.append(progress)
                self._changed.notify_all()
        return is_new

    def wait_for_reports(self, count: int = 1) -> None:
        """Return once it was told of progress so many times."""
        with self._changed:
            is_told = self._changed.wait_for(lambda: len(self.told) >= count, within(10))
        assert is_told, f"{len(self.told)} reports, not {count}"


@contextmanager
def running(call: RunningCall, run: Callable[[], Any]) -> Iterator[Future[Any]]:
    """What `run` returns as a part of the call, in a thread of its own."""

    def run_within() -> Any:
        with run_as(call):
            return run()

    with ThreadPoolExecutor(1) as pool:
        try:
            yield pool.submit(run_within)
        finally:
            call.cancel()
