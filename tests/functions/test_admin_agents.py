"""Agents over HTTP: one is changed as it was read, and those of another root are unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from functions.agent.agents.record import AgentRecord, add_agent, read_agent
from functions.agent.app import App
from functions.agent.management.team import spawn_by_hand
from functions.agent.policy.document import open_versions
from functions.agent.policy.proposals import Proposal
from functions.agent.runs.run import Run, save_run
from functions.agent.team.board import Board, NewTask
from functions.agent.team.template import Template
from functions.agent.workspace.files import Writer
from tests.functions.people import Live

Lives = Callable[..., AbstractContextManager[Live]]
HUSH = "hush"


@pytest.fixture
def agent(live: Lives) -> Iterator[Live]:
    with live() as made:
        yield made


def test_a_step_is_taken_from_what_was_read(agent: Live) -> None:
    client = agent.server.client
    client.post("/agents", json={"name": "alice", "heartbeat": "off"})
    first = {"if-match": client.get("/agents/alice").headers["etag"]}
    for odd in ('"1"', "*", 'W/"0123456789abcdef"', ""):
        refused = client.post("/agents/alice/disable", headers={"if-match": odd})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "EINVAL")
    disabled = client.post("/agents/alice/disable", headers=first)
    assert (disabled.status_code, disabled.json()["state"]) == (200, "disabled")
    assert disabled.headers["etag"] == client.get("/agents/alice").headers["etag"]
    for step in ("enable", "archive", "purge"):
        refused = client.post(f"/agents/alice/{step}", headers=first)
        assert (refused.status_code, refused.json()["error"]["code"]) == (412, "EPRECONDITION")
        assert "it is disabled" in refused.json()["error"]["message"]
    assert client.get("/agents/alice").json()["state"] == "disabled"
    assert client.post("/agents/alice/enable").json()["state"] == "enabled"
    archived = client.post("/agents/alice/archive")
    purge = client.post("/agents/alice/purge", headers={"if-match": archived.headers["etag"]})
    assert (purge.status_code, purge.json()["state"]) == (200, "purged")
    # nothing else changes an agent or a team over HTTP
    for method in ("PATCH", "PUT", "DELETE"):
        assert client.request(method, "/agents/alice").status_code == 405
        assert client.request(method, "/team").status_code == 405


def fill_other_root(app: App) -> str:
    """Let another root of the same store have one of everything, and return its proposal's id."""
    other = replace(app, name="other")
    for name in ("alice", "bob"):
        record = AgentRecord("agent", "enabled", 1.0, "terminal:local", role=HUSH)
        add_agent(app.kv, "other", name, record)
    writer = Writer("terminal:local", "", "")
    for scope in ("other", "other.alice", "team#other"):
        other.open_workspace(scope).write("secret.md", HUSH.encode(), writer)
    template = Template("Take tasks.", role=HUSH)
    spawn_by_hand(other, "carol", template, home="", by="terminal:local", call="spawn")
    Board(app.kv, "other", app.clock.now).add(NewTask(subject=HUSH))
    rule = f"format = 1\nrules = ['deny everybody call {HUSH}']"
    other.policy_versions.write("other", "policy", rule, by="terminal:local")
    run = Run("telegram:7:1", "telegram:7", "other", "message", "message", HUSH, 1.0, notes=(HUSH,))
    save_run(app.kv, run, 1.0)
    asked = Proposal(
        id="",
        digest="0badc0de" * 8,
        agent="other",
        session="telegram:7",
        by="telegram:7",
        acts=(HUSH,),
        tool="cap_x",
        arguments="{}",
    )
    return other.proposals.propose(asked)[0].id


def test_what_another_root_has_is_unknown(agent: Live) -> None:
    app = agent.server.runtime.app
    id = fill_other_root(app)
    client = agent.server.client
    names = ("alice", "other", "other.alice", "other%23alice", "main.alice", "..")
    asked = [
        ("GET", "/agents/{}", None),
        ("POST", "/agents/{}/disable", None),
        ("POST", "/agents/{}/purge", None),
        ("GET", "/files/{}", None),
        ("GET", "/files/{}/secret.md", None),
        ("PUT", "/files/{}/secret.md", "mine"),
        ("DELETE", "/files/{}/secret.md", None),
        ("GET", "/policy/{}", None),
        ("GET", "/team?agent={}", None),
        ("GET", "/wakeups?agent={}", None),
        ("GET", "/kb?agent={}", None),
        ("GET", "/skills?agent={}", None),
        ("GET", "/status?agent={}", None),
        ("GET", "/board/{}/tasks", None),
        ("PATCH", "/board/{}/tasks/1", '{"status": "completed"}'),
        ("POST", "/board/{}/tasks", '{"subject": "x"}'),
    ]
    for name in names:
        for method, path, content in asked:
            answer = client.request(method, path.format(name), content=content)
            assert answer.status_code in (400, 404), (method, path, name, answer.text)
            assert HUSH not in answer.text
        # what somebody did is read whatever became of them: nothing, here
        for path in ("runs", "sessions", "ledger"):
            answer = client.get(f"/{path}?agent={name}")
            assert HUSH not in answer.text
            assert answer.status_code == 400 or answer.json()["items"] == [], answer.text
    for path in ("/agents", "/team", "/runs", "/sessions", "/ledger", "/proposals?all=1"):
        assert client.get(path).json()["items"] == []
    for path in ("/runs/telegram:7:1", f"/proposals/{id}/approve", f"/proposals/{id}/deny"):
        method = "POST" if "proposals" in path else "GET"
        answer = client.request(method, path)
        assert (answer.status_code, HUSH in answer.text) == (404, False)
    # and all of it is as it was
    other = replace(app, name="other")
    assert read_agent(app.kv, "other", "alice").state == "enabled"
    assert other.open_workspace("other").read("secret.md").require_text() == HUSH
    assert [task.status for task in Board(app.kv, "other", app.clock.now).list_open()] == [
        "pending"
    ]
    assert [each.id for each in other.proposals.list_open()] == [id]


def test_agents_of_one_root_have_their_own(agent: Live) -> None:
    """What one agent keeps is not in what is asked of another one."""
    app = agent.server.runtime.app
    client = agent.server.client
    client.post("/agents", json={"name": "alice", "heartbeat": "30m", "prompt": HUSH})
    client.post("/agents", json={"name": "bob", "heartbeat": "off"})
    client.put("/files/alice/secret.md", content=HUSH)
    document = {"title": HUSH, "text": HUSH, "source": "the owner"}
    assert client.post("/kb?agent=alice", json=document).status_code == 201
    skill = f"---\nname: {HUSH}\ndescription: Use it when {HUSH}.\n---\n{HUSH}"
    assert client.put(f"/skills/{HUSH}?agent=alice", json={"text": skill}).is_success
    rule = f"format = 1\nrules = ['deny everybody call {HUSH}']"
    versions = open_versions(app.kv, "main.alice", app.clock.now)
    versions.write("main.alice", "policy", rule, by="terminal:local")
    run = Run("own:1", "own:main", "main.alice", "task", "task", HUSH, 1.0, notes=(HUSH,))
    save_run(app.kv, run, 1.0)
    shown = (
        "/files/{}",
        "/kb?agent={}",
        "/kb/search?agent={}&q=hush",
        "/wakeups?agent={}",
        "/skills?agent={}",
        "/policy/{}",
        "/runs?agent={}",
    )
    for path in shown:
        found = {name: client.get(path.format(name)) for name in ("alice", "bob", "main")}
        assert all(answer.is_success for answer in found.values()), (path, found["alice"].text)
        said = [HUSH in answer.text.replace("q=hush", "") for answer in found.values()]
        if path == "/files/{}":
            said = ["secret.md" in answer.text for answer in found.values()]
        assert said == [True, False, False], path
