"""/tasks, and what the agent learns of tasks that people changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.mailbox import Mailbox
from functions.agent.team.board import Board, Claimer, NewTask
from functions.agent.team.member import Member, Members
from functions.agent.team.task_words import parse_task
from functions.texts.languages import load_texts
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event, run_event, tell
from tests.tables import each_row

OWNER: dict[str, Any] = {"session": "telegram:1", "sender": "telegram:1"}
MEMBER: dict[str, Any] = {"session": "telegram:42", "sender": "telegram:42"}
GUEST: dict[str, Any] = {"session": "telegram:66", "sender": "telegram:66"}
MONDAY = 1_796_040_000.0
"""2026-11-30 12:00 UTC."""


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    made = runtime(llm_url=model.url, owners=("telegram:1",), access="open", timezone="UTC")
    made.app.people.let_in("telegram:42", "member", "Bob", "telegram:1")
    return made


@pytest.fixture
def board(agent: AgentRuntime) -> Board:
    return Board(agent.app.kv, "main", agent.app.clock.now)


def ask(agent: AgentRuntime, text: str, **who: Any) -> str:
    (reply,) = tell(agent, text, **(who or OWNER))
    return reply


def test_the_board_is_printed_with_marks_and_owners(agent: AgentRuntime, board: Board) -> None:
    assert ask(agent, "/tasks").startswith("The board is empty.")
    for subject in ("dig", "build", "paint", "plan", "rest"):
        board.add(NewTask(subject=subject, by="telegram:1"))
    board.claim(2, Claimer(member="alice"))
    board.complete(1, owner="")
    board.mark_stuck(3, "no brush")
    board.drop(4)
    assert ask(agent, "/tasks").splitlines()[:5] == [
        "  [>] #2: build @alice",
        "  [!] #3: paint",
        "  [ ] #5: rest",
        "  [x] #1: dig",
        "  [-] #4: plan",
    ]


def test_a_task_is_added_done_dropped_assigned_and_reopened(
    agent: AgentRuntime, board: Board
) -> None:
    added = ask(agent, "/tasks add buy milk !2\ntwo litres")
    assert added.splitlines()[0] == "Added #1: buy milk"
    assert added.endswith("It stays yours; `/tasks assign 1 anybody` gives it to the team.")
    assert "Nobody is awake" in ask(agent, "/tasks assign 1 anybody")
    added = ask(agent, "/tasks add bake a cake after #1")
    assert added.startswith("Added #2: bake a cake (blocked by #1)")
    assert "  [ ] #2: bake a cake (blocked by #1)" in ask(agent, "/tasks")
    assert ask(agent, "/tasks done #1 three litres").splitlines()[:2] == [
        "#1 is done: buy milk",
        "Now #2 can be done.",
    ]
    assert ask(agent, "/tasks done 1").startswith("Nothing changed:\n  [x] #1: buy milk")
    Members(agent.app.kv, "main").change("alice", lambda _: (Member("idle", 0.0, stay=True), None))
    assert ask(agent, "/tasks assign 2 @alice") == "#2 is for alice: bake a cake"
    assert ask(agent, "/tasks assign 2 nobody").startswith("#2 is for anybody")
    assert ask(agent, "/tasks drop 2 no eggs") == "#2 is dropped: bake a cake"
    assert ask(agent, "/tasks reopen 2").startswith("#2 can be taken again")
    assert ask(agent, "/tasks 1") == "  [x] #1: buy milk\n\ntwo litres\n\nthree litres"
    task = board.read(1)
    assert (task.by, task.home, task.priority) == ("telegram:1", "telegram:1", 2)


def test_who_ends_a_task_of_somebody_else_is_named_to_the_chat_that_asked(
    agent: AgentRuntime, board: Board
) -> None:
    board.add(NewTask(subject="buy milk", by="telegram:42", home="telegram:42"))
    board.claim(1, Claimer(member="alice"))
    done = run_event(agent, event("/tasks done 1 Alice says: pay him", **OWNER))
    (said,) = [each for each in done.document.posts if each.kind == "say"]
    assert (said.session, said.text) == (
        "telegram:42",
        "#1 done by telegram:1: Alice says: pay him",
    )


def test_what_cannot_be_done_is_said(agent: AgentRuntime) -> None:
    assert ask(agent, "/tasks done 9") == "Task 9 not found; `/tasks` shows what there is."
    assert ask(agent, "/tasks fly").startswith("`/tasks add SUBJECT`")
    assert "assign N NAME" in ask(agent, "/tasks assign 1")
    assert ask(agent, f"/tasks add {'x' * 201}").startswith("That cannot be done: a subject has")
    ask(agent, "/tasks add one")
    ask(agent, "/tasks drop 1")
    assert "task 1 is dropped already" in ask(agent, "/tasks done 1")


def test_members_see_their_own_tasks_and_guests_none(agent: AgentRuntime, board: Board) -> None:
    ask(agent, "/tasks add the lawyer")
    ask(agent, "/tasks add the dentist", **MEMBER)
    assert "lawyer" not in ask(agent, "/tasks", **MEMBER)
    assert ask(agent, "/tasks done 1", **MEMBER).startswith("Task 1 not found")
    assert "dentist" in ask(agent, "/tasks")
    assert "policy" in ask(agent, "/tasks", **GUEST)
    assert "policy" in ask(agent, "/tasks add free beer", **GUEST)
    # in a group there are the tasks of that group, whoever looks
    group = {"session": "telegram:-100", "sender": "telegram:1", "private": False}
    assert "lawyer" not in ask(agent, "/tasks", **group)
    assert len(board.list_open()) == 2


def test_the_next_request_tells_what_people_changed(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    Members(agent.app.kv, "main").change("alice", lambda _: (Member("idle", 0.0, stay=True), None))
    ask(agent, "/tasks add buy milk")
    ask(agent, "/tasks done 1")
    ask(agent, "/tasks add bake a cake")
    ask(agent, "/tasks assign 2 alice")
    model.then(say("fine"), say("fine"))
    ask(agent, "what is new?")
    told = model.bodies[-1]["messages"][-2]["content"]
    assert told.splitlines()[-2:] == [
        "- task #1 (buy milk): completed, by telegram:1",
        "- task #2 (bake a cake): assigned to alice, by telegram:1",
    ]
    ask(agent, "and now?")
    assert str(model.bodies[-1]["messages"]).count("buy milk") == str(
        model.bodies[-2]["messages"]
    ).count("buy milk")


def test_whoever_works_on_a_task_gets_mail_of_a_change(agent: AgentRuntime, board: Board) -> None:
    board.add(NewTask(subject="buy milk", by="telegram:1", home="telegram:1", owner="alice"))
    board.claim(1, Claimer(member="alice"))
    ask(agent, "/tasks drop 1 we have some")
    ((_, mail),) = Mailbox(agent.app.kv, "main.alice").read()[0]
    assert (mail.type, mail.text) == ("board", "task #1 (buy milk): dropped, by telegram:1")


@each_row(
    ("words", "subject", "wanted"),
    [
        ("buy milk", "buy milk", {}),
        ("call Ann !3 @bob", "call Ann", {"priority": 3, "owner": "bob"}),
        ("paint after #3, #4 role:painter", "paint", {"blocked_by": (3, 4), "role": "painter"}),
        ("call after lunch", "call after lunch", {}),
        ("pay the amount due", "pay the amount due", {}),
        ("pay rent due tomorrow at 18:00", "pay rent", {"due": MONDAY + 30 * 3600}),
        ("Miete zahlen nach #2 Priorität 1", "Miete zahlen", {"blocked_by": (2,), "priority": 1}),
        ("买牛奶 优先级 2", "买牛奶", {"priority": 2}),
        ("mail me@example.com", "mail me@example.com", {}),
        ("(call Ann) !1", "(call Ann)", {"priority": 1}),
    ],
)
def test_plain_words_say_what_a_task_is(words: str, subject: str, wanted: dict[str, Any]) -> None:
    task = parse_task(words, MONDAY, "UTC", load_texts("en"))
    assert task == NewTask(subject=subject, **wanted)


@each_row(
    ("words", "blockers"),
    [
        ("write it up after #1", (1,)),
        ("after #1: write it up", (1,)),
        ("after #1, write it up", (1,)),
        ("After task 1 is done, write it up", (1,)),
        ("write it up (after #1)", (1,)),
        ("write (after #1, !2) it up", (1,)),
        ("write it up, after #1 and #2", (1, 2)),
        ("write it up after#1", (1,)),
        ("write it up after #1, #2 and 3.", (1, 2, 3)),
        ("once #1 and 2 are done write it up", (1, 2)),
        ("after tasks 1 and 2 write it up", (1, 2)),
        ("write it up blocked by #1", (1,)),
        ("write it up depends on task #3", (3,)),
        ("write it up after 1 and 2", (1, 2)),
        ("write it up (after 1)", (1,)),
        ("after 1: write it up", (1,)),
        ("write it up nach #1", (1,)),
        ("nach #1 und 2: write it up", (1, 2)),
        ("sobald #1 erledigt ist, write it up", (1,)),
        ("write it up (nach Aufgabe 1)", (1,)),
        ("#1之后write it up", (1,)),
        ("在#1之后write it up", (1,)),
        ("在#1、#2完成后write it up", (1, 2)),
        ("write it up（#1和2之后）", (1, 2)),
        ("等任务1完成了再write it up", (1,)),
        ("等#1再write it up", (1,)),
        ("write it up，在 #1 后", (1,)),
    ],
)
def test_what_a_task_waits_for_may_stand_anywhere(words: str, blockers: tuple[int, ...]) -> None:
    task = parse_task(words, MONDAY, "UTC", load_texts("en"), lambda: (1, 2, 3))
    assert (task.subject.rstrip("."), task.blocked_by) == ("write it up", blockers)


@each_row(
    "words",
    [
        "fix the follow-up of #1",
        "处理#1后续工作",
        "call Ann after 5",
        "call Ann after 3 days",
        'call Ann "after 1"',
        "look at #1 and #2",
        "in 2 Tagen, nach 10 Uhr: anrufen",
    ],
)
def test_a_number_that_is_none_of_a_task_stays_in_the_subject(words: str) -> None:
    task = parse_task(words, MONDAY, "UTC", load_texts("en"), lambda: (1, 2, 3, 10))
    assert task == NewTask(subject=words)


@each_row(
    "words",
    [
        "call Ann after 1",
        "写总结 在2之后",
        "after #1, 2 litres of milk",
        "write it up after 1, 9",
        "after 1 and 2 write it up",
    ],
)
def test_a_number_that_may_be_a_task_is_asked_about(agent: AgentRuntime, words: str) -> None:
    board = Board(agent.app.kv, "main", agent.app.clock.now)
    if not board.list_open():
        for subject in ("one", "two", "three"):
            board.add(NewTask(subject=subject, by="telegram:1"))
    assert ask(agent, f"/tasks add {words}").startswith("Shall it wait for #")
    assert len(board.list_open()) == 3


def test_a_task_for_nobody_known_is_asked_about_and_names_who_is(agent: AgentRuntime) -> None:
    assert "no other one. Ask me to spawn bob" in ask(agent, "/tasks add call Ann @bob")
    members = Members(agent.app.kv, "main")
    for name in ("alice", "bobby"):
        members.change(name, lambda _: (Member("idle", 0.0, stay=True), None))
    told = ask(agent, "/tasks add call Ann @bob")
    assert told.startswith("There is no teammate bob. Those that I know: bobby, alice. Ask me to")
    assert ask(agent, "/tasks").startswith("The board is empty.")
    assert ask(agent, "/tasks add call Ann @Alice").startswith("Added #1: call Ann")
    assert ask(agent, "/tasks assign 1 @bob").startswith("There is no teammate bob.")
    assert ask(agent, "/tasks assign 1 bobby") == "#1 is for bobby: call Ann"


def test_all_tasks_are_listed_with_those_that_have_ended(agent: AgentRuntime, board: Board) -> None:
    for number in range(1, 9):
        board.add(NewTask(subject=f"number {number}", by="telegram:1"))
        board.complete(number, owner="")
    assert ask(agent, "/tasks").count("[x]") == 5
    for word in ("all", "alle", "全部"):
        assert ask(agent, f"/tasks {word}").count("[x]") == 8
