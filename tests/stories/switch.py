"""A switch inside a server of the tests: it counts what the product does, and kills or stops the
process at a chosen operation.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

MIDDLE_SECONDS = 0.2
"""How long after its start an operation is in its middle; what is meant to be hit there takes
longer.
"""


@dataclass(frozen=True, slots=True)
class Order:
    """What a switch does: at the point `at` (empty: nowhere) it sends its own process the signal
    `number`.

    Of all processes that share a `folder` and `once` only the first to get there does. What happens
    is noted in the folder: every point in `journal`, every run of a capability in `runs`.
    """

    folder: str
    at: str = ""
    number: int = 9
    once: str = "fired"


@dataclass(slots=True)
class Switch:
    """Points are named `OPERATION COUNT before|during|after`, counted in this process."""

    order: Order
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def around(self, operation: str, *, middle: bool = False) -> Iterator[None]:
        """Pass the points before and after the block; `middle`: one during it as well.

        One that fails, as a write that another one overtook, has no point after it and is not
        counted: when it is tried again, it has the same number.
        """
        with self._lock:
            self._counts[operation] += 1
            name = f"{operation} {self._counts[operation]}"
        self._point(f"{name} before")
        timer = self._in_the_middle(f"{name} during") if middle else None
        try:
            yield
        except BaseException:
            with self._lock:
                self._counts[operation] -= 1
            raise
        if timer:
            timer.cancel()
        self._point(f"{name} after")

    def ran(self, what: str) -> None:
        """Note that a capability begins to run."""
        self._note("runs", what)

    def _in_the_middle(self, point: str) -> threading.Timer | None:
        self._note("journal", point)
        if point != self.order.at:
            return None
        timer = threading.Timer(MIDDLE_SECONDS, self._fire)
        timer.start()
        return timer

    def _point(self, point: str) -> None:
        self._note("journal", point)
        if point == self.order.at:
            self._fire()

    def _fire(self) -> None:
        try:
            Path(self.order.folder, self.order.once).touch(exist_ok=False)
        except FileExistsError:
            return
        # a signal to this very thread takes effect before the call returns; one to the process may
        # take its time
        signal.pthread_kill(threading.get_ident(), self.order.number)

    def _note(self, file: str, line: str) -> None:
        with Path(self.order.folder, file).open("a") as notes:
            notes.write(line + "\n")
