"""Schedules over HTTP: made, listed, changed, run and refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.policy.document import open_versions, write_policy
from functions.agent.schedules.schedule import SCHEDULES_MOST, Schedule, Schedules
from functions.agent.schedules.when import When
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.people import OWNER, Live

CHAT = f"telegram:{OWNER}"
GOOD: dict[str, Any] = {"when": "every day at 7", "say": "drink water", "session": CHAT}
UNKNOWN = ("nobody has written", "no behaviour")
REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"when": "every second"}, "Once a minute"),
    ({"when": "99 99 * * *"}, ""),
    ({"when": "0 8 30 2 *"}, "ever comes"),
    ({"when": "2020-01-01T08:00:00Z"}, "past"),
    ({"when": "2026-02-30T08:00"}, "no such date"),
    ({"when": "yesterday at 8"}, ""),
    ({"when": "soon"}, ""),
    ({"when": "tomorrow at 5"}, "?"),
    ({"when": "tomorrow at nine call Bob"}, "no part of a time"),
    ({"when": ""}, "when is a text"),
    ({"when": 5}, "when is a text"),
    ({"when": "x" * 300}, "at most 240"),
    ({"zone": "Mars/Olympus"}, "Mars/Olympus"),
    ({"zone": "Europe/Berln"}, "`Europe/Berlin`"),
    ({"zone": 5}, "zone is a text"),
    ({"session": None}, "session is a text"),
    ({"session": "telegram"}, "PLATFORM:CHAT"),
    ({"session": "telegram:4711"}, "nobody has written"),
    ({"session": "elsewhere:1"}, "nobody has written"),
    ({"session": "own:main"}, "own work"),
    ({"session": "http:admin:"}, "nobody has written"),
    ({"session": "telegram:" + "4" * 300}, "at most 300"),
    ({"say": None}, "either"),
    ({"text": "look at the mail"}, "either"),
    ({"say": "x" * 4_001}, "at most 4,000"),
    ({"name": "x" * 61}, "at most 60"),
    ({"name": "a\nb"}, "one line"),
    ({"until": "yesterday"}, ""),
    ({"until": "every day at 8"}, "Until when"),
    ({"until": "2020-01-01T00:00Z"}, "past"),
    ({"times": 0}, "whole number"),
    ({"times": True}, "whole number"),
    ({"times": "3"}, "whole number"),
    ({"when": "2099-01-01T08:00Z", "times": 2}, "comes once"),
    ({"model": "a model"}, "name of a model"),
    ({"behaviour": "gone"}, "no behaviour"),
    ({"behaviour": "on_wakeup"}, "takes no behaviour"),
    ({"language": "tlh"}, "language is one of"),
    ({"by": "telegram:1"}, "nothing is called 'by'"),
    ({"paused": True}, "nothing is called 'paused'"),
)


@pytest.fixture
def agent(
    live: Callable[..., AbstractContextManager[Live]], model: ScriptedModel
) -> Iterator[Live]:
    with live(timezone="Europe/Berlin") as served:
        model.then(say("done"))
        assert served.ask("hello") == "done"
        yield served


def test_a_schedule_is_made_listed_changed_and_dropped(agent: Live, model: ScriptedModel) -> None:
    web = agent.server.client
    made = web.post("/wakeups", json=GOOD)
    told = made.json()
    assert made.status_code == 201
    assert told["in_words"] == "every day at 07:00 (Europe/Berlin)"
    assert told["heartbeat"] is False
    assert len(told["next"]) == 3
    assert "07:00 (Europe/Berlin)" in told["next_in_words"]
    again = web.post("/wakeups", json=GOOD)
    assert (again.status_code, again.json()["id"]) == (200, told["id"])
    german = web.post("/wakeups", json={**GOOD, "when": "jeden Tag 19.30", "say": "essen"}).json()
    assert german["language"] == "de"
    assert german["in_words"] == "jeden Tag um 19:30 Uhr (Europe/Berlin)"
    assert web.delete(f"/wakeups/{german['id']}").status_code < 300
    vague = web.post("/wakeups", json={**GOOD, "when": "morgen um 5", "say": "essen"})
    assert vague.json()["error"]["message"].startswith("Meinst du")
    times = {
        "0 8 * * 1-5": "every Monday to Friday at 08:00 (Asia/Tokyo)",
        "2099-12-24T18:00": "Thursday, 24 December 2099 at 18:00 (Asia/Tokyo)",
        "2099-12-24T18:00:00+01:00": "Friday, 25 December 2099 at 02:00 (Asia/Tokyo)",
    }
    for when, words in times.items():
        fields = {"when": when, "text": "look", "session": "http:admin:news", "zone": "Asia/Tokyo"}
        answer = web.post("/wakeups", json=fields)
        assert (answer.status_code, answer.json()["in_words"]) == (201, words)
    fields = {
        **GOOD,
        "when": "每天早上八点",
        "language": "zh",
        "until": "2099-01-01T00:00",
        "times": 5,
    }
    assert "5" in web.post("/wakeups", json=fields).json()["in_words"]

    ids = []
    after = ""
    while True:
        page = web.get("/wakeups", params={"limit": 2, "after": after}).json()
        ids += [each["id"] for each in page["items"]]
        after = page.get("next", "")
        if not after:
            break
    assert len(ids) == len(set(ids)) == 5
    assert len(web.get("/wakeups", params={"session": CHAT}).json()["items"]) == 2

    path = f"/wakeups/{told['id']}"
    changed = web.patch(path, json={"paused": True, "name": "water"}).json()
    assert (changed["paused"], changed["name"], changed["next"]) == ("paused", "water", [])
    assert web.patch(path, json={"paused": False}).json()["next"] == told["next"]
    assert web.get(path).json()["name"] == "water"
    assert "without a model" in web.patch(path, json={"behaviour": "on_wakeup"}).text
    work = {**GOOD, "say": None, "text": "look", "behaviour": "on_self_improve"}
    working = web.post("/wakeups", json=work).json()
    assert working["behaviour"] == "on_self_improve"
    how = web.patch(f"/wakeups/{working['id']}", json={"behaviour": "", "model": "small"}).json()
    assert (how["behaviour"], how["model"]) == ("", "small")
    assert web.delete(path).json() == {"dropped": told["id"]}
    assert [web.request(verb, path).status_code for verb in ("GET", "DELETE")] == [404, 404]


def test_a_run_now_never_moves_the_schedule(agent: Live, model: ScriptedModel) -> None:
    web = agent.server.client
    before = web.post("/wakeups", json=GOOD).json()
    path = f"/wakeups/{before['id']}"
    runs = [web.post(f"{path}/run", headers={"idempotency-key": "once"}).json() for _ in range(2)]
    assert runs[0] == runs[1]
    assert agent.replies(OWNER, 2)[1] == "drink water"
    assert web.post(f"{path}/run").status_code == 202
    assert agent.replies(OWNER, 3)[1:] == ["drink water"] * 2
    assert web.get(path).json()["next"] == before["next"]
    model.then(say("All is well."))
    fields = {"when": "every hour", "text": "look at the mail", "session": CHAT}
    work = web.post("/wakeups", json=fields).json()
    event = web.post(f"/wakeups/{work['id']}/run").json()["event"]
    assert agent.replies(OWNER, 4)[3] == "All is well."
    run = web.get(f"/wakeups/{work['id']}/runs").json()["items"][0]
    assert (run["event"], run["outcome"], run["tokens"] > 0) == (event, "said", True)


def test_what_cannot_be_is_refused_in_a_sentence_and_nothing_is_stored(agent: Live) -> None:
    web = agent.server.client
    for fields, words in REFUSED:
        answer = web.post("/wakeups", json={**GOOD, **fields})
        error = answer.json()["error"]
        assert answer.status_code == (404 if words in UNKNOWN else 400), fields
        assert words in error["message"], (fields, error)
        assert error["message"]
        assert set(error) == {"source", "code", "message", "suggestion"}
    for body in (b"", b"{", b"[]", b"null", b'"x"', b"\xff", b'{"session": "\\ud800:1"}'):
        assert web.post("/wakeups", content=body).status_code == 400, body
    assert web.post("/wakeups", content=b" " * (1 << 20) + b"{}").status_code == 413
    for query in ({"limit": "0"}, {"limit": "65"}, {"after": "x"}, {"agent": "main.a"}):
        assert web.get("/wakeups", params=query).status_code == 400, query
    assert web.get("/wakeups", params={"agent": "nobody"}).status_code == 404
    made = web.get("/wakeups").json()
    assert made == {"items": []}

    path = f"/wakeups/{web.post('/wakeups', json=GOOD).json()['id']}"
    before = web.get(path).json()
    for change in ({}, {"paused": 1}, {"name": 5}, {"name": "x" * 61}, {"text": "else"}):
        assert web.patch(path, json=change).status_code == 400, change
    assert web.post(f"{path}/run", json={"now": True}).status_code == 400
    for strange in ("/wakeups/nobody", "/wakeups/ffffffffffff", "/wakeups/..%2fx"):
        for verb, more in (("GET", ""), ("DELETE", ""), ("POST", "/run"), ("GET", "/runs")):
            assert web.request(verb, strange + more).status_code == 404, (verb, strange, more)
    assert web.get(path).json() == before
    for method, where in (("PUT", "/wakeups"), ("DELETE", "/wakeups"), ("POST", path)):
        assert web.request(method, where).status_code == 405
    for header in ({}, {"authorization": "Bearer wrong"}):
        for method, where in (("GET", "/wakeups"), ("POST", "/wakeups"), ("POST", f"{path}/run")):
            answer = httpx.request(method, agent.server.url + where, headers=header)
            assert answer.status_code in (401, 403)


def test_the_sixty_fifth_is_refused_and_each_agent_has_its_own(agent: Live) -> None:
    web = agent.server.client
    kv = agent.server.runtime.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 0.0, "http:admin"))
    schedules = Schedules(kv, "main")
    for number in range(SCHEDULES_MOST):
        when = When(kind="every", every=3600.0 + number, zone="UTC")
        given = Schedule(id="", when=when, session=CHAT, by=CHAT, since=1e9, say="x")
        schedules.add(given)
    full = web.post("/wakeups", json=GOOD)
    assert (full.status_code, full.json()["error"]["code"]) == (403, "EQUOTA")
    assert len(web.get("/wakeups").json()["items"]) == SCHEDULES_MOST
    hers = web.post("/wakeups", json=GOOD, params={"agent": "alice"})
    assert (hers.status_code, hers.json()["agent"]) == (201, "main.alice")
    assert kv.get(keys.wakeup("main.alice", hers.json()["id"]))
    assert web.get(f"/wakeups/{hers.json()['id']}").status_code == 404


def test_a_policy_that_denies_schedules_denies_them_over_http_too(
    live: Callable[..., AbstractContextManager[Live]],
) -> None:
    with live() as agent:
        client = agent.server.client
        fields = {**GOOD, "session": "http:admin:main"}
        made = client.post("/wakeups", json=fields).json()
        place = f"/wakeups/{made['id']}"
        kv = agent.server.runtime.stores.kv
        versions = open_versions(kv, "main", time.time)
        write_policy(versions, 'format = 1\nrules = ["deny owner schedule"]', by="x")
        refused = (
            client.post("/wakeups", json={**fields, "say": "more"}),
            client.patch(place, json={"model": "small"}),
            client.post(f"{place}/run"),
        )
        for answer in refused:
            assert answer.status_code == 403
            assert "deny owner schedule" in answer.json()["error"]["message"]
        assert client.patch(place, json={"paused": True}).status_code == 200
        assert client.patch(place, json={"paused": False}).status_code == 403
        # whoever has the token may approve it, and needs not to be asked
        write_policy(versions, 'format = 1\nrules = ["ask owner schedule"]', by="x")
        assert client.patch(place, json={"paused": False}).status_code == 200
        assert client.delete(place).status_code == 200
