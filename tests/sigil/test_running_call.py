"""A call that runs is cancelled at once, whatever works for it."""

from __future__ import annotations

import time

import pytest

from sigil.errors import ToolError
from sigil.protocol import Json
from sigil.registry import LocalRegistry
from sigil.run.mcp_client.progress import ProgressWatch
from sigil.running_call import CallProgress, RunningCall, current_call, run_as
from sigil.sandbox.pool import Sandbox
from tests.fakes.calls import ReportedCall, running
from tests.machine import until, within
from tests.sigil.tool_importer import OWNER


def test_a_runner_is_ended_with_the_call_that_is_cancelled(
    registry: LocalRegistry, sandbox: Sandbox
) -> None:
    inner: dict[str, Json] = {
        "name": "spin",
        "description": "The ability to spin.",
        "execute": "while (input.on); return null",
    }
    outer: dict[str, Json] = {
        "name": "turn",
        "description": "The ability to turn.",
        "permissions": {"call": ["spin"]},
        "execute": "return env.call('spin', input)",
    }
    for spec in (inner, outer):
        registry.deploy({**spec, "limits": {"timeout_ms": 30_000}}, OWNER)
    before = sandbox.stats()
    for name in ("spin",) * 3 + ("turn",) * 3:
        call = RunningCall()
        with running(call, lambda name=name: registry.run(name, {"on": True}, OWNER)) as ran:
            busy = 1 if name == "spin" else 2
            until(lambda busy=busy: sandbox.stats()["busy"] >= busy)
            call.cancel()
            with pytest.raises(ToolError, match="EINTERRUPTED"):
                ran.result(within(10))
    after = sandbox.stats()

    assert after["killed"] - before["killed"] == 3 + 2 * 3
    assert after["busy"] == 0
    # five failures in a row would let it rest
    assert registry.run("spin", {}, OWNER).output == b"null"


def test_a_call_that_is_cancelled_already_begins_nothing(
    registry: LocalRegistry, sandbox: Sandbox
) -> None:
    spec = {"name": "one", "description": "The ability to be one.", "execute": "return 1"}
    registry.deploy(spec, OWNER)
    before = sandbox.stats()["calls"]
    call = RunningCall()
    call.cancel()
    with run_as(call), pytest.raises(ToolError, match="EINTERRUPTED"):
        registry.run("one", {}, OWNER)

    assert sandbox.stats()["calls"] == before
    assert not current_call().is_cancelled


def test_progress_gives_a_call_more_time_but_never_more_than_it_may_take() -> None:
    now = time.monotonic()
    watch = ProgressWatch(ReportedCall(), now + 60, 50, str)
    first = watch.end
    watch.read({"progress": 1})
    second = watch.end
    watch.read({"progress": 1, "message": "the same again"})
    watch.read({"progress": "more"})

    assert now + 50 <= first < second == watch.end < now + 60
    assert watch.call.progress == CallProgress(1)

    late = ProgressWatch(RunningCall(), now + 60, 90, str)
    late.read({"progress": 1})
    assert late.end == now + 60
