"""create-task, update-task, list-tasks, get-task and claim-task from outside: what the model reads,
and whose tasks they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from functions.agent.ledger.ledger import Ledger
from functions.agent.team.board import Board, Claimer, NewTask
from functions.agent.team.member import Member, Members
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.services.conftest import Chat, OpenAgent
from tests.functions.agent.talk import tell
from tests.library import copy_capabilities

NAMES = ("create-task", "update-task", "list-tasks", "get-task", "claim-task", "board")
OWNER: dict[str, Any] = {"session": "telegram:1", "sender": "telegram:1"}
MEMBER: dict[str, Any] = {"session": "telegram:42", "sender": "telegram:42"}
GUEST: dict[str, Any] = {"session": "telegram:66", "sender": "telegram:66"}
GROUP: dict[str, Any] = {"session": "telegram:-100", "private": False}


@pytest.fixture
def services(tmp_path: Path) -> Path:
    return copy_capabilities(tmp_path / "library", *NAMES)


@pytest.fixture
def chat(open_agent: OpenAgent, model: ScriptedModel, services: Path) -> Chat:
    home = open_agent(services, timezone="UTC")
    home.app.people.let_in("telegram:42", "member", "Bob", "telegram:1")
    return Chat(home, model)


@pytest.fixture
def board(chat: Chat) -> Board:
    return Board(chat.home.app.kv, "main", chat.home.app.clock.now)


def row(number: int, subject: str, **more: Any) -> dict[str, Any]:
    usual = {"description": "", "status": "pending", "owner": "", "blockedBy": [], "blocks": []}
    return {"id": number, "subject": subject, **usual, **more}


def test_one_query_brings_all_five_and_a_chain_is_worked_off(chat: Chat) -> None:
    chat.model.then(
        call(("sigil_query", {"query": "add a task to the board"})),
        call(
            ("cap_create_task", {"subject": "dig"}),
            ("cap_create_task", {"subject": "build"}),
        ),
        call(("cap_update_task", {"task_id": 2, "add_blocked_by": [1]})),
        call(("cap_claim_task", {"task_id": 1}), ("cap_claim_task", {"task_id": 2})),
        call(("cap_update_task", {"task_id": 1, "status": "completed", "report": "a hole"})),
        say("done"),
    )
    tell(chat.home, "dig, then build", **OWNER)
    made, _, waits, claimed, blocked, done = [text.partition("\n")[0] for text in chat.read()[-6:]]
    assert '"id":1,"subject":"dig"' in made
    assert '"blockedBy":[1]' in waits
    assert "Claimed task #1 for lead" in claimed
    assert "task 2 is blocked by #1" in blocked
    assert '"unblocked":[2]' in done


def test_a_task_reads_as_the_seed_has_it(chat: Chat) -> None:
    first, second = chat.does(
        "create-task", {"subject": "dig"}, {"subject": "build", "description": "oak"}, **OWNER
    )
    assert first["ok"] == {**row(1, "dig"), "note": "nobody is awake: spawn one"}
    assert second["ok"]["id"] == 2
    waits = chat.gets("update-task", {"task_id": 2, "add_blocked_by": [1]}, **OWNER)
    assert waits["blockedBy"] == [1]
    assert chat.gets("get-task", {"task_id": 1}, **OWNER) == row(1, "dig", blocks=[2])
    chat.gets("update-task", {"task_id": 1, "status": "completed"}, **OWNER)
    assert chat.gets("get-task", {"task_id": 2}, **OWNER) == row(2, "build", description="oak")


def test_what_is_not_there_is_said_in_the_words_of_the_board(chat: Chat) -> None:
    for service in ("claim-task", "get-task", "update-task"):
        failure = chat.fails(service, {"task_id": 4}, **OWNER)
        assert failure["message"] == "Error: Task 4 not found"
        assert failure["code"] == "ENOENT"
    wanted = {"subject": "x", "blockedBy": [9]}
    assert chat.fails("create-task", wanted, **OWNER)["message"] == "Error: Task 9 not found"


def test_a_task_is_listed_by_status_and_owner(chat: Chat, board: Board) -> None:
    for subject in ("dig", "build", "paint"):
        board.add(NewTask(subject=subject, by="telegram:1", home="telegram:1"))
    board.claim(1, Claimer(member="alice"))
    board.complete(2)
    listed = chat.gets("list-tasks", {}, **OWNER)
    assert [(item["id"], item["status"]) for item in listed["items"]] == [
        (1, "in_progress"),
        (3, "pending"),
    ]
    assert chat.gets("list-tasks", {"owner": "alice"}, **OWNER)["found"] == 1
    done = chat.gets("list-tasks", {"status": "completed"}, **OWNER)
    assert [item["subject"] for item in done["items"]] == ["build"]


def test_work_for_somebody_who_is_not_on_the_team_says_so(chat: Chat, board: Board) -> None:
    board.add(NewTask(subject="dig", by="telegram:1", home="telegram:1"))
    given = chat.gets("update-task", {"task_id": 1, "owner": "bob"}, **OWNER)
    assert given["note"] == "there is no teammate bob: spawn one, or name another one"
    Members(chat.home.app.kv, "main").change("alice", lambda _: (Member("idle", 0.0), None))
    assert "note" not in chat.gets("update-task", {"task_id": 1, "owner": "alice"}, **OWNER)


def test_people_see_and_change_their_own_tasks_and_owners_all(chat: Chat, board: Board) -> None:
    chat.gets("create-task", {"subject": "the lawyer"}, **OWNER)
    chat.gets("create-task", {"subject": "the dentist"}, **MEMBER)
    of_member = chat.gets("list-tasks", {}, **MEMBER)
    assert [item["subject"] for item in of_member["items"]] == ["the dentist"]
    assert chat.fails("get-task", {"task_id": 1}, **MEMBER)["code"] == "ENOENT"
    assert chat.fails("claim-task", {"task_id": 1}, **MEMBER)["code"] == "ENOENT"
    assert chat.gets("list-tasks", {}, **OWNER)["found"] == 2
    assert chat.gets("list-tasks", {}, sender="telegram:1", **GROUP)["found"] == 0
    assert chat.fails("create-task", {"subject": "mine"}, **GUEST)["code"] == "EPERM"
    assert board.read(2).by == "telegram:42"


def test_a_member_changes_the_tasks_of_others_only_where_the_policy_says_so(
    chat: Chat, board: Board
) -> None:
    board.add(NewTask(subject="the hedge", by="telegram:1", home="telegram:-100"))
    group = {"sender": "telegram:42", **GROUP}
    assert chat.gets("get-task", {"task_id": 1}, **group)["subject"] == "the hedge"
    change = {"task_id": 1, "status": "completed"}
    failure = chat.fails("update-task", change, **group)
    assert (failure["code"], "board" in failure["message"]) == ("EPERM", True)
    text = 'format = 1\nrules = ["allow member board"]'
    chat.home.app.policy_versions.write("main", "policy", text, by="terminal:local")
    done = {**change, "report": "it is cut"}
    assert chat.gets("update-task", done, **group)["status"] == "completed"


def test_the_chat_that_asked_hears_of_an_end_elsewhere_and_the_ledger_has_it(
    chat: Chat, board: Board
) -> None:
    board.add(NewTask(subject="the dentist", by="telegram:42", home="telegram:42"))
    chat.gets("claim-task", {"task_id": 1}, **OWNER)
    chat.gets("update-task", {"task_id": 1, "status": "completed", "report": "on Monday"}, **OWNER)
    document = chat.home.app.sessions.open("main#telegram:1").document
    said = [(each.session, each.kind, each.text) for each in document.posts]
    assert said == [("telegram:42", "say", "#1 done by lead: on Monday")]
    facts = [entry["facts"] for entry in read_entries(chat) if entry["what"] == "task"]
    assert [(fact["did"], fact["task"], fact["owner"]) for fact in facts] == [
        ("claimed", 1, "lead"),
        ("completed", 1, "lead"),
    ]


def read_entries(chat: Chat) -> list[Any]:
    ledger = Ledger(chat.home.app.kv, "main")
    return [entry for _, _, rows in ledger.scan_places("") for entry in rows]


def test_a_note_and_a_reason_are_kept(chat: Chat, board: Board) -> None:
    chat.gets("create-task", {"subject": "dig", "priority": 2}, **OWNER)
    chat.gets("update-task", {"task_id": 1, "note": "the spade is gone"}, **OWNER)
    assert board.read(1).comments[0].text == "the spade is gone"
    stuck = chat.gets("update-task", {"task_id": 1, "status": "stuck", "note": "rock"}, **OWNER)
    assert (stuck["status"], stuck["why"]) == ("stuck", "rock")
    again = chat.gets("update-task", {"task_id": 1, "status": "pending"}, **OWNER)
    assert again["status"] == "pending"
    read = chat.gets("get-task", {"task_id": 1}, **OWNER)
    assert (read["priority"], read["notes"][0]["by"]) == (2, "lead")
