"""/kb over HTTP: documents are added, listed, searched, replaced and deleted with the admin token,
and odd requests are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from tests.functions.agent.knowledge.documents import HANDBOOK
from tests.functions.people import Live

Lives = Callable[..., AbstractContextManager[Live]]
DOCUMENT = {"text": HANDBOOK, "title": "Handbook", "source": "hr"}


def test_a_document_is_added_found_replaced_and_deleted(live: Lives) -> None:
    with live() as agent:
        client = agent.server.client
        made = client.post("/kb", json={**DOCUMENT, "tags": ["Shop"], "author": "HR", "time": 1e9})
        assert made.status_code == 201
        row = made.json()
        assert (row["new"], row["title"], row["tags"], row["chunks"]) == (
            True,
            "Handbook",
            ["shop"],
            2,
        )
        assert (row["author"], row["time"], row["by"]) == ("HR", 1e9, "http:admin")
        again = client.post("/kb", json={**DOCUMENT, "tags": ["Shop"], "author": "HR"})
        assert (again.status_code, again.json()["changed"]) == (200, False)
        id = row["id"]
        assert [each["id"] for each in client.get("/kb").json()["items"]] == [id]
        (found, *_) = client.get("/kb/search", params={"q": "vacation days"}).json()["items"]
        assert (found["id"], found["place"]) == (id, "Handbook > Holidays, lines 12-16")
        assert client.get("/kb/search", params={"q": "vacation", "tag": "x"}).json()["items"] == []
        assert client.get(f"/kb/{id}").json()["text"] == HANDBOOK
        new = {"text": HANDBOOK.replace("28", "30"), "source": "hr", "expect": row["digest"]}
        changed = client.put(f"/kb/{id}", json=new).json()
        assert (changed["id"], changed["changed"], changed["tags"]) == (id, True, ["shop"])
        assert client.put(f"/kb/{id}", json={**new, "text": "x"}).status_code == 409
        assert client.delete(f"/kb/{id}").json() == {"dropped": id, "scope": "agent"}
        assert client.delete(f"/kb/{id}").status_code == 404
        assert client.get(f"/kb/{id}").status_code == 404
        assert client.put(f"/kb/{id}", json=DOCUMENT).status_code == 404


def test_a_document_has_versions_that_can_be_compared_and_brought_back(live: Lives) -> None:
    with live() as agent:
        client = agent.server.client
        id = client.post("/kb", json={**DOCUMENT, "author": "HR", "tags": ["shop"]}).json()["id"]
        new = {"text": HANDBOOK.replace("28", "30"), "source": "board", "why": "the new contract"}
        assert client.put(f"/kb/{id}", json=new).json()["version"] == 2
        first = client.get(f"/kb/{id}", params={"version": 1}).json()
        assert (first["text"], first["source"], first["version"]) == (HANDBOOK, "hr", 1)
        listed = client.get(f"/kb/{id}", params={"versions": 1}).json()["items"]
        assert [(each["version"], each["by"], each["why"]) for each in listed] == [
            (2, "http:admin", "the new contract"),
            (1, "http:admin", ""),
        ]
        found = client.get(f"/kb/{id}", params={"diff": "1..2"}).json()
        assert (found["from"], found["to"], found["added"], found["removed"]) == (1, 2, 1, 1)
        assert "+Everybody has 30 days" in found["diff"]
        (hit, *_) = client.get("/kb/search", params={"q": "vacation days"}).json()["items"]
        assert "30 days" in hit["text"]

        back = {"version": 1, "why": "it was never signed", "expect": first["digest"]}
        assert client.put(f"/kb/{id}", json=back).status_code == 409
        made = client.put(f"/kb/{id}", json={**back, "expect": "2"}).json()
        assert (made["version"], made["why"], made["author"]) == (3, "it was never signed", "HR")
        assert client.get(f"/kb/{id}").json()["text"] == HANDBOOK
        assert (
            "28 days"
            in client.get("/kb/search", params={"q": "vacation"}).json()["items"][0]["text"]
        )
        for asked, status in (
            ("version=4", 404),
            ("version=x", 400),
            ("diff=1", 400),
            ("x=1", 400),
        ):
            assert client.get(f"/kb/{id}?{asked}").status_code == status, asked
        assert client.put(f"/kb/{id}", json={"version": 9}).status_code == 404
        assert client.put(f"/kb/{id}", json={"version": 1, "text": "x"}).status_code == 400
        # deleting takes the earlier versions along
        client.delete(f"/kb/{id}")
        assert client.get(f"/kb/{id}?version=1").status_code == 404
        assert client.post("/kb", json=DOCUMENT).json()["version"] == 1
        assert len(client.get(f"/kb/{id}?versions=1").json()["items"]) == 1


def test_scopes_and_agents_are_apart(live: Lives) -> None:
    with live() as agent:
        kv = agent.server.runtime.stores.kv
        add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 0.0, "http:admin"))
        client = agent.server.client
        client.post("/kb", params={"agent": "alice"}, json=DOCUMENT)
        client.post("/kb", json={**DOCUMENT, "title": "Ours", "scope": "team"})

        def list_titles(**asked: str) -> list[str]:
            items = client.get("/kb", params=asked).json()["items"]
            return [each["title"] for each in items]

        assert list_titles() == []
        assert list_titles(agent="alice") == ["Handbook"]
        assert list_titles(scope="team") == list_titles(scope="team", agent="alice") == ["Ours"]
        found = client.get("/kb/search", params={"q": "vacation", "agent": "alice"}).json()
        assert {each["title"] for each in found["items"]} == {"Handbook", "Ours"}
        found = client.get("/kb/search", params={"q": "vacation"}).json()
        assert {each["title"] for each in found["items"]} == {"Ours"}


def test_a_long_list_comes_in_pages(live: Lives) -> None:
    with live() as agent:
        client = agent.server.client
        for number in range(5):
            client.post("/kb", json={**DOCUMENT, "title": f"T{number}", "text": f"text {number}"})
        first = client.get("/kb", params={"limit": 3}).json()
        second = client.get("/kb", params={"limit": 3, "after": first["next"]}).json()
        titles = {each["title"] for each in first["items"] + second["items"]}
        assert titles == {f"T{number}" for number in range(5)}
        assert "next" not in second


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"text": "x", "title": "y"},
        {"text": "x", "title": "y", "source": " "},
        {"text": "x", "title": "y", "source": 1},
        {"text": "", "title": "y", "source": "z"},
        {"text": "x", "title": "y", "source": "z", "scope": "main"},
        {"text": "x", "title": "y", "source": "z", "tags": "t"},
        {"text": "x", "title": "y", "source": "z", "tags": [1]},
        {"text": "x", "title": "y", "source": "z", "confidence": 2},
        {"text": "x", "title": "y", "source": "z", "confidence": True},
        {"text": "x", "title": "y", "source": "z", "time": -1},
        {"text": "x", "title": "y", "source": "z", "by": "telegram:1"},
    ],
)
def test_a_document_without_sense_is_refused(live: Lives, fields: dict[str, Any]) -> None:
    with live() as agent:
        answer = agent.server.client.post("/kb", json=fields)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "EINVAL"
        assert agent.server.client.get("/kb").json()["items"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/kb?limit=0",
        "/kb?limit=101",
        "/kb?after=x",
        "/kb?scope=all",
        "/kb?nothing=1",
        "/kb/search",
        "/kb/search?q=x&limit=21",
        "/kb/search?q=x&tag=a%20b",
        "/kb/search?q=x&agent=main.alice",
    ],
)
def test_an_odd_question_is_refused(live: Lives, path: str) -> None:
    with live() as agent:
        assert agent.server.client.get(path).status_code == 400


def test_nobody_gets_in_without_the_token(live: Lives) -> None:
    with live() as agent:
        for method, path in (
            ("GET", "/kb"),
            ("GET", "/kb/search?q=x"),
            ("POST", "/kb"),
            ("GET", "/kb/0123456789abcdef"),
            ("PUT", "/kb/0123456789abcdef"),
            ("DELETE", "/kb/0123456789abcdef"),
        ):
            answer = httpx.request(method, f"{agent.server.url}{path}", json={})
            assert answer.status_code == 401, (method, path)
