"""What one process has received from SQS and not yet answered: kept hidden from the others while it
lives.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from functions.clock import Clock
from functions.queues.sqs_client import BATCH_MOST, Calls


@dataclass(slots=True)
class _Hold:
    """`since` it was received, `until` it is hidden at least; both monotonic."""

    since: float
    until: float


class Holds:
    """Messages in flight here. Each is hidden for `visibility` seconds, and again at every `renew`
    up to `hold` seconds after it came.

    Who gives a message back releases it first, and so waits for a renewal that runs: nothing hides
    it again.
    """

    def __init__(self, calls: Calls, clock: Clock, visibility: float, hold: float) -> None:
        self.visibility = visibility
        self._calls = calls
        self._clock = clock
        self._hold = hold
        self._held: dict[str, _Hold] = {}
        self._lock = threading.Lock()
        self._renewing = threading.Lock()

    def add(self, handle: str, since: float) -> None:
        """`since`: monotonic, when it was asked for."""
        with self._lock:
            self._held[handle] = _Hold(since, since + self.visibility)

    def drop(self, handle: str) -> None:
        """Keep it no longer; a renewal that runs may still hide it once."""
        self._forget({handle})

    def release(self, handle: str) -> None:
        """Keep it no longer, from now on."""
        with self._renewing:
            self._forget({handle})

    def has(self, handle: str) -> bool:
        """Whether the message is surely hidden from others now."""
        with self._lock:
            hold = self._held.get(handle)
        return hold is not None and self._clock.monotonic() < hold.until

    def renew(self) -> None:
        """Hide them all again; forgets those that others have, and those that were held for too
        long.
        """
        with self._renewing:
            self._forget(self._overdue())
            with self._lock:
                handles = list(self._held)
            for start in range(0, len(handles), BATCH_MOST):
                self._renew(handles[start : start + BATCH_MOST])

    def _renew(self, handles: list[str]) -> None:
        now = self._clock.monotonic()
        gone = self._calls.hide_all(handles, self.visibility)
        self._forget(gone)
        with self._lock:
            for hold in filter(None, map(self._held.get, handles)):
                hold.until = now + self.visibility

    def _overdue(self) -> set[str]:
        now = self._clock.monotonic()
        with self._lock:
            return {handle for handle, hold in self._held.items() if now - hold.since >= self._hold}

    def _forget(self, handles: set[str]) -> None:
        with self._lock:
            for handle in handles:
                self._held.pop(handle, None)
