"""One turn over HTTP has the same numbers wherever they are read: as JSON, at /metrics, in the log
for CloudWatch, and in its trace.
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from functions import log
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.otlp import TraceReceiver, read_attributes
from tests.functions.serving import Served, serving
from tests.machine import until

READER = "reader-token-of-the-tests"


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What was logged so far."""
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log.start(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as server:
        yield server


def read_metrics(server: Served, token: str = READER) -> dict[tuple[str, ...], float]:
    """The samples at /metrics, each by its name and the values of its labels."""
    answer = httpx.get(f"{server.url}/metrics", headers={"authorization": f"Bearer {token}"})
    assert answer.status_code == 200, answer.text
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_a_turn_has_one_number_in_json_in_metrics_in_the_log_and_in_its_trace(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    receiver: TraceReceiver,
    lines: Callable[[], list[dict[str, Any]]],
) -> None:
    home = runtime(
        llm_url=model.url,
        library="builtin",
        metrics="emf",
        metrics_token=READER,
        otel_url=receiver.url,
        otel_headers="authorization=Bearer abc",
    )
    model.then(
        call(("sigil_query", {"query": "encode text in base64"})),
        call(("cap_encode", {"text": "a secret wish", "format": "base64"})),
        say("a secret answer"),
    )
    with serving(home) as server:
        answer = server.post("/chat", json={"session": "ada", "text": "a secret wish"}).json()
        assert answer["reply"] == "a secret answer"
        until(lambda: [line for line in lines() if line["step"] == "done"])
        run = server.client.get("/runs").json()["items"][0]
        metrics = read_metrics(server)
        spans = receiver.wait_for_spans(6)

    usage = run["usage"]
    assert run["requests"] == 3
    assert run["calls"] == 2
    # one number everywhere, those of the memory's own requests apart
    here = ("main", "http")
    model_name = run["model"]
    assert metrics["uncaged_turns_total", *here, "said"] == 1
    assert metrics["uncaged_requests_total", *here, model_name] == 3
    assert metrics["uncaged_prompt_tokens_total", *here, model_name] == usage["prompt"]
    assert metrics["uncaged_completion_tokens_total", *here, model_name] == usage["completion"]
    assert metrics["uncaged_tool_calls_total", *here, "done"] == 2
    assert metrics["uncaged_turn_seconds_sum", *here] == pytest.approx(run["seconds"])

    [counted] = [line for line in lines() if "_aws" in line]
    assert counted["step"] == "closed"
    assert counted["run"] == run["id"]
    assert counted["prompt_tokens"] == usage["prompt"]
    assert counted["completion_tokens"] == usage["completion"]
    assert (counted["turns"], counted["requests"], counted["tool_calls"]) == (1, 3, 2)
    assert (counted["agent"], counted["platform"], counted["outcome"]) == ("main", "http", "said")
    for directive in counted["_aws"]["CloudWatchMetrics"]:
        assert {each["Name"] for each in directive["Metrics"]} <= counted.keys()
        assert all(
            set(each) <= {"agent", "platform", "outcome", "model"}
            for each in directive["Dimensions"]
        )

    root, *rest = sorted(spans, key=lambda span: span.start_time_unix_nano)
    facts = read_attributes(root)
    assert root.name == "invoke_agent main"
    assert not root.parent_span_id
    assert facts["gen_ai.usage.input_tokens"] == usage["prompt"]
    assert facts["gen_ai.usage.output_tokens"] == usage["completion"]
    assert facts["uncaged.requests"] == 3
    assert {span.trace_id for span in spans} == {root.trace_id}
    chats = [span for span in rest if span.name == f"chat {model_name}"]
    tools = [span for span in rest if span.name.startswith("execute_tool ")]
    assert [span.parent_span_id for span in chats] == [root.span_id] * 3
    assert [(span.name, span.parent_span_id) for span in tools] == [
        ("execute_tool sigil_query", chats[0].span_id),
        ("execute_tool cap_encode", chats[1].span_id),
    ]
    told = sum(read_attributes(span)["gen_ai.usage.input_tokens"] for span in chats)
    assert told == usage["prompt"]
    assert (
        read_attributes(tools[0])["uncaged.paged_in"] == metrics["uncaged_tool_faults_total", *here]
    )
    assert receiver.requests[0].headers["authorization"] == "Bearer abc"
    assert receiver.resources[0]["service.name"] == "uncaged"

    # nobody's words, and nothing that names a person or a chat
    shown = "".join(map(str, (metrics.keys(), spans)))
    assert not any(word in shown for word in ("secret", "ada", "admin", run["event"]))


def test_the_numbers_are_only_for_who_has_a_token_and_there_only_when_they_are_wanted(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    with serving(runtime(llm_url=model.url, metrics="yes", metrics_token=READER)) as server:
        assert httpx.get(f"{server.url}/metrics").status_code == 401
        wrong = httpx.get(f"{server.url}/metrics", headers={"authorization": f"Bearer {READER}x"})
        assert wrong.status_code == 401
        assert wrong.json()["error"]["code"] == "EAUTH"
        # the reader's token opens nothing else; the admin's opens this
        reader = {"authorization": f"Bearer {READER}"}
        assert httpx.get(f"{server.url}/runs", headers=reader).status_code == 401
        assert server.client.get("/metrics").status_code == 200
        metrics = read_metrics(server)
        assert metrics["uncaged_dead_letters",] == 0
        assert metrics["uncaged_queue_sessions", "chats"] == 0
        assert metrics["uncaged_budget_limit_tokens",] == 1_500_000
        assert metrics["uncaged_store_seconds_count", "get"] > 0
    with serving(runtime(llm_url=model.url)) as server:
        assert server.client.get("/metrics").status_code == 404
