"""The runners of one sandbox: started when they are needed, at most so many, handed out one call at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from sigil.errors import BackendError
from sigil.sandbox.child import Child

PATIENCE_SECONDS = 30.0
"""How long a call waits for a runner: no longer than a call itself may take."""


class Crew:
    """Hands out runners; whoever comes when all are busy waits."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._change = threading.Condition()
        self._idle: list[Child] = []
        self._busy: set[Child] = set()
        self._starting = 0
        self._waiting = 0
        self._calls = 0
        self._started = 0
        self._killed = 0
        self._pooling = True
        self._closed = False
        # A child dies with the thread that started it (PR_SET_PDEATHSIG), so one lasting thread starts them all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sandbox")

    @contextmanager
    def runner(self) -> Iterator[Child]:
        """A runner for one call; it goes back unless the call ends in an exception that is not about the guest."""
        child = self._take()
        try:
            yield child
        except BaseException:
            self._drop(child)
            raise
        self._give(child)

    def counts(self) -> dict[str, int]:
        with self._change:
            return {
                "children": len(self._idle) + len(self._busy),
                "busy": len(self._busy) + self._starting,
                "waiting": self._waiting,
                "started": self._started,
                "killed": self._killed,
                "calls": self._calls,
            }

    def pids(self) -> frozenset[int]:
        """The process ids of the runners that live."""
        with self._change:
            return frozenset(child.pid for child in (*self._idle, *self._busy))

    def close(self) -> None:
        """End all runners, also those that are busy; whoever waits is told. Again is harmless."""
        with self._change:
            self._closed = True
            idle, self._idle = self._idle, []
            for child in self._busy:
                child.interrupt()
            self._change.notify_all()
        for child in idle:
            child.kill()
        self._starter.shutdown(wait=False)

    def _take(self) -> Child:
        while True:
            child = self._claim()
            if child is None:
                return self._start()
            if child.quiet():
                return child
            self._drop(child)

    def _claim(self) -> Child | None:
        """An idle runner, or None and the right to start one."""
        with self._change:
            self._waiting += 1
            self._calls += 1
            try:
                free = self._change.wait_for(self._can_claim, PATIENCE_SECONDS)
            finally:
                self._waiting -= 1
            if self._closed:
                raise _closed()
            if not free:
                raise BackendError("EBUSY", "every runner is busy", source="sandbox", suggestion="try again in a moment")
            if not self._idle:
                self._starting += 1
                return None
            child = self._idle.pop()
            self._busy.add(child)
            return child

    def _can_claim(self) -> bool:
        return self._closed or bool(self._idle) or len(self._busy) + self._starting < self._size

    def _start(self) -> Child:
        child = None
        try:
            child = self._started_child()
        finally:
            with self._change:
                self._starting -= 1
                if child is not None:
                    self._started += 1
                    self._busy.add(child)
                self._change.notify()
        if self._closed:
            self._drop(child)
            raise _closed()
        return child

    def _started_child(self) -> Child:
        """A runner that is ready. Where the address space is too small for a pool, it does without (and so do the later ones)."""
        try:
            return self._spawned(self._pooling)
        except BackendError:
            if not self._pooling or self._started:
                raise
        child = self._spawned(False)
        self._pooling = False
        return child

    def _spawned(self, pooling: bool) -> Child:
        try:
            child = self._starter.submit(Child, pooling=pooling).result()
        except RuntimeError:  # the executor is shut down
            raise _closed() from None
        child.greet()
        return child

    def _give(self, child: Child) -> None:
        with self._change:
            closed = self._closed
            self._busy.discard(child)
            if not closed:
                self._idle.append(child)
                self._change.notify()
        if closed:
            child.kill()

    def _drop(self, child: Child) -> None:
        child.kill()
        with self._change:
            self._killed += 1
            self._busy.discard(child)
            self._change.notify()


def _closed() -> BackendError:
    return BackendError("EUNAVAILABLE", "the sandbox is closed", source="sandbox")
