"""The lifecycle of an agent below the root, at the shell and over HTTP: it is made, comes into
other states, and is removed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from functions import agent_data
from functions.agent.agents.lifecycle import (
    IDLE_SECONDS,
    SETTLED_SECONDS,
    archive_idle,
    create_agent,
    list_unsettled,
)
from functions.agent.agents.record import AgentRecord, State, add_agent, read_agent
from functions.agent.management.agents import make_agent, read_new_agent
from functions.cli.app import cli
from functions.texts.languages import load_texts
from functions.wiring import AgentRuntime
from sigil.errors import Refused, UsageError
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.stored import dumps
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer
from tests.functions.cli.commands.test_agents import Run, refusal, run
from tests.functions.people import OWNER, Live
from tests.stories.test_store_operations import CountingKV

__all__ = ["run"]
Lives = Callable[..., AbstractContextManager[Live]]
POSSIBLE: Mapping[State, tuple[str, ...]] = {
    "enabled": ("disable", "archive", "purge"),
    "disabled": ("enable",),
    "archived": ("purge",),
    "purged": ("purge",),
}
REACHED = {"enable": "enabled", "disable": "disabled", "archive": "archived", "purge": "purged"}
MADE = 1_700_000_000.0
RECORD = AgentRecord("agent", "enabled", 1.0, "terminal:local")


def test_every_step_from_every_state(live: Lives, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_data, "ENDS_SECONDS", 0.0)
    with live() as agent:
        server = agent.server
        kv = server.runtime.stores.kv
        for state, possible in POSSIBLE.items():
            for step, reached in REACHED.items():
                kv.put(keys.agent_record("main", "al"), dumps(replace(RECORD, state=state)))
                answer = server.post(f"/agents/al/{step}")
                if step in possible:
                    assert (answer.status_code, answer.json()["state"]) == (200, reached)
                    left = kv.get(keys.agent_record("main", "al"))
                    assert (left is None) == (step == "purge")
                elif reached == state:
                    assert answer.json()["state"] == state  # it is so already
                else:
                    error = answer.json()["error"]
                    assert (answer.status_code, error["code"]) == (400, "EINVAL")
                    assert error["message"] == f"al is {state} and cannot become {reached}"
                    legal = [REACHED[each] for each in possible if REACHED[each] != state]
                    hint = f"it can become {' or '.join(legal)}" if legal else "it stays as it is"
                    assert error["suggestion"] == hint
        kv.put(keys.agent_record("main", "al"), dumps(RECORD))
        error = server.post("/agents/al/run").json()["error"]
        assert error["suggestion"] == "al is enabled; its steps are disable, archive, purge"
        assert server.post("/agents/nobody/enable").status_code == 404


def test_an_agent_is_made_and_shown_over_http(live: Lives) -> None:
    with live() as agent:
        server = agent.server
        fields: dict[str, Any] = {"name": "alice", "role": "# Keeper of hens\nCount them."}
        made = server.post("/agents", json=fields)
        assert (made.status_code, made.json()["did"]) == (201, "did:uncaged:main.alice")
        shown = server.client.get("/agents/alice").json()
        assert (shown["status"], shown["role"]) == ("sleeping", "Keeper of hens")
        assert shown["steps"] == ["disable", "archive", "purge"]
        assert shown["next"] > shown["since"]
        (row,) = server.client.get("/agents").json()["items"]
        assert (row["name"], row["agent"], row["state"]) == ("alice", "main.alice", "enabled")
        for odd in ({}, {"name": "a.b"}, {"name": "b", "x": 1}, {"name": "b", "heartbeat": "now"}):
            assert server.post("/agents", json=odd).status_code == 400, odd
        for odd in ({"name": 3}, {"name": "b", "tokens": -1}, {"name": "b", "self": "x" * 9_000}):
            assert server.post("/agents", json=odd).status_code in (400, 413), odd
        assert len(server.client.get("/agents").json()["items"]) == 1
        # it has no address of its own
        for path in ("/webhook/main.alice", "/webhook/alice", "/main.alice/chat"):
            assert server.post(path, json={"text": "hello"}).status_code == 404
        assert server.client.get("/agents", headers={"authorization": ""}).status_code == 401


def test_an_agent_made_of_files_stays_alive_and_knows_its_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "role.md").write_text("Count the hens.")
    (tmp_path / "self.md").write_text("Be kind to hens.")
    run("agent", "create", "bob")
    first = run("agent", "doc", "show", "self", "--agent", "bob")
    assert "Stay alive" in first.splitlines()[0]
    assert "did:uncaged:main.bob" in first
    files = ("--role", str(tmp_path / "role.md"), "--self", str(tmp_path / "self.md"))
    made = run("agent", "create", "alice", *files, "--heartbeat", "off", "--temporary")
    assert "did:uncaged:main.alice" in made
    written = run("agent", "doc", "show", "self", "--agent", "alice")
    assert "Be kind to hens." in written
    assert "did:uncaged:main.alice" in written
    assert "Count the hens." in run("agent", "prompt", "own:main", "--agent", "alice")
    shown = run("agent", "show", "alice")
    assert "agent, temporary" in shown
    assert json.loads(run("agent", "show", "alice", "--json"))["status"] == "enabled"
    assert json.loads(run("agent", "show", "bob", "--json"))["status"] == "sleeping"
    assert "EUSAGE" in refusal("agent", "purge", "alice")
    assert "EINVAL" in refusal("agent", "create", "carl", "--heartbeat", "often")
    run("agent", "archive", "alice")
    assert "alice" not in run("agent", "list")
    assert "alice  archived" in run("agent", "list", "--all")
    assert "Its ledger and its part of the budget stay." in run("agent", "purge", "alice", "--yes")
    assert "ENOENT" in refusal("agent", "show", "alice")


@pytest.mark.parametrize(
    ("fields", "most"),
    [
        # the root counts its agents in one item, so that two at once cannot be one too many
        ({"heartbeat": "off"}, 2),
        ({"role": "Count hens.", "self": "Like hens.", "heartbeat": "off"}, 4),
        # the chat knows the agent, the index of times has a mark, and the schedule is a record
        ({"role": "Count hens.", "self": "Like hens.", "heartbeat": "30m"}, 7),
    ],
    ids=("the record", "with its documents", "and a heartbeat"),
)
def test_an_agent_is_made_by_few_writes(
    home: AgentRuntime, fields: Mapping[str, object], most: int
) -> None:
    store = CountingKV(home.stores.kv)
    app = replace(home.app, kv=store)
    new = read_new_agent({"name": "al", **fields}, "terminal:local", MADE, "terminal:main")
    make_agent(app, new, load_texts("en"))
    writes = [each for each in store.operations if each.startswith(("put", "delete"))]
    assert len(writes) == most, writes


def test_whoever_works_is_shown_as_running_and_paid_for_by_name(
    live: Lives, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def uncaged(*words: str) -> Any:
        return json.loads(CliRunner().invoke(cli, [*words, "--json"]).stdout)

    model.then(say("of the root"), say("of alice"), Answer(hang=True))
    with live() as agent:
        client = agent.server.client
        agent.server.post("/agents", json={"name": "alice"})
        assert agent.ask("hello") == "of the root"
        agent.ask("/agent alice")
        assert agent.ask("hello") == "of alice"
        spent = agent.ask("/spent").partition("By agent:")[2]
        assert ("• main: " in spent, "• alice: " in spent) == (True, True)
        (entry,) = uncaged("ledger", "--agent", "alice")["items"]  # the root's are not among them
        assert (entry["what"], entry["facts"]["completion"]) == ("request", 10)

        agent.write("count all hens")
        model.wait_for(3)

        (listed,) = client.get("/agents").json()["items"]
        shown = client.get("/agents/alice").json()
        (row,) = uncaged("agent", "list")
        states = [
            each["status"] for each in (listed, shown, row, uncaged("agent", "show", "alice"))
        ]
        assert states == ["running"] * 4
        assert uncaged("stop", "--session", f"telegram:{OWNER}")["state"] == "running"
        agent.until(lambda: client.get("/agents/alice").json()["status"] == "sleeping")

        # what it does by itself keeps no chat from looking
        agent.ask("/agent main")
        assert "alice (enabled)" in agent.ask("/agents")
        model.then(Answer(hang=True))
        (wakeup,) = client.get("/wakeups?agent=alice").json()["items"]
        agent.server.post(f"/wakeups/{wakeup['id']}/run?agent=alice")
        model.wait_for(4)
        assert "alice (running)" in agent.ask("/agents")
        assert agent.ask("/agents stop alice").startswith("alice is disabled")


def test_so_many_agents_live_below_a_root_and_an_archived_one_leaves_its_place() -> None:
    kv = MemoryKV()
    for name in ("a", "b"):
        create_agent(kv, "main", name, RECORD, most=2)
    with pytest.raises(Refused, match="2 of 2 agents below main are taken"):
        create_agent(kv, "main", "c", RECORD, most=2)
    kv.put(keys.agent_record("main", "a"), dumps(replace(RECORD, state="archived")))
    create_agent(kv, "main", "c", RECORD, most=2)


def test_a_name_goes_to_a_new_generation_once_a_temporary_agent_has_ended() -> None:
    kv = MemoryKV()
    helper = replace(RECORD, temporary=True, since=100.0)
    first = create_agent(kv, "main", "a", helper)
    with pytest.raises(UsageError, match="there is an agent a already"):
        create_agent(kv, "main", "a", helper)
    kv.put(keys.agent_record("main", "a"), dumps(replace(first, state="archived")))
    again = create_agent(kv, "main", "a", helper)
    assert again.generation == first.generation + 1
    assert read_agent(kv, "main", "a") == again


def test_only_a_temporary_agent_that_was_idle_for_long_is_archived() -> None:
    kv = MemoryKV()
    old = replace(RECORD, temporary=True)
    now = IDLE_SECONDS + 10.0
    works = {"main.busy": now - 5.0}
    add_agent(kv, "main", "idle", old)
    add_agent(kv, "main", "busy", old)
    add_agent(kv, "main", "young", replace(old, since=now - 5.0))
    add_agent(kv, "main", "kept", RECORD)
    assert archive_idle(kv, "main", now, lambda name: works.get(name, 0.0)) == ["idle"]
    left = sorted(list_unsettled(kv, "main", now + SETTLED_SECONDS))
    assert left == ["main.busy", "main.kept", "main.young"]
