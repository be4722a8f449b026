"""The log: every event leaves a line at each step, with its ids and never its text."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest

from functions import log
from functions.wiring import AgentRuntime
from functions.worker import process
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, object]]]]:
    """Return what was logged so far."""
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log.start(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)


def test_an_event_leaves_a_line_at_each_step_and_none_holds_its_text(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    lines: Callable[[], list[dict[str, object]]],
) -> None:
    home = runtime(llm_url=model.url)
    model.then(call(("sigil_query", {"query": "a secret wish"})), say("a secret answer"))
    happened = event("a secret message", session="http:admin:x")
    home.queue.put(happened)
    delivery = home.queue.take(0)
    assert delivery is not None

    process(delivery, home)

    found = lines()
    assert [line["step"] for line in found] == [
        "taken",
        "open",
        "request",
        "call",
        "answer",
        "save",
        "request",
        "closed",
        "done",
    ]
    assert {line.get("event") for line in found} == {happened.id}
    assert {line.get("session") for line in found} == {"http:admin:x"}
    assert "secret" not in json.dumps(found)
    request = found[2]
    assert {"ms", "prompt", "completion", "tools", "at", "level"} <= set(request)


def test_what_goes_wrong_is_a_line_too(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    lines: Callable[[], list[dict[str, object]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from functions.agent.turn import loop

    home = runtime(llm_url=model.url)

    def broken(*given: object, **more: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(loop, "_ask_model", broken)
    home.queue.put(event("a secret\nmessage"))
    delivery = home.queue.take(0)
    assert delivery is not None

    process(delivery, home)

    failed = next(line for line in lines() if line["step"] == "failed")
    assert "ZeroDivisionError" in str(failed["trace"])
    assert [line["step"] for line in lines()][-1] == "waits"
    assert "secret" not in json.dumps(lines())
