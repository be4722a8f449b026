"""The worker pool starts the runners of one sandbox when they are needed, at most so many, and
lends them one call at a time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic

from sigil.errors import BackendError
from sigil.sandbox.cpu_affinity import CpuAffinity
from sigil.sandbox.runner_process import (
    PLAIN,
    CodeRefused,
    Isolation,
    RunnerProcess,
    describe_isolation,
)
from sigil.sandbox.tenants import SOLE_TENANT, FairQueue, Tenant

PARKED = 32
"""The number of runners that may wait for a service at once, beside those that work; one namespace
has at most half of them.
"""


class _CallDepth(threading.local):
    """The number of calls of this thread that wait for calls of their own."""

    depth = 0


class WorkerPool:
    """Lends runners; a call that comes when all are busy waits for its turn.

    A runner works in a slot. One namespace has at most `size` slots. Where that is more than one,
    there is one slot more, so that no namespace ever has the last: its runner is started when
    another one comes. A single runner goes round. While calls of several namespaces hold all slots
    for a second, one that has none gets a runner beside them, up to `size` more, which end
    with their calls: nobody waits for as long as those may take.
    """

    def __init__(
        self,
        size: int,
        isolation: Isolation = PLAIN,
        *,
        strict: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._size = size
        self._clock = clock
        self._slots = FairQueue(size + 1 if size > 1 else size, most=size, extra=size)
        self._strict = strict
        self.isolation = isolation
        self._lock = threading.Lock()
        self._call_depth = _CallDepth()
        self._idle: list[RunnerProcess] = []
        self._busy: set[RunnerProcess] = set()
        self._parked: set[RunnerProcess] = set()
        self._parked_by: Counter[str] = Counter()
        self._starting = 0
        self._calls = 0
        self._affinity = CpuAffinity()
        self._started = 0
        self._past = {"cold": 0, "evictions": 0, "killed": 0, "renewed": 0}
        self._closed = False
        # A child dies with the thread that started it (PR_SET_PDEATHSIG), so one lasting thread
        # starts them all.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sandbox")

    @contextmanager
    def lend(
        self, program: str, patience: float, *, code: bool, tenant: Tenant = SOLE_TENANT
    ) -> Iterator[RunnerProcess]:
        """Lend a runner for one call, after at most `patience` seconds; it goes back unless the
        call ends in an exception.

        Rather one that has `program` already, or, when that is `code`, one that takes code. A call
        within a call works in the slot of the outer one, which waits for it: it enters no queue,
        and a whole tree of calls is one turn of its tenant.
        """
        outermost = not self._call_depth.depth
        if outermost and not self._slots.acquire(tenant, patience):
            if self._closed:
                raise _closed_error()
            raise BackendError(
                "EBUSY",
                "every runner is busy",
                source="sandbox",
                suggestion="try again in a moment",
            )
        try:
            child = self._take(program, code)
            alone = len(self._busy) + len(self._parked) + self._starting == 1
            joined = self._affinity.join(child.pid, alone=alone)
            try:
                yield child
            except CodeRefused:
                self._end(child, "renewed")
                raise
            except BaseException:
                self._end(child)
                raise
            finally:
                if joined:
                    self._affinity.part()
            # It is one too many when the pool was closed, or when it was started in the place of a
            # runner that was parked then.
            with self._lock:
                self._busy.discard(child)
                alive = len(self._idle) + len(self._busy) + self._starting
                is_needed = not self._closed and alive < self._slots.slots
                if is_needed:
                    self._idle.append(child)
            if not is_needed:
                child.kill()
        finally:
            if outermost:
                self._slots.release(tenant)

    @contextmanager
    def wait_for_call(self, child: RunnerProcess) -> Iterator[None]:
        """Mark a runner as waiting while its call waits for a call of its own, which works in its
        slot.
        """
        with self._lock:
            self._busy.discard(child)
            self._parked.add(child)
        self._call_depth.depth += 1
        self._affinity.leave(child.pid)
        try:
            yield
        finally:
            self._call_depth.depth -= 1
            with self._lock:
                self._parked.discard(child)
                self._busy.add(child)

    @contextmanager
    def park(self, child: RunnerProcess, tenant: Tenant, seconds: float) -> Iterator[None]:
        """Leave a runner's slot to another one while its call waits for a service, at most
        `seconds`.

        When the service has answered, the call may have to wait for its own namespace's other
        calls, so that a hundred of them that go on at the same moment are not a hundred at work.
        Its time goes on meanwhile, and when it is over the runner ends the call.
        """
        end = monotonic() + seconds
        with self._lock:
            may_park = (
                len(self._parked) < PARKED and self._parked_by[tenant.namespace] < PARKED // 2
            )
            if may_park:
                self._busy.discard(child)
                self._parked.add(child)
                self._parked_by[tenant.namespace] += 1
        self._affinity.leave(child.pid)
        if not may_park:
            yield
            return
        self._slots.release(tenant)
        try:
            yield
        finally:
            if not self._slots.acquire(tenant, max(end - monotonic(), 0.0), resumes=True):
                self._slots.acquire_anyway(tenant)
            with self._lock:
                self._parked_by[tenant.namespace] -= 1
                if not self._parked_by[tenant.namespace]:
                    del self._parked_by[tenant.namespace]
                self._parked.discard(child)
                self._busy.add(child)

    def has_program(self, program: str) -> bool:
        """Return whether a runner has this program already."""
        with self._lock:
            return any(
                program in child.programs for child in (*self._idle, *self._busy, *self._parked)
            )

    def counts(self) -> dict[str, int]:
        with self._lock:
            alive = (*self._idle, *self._busy, *self._parked)
            return {
                "children": len(alive),
                "busy": len(self._busy) + len(self._parked) + self._starting,
                "waiting": self._slots.waiting,
                "started": self._started,
                "killed": self._past["killed"],
                "renewed": self._past["renewed"],
                "calls": self._calls,
                "slots": sum(len(child.programs) for child in alive),
                "bytes": sum(child.programs.weight for child in alive),
                "cold": self._past["cold"] + sum(child.cold for child in alive),
                "evictions": self._past["evictions"] + sum(child.evicted for child in alive),
            }

    def pids(self) -> frozenset[int]:
        """Return the process ids of the runners that live."""
        with self._lock:
            return frozenset(child.pid for child in (*self._idle, *self._busy, *self._parked))

    def close(self) -> None:
        """End all runners, busy ones too, and refuse all that wait. A second time does nothing."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for child in self._busy | self._parked:
                child.interrupt()
        self._slots.close()
        for child in idle:
            child.kill()
        self._starter.shutdown(wait=False)

    def _take(self, program: str, code: bool) -> RunnerProcess:
        """Take a runner that waits for an order, an idle one or a new one."""
        while True:
            child = self._claim_idle(program, code)
            if child is None:
                return self._start()
            if code and child.refuses_code:
                # A fresh runner starts in its place, which no other call may take meanwhile.
                child.kill()
                with self._lock:
                    self._forget(child, "renewed")
                    self._starting += 1
                return self._start()
            if child.is_idle():
                return child
            self._end(child)

    def _claim_idle(self, program: str, code: bool) -> RunnerProcess | None:
        """Claim the idle runner that is best for `program`; None is the right to start a new one,
        because none is idle or a new one is better.
        """
        with self._lock:
            self._calls += 1
            if self._closed:
                raise _closed_error()
            fit = [each for each in reversed(self._idle) if not (code and each.refuses_code)]
            full = len(self._idle) + len(self._busy) + self._starting >= self._size
            child = None
            if fit:
                child = next((each for each in fit if program in each.programs), fit[0])
            elif self._idle and full:
                child = self._idle[-1]
            if child is None:
                self._starting += 1
            else:
                self._idle.remove(child)
                self._busy.add(child)
            return child

    def _start(self) -> RunnerProcess:
        """Start a runner by a right that `_claim_idle` gave."""
        child = None
        try:
            child = self._start_process()
        finally:
            with self._lock:
                self._starting -= 1
                if child is not None:
                    self._started += 1
                    self._busy.add(child)
        if self._closed:
            self._end(child)
            raise _closed_error()
        return child

    def _start_process(self) -> RunnerProcess:
        """Start a process and wait until it is ready. Where the address space is too small for a
        memory pool, it does without (and so do the later ones).
        """
        try:
            child = self._spawn(self.isolation)
        except BackendError:
            if self._strict or not self.isolation.pooling or self._started:
                raise
            child = self._spawn(self.isolation._replace(pooling=False))
        if self._strict and child.isolation != self.isolation:
            child.kill()
            raise BackendError(
                "EUNAVAILABLE",
                f"SIGIL_SANDBOX=fast: {describe_isolation('fast', child.isolation)}",
                source="sandbox",
                suggestion="use auto",
            )
        self.isolation = child.isolation
        return child

    def _spawn(self, isolation: Isolation) -> RunnerProcess:
        try:
            child = self._starter.submit(RunnerProcess, isolation, self._clock).result()
        except RuntimeError:  # the executor is shut down
            raise _closed_error() from None
        child.wait_until_ready()
        return child

    def _end(self, child: RunnerProcess, reason: str = "killed") -> None:
        child.kill()
        with self._lock:
            self._forget(child, reason)

    def _forget(self, child: RunnerProcess, reason: str) -> None:
        """Add the counts of a runner that was ended to those of the past."""
        self._past["cold"] += child.cold
        self._past["evictions"] += child.evicted
        self._past[reason] += 1
        self._affinity.forget(child.pid)
        self._busy.discard(child)


def _closed_error() -> BackendError:
    return BackendError("EUNAVAILABLE", "the sandbox is closed", source="sandbox")
