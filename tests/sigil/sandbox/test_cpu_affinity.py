"""A caller and its runner share a processor while there is one caller, run anywhere otherwise, and are
never left bound to one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from sigil.errors import BackendError, ToolError
from sigil.protocol import Json
from sigil.sandbox.cpu_affinity import CONTENTION_SECONDS, CpuAffinity
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Grants, SandboxLimits
from tests.machine import until
from tests.sigil.sandbox.modules import guest, program, script

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2,
    reason="needs Linux and two processors",
)
ECHO = program(guest())
LOOP = program(guest("(loop $l (br $l)) (i32.const 0)"))


def places(task: int) -> frozenset[int]:
    return frozenset(os.sched_getaffinity(task))


def test_a_caller_that_is_alone_has_its_runner_beside_it_and_is_free_afterwards(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox, everywhere = opened(children=1), places(0)
    caller = threading.get_native_id()
    sandbox.run(ECHO, b"1")
    with ThreadPoolExecutor(1) as watcher:
        tied = watcher.submit(until, lambda: len(places(caller)) == 1, "the caller is tied")
        with pytest.raises(ToolError, match="ETIMEDOUT"):
            sandbox.run(LOOP, b"1", limits=SandboxLimits(timeout_ms=300))
        tied.result()
    assert places(0) == everywhere


def test_callers_side_by_side_are_left_alone(opened: Callable[..., Sandbox]) -> None:
    sandbox, everywhere = opened(children=2), places(0)
    limits = SandboxLimits(timeout_ms=60_000)

    def loop() -> None:
        with pytest.raises(BackendError, match="EUNAVAILABLE"):
            sandbox.run(LOOP, b"1", limits=limits)

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(loop)
        until(sandbox.pids, "the first has its runner")
        second = threads.submit(loop)
        until(lambda: len(sandbox.pids()) == 2, "the second has its runner")
        assert [places(pid) for pid in sandbox.pids()].count(everywhere) >= 1
        sandbox.close()
        first.result()
        second.result()


class Watching:
    """Answers requests, and looks where callers and runners may work meanwhile."""

    def __init__(self, look: Callable[[], frozenset[int]]) -> None:
        self.seen: list[frozenset[int]] = []
        self._look = look

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        self.seen += [places(0), self._look()]
        return {"value": None}


def test_while_a_service_works_neither_its_caller_nor_the_runner_is_tied(
    opened: Callable[..., Sandbox],
) -> None:
    sandbox = opened(children=1)
    watching = Watching(lambda: places(next(iter(sandbox.pids()))))
    source = script("await env.KV.get('a'); return (await env.KV.get('b'))")
    sandbox.run(source, b"{}", grants=Grants(services=frozenset(("kv",))), services=watching)
    assert watching.seen == [places(0)] * 4


def test_a_runner_that_is_gone_ties_nobody() -> None:
    near, everywhere = CpuAffinity(), places(0)
    time.sleep(CONTENTION_SECONDS / 10)  # since it was made, a little of its time is over
    assert not near.join(2**22 + 1, alone=True)
    assert places(0) == everywhere
