"""Traces: their ids come from events, they have no texts unless somebody wants them, and a receiver
that is away holds nobody up.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256

import pytest
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes
from opentelemetry.semconv.attributes import service_attributes

from functions.agent.runs.run import Run, load_run, save_run
from functions.metrics import convention
from functions.metrics.spans import make_spans
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.otlp import TraceReceiver, read_attributes
from tests.fakes.server import Answer
from tests.functions.agent.talk import event, run_event, tell
from tests.functions.metrics.conftest import read_metrics
from tests.functions.serving import serving
from tests.machine import until, within

FIRST = Run("e1", "telegram:7", "main", "message", "message", "said", 1_800_000_000.5, 2.0)
STEPS = (
    {
        "kind": "request",
        "n": 1,
        "at": 100,
        "ms": 400.0,
        "finish": "tool_calls",
        "prompt": 90,
        "completion": 9,
    },
    {
        "kind": "call",
        "at": 600,
        "ms": 50.0,
        "id": "c1",
        "seq": 4,
        "name": "cap_x",
        "error": "ETIMEDOUT",
        "size": 7,
    },
    {
        "kind": "request",
        "n": 2,
        "at": 700,
        "ms": 900.0,
        "finish": "error",
        "failure": "away",
        "detail": "their words",
    },
)


def test_ids_come_from_events_and_what_a_turn_set_off_is_in_its_trace() -> None:
    run = replace(FIRST, model="m", steps=STEPS)
    root, asked, called, failed = make_spans(run)
    assert root.trace == int.from_bytes(sha256(b"e1").digest()[:16], "big")
    assert root.id == int.from_bytes(sha256(b"e1\nrun").digest()[:8], "big")
    assert len({each.id for each in (root, asked, called, failed)}) == 4
    # a row that is written again, later and longer, has the same ids
    again = make_spans(replace(run, seconds=3.0, outcome="failed"))
    assert [each.id for each in again] == [root.id, asked.id, called.id, failed.id]
    assert (asked.parent, called.parent, failed.parent) == (root.id, asked.id, root.id)
    assert (called.begin, called.end) == (1_800_000_001_100_000_000, 1_800_000_001_150_000_000)
    assert (asked.error, called.error, failed.error) == ("", "ETIMEDOUT", "away")
    assert "their words" not in repr((root, asked, called, failed))
    [child] = make_spans(replace(FIRST, event="e2", agent="main.b", cause="e1", root="e1"))
    assert (child.trace, child.linked, child.parent) == (root.trace, root.id, 0)


def test_the_names_are_those_of_the_conventions() -> None:
    known = {
        value
        for module in (gen_ai_attributes, error_attributes, service_attributes)
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, str)
    }
    operations = {each.value for each in gen_ai_attributes.GenAiOperationNameValues}
    ours = {value for name, value in vars(convention).items() if name.isupper()}
    own = {convention.INVOKE_AGENT, convention.CHAT, convention.EXECUTE_TOOL}
    assert own <= operations
    assert ours - own <= known


def test_texts_of_calls_are_sent_where_they_are_wanted_without_the_secrets(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, receiver: TraceReceiver
) -> None:
    wanted = {"otel_url": receiver.url, "otel_texts": True, "llm_key": "sk-a-secret-key"}
    home = runtime(llm_url=model.url, **wanted)
    model.then(call(("sigil_query", {"query": "a wish with sk-a-secret-key"})), say("found"))
    tell(home, "hello")
    spans = {span.name: read_attributes(span) for span in receiver.wait_for_spans(4)}
    told = spans["execute_tool sigil_query"]
    assert "a wish with" in told["gen_ai.tool.call.arguments"]
    assert told["gen_ai.tool.call.result"]
    assert "sk-a-secret-key" not in str(spans)
    assert spans["invoke_agent main"]["uncaged.run"]


def test_a_receiver_that_is_away_holds_nobody_up_and_what_is_lost_is_counted(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    receiver: TraceReceiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from functions.metrics import otlp

    monkeypatch.setattr(otlp, "WAITING_MOST", 2)
    is_read = threading.Event()

    def answer_late() -> Iterator[bytes]:
        is_read.wait(within(20))
        yield b"{}"

    receiver.next = [Answer(400), Answer(200, answer_late())]
    home = runtime(llm_url=model.url, otel_url=receiver.url, metrics="yes")
    with serving(home) as server:
        server.post("/chat", json={"text": "one"})
        until(lambda: ("uncaged_traces_dropped_total", "refused") in read_metrics(server))
        server.post("/chat", json={"text": "two"})
        receiver.wait_for(2)
        for number in range(4):  # two wait, and two are too many
            assert server.post("/chat", json={"text": f"{number}"}).json()["reply"] == "done"
        metrics = read_metrics(server)
    is_read.set()
    assert metrics["uncaged_traces_dropped_total", "refused"] == 1
    assert metrics["uncaged_traces_dropped_total", "full"] == 2
    assert metrics["uncaged_turns_total", "main", "http", "said"] == 6


def test_a_run_that_is_written_twice_is_sent_and_counted_once(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, receiver: TraceReceiver
) -> None:
    home = runtime(llm_url=model.url, otel_url=receiver.url, metrics="yes")
    opened = run_event(home, event("hello"))
    run = load_run(home.app.kv, "main", opened.document.runs[-1])
    assert run is not None
    save_run(home.app.kv, run, 1)
    with serving(home) as server:
        assert read_metrics(server)["uncaged_turns_total", "main", "telegram", "said"] == 1
    home.close()  # what waits is sent
    assert sorted(span.name.split()[0] for span in receiver.spans) == ["chat", "invoke_agent"]


def test_without_the_extra_the_start_says_what_to_install(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "functions.metrics.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(UsageError) as refused:
        runtime(otel_url="http://127.0.0.1:9")
    assert "uncaged[otel]" in refused.value.suggestion
    with pytest.raises(UsageError, match="UNCAGED_OTEL_URL"):
        runtime(otel_url="localhost")
