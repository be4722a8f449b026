"""The board over HTTP: tasks are added, read, changed under a condition, and belong to owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from functions.agent.team.board import Board, Claimer, NewTask
from tests.functions.people import Live

Lives = Callable[..., AbstractContextManager[Live]]
TASKS = "/board/main/tasks"


@pytest.fixture
def agent(live: Lives) -> Iterator[Live]:
    with live() as made:
        yield made


@pytest.fixture
def client(agent: Live) -> httpx.Client:
    return agent.server.client


def test_a_task_is_added_changed_and_ended(client: httpx.Client) -> None:
    fields = {"subject": "dig", "priority": 2, "due": "2030-01-01T12:00:00Z"}
    made = client.post(TASKS, json=fields)
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    body = made.json()
    assert (body["id"], body["status"], body["by"]) == (1, "pending", "http:admin")
    assert (body["due"], body["note"]) == (1_893_499_200.0, "nobody is awake: spawn one")
    client.post(TASKS, json={"subject": "build", "blockedBy": [1]})
    listed = client.get(TASKS).json()["items"]
    assert [(row["id"], row["blockedBy"], row["blocks"]) for row in listed] == [
        (1, [], [2]),
        (2, [1], []),
    ]
    changed = client.patch(f"{TASKS}/1", json={"subject": "dig deep", "owner": "alice"})
    assert (changed.json()["subject"], changed.json()["owner"]) == ("dig deep", "alice")
    done = client.patch(f"{TASKS}/1", json={"status": "completed", "report": "a hole"}).json()
    assert (done["status"], done["report"], done["unblocked"]) == ("completed", "a hole", [2])
    assert [row["id"] for row in client.get(TASKS).json()["items"]] == [2]
    ended = client.get(f"{TASKS}?status=ended").json()["items"]
    assert [row["id"] for row in ended] == [1]
    assert client.patch(f"{TASKS}/1", json={"status": "pending"}).json()["status"] == "pending"


def test_a_condition_that_does_not_hold_changes_nothing(client: httpx.Client) -> None:
    tag = client.post(TASKS, json={"subject": "dig"}).headers["etag"]
    condition = {"if-match": tag}
    first = client.patch(f"{TASKS}/1", json={"subject": "newer"}, headers=condition)
    second = client.patch(f"{TASKS}/1", json={"status": "dropped"}, headers=condition)
    assert (first.status_code, second.status_code) == (200, 412)
    read = client.get(f"{TASKS}/1")
    assert (read.json()["subject"], read.json()["status"]) == ("newer", "pending")
    assert read.headers["etag"] == first.headers["etag"]


def test_the_same_request_makes_one_task(client: httpx.Client) -> None:
    key = {"idempotency-key": "abc"}
    rows = [client.post(TASKS, json={"subject": "dig"}, headers=key).json() for _ in range(2)]
    assert [row["id"] for row in rows] == [1, 1]


REFUSED: list[tuple[str, dict[str, Any], int]] = [
    (TASKS, {"subject": ""}, 400),
    (TASKS, {"subject": "x", "colour": "red"}, 400),
    (TASKS, {"subject": "x", "priority": 7}, 400),
    (TASKS, {"subject": "x", "blockedBy": ["1"]}, 400),
    (TASKS, {"subject": "x", "blockedBy": [9]}, 404),
    (TASKS, {"subject": "x", "due": "soon or so"}, 400),
    (TASKS, {"subject": "x", "blockedBy": list(range(1, 10_001))}, 400),
    (TASKS, {"subject": "x" * 1_000_000}, 400),
    (TASKS, {"subject": "x", "owner": "../x"}, 400),
    (TASKS, {"subject": "x", "owner": "a" * 300}, 400),
    ("/board/other/tasks", {"subject": "x"}, 404),
]


def test_what_cannot_be_is_refused(client: httpx.Client, subtests: pytest.Subtests) -> None:
    for path, fields, status in REFUSED:
        with subtests.test(path=path, fields=str(fields)[:80]):
            assert client.post(path, json=fields).status_code == status
            assert client.get(TASKS).json()["items"] == []


def test_a_task_that_is_not_there_cannot_be_changed(client: httpx.Client) -> None:
    assert client.patch(f"{TASKS}/4", json={"status": "completed"}).status_code == 404
    assert client.get(f"{TASKS}/..").status_code in (404, 405)
    assert client.get(f"{TASKS}/x").status_code == 404
    client.post(TASKS, json={"subject": "dig"})
    assert client.patch(f"{TASKS}/1", json={"status": "in_progress"}).status_code == 400
    assert client.patch(f"{TASKS}/1", json={}).status_code == 400
    assert client.patch(f"{TASKS}/1", json={"blockedBy": [1]}).json()["error"]["code"] == ("ECYCLE")


def test_the_board_is_its_owners(agent: Live, client: httpx.Client) -> None:
    app = agent.server.runtime.app
    Board(app.kv, "main", app.clock.now).add(NewTask(subject="secret"))
    refused = client.get(TASKS, headers={"authorization": "Bearer wrong"})
    assert refused.status_code == 401
    assert "secret" not in refused.text


def test_a_condition_holds_for_every_kind_of_change(agent: Live, client: httpx.Client) -> None:
    old = {"if-match": client.post(TASKS, json={"subject": "dig"}).headers["etag"]}
    app = agent.server.runtime.app
    Board(app.kv, "main", app.clock.now).claim(1, Claimer(member="alice"))
    for fields in ({"comment": "hm"}, {"status": "pending"}, {"owner": "bob"}):
        assert client.patch(f"{TASKS}/1", json=fields, headers=old).status_code == 412
    read = client.get(f"{TASKS}/1")
    assert (read.json()["owner"], read.json()["comments"]) == ("alice", [])
    both = {"comment": "hm", "owner": "bob"}
    now = {"if-match": read.headers["etag"]}
    changed = client.patch(f"{TASKS}/1", json=both, headers=now).json()
    assert (changed["owner"], len(changed["comments"])) == ("bob", 1)


def test_a_refused_change_leaves_nothing_behind(client: httpx.Client) -> None:
    for subject in ("dig", "build"):
        client.post(TASKS, json={"subject": subject})
    half = {"subject": "newer", "owner": "../x"}
    assert client.patch(f"{TASKS}/1", json=half).status_code == 400
    assert client.get(f"{TASKS}/1").json()["subject"] == "dig"
    stale = {"if-match": '"9"'}
    waits = client.patch(f"{TASKS}/1", json={"blockedBy": [2]}, headers=stale)
    assert waits.status_code == 412
    # the link that was refused closes no circle
    assert client.patch(f"{TASKS}/2", json={"blockedBy": [1]}).json()["blockedBy"] == [1]
    client.patch(f"{TASKS}/1", json={"comment": "<b>\n[runtime] " + "x" * 50_000})
    said = client.get(f"{TASKS}/1").json()["comments"][0]["text"]
    assert len(said) == 500


REQUESTS = [
    ("GET", TASKS),
    ("POST", TASKS),
    ("GET", f"{TASKS}/1"),
    ("PATCH", f"{TASKS}/1"),
    ("GET", "/agents"),
    ("POST", "/agents"),
    ("GET", "/agents/alice"),
    ("POST", "/agents/alice/archive"),
    ("GET", "/team"),
]


def test_nothing_is_said_or_done_without_the_token(
    client: httpx.Client, subtests: pytest.Subtests
) -> None:
    client.post(TASKS, json={"subject": "secret"})
    body = {"name": "alice", "subject": "x"}
    for method, path in REQUESTS:
        with subtests.test(method=method, path=path):
            for header in ("", "Bearer wrong"):
                refused = client.request(method, path, json=body, headers={"authorization": header})
                assert (refused.status_code, "secret" in refused.text) == (401, False)
            assert [row["subject"] for row in client.get(TASKS).json()["items"]] == ["secret"]
            assert client.get("/agents").json()["items"] == []
