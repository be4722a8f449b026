"""One wish, and all that came of it: what the model was asked, what was called, the subagent that
was made, its own turn and its report. The page of the run, its JSON, `uncaged trace` and what the
model's endpoint saw are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from functions.cli.commands import trace
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.agents.test_agents import message
from tests.functions.agent.agents.test_subagents import FOUND, create, settle
from tests.functions.page.parsed import Parsed
from tests.functions.page.test_runs import opened
from tests.functions.people import platform

KINDS = {"run", "request", "call", "note"}


def list_runs(run: dict[str, Any]) -> list[dict[str, Any]]:
    """A run and all below it."""
    return [run, *(each for child in run["children"] for each in list_runs(child))]


def list_numbers(run: dict[str, Any]) -> list[tuple[object, ...]]:
    """The numbers of a run and all below it, and what each step was."""
    return [
        (
            each["id"],
            each["usage"],
            each["requests"],
            each["calls"],
            each["failed"],
            [(step["kind"], step.get("name")) for step in each["steps"]],
        )
        for each in list_runs(run)
    ]


def test_all_that_came_of_a_wish_is_one_tree_on_the_page_and_in_the_terminal(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = runtime(llm_url=model.url, library="builtin", **platform(bot))
    write = ("cap_write_file", {"path": "drafts/terms.md", "content": "Net 30."})
    model.then(FOUND, create(), say("it is on its way"))
    model.then(call(write, ("cap_nothing", {})), say("The terms are in drafts/terms.md."))
    settle(home, message("let a specialist read the contract"))
    asked = len(model.requests)
    with opened(home) as sign_in:
        owner = sign_in()
        listed = owner.get_json("/runs?session=telegram:42&reason=message").json()["items"]
        run = owner.get_json(f"/runs/{listed[0]['id']}").json()
        page = Parsed(owner.get(f"/runs/{run['id']}").text)
        links = [each for each in page.find_all("a") if each.text == "Open this run"]
        path = links[0].attributes["href"].removeprefix("/ui")
        below = Parsed(owner.get(path).text)
        spent = owner.get_json("/usage").json()
        agents = owner.get_json("/agents").json()["items"]
    page.require_harmless()

    # every request that the endpoint has seen is a row, and their tokens are the use of the day
    every = [each for each in page.find_all("li") if KINDS & set(each.classes)]
    named = zip(every, page.find_all("span", "name"), strict=True)
    rows = [(row, name.text) for row, name in named if "note" not in row.classes]
    kinds = [row.classes[0] for row, _ in rows]
    assert kinds.count("request") == asked
    sent = sum(len(request.body) // 4 for request in model.requests)
    runs = list_runs(run)
    assert sum(each["usage"]["prompt"] for each in runs) == sent == spent["total"]["prompt"]
    assert spent["total"]["completion"] == asked * 10
    assert spent["total"]["requests"] == asked

    # the agent, what it asked and called, then the subagent below it
    assert kinds[:6] == ["run", "request", "call", "request", "call", "request"]
    names = [name for _, name in rows]
    texts = [row.text for row, _ in rows]
    assert names[0].startswith("main")
    assert names[2:5:2] == ["sigil_query", "cap_create_subagent"]
    assert "work for main.legal" in texts[4]
    child = next(place for place, name in enumerate(names) if name.startswith("main.legal"))
    did = ["request 1", "cap_write_file", "cap_nothing", "request 2"]
    assert names[child + 1 : child + 5] == did
    assert "EPERM" in texts[child + 3]
    # a click opens what a call was given and what came of it, that on the child its own page
    assert "list the terms" in texts[4]
    [wrote, failed] = below.find_all("li", "call")
    assert "Net 30." in wrote.text
    assert '"source":"policy"' in failed.text
    assert [each["name"] for each in agents] == ["legal"]

    monkeypatch.setenv("UNCAGED_DATA", home.settings.data)
    trace.show_runs(run["event"], follow=False, json=True)
    told = orjson.loads(capsys.readouterr().out)
    assert list_numbers(told) == list_numbers(run)
