"""The team over HTTP: who holds the admin token reads who is on it, and what each one does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from functions.agent.agents.record import change_state, read_agent
from functions.agent.management.team import spawn_by_hand, stop_by_hand
from functions.agent.safety.hp import HpRecord
from functions.agent.team.member import Members
from functions.agent.team.template import Template
from sigil.errors import UsageError
from sigil.storage.kv import keys
from sigil.storage.stored import dumps
from tests.functions.people import Live

Lives = Callable[..., AbstractContextManager[Live]]


def test_the_team_is_read_with_the_token_by_the_name_of_its_root(live: Lives) -> None:
    with live() as agent:
        client = agent.server.client
        empty = client.get("/team")
        assert (empty.status_code, empty.json()) == (200, {"team": "main", "items": []})
        template = Template("Take tasks.", role="coder", stay=True)
        spawn_by_hand(
            agent.server.runtime.app,
            "alice",
            template,
            home="telegram:1",
            by="test",
            call="spawn-1",
        )
        (row,) = client.get("/team").json()["items"]
        member = Members(agent.server.runtime.stores.kv, "main").read("alice")
        assert row.pop("since") == (member and member.since)
        assert row == {
            "name": "alice",
            "role": "coder",
            "status": "working",
            "task": None,
            "trouble": None,
            "progress": None,
            "stay": True,
            "recall": False,
            "stopped": False,
        }
        assert client.get("/team?agent=main").json()["items"][0]["name"] == "alice"
        for query, status, code in (
            ("agent=alice", 404, "ENOENT"),
            ("agent=../x", 400, "EINVAL"),
            ("colour=red", 400, "EINVAL"),
        ):
            refused = client.get(f"/team?{query}")
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
        for header in ({"authorization": ""}, {"authorization": "Bearer wrong"}):
            refused = client.get("/team", headers=header)
            assert refused.status_code == 401
            assert "alice" not in refused.text


def test_a_teammate_that_is_purged_or_disabled_is_not_spawned_over(live: Lives) -> None:
    with live() as agent:
        app = agent.server.runtime.app

        def spawn(call: str) -> None:
            spawn_by_hand(app, "alice", Template("Dig."), home="telegram:1", by="test", call=call)

        spawn("1")
        for state, problem in (("disabled", "is disabled"), ("purged", "is being purged")):
            change_state(app.kv, "main", "alice", "enabled")
            Members(app.kv, "main").remove("alice")
            change_state(app.kv, "main", "alice", state)
            with pytest.raises(UsageError, match=problem):
                spawn(state)
            assert read_agent(app.kv, "main", "alice").state == state
            assert Members(app.kv, "main").read("alice") is None


def test_an_unlock_and_an_enabled_agent_go_on_over_http(live: Lives) -> None:
    with live() as agent:
        client = agent.server.client
        app = agent.server.runtime.app
        template = Template("Take tasks.", role="coder")
        spawn_by_hand(app, "alice", template, home="", by="http:admin", call="spawn-1")
        Members(app.kv, "main").change(
            "alice", lambda found: (found and replace(found, status="idle", since=1.0), None)
        )
        now = app.clock.now()
        app.kv.put(keys.hp("main.alice"), dumps(HpRecord(0.0, now, disabled=True)))
        assert client.get("/team").json()["items"][0]["status"] == "disabled (HP 0)"
        assert client.get("/agents/alice").json()["status"] == "disabled (HP 0)"
        for fields in ({"subject": "parse", "owner": "bob"}, {"subject": "print"}):
            assert client.post("/board/main/tasks", json=fields).status_code == 201

        assert client.post("/halt", json={}).status_code == 200
        assert client.post("/agents/alice/enable").json()["status"] != "disabled (HP 0)"
        unlocked = client.post("/unlock", json={}).json()
        assert unlocked == {"unlocked": "*", "woken": ["alice"], "waiting": [1]}
        stop_by_hand(app, "alice", by="http:admin", call="stop-1")
        assert client.get("/team").json()["items"][0]["stopped"]
