"""The files of an agent over HTTP: conditions, versions, and names that lead nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.workspace.files import FILE_BYTES, FILES_MOST
from tests.functions.people import Live

Lives = Callable[..., AbstractContextManager[Live]]


@pytest.fixture
def agent(live: Lives) -> Iterator[Live]:
    with live() as made:
        app = made.server.runtime.app
        add_agent(app.kv, "main", "alice", AgentRecord("agent", "enabled", 0.0, "http:admin"))
        yield made


@pytest.fixture
def client(agent: Live) -> httpx.Client:
    return agent.server.client


def put(client: httpx.Client, path: str, body: bytes, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.put(f"/files/main/{path}", content=body, headers=names)


def test_a_file_goes_there_and_back_with_its_version_as_its_tag(client: httpx.Client) -> None:
    made = put(client, "notes/plan.md", b"one\n")
    assert (made.status_code, made.headers["etag"], made.json()["by"]) == (201, '"1"', "http:admin")
    assert put(client, "notes/plan.md", b"two\n").status_code == 200
    read = client.get("/files/main/notes/plan.md")
    assert (read.content, read.headers["etag"]) == (b"two\n", '"2"')
    assert read.headers["content-type"] == "text/plain; charset=utf-8"
    assert read.headers["x-content-type-options"] == "nosniff"
    assert client.get("/files/main/notes/plan.md?version=1").content == b"one\n"
    known = client.get("/files/main/notes/plan.md", headers={"if-none-match": '"2"'})
    assert (known.status_code, known.content) == (304, b"")

    changed = client.get("/files/main/notes/plan.md?diff=1..2").json()
    assert (changed["from"], changed["to"], changed["added"], changed["removed"]) == (1, 2, 1, 1)
    assert "-one\n+two" in changed["diff"]
    assert client.get("/files/main/notes/plan.md?diff=..").json()["diff"] == changed["diff"]
    rows = client.get("/files/main/notes/plan.md?versions=1").json()["items"]
    assert [row["version"] for row in rows] == [2, 1]

    listed = client.get("/files/main?prefix=notes/").json()
    assert (listed["files"], listed["bytes"], listed["most"]["files"]) == (1, 4, FILES_MOST)
    assert [item["path"] for item in listed["items"]] == ["notes/plan.md"]
    assert client.get("/files/main?prefix=other").json()["items"] == []

    assert client.delete("/files/main/notes/plan.md").json() == {
        "removed": "notes/plan.md",
        "version": 3,
    }
    assert client.get("/files/main/notes/plan.md").status_code == 404
    assert client.get("/files/main/notes/plan.md?version=2").content == b"two\n"


def test_a_condition_that_does_not_hold_changes_nothing(client: httpx.Client) -> None:
    assert put(client, "a", b"one", if_none_match="*").status_code == 201
    assert put(client, "a", b"two", if_none_match="*").status_code == 412
    assert put(client, "a", b"two", if_match='"1"').status_code == 200
    late = put(client, "a", b"three", if_match='"1"')
    assert (late.status_code, late.json()["error"]["code"]) == (412, "EPRECONDITION")
    assert late.json()["error"]["message"] == "a is at version 2, and not at version 1"
    assert client.delete("/files/main/a", headers={"if-match": '"1"'}).status_code == 412
    assert client.get("/files/main/a").content == b"two"
    for odd in ("2", '"x"', "*", 'W/"2"', '"1", "2"'):
        assert put(client, "a", b"x", if_match=odd).status_code == 400
    assert client.get("/files/main/a").content == b"two"


def test_a_path_that_is_none_writes_nothing(
    client: httpx.Client, subtests: pytest.Subtests
) -> None:
    for path in (
        *("%2e%2e/x", "a/%2e%2e/x", "%252e%252e", "a%00b", "a%5cb", "%2fetc/passwd", "a//b"),
        *("con", "e%CC%81", "received/x", "a%E2%80%AEb", "x" * 201, "%FF", "a%09b"),
    ):
        with subtests.test(path=path):
            # a client of its own would take out the steps that it can
            request = client.build_request("PUT", "/", content=b"x")
            request.url = request.url.copy_with(raw_path=f"/files/main/{path}".encode())
            refused = client.send(request)
            assert refused.status_code == 400, refused.text
            assert client.get("/files/main").json()["files"] == 0


def test_one_byte_too_many_is_refused(client: httpx.Client) -> None:
    refused = put(client, "a", b"x" * (FILE_BYTES + 1))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "ETOOBIG")
    assert put(client, "a", b"x" * FILE_BYTES).status_code == 201
    assert len(client.get("/files/main/a").content) == FILE_BYTES


def test_no_browser_takes_a_file_for_a_page(client: httpx.Client) -> None:
    put(client, "page.html", b"<script>alert(1)</script>")
    put(client, "picture.png", b"\x89PNG\xff")
    put(client, "page.svg", b"\xff<svg>")
    kinds = {
        name: client.get(f"/files/main/{name}").headers["content-type"]
        for name in ("page.html", "picture.png", "page.svg")
    }
    assert kinds == {
        "page.html": "text/plain; charset=utf-8",
        "picture.png": "image/png",
        "page.svg": "application/octet-stream",
    }
    headers = client.get("/files/main/picture.png").headers
    assert headers["content-disposition"] == "attachment"
    assert "sandbox" in headers["content-security-policy"]


def test_each_agent_has_files_of_its_own(client: httpx.Client) -> None:
    put(client, "a", b"of the root")
    assert client.get("/files/alice/a").status_code == 404
    client.put("/files/alice/a", content=b"of alice")
    assert client.get("/files/main/a").content == b"of the root"
    client.put("/files/alice/team/a", content=b"of all")
    assert client.get("/files/main/team/a").content == b"of all"
    listed = client.get("/files/main", params={"prefix": "team/"}).json()
    assert [item["path"] for item in listed["items"]] == ["team/a"]
    assert listed["files"] == 2
    for nobody in ("bob", "main.alice", "..", "main%23telegram:1"):
        assert client.get(f"/files/{nobody}/a").status_code in (400, 404)


def test_a_question_that_is_none_is_refused(
    client: httpx.Client, subtests: pytest.Subtests
) -> None:
    put(client, "a", b"x")
    for query in ("version=0", "version=x", "diff=3", "diff=a..b", "x=1", "version=1&diff=1..2"):
        with subtests.test(query=query):
            assert client.get(f"/files/main/a?{query}").status_code == 400


def test_nobody_without_the_admin_token_gets_anything(client: httpx.Client) -> None:
    put(client, "a", b"secret")
    headers: dict[str, Any] = {"authorization": "Bearer wrong"}
    for method in ("GET", "PUT", "DELETE"):
        refused = client.request(method, "/files/main/a", headers=headers)
        assert refused.status_code in (401, 403)
        assert b"secret" not in refused.content
    assert client.get("/files/main", headers=headers).status_code in (401, 403)
    assert client.get("/files/main/a").content == b"secret"
