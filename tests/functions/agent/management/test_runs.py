"""What programs read about runs and the ledger: pages, one run with its texts, what was refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions.agent.management import ledger, runs
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, run_event, tell
from tests.functions.people import OWNER, Live

SEARCH = ("sigil_query", {"query": "a wish"})


def test_pages_of_runs_are_filtered_and_follow_each_other(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    for number in range(5):
        tell(home, f"hello {number}", session=f"telegram:{number % 2}")
    tell(home, "/help")
    seen: list[Any] = []
    after = {}
    while True:
        page: Any = runs.list_runs(home.app, "main", {"limit": "2", **after})
        seen += page["items"]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert [row["reason"] for row in seen] == ["command", *["message"] * 5]
    assert all("steps" not in row for row in seen)
    ids = [row["id"] for row in seen]
    assert ids == sorted(set(ids))
    wanted = {"session": "telegram:1", "reason": "message", "outcome": "said"}
    found: Any = runs.list_runs(home.app, "main", wanted)
    assert len(found["items"]) == 2
    for query in ({"limit": "0"}, {"limit": "51"}, {"after": "x"}, {"sesion": "telegram:1"}):
        with pytest.raises(UsageError, match="EINVAL"):
            runs.list_runs(home.app, "main", query)


def test_a_run_has_the_texts_of_its_calls_only_when_they_are_asked_for(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(call(SEARCH), say("found"))
    happened = event("go on")
    run_event(home, happened)
    plain: Any = runs.show_run(home.app, happened.id, with_texts=False)
    whole: Any = runs.show_run(home.app, plain["id"], with_texts=True)
    (made,) = [step for step in whole["steps"] if step["kind"] == "call"]
    assert "a wish" in made["arguments"]
    assert made["result"].startswith('{"ok"')
    assert "a wish" not in str(plain)
    [listed] = runs.list_runs(home.app, "main", {"limit": "1"})["items"]  # type: ignore[misc]
    assert listed == {name: plain[name] for name in plain.keys() - {"steps", "children"}}
    # the same after compaction took the messages out of the history
    opened = home.app.sessions.open("main#telegram:7")
    home.app.sessions.archive(opened.key, opened.document.messages)
    tell(home, "/new")
    again: Any = runs.show_run(home.app, plain["id"], with_texts=True)
    assert again["steps"] == whole["steps"]
    with pytest.raises(UsageError, match="ENOENT"):
        runs.show_run(home.app, "nothing", with_texts=True)


def test_the_ledger_is_read_by_pages_and_names_people_who_are_known(
    home: AgentRuntime, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        tell(home, f"hello {number}", session=f"telegram:{number}")
    tell(home, "hello", session="telegram:9", sender="telegram:9")
    monkeypatch.setattr(ledger, "PAGE", 1)
    items: list[Any] = []
    after = {}
    while True:
        page: Any = ledger.list_entries(home.app, "main", {"since": "1", **after})
        items += page["items"]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert [row["what"] for row in items] == ["request"] * 3
    assert {row["by"] for row in items} == {"terminal:local"}
    assert len({row["chain"] for row in items}) == 3
    assert ledger.verify(home.app, "main").entries == 3
    nothing: Any = ledger.list_entries(home.app, "main", {"since": "2999-01-01"})
    assert nothing == {"items": []}
    for query in ({"since": "yesterday"}, {"after": "x"}, {"until": "1"}):
        with pytest.raises(UsageError, match="EINVAL"):
            ledger.list_entries(home.app, "main", query)


def test_programs_read_runs_and_the_ledger_over_http(
    live: Callable[..., AbstractContextManager[Live]],
) -> None:
    with live() as agent:
        agent.ask("hello")
        client = agent.server.client
        (row,) = client.get("/runs", params={"session": f"telegram:{OWNER}"}).json()["items"]
        shown = client.get(f"/runs/{row['id']}", params={"texts": "1"})
        assert shown.json()["event"] == row["event"]
        assert client.get("/runs/nothing").status_code == 404
        assert client.get("/runs", params={"agent": "../x"}).status_code == 400
        assert client.get("/runs", params={"agent": "alice"}).json() == {"items": []}
        (entry,) = client.get("/ledger").json()["items"]
        assert (entry["event"], entry["what"]) == (row["event"], "request")
        for path in ("/runs", f"/runs/{row['id']}", "/ledger"):
            assert client.get(path, headers={"authorization": "Bearer no"}).status_code == 401
