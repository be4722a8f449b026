"""What the last days cost is the same over HTTP, in the terminal, and once a day is summed up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from functions.agent.conversation.messages import Usage
from functions.agent.conversation.tokens import MARGIN, of_offers
from functions.agent.management.usage import list_usage
from functions.agent.runs.run import LEFT_OUT, Run, save_run, scan_runs
from functions.agent.runs.spending import TOOLS_MOST, Spending, sum_runs
from functions.all_tools import compare_all_tools
from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.catalog.catalog import Catalog
from sigil.protocol import LIBRARY, Caller
from sigil.storage.kv import Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import tell
from tests.functions.page.parsed import Parsed
from tests.functions.page.test_runs import opened
from tests.functions.serving import serving

RUN = Run(
    "e1", "telegram:7", "main", "message", "message", "said", 1_800_000_000.0, by="telegram:1"
)


TOOL_SPEC = {
    "name": "shout",
    "description": "Shout a text",
    "schema": {"type": "object", "properties": {"text": {"type": "string"}}},
    "execute": "function execute(input) { return input.text }",
}


def make_call(name: str, error: str = "") -> dict[str, object]:
    return {"kind": "call", "name": name, "error": error}


def test_use_is_told_over_http_and_in_the_terminal_by_whatever_is_asked(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    home = runtime(llm_url=model.url, llm_prices="1,0.5,2", access="open")
    model.then(call(("sigil_query", {"query": "x"})), say("found"), say("hello"))
    tell(home, "look for x", session="telegram:7", sender="telegram:7")
    tell(home, "hello", session="telegram:8", sender="telegram:8")
    with serving(home) as server:

        def get(by: str, **more: str) -> dict[str, dict[str, object]]:
            answer = server.client.get("/usage", params={"by": by, **more})
            assert answer.status_code == 200, answer.text
            return {row["name"]: row for row in answer.json()["items"]}

        people = get("person")
        assert [row["requests"] for row in people.values()] == [2, 1]
        assert list(people) == ["telegram:7", "telegram:8"]
        [day] = get("day").values()
        [used] = get("model", days="1").values()
        tokens = sum(body["usage"]["prompt"] for body in people.values())  # type: ignore[index]
        assert day["usage"]["prompt"] == used["usage"]["prompt"] == tokens > 0  # type: ignore[index]
        assert (day["turns"], day["calls"], day["failed"]) == (2, 1, 0)
        assert get("tool")["sigil_query"]["calls"] == 1
        assert list(get("session")) == ["telegram:7", "telegram:8"]
        assert list(get("agent", agent="main")) == ["main"]
        assert list(get("work")) == ["chat"]
        for wrong in ({"by": "name"}, {"days": "401"}, {"sort": "x"}, {"agent": "NO"}):
            assert server.client.get("/usage", params=wrong).status_code == 400
        bad = {"authorization": "Bearer x"}
        assert server.client.get("/usage", headers=bad).status_code == 401

    def run(*words: str) -> str:
        done = CliRunner().invoke(cli, ["usage", *words])
        assert done.exit_code == 0, done.output
        return done.output

    shown = json.loads(run("--by", "person", "--json"))
    assert {row["name"]: row for row in shown["items"]} == people
    assert [line.split()[:3] for line in run("--by", "tool").splitlines()[-1:]] == [
        ["sigil_query", "1", "0"]
    ]
    assert "telegram:8" in run("--by", "person")


def test_what_all_tools_would_have_cost_is_one_figure_everywhere(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    home = runtime(llm_url=model.url, access="open", library="builtin")
    app = home.app
    model.then(call(("sigil_query", {"query": "convert 5 miles to kilometers"})), say("found"))
    tell(home, "convert 5 miles", session="telegram:7", sender="telegram:7")
    sent = [len(body["tools"]) for body in model.chats]
    assert sent[0] == 2 < sent[1]
    [run] = scan_runs(app.kv, "main")
    resident = [step.get("tool_tokens", 0) for step in run.steps if step["kind"] == "request"]
    older = tuple({"kind": "request", "n": 1, "tools": 9, "prompt": 5} for _ in range(3))
    # an earlier release did not tell what was in its requests, and a long run leaves steps out
    save_run(app.kv, replace(RUN, began=run.began - 1, requests=4, steps=older), 90)
    with opened(home) as sign_in:
        headers = {"authorization": "Bearer admin-token-of-the-tests"}
        owner = sign_in()
        told = owner.client.get("/usage", headers=headers).json()["all_tools"]
        page = Parsed(owner.get("/usage").text)
        page.require_harmless()
        assert owner.get_json("/usage").json()["all_tools"] == told
        called = owner.get_json("/usage").json()["by_capability"]
        assert called == [{"name": "sigil_query", "calls": 1, "failed": 0}]
        assert page.facts()["Saved, about"] == f"{told['saved']:,}"
        assert "Of 4 more requests it is not known" in page.text
    # the same as the prompt would count them
    records = Catalog(app.kv).list_visible(LIBRARY)
    offers = [record.offer for record in records if record.manifest.kind != "bundle"]
    tokens = told["tokens"]
    assert (told["capabilities"], told["whole"]) == (len(offers), True)
    assert tokens == round(of_offers(offers) * MARGIN)
    assert (told["requests"], told["measured"]) == (6, 2)
    assert told["resident"] == sum(resident) > 0
    assert told["saved"] == 2 * tokens - sum(resident)
    done = CliRunner().invoke(cli, ["usage"])
    assert f"about {told['saved']:,} tokens saved" in done.output
    assert "2 of 6 requests" in done.output
    # a capability that changes counts at once, and each namespace is read once until then
    with monkeypatch.context() as patched:
        patched.setattr("functions.all_tools.scan_definitions", None)
        assert list_usage(app, "", {}, compare_all_tools)["all_tools"] == told
    app.registry.deploy(TOOL_SPEC, Caller("main", owner=True))
    now: Any = list_usage(app, "", {}, compare_all_tools)["all_tools"]
    assert (now["capabilities"], now["tokens"] > tokens) == (told["capabilities"] + 1, True)


def test_the_calls_of_tools_are_in_the_sum_of_a_day_also_those_that_rows_leave_out() -> None:
    kv = MemoryKV()
    steps = (make_call("cap_a"), {"kind": LEFT_OUT, "count": 3}, make_call("cap_b", "ETIMEDOUT"))
    save_run(kv, replace(RUN, calls=5, failed=2, steps=steps, usage=Usage(9, 1)), 90)
    many = tuple(make_call(f"cap_{number}") for number in range(TOOLS_MOST + 7))
    [spent] = sum_runs([replace(RUN, calls=len(many), steps=many)])
    assert len(spent.tools) == TOOLS_MOST + 1
    assert spent.tools[""] == (7, 0)
    spending = Spending(kv, "main", "UTC")
    spending.fold(RUN.began + 2 * 86_400)
    partition = keys.run("main", "", "").partition
    for sort, _ in kv.scan(partition):
        kv.delete(Key(partition, sort))
    day = date(2027, 1, 15)
    [kept] = spending.read(day, day)[day]
    assert kept.tools == {"cap_a": (1, 0), "cap_b": (1, 1), "": (3, 1)}
