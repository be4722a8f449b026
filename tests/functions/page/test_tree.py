"""One wish, and all that came of it: what the model was asked, what was called, the subagent that
was made, its own turn and its report. The page of the run, its JSON, `uncaged trace` and what the
model's endpoint saw are the same. So is what people do and see on every kind of store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.agent.access.web_codes import WebCodes
from functions.cli.commands import trace
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.agents.test_agents import message
from tests.functions.agent.agents.test_subagents import FOUND, create, settle
from tests.functions.page.browsing import Browser
from tests.functions.page.parsed import Parsed
from tests.functions.page.test_chat import ask, texts
from tests.functions.page.test_keeping import edit
from tests.functions.page.test_live import look
from tests.functions.page.test_runs import opened
from tests.functions.people import platform
from tests.functions.serving import serving
from tests.selection import thorough
from tests.servers.stores import empty_store

ADA = "telegram:66"
SPEC = {
    "name": "double",
    "description": "doubles a number",
    "schema": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
    "execute": "return input.n * 2",
    "tests": [{"input": {"n": 2}, "output": 4}],
}
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


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The setting of a store of the kind that the test names, empty."""
    with empty_store(request.param, request, tmp_path) as setting:
        yield setting


@pytest.mark.parametrize("store", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_what_is_done_and_seen_on_the_page_is_the_same_on_every_store(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, store: str
) -> None:
    home = runtime(llm_url=model.url, store=store)
    home.app.registry.deploy(SPEC, Caller("main"))
    home.app.people.let_in(ADA, "member", "Ada", "test")
    codes = WebCodes(home.stores.kv, "main", home.app.clock.now)
    model.then(call(("sigil_query", {"query": "double a number"})))
    model.then(call(("cap_double", {"n": 21})), say("It is 42."))
    with serving(home) as server, Browser(server.url) as ada, Browser(server.url) as owner:
        code = codes.make(ADA, "member")
        assert ada.sign_in(code).status_code == 303
        assert owner.sign_in(code).status_code == 401
        assert owner.sign_in().status_code == 303
        with look(ada) as page:
            ask(ada, "double 21")
            page.until(lambda page: "It is 42." in page.text and not page.busy)
        assert texts(ada)[-1] == "It is 42."
        [chat] = ada.get_json("/chats").json()["items"]
        assert chat["session"] == f"web:{ADA}:main"

        [run] = ada.get_json("/runs").json()["items"]
        tree = ada.get_json(f"/runs/{run['id']}").json()
        made = [step["name"] for step in tree["steps"] if step["kind"] == "call"]
        assert made == ["sigil_query", "cap_double"]
        assert "42" in Parsed(ada.get(f"/runs/{run['id']}").text).text
        assert owner.get_json(f"/runs/{run['id']}").json()["requests"] == 3
        assert "double 21" not in owner.get(f"/runs/{run['id']}").text

        found = owner.get_json("/capabilities?q=double a number").json()["items"]
        assert found[0]["capability"] == "double"
        card = "/capabilities/-/double"
        assert "doubles a number" in owner.get(card).text
        assert "84" in Parsed(owner.post(f"{card}/run", {"a-n": "42"}).text).text
        assert owner.get_json(card).json()["schema"] == SPEC["schema"]

        assert "Ada" in Parsed(owner.get("/people").text).text
        person: Any = owner.get_json(f"/people/person?id={ADA}").json()
        assert [each["session"] for each in person["chats"]] == [f"web:{ADA}:main"]
        assert edit(owner, "/documents/edit?name=soul", "Speak like a pirate") == 303
        known = owner.get_json("/documents?name=soul").json()
        assert [each["by"] for each in known["versions"]] == ["web:http:admin"]
        assert owner.get("/knowledge").status_code == owner.get("/safety").status_code == 200
        spent = owner.get_json("/usage?verify=1").json()
        assert spent["ledger"]["ok"]
        assert spent["total"]["requests"] == 3
        assert ada.get_json("/usage").json()["total"] == spent["total"]
        assert ada.get_json("/people/export").json()
        erasing = f"/people/erase?id={ADA}"
        assert owner.post(erasing, {"sure": "yes"}).status_code == 200
        assert ada.get("/account").status_code == 303
        assert not owner.get_json("/chats").json()["items"]
