"""One turn has the same numbers wherever they are read: as JSON, on the page of its run and below
its answer, at /metrics, in the log for CloudWatch, and in its trace.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from functions import local
from functions.prices import format_money
from functions.wiring import AgentRuntime, Unseen
from sigil.errors import UsageError
from sigil.http.page.filters import write_duration
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.otlp import TraceReceiver, read_attributes
from tests.fakes.server import Answer
from tests.functions.metrics.conftest import read_metrics
from tests.functions.page.browsing import Browser
from tests.functions.page.parsed import Parsed
from tests.functions.page.test_live import look
from tests.functions.serving import TOKEN, serving
from tests.functions.test_live_turns import Pieces
from tests.machine import until

READER = "reader-token-of-the-tests"


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
        llm_prices="300,30,1500",
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
        metrics = read_metrics(server, READER)
        spans = receiver.wait_for_spans(6)
        with Browser(server.url) as browser:
            browser.sign_in()
            facts_shown = Parsed(browser.get(f"/runs/{run['id']}").text).facts()
            twin = browser.get_json(f"/runs/{run['id']}").json()
            chat = urlsafe_b64encode(run["session"].encode()).decode().rstrip("=")
            talk = Parsed(browser.get(f"/chat/~{chat}").text)

    usage = run["usage"]
    money = format_money(usage["cost"], "USD")
    # people read the same on the page of the run, and below the answer
    assert facts_shown["Tokens in"] == f"{usage['prompt']:,}"
    assert facts_shown["out"] == f"{usage['completion']:,}"
    assert (facts_shown["Requests"], facts_shown["Calls"], facts_shown["failed"]) == ("3", "2", "0")
    assert facts_shown["Money"] == money
    assert {name: twin[name] for name in ("usage", "requests", "calls", "failed")} == {
        name: run[name] for name in ("usage", "requests", "calls", "failed")
    }
    [cost] = talk.find_all("a", "cost")
    tokens = f"{usage['prompt']:,} → {usage['completion']:,} tokens"
    took = write_duration(run["seconds"])
    assert cost.text == f"3 requests · {tokens} · {took} · {money}"
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
    assert metrics["uncaged_cost_total", *here, model_name] == pytest.approx(usage["cost"])
    assert metrics["uncaged_turn_seconds_sum", *here] == pytest.approx(run["seconds"])

    [counted] = [line for line in lines() if "_aws" in line]
    assert counted["step"] == "closed"
    assert counted["run"] == run["id"]
    assert counted["prompt_tokens"] == usage["prompt"]
    assert counted["completion_tokens"] == usage["completion"]
    assert counted["cost"] == pytest.approx(usage["cost"])
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
    assert facts["uncaged.cost"] == pytest.approx(usage["cost"])
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
    # so are the tokens of the tools that were paged in: none in the first request
    shares = [read_attributes(span)["uncaged.resident_tokens"] for span in chats]
    assert shares[0] == 0 < shares[-1] < usage["prompt"]
    assert shares == [
        step.get("tool_tokens", 0) for step in twin["steps"] if step["kind"] == "request"
    ]
    assert metrics["uncaged_resident_tokens", *here] == shares[-1]
    assert counted["resident_tokens"] == facts["uncaged.resident_tokens"] == shares[-1]
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
        metrics = read_metrics(server, READER)
        assert metrics["uncaged_dead_letters",] == 0
        assert metrics["uncaged_queue_sessions", "chats"] == 0
        assert metrics["uncaged_budget_limit_tokens",] == 1_500_000
        assert metrics["uncaged_store_seconds_count", "get"] > 0
    with serving(runtime(llm_url=model.url)) as server:
        assert server.client.get("/metrics").status_code == 404
    guessable = runtime(llm_url=model.url, metrics="yes", metrics_token="short")
    with pytest.raises(UsageError, match="could be guessed"):
        local.build_app(guessable, TOKEN)


def test_the_first_word_is_timed_where_words_are_shown_as_they_come(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    said = [{"choices": [{"delta": {"content": word}}]} for word in ("Hello", ", Ada.")]
    body = b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in said)
    model.then(Answer(200, [body, b"data: [DONE]\n\n"], {"content-type": "text/event-stream"}))
    with serving(runtime(llm_url=model.url, metrics="yes")) as server:
        stream = {"accept": "text/event-stream"}
        with server.client.stream("POST", "/chat", json={"text": "hi"}, headers=stream) as shown:
            while_shown = read_metrics(server)["uncaged_watchers",]
            assert "Hello, Ada." in shown.read().decode()
        assert while_shown == 1
        server.post("/chat", json={"session": "other", "text": "hi"})  # nobody looks on
        metrics = read_metrics(server)
    assert metrics["uncaged_first_word_seconds_count", "main", "http"] == 1
    assert 0 < metrics["uncaged_first_word_seconds_sum", "main", "http"] < 60
    assert metrics["uncaged_turns_total", "main", "http", "said"] == 2


def test_pages_that_look_on_are_counted_and_see_the_first_word(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    pieces = Pieces("Hello there. ", "Ada.")
    model.then(pieces.answer())
    with (
        serving(runtime(llm_url=model.url, metrics="yes")) as server,
        Browser(server.url) as browser,
    ):
        browser.sign_in()
        with look(browser) as page, look(browser) as other:
            page.take()
            other.take()
            assert read_metrics(server)["uncaged_watchers",] == 2
            assert browser.post("/chat/main", {"text": "hi"}).status_code == 303
            pieces.let_go(0)
            page.until(lambda page: page.words == "Hello there.")
            metrics = read_metrics(server)
            assert metrics["uncaged_first_word_seconds_count", "main", "web"] == 1
            pieces.let_go(1)
            page.until(lambda page: not page.busy)
        until(lambda: read_metrics(server)["uncaged_watchers",] == 0)


def test_what_is_not_wanted_is_not_there(home: AgentRuntime) -> None:
    assert type(home.stores.kv) is SqliteKV
    assert type(home.live) is Unseen
