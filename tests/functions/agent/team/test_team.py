"""Teammates find their own work, and what comes of it is said where it was wanted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions import worker
from functions.agent.ledger.entry import Entry
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.management.ledger import scan_entries
from functions.agent.posts import Post
from functions.agent.runs.event_chain import find_largest
from functions.agent.safety.hp import load_account
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.team.board import Claimer
from functions.agent.team.member import Members
from functions.agent.team.template import find_example
from functions.agent.team.tick import tick_team
from functions.agent.team.waking import make_events, wake_members
from functions.scheduler import look_after_team
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.fakes.model import call, offered, results, say
from tests.fakes.server import json_answer
from tests.functions.agent.team.crew import (
    HOME,
    Body,
    Crew,
    TeamModel,
    ask,
    contents,
    count_identities,
    search,
    spawned,
    spawning,
)
from tests.functions.people import GUEST
from tests.selection import in_full


def report(body: Body) -> dict[str, Any]:
    """Do at once whatever it is, and report it."""
    return say(f"did: {contents(body)[-1].partition('Task #')[2].splitlines()[0]}")


def test_teammates_claim_the_tasks_of_the_board_until_none_is_left(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("parse", "print", "test <b>")
    model.then(*spawning("alice", "bob"))
    model.plans = {
        "alice": lambda body: report(body) if "Task #" in contents(body)[-1] else say("[SILENT]"),
        "bob": lambda body: report(body) if "Task #" in contents(body)[-1] else say("[SILENT]"),
    }
    said = crew.write("spawn alice and bob, and watch them auto-claim")
    assert said[0] == "They work."
    assert results(model.of("")[2])[-2:] == [
        '{"ok":"Spawned \'alice\' (role: coder)"}',
        '{"ok":"Spawned \'bob\' (role: coder)"}',
    ]
    assert sorted(said[1:]) == [
        "#1 done by alice: did: 1: parse",
        "#2 done by bob: did: 2: print",
        "#3 done by alice: did: 3: test <b>",
    ]
    claimed = [
        text for body in model.of("alice") for text in contents(body) if "<auto-claimed>" in text
    ]
    assert claimed[-1].endswith("<auto-claimed>Task #3: test &lt;b></auto-claimed>")
    assert "Claimed task #3. Working on it." in contents(model.of("alice")[-1])
    assert all(count_identities(body) == 1 for body in model.of("alice") + model.of("bob"))
    assert contents(model.of("bob")[0])[1:3] == [
        "[runtime]\n<identity>You are 'bob', role: coder, team: main. Continue your work.</identity>",
        "I am bob. Continuing.",
    ]
    line = (
        "You are 'bob', role: coder, team: main, at the workspace of main.bob. Use idle tool when"
    )
    assert line in contents(model.of("bob")[0])[0]
    assert crew.board.list_open() == []
    assert [crew.member(name).status for name in ("alice", "bob")] == ["idle", "idle"]


def test_work_of_many_steps_goes_on_in_legs_and_says_who_it_is_whatever_was_compacted(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("a long one", description="with all its parts")
    steps = iter(range(45))
    silent = iter([True])

    def work_long(body: Body) -> dict[str, Any]:
        if next(silent, False):
            return say("[SILENT]")
        number = next(steps, None)
        return say("all done") if number is None else search(number)

    model.plans["alice"] = work_long
    model.then(*spawning("alice", prompt="Care for the parser."))
    assert crew.write("spawn alice")[1:] == ["#1 done by alice: all done"]

    asked = model.of("alice")[1:]
    assert len(asked) == 46
    assert all("tools" in body for body in asked)  # no leg spends a request on last words
    assert [count_identities(body) for body in asked] == [1] * 46
    for body in asked:
        texts = "\n".join(contents(body))
        assert "Care for the parser." in texts
        assert "Task #1: a long one\nDescription: with all its parts" in texts
    assert "This is leg 8 of at most 9" in "\n".join(contents(asked[-1]))
    assert len(asked[-1]["messages"]) < 41


def test_work_that_the_board_hears_nothing_of_is_reminded_each_ten_rounds(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("a long one")
    steps = iter(range(33))

    def work_long(body: Body) -> dict[str, Any]:
        number = next(steps, None)
        if number is None or "<<TASK>>" not in "\n".join(contents(body)):
            return say("done" if number is None else "[SILENT]")
        if number == 16:
            return call(("cap_update_task", {"task_id": 1, "note": "half of it"}))
        return search(number)

    model.plans["alice"] = work_long
    model.then(*spawning("alice"))
    assert crew.write("spawn alice")[1:] == ["#1 done by alice: done"]

    reminder = "[runtime]\nThe board has not heard of task #1 for 10 rounds."
    reminded = [contents(body)[-1].startswith(reminder) for body in model.of("alice")]
    # ten rounds from the first one on, and ten from the call that says how it is on
    assert [number for number, found in enumerate(reminded) if found] == [11, 27]


def test_work_that_never_ends_is_stuck_at_the_fiftieth_request_and_the_next_task_is_taken(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("endless", "short")
    model.plans["alice"] = lambda body: (
        say("[SILENT]")
        if "<<TASK>>" not in "\n".join(contents(body))
        else (say("quick") if "Task #2" in contents(body)[-1] else search(len(model.bodies)))
    )
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")
    assert said[1:] == [
        "#1 is stuck: it took 50 steps, and one piece of work may take no more (UNCAGED_TICKS)",
        "#2 done by alice: quick",
    ]
    assert len(model.of("alice")) == 1 + 50 + 1
    (task,) = crew.board.list_open()
    assert (task.status, task.owner) == ("stuck", "alice")
    assert crew.member("alice").status == "idle"


def test_who_works_is_not_spawned_again_and_who_has_shut_down_is(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    order = {"name": "alice", "role": "coder", "prompt": "Again."}
    answers: list[str] = []

    def spawn_meanwhile(body: Body) -> dict[str, Any]:
        answers.append("asked")
        return say("[SILENT]")

    model.plans["alice"] = spawn_meanwhile
    ask(crew, ("cap_spawn_teammate", order), ("cap_spawn_teammate", order))
    said = sorted(results(model.of("")[-1])[-2:])
    assert said[1] == '{"ok":"Spawned \'alice\' (role: coder)"}'
    assert "Error: 'alice' is currently working" in said[0]
    assert answers == ["asked"]
    assert crew.member("alice").generation == 2


def test_mail_is_read_before_the_board_and_shown_once(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice", "bob")
    seen: list[str] = []

    def answer_mail(body: Body) -> dict[str, Any]:
        seen.append(contents(body)[-1])
        if "cap_send_message" in offered(body) and len(seen) == 1:
            return call(("cap_send_message", {"to": "lead", "content": "which <parser>?"}))
        return say("[SILENT]")

    model.plans["alice"] = answer_mail
    crew.add("later")
    model.plans["bob"] = lambda _: say("[SILENT]")
    sent = ask(crew, ("cap_send_message", {"to": "alice", "content": "how far are you?"}))
    assert sent == '{"ok":"Sent message to alice"}'
    assert '"from":"lead"' in seen[0]
    assert "how far are you?" in seen[0]
    assert any("Task #1: later" in text for text in seen[1:])
    assert sum("how far are you?" in text for text in contents(model.of("alice")[-1])) <= 1

    # the lead reads the answer with its next message, once
    model.then(say("I see"), say("nothing new"))
    crew.write("and?")
    inbox = [text for text in contents(model.of("")[-1]) if "<inbox>" in text][-1]
    assert '"from":"alice"' in inbox
    assert "which \\u003cparser>?" in inbox
    crew.write("anything else?")
    shown = [text for text in contents(model.of("")[-1]) if "u003cparser" in text]
    assert len(shown) == 1


def test_a_broadcast_reaches_all_but_its_sender_and_bad_mail_says_what_is_wrong(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice", "bob")
    assert ask(crew, ("cap_broadcast", {"content": "we stop at five"})) == (
        '{"ok":"Broadcast to 2 teammates"}'
    )
    for name in ("alice", "bob"):
        assert "we stop at five" in "\n".join(contents(model.of(name)[-1]))
    wrong = {"to": "alice", "content": "x", "msg_type": "gossip"}
    assert "Error: Invalid type 'gossip'" in ask(crew, ("cap_send_message", wrong))
    unknown = {"to": "carol", "content": "x"}
    assert "Error: there is no teammate 'carol'" in ask(crew, ("cap_send_message", unknown))


def end_task(**more: Any) -> tuple[str, dict[str, Any]]:
    return "cap_update_task", {"task_id": 1, "status": "completed", **more}


@pytest.mark.parametrize(
    ("calls", "requests"),
    [
        ([end_task(report="done")], 1),
        ([end_task(status="stuck", note="no hens")], 1),
        ([end_task()], 2),
        ([("cap_read_file", {"path": "team/none.md"}), end_task(report="done")], 2),
        ([("cap_list_tasks", {}), end_task(report="done")], 1),
    ],
)
def test_a_call_that_says_what_came_of_a_task_ends_the_leg_where_all_went_well(
    crew: Crew, model: TeamModel, calls: list[tuple[str, Any]], requests: int
) -> None:
    spawned(crew, "alice")
    before = len(model.of("alice"))
    steps = iter([call(*calls)])
    model.plans["alice"] = lambda _: next(steps, say("[SILENT]"))
    said = crew.write("/tasks add count the hens @alice")
    assert said[1].startswith(("#1 done by alice: ", "#1 is stuck"))
    assert len(model.of("alice")) - before == requests
    assert crew.member("alice").status == "idle"


@pytest.mark.parametrize("kind", ["task", "mail"])
def test_a_teammate_looks_behind_its_task_for_what_nobody_woke_it_for(
    crew: Crew, model: TeamModel, kind: str
) -> None:
    spawned(crew, "alice")
    told = iter([kind])

    def work(body: Body) -> dict[str, Any]:
        """Put something there as its sender crashes before it wakes anybody."""
        left = next(told, "")
        if left == "task":
            crew.add("paint")
        elif left:
            mail = Mail("m1", "bob", "see the barn", time.time())
            Mailbox(crew.runtime.stores.kv, "main.alice").deliver(mail)
        return say("did it")

    model.plans["alice"] = work
    crew.write("/tasks add count the hens @alice")
    last = contents(model.of("alice")[-1])[-1]
    assert ("paint" if kind == "task" else "see the barn") in last
    assert crew.board.list_open() == []


def test_mail_in_a_team_passes_the_gate_by_whichever_call_it_goes(
    crew: Crew, model: TeamModel
) -> None:
    app = crew.runtime.app

    def set_rule(rule: str) -> None:
        text = f"format = 1\nredact = ['4[0-9]{{3}}']\nrules = [{rule!r}]"
        app.policy_versions.write("main", "policy", text, by="terminal:local")

    spawned(crew, "alice", "bob")
    before = len(model.of("alice"))
    greeting = ("cap_send_message", {"to": "alice", "content": "hello 4111"})
    # whoever writes a rule names an agent as everybody calls it, or in full
    for rule in ("deny owner mail alice", "deny owner mail main.alice"):
        set_rule(rule)
        for each in (greeting, ("cap_broadcast", {"content": "hello"})):
            assert "does not allow `mail alice`" in ask(crew, each)
    assert len(model.of("alice")) == before

    set_rule("ask owner mail alice")
    assert '"code":"EAPPROVAL"' in ask(crew, greeting)
    (proposal,) = app.proposals.list_open()
    model.then(say("sent"))
    crew.write(f"/approve {proposal.id}")
    assert "hello [redacted]" in "\n".join(contents(model.of("alice")[-1]))

    set_rule("deny agents mail *")
    steps = iter([call(("cap_plan_approval", {"plan": "parser first"})), say("[SILENT]")])
    seen: list[str] = []

    def plan(body: Body) -> dict[str, Any]:
        seen.extend(results(body)[-1:])
        return next(steps, say("[SILENT]"))

    model.plans["bob"] = plan
    ask(crew, ("cap_send_message", {"to": "bob", "content": "your plan?"}))
    assert "does not allow `mail main`" in seen[-1]
    crew.write("any plan?")
    assert "parser first" not in "\n".join(contents(model.of("")[-1]))


def test_a_plan_is_said_in_the_chat_and_its_approval_wakes_who_submitted_it(
    crew: Crew, model: TeamModel
) -> None:
    steps = iter([call(("cap_plan_approval", {"plan": "parser first"})), say("[SILENT]")])
    seen: list[str] = []

    def plan(body: Body) -> dict[str, Any]:
        seen.extend(results(body)[-1:] or contents(body)[-1:])
        return next(steps, say("[SILENT]"))

    model.plans["alice"] = plan
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")[-1]
    id = said.partition("request_id=")[2][:8]
    asked = f"alice asks for approval of a plan (request_id={id}):\nparser first\n"
    assert said.startswith(asked)
    assert len(seen) == 1  # it waits
    approval = {"request_id": id, "approve": True, "feedback": "but test it"}
    assert ask(crew, ("cap_plan_approval", approval)) == '{"ok":"Plan approved for \'alice\'"}'
    told = "\n".join(contents(model.of("alice")[-1]))
    assert f'{{"ok":"Plan submitted (request_id={id}). Waiting for approval."}}' in told
    assert f"request_id={id} approve=true but test it" in told
    for unknown in ("0" * 8, "", "x#y"):
        assert "Unknown request_id" in ask(
            crew, ("cap_plan_approval", approval | {"request_id": unknown})
        )


def test_a_model_that_takes_no_request_puts_the_task_back_and_after_the_third_time_it_is_stuck(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("parse")
    refused = json_answer({"error": {"message": "odd"}}, 400)
    model.plans["alice"] = lambda body: (
        refused if "<<TASK>>" in "\n".join(contents(body)) else say("[SILENT]")
    )
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")
    assert said[-1].startswith("#1 is stuck: ")
    (task,) = crew.board.list_open()
    assert (task.status, task.attempts) == ("stuck", 3)
    assert crew.member("alice").trouble


def test_work_wakes_who_is_idle_until_a_minute_is_over_and_who_is_recalled_after_it(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    kv = crew.runtime.stores.kv
    since = crew.member("alice").since
    crew.add("late")

    def wake(now: float) -> list[str]:
        return wake_members(kv, "main", now, 60.0).names

    assert wake(since + 59) == ["alice"]
    assert not wake_members(kv, "main", since + 61, 60.0).is_anybody_awake
    assert wake(since + 61) == []
    assert wake_members(kv, "main", since + 61, 0.0).names == ["alice"]

    # the look that was sent in time counts, though it comes later
    look = make_events(wake_members(kv, "main", since + 59, 60.0).posts, HOME, since + 59, "x")
    late = make_events(wake_members(kv, "main", since + 59, 60.0).posts, HOME, since + 61, "y")
    model.plans["alice"] = report
    crew.runtime.queue.put(late[0])
    crew.chats.work_off()
    assert [task.status for task in crew.board.list_open()] == ["pending"]
    crew.runtime.queue.put(look[0])
    crew.chats.work_off()
    assert crew.chats.list_texts()[-1] == "#1 done by alice: did: 1: late"

    Members(kv, "main").change("alice", lambda m: (m and replace(m, recall=True), None))
    crew.add("much later")
    after = crew.member("alice").since + 600
    assert wake(after) == ["alice"]
    assert crew.member("alice").since == after


def test_the_tick_wakes_who_was_not_told_and_releases_what_nobody_works_on(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice", "bob")
    kv = crew.runtime.stores.kv
    queue = crew.runtime.queue
    crew.add("lost", "taken")
    crew.board.claim(2, Claimer(member="bob", generation=1, key="k"))
    now = crew.runtime.app.clock.now()
    model.plans["alice"] = model.plans["bob"] = report
    released: list[str] = []

    def tick(later: float) -> int:
        return look_after_team(crew.runtime.stores, queue, "main", now + later, 600.0)

    def count_released() -> int:
        entries = [row["facts"] for row in scan_entries(crew.runtime.app, "main.bob", 0.0)]
        return sum(facts.get("did") == "released" for facts in entries)

    assert tick(1) == 1
    crew.chats.work_off()
    assert crew.chats.list_texts()[-1] == "#1 done by alice: did: 1: lost"

    def crash(name: str, entries: Sequence[Entry], event: str) -> None:
        released.append(f"{name}: {entries[0].facts['did']}")
        raise BackendError("EIO", "the process ends")

    with pytest.raises(BackendError):
        tick_team(kv, queue.put, "main", now + 40, idle=600.0, note=crash)
    assert (released, count_released()) == (["main.bob: released"], 0)
    assert tick(41) == 1
    assert (tick(42), count_released()) == (1, 1)
    crew.chats.work_off()
    assert crew.chats.list_texts()[-1].startswith("#2 done by ")
    assert crew.board.list_open() == []


def test_the_commands_of_a_chat_show_the_team_its_mail_and_end_it(
    crew: Crew, model: TeamModel
) -> None:
    assert crew.write("/team")[0].startswith("No teammates.")
    steps = iter([call(("cap_send_message", {"to": "lead", "content": "done soon"}))])
    model.plans["alice"] = lambda _: next(steps, say("[SILENT]"))
    spawned(crew, "alice", "bob")
    assert crew.write("/team") == ["Team: main\nalice (coder): idle\nbob (coder): idle"]
    assert crew.write("/inbox") == ["alice (message): done soon"]
    assert crew.write("/team stop carol") == ["There is no teammate carol."]
    assert crew.write("/team stop all") == [
        "alice, bob will shut down at once.",
        "alice has shut down.",
        "bob has shut down.",
    ]
    assert "bob (coder): stopped by you" in crew.write("/team")[0]
    asked = len(model.bodies)
    crew.write("/inbox")
    assert len(model.bodies) == asked


def test_what_a_teammate_is_told_of_the_chat_is_what_was_said_last(
    crew: Crew, model: TeamModel
) -> None:
    model.then(say("Noted."))
    crew.write("the parser has to read nested lists")
    spawned(crew, "alice")
    told = "\n".join(contents(model.of("alice")[0]))
    assert "person: the parser has to read nested lists\nyou: Noted." in told


def test_guests_spawn_nobody(crew: Crew, model: TeamModel) -> None:
    model.then(*spawning("alice"))
    crew.chats.write(7, "spawn alice", GUEST)
    crew.chats.work_off()
    assert "EPERM" in results(model.of("")[-1])[-1]
    assert Members(crew.runtime.stores.kv, "main").read("alice") is None


def test_what_a_team_uses_is_counted_to_the_token_and_stays_within_all_budgets(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("one", "two", "three", "four", "five", "six")
    model.then(*spawning("alice", "bob"))
    model.plans = {
        name: lambda body: (
            say("[SILENT]")
            if "<<TASK>>" not in "\n".join(contents(body))
            else (say("well done") if len(results(body)) % 4 == 3 else search(len(model.bodies)))
        )
        for name in ("alice", "bob")
    }
    said = crew.write("spawn alice and bob")
    assert len(said) == 7
    kv = crew.runtime.stores.kv
    (found,) = find_largest(kv, "main", 0.0, 5)
    spent = sum(model.used.values())
    assert found[1].tokens == spent
    assert spent < crew.runtime.settings.chain_tokens / 2
    assert spent < crew.runtime.settings.tokens_per_day
    for name in ("alice", "bob"):
        account = load_account(kv, f"main.{name}", crew.runtime.app.hp, time.time())
        assert account.report(time.time()).hp > crew.runtime.settings.hp_floor


def test_a_crash_after_a_claim_begins_the_work_once(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    kv = crew.runtime.stores.kv
    crew.add("parse", "print")
    now = crew.runtime.app.clock.now()
    (first,) = make_events(wake_members(kv, "main", now, 60.0).posts, HOME, now, "first")
    # whoever looked before it claimed, and was killed before it put the leg
    crew.board.claim(1, Claimer(member="alice", generation=1, source="auto", key=first.id))
    model.plans["alice"] = report
    crew.runtime.queue.put(first)
    crew.runtime.queue.put(replace(first, id="another", order=first.order + "1"))
    crew.chats.work_off()
    done = [text for text in crew.chats.list_texts() if text.startswith("#")]
    assert done == ["#1 done by alice: did: 1: parse", "#2 done by alice: did: 2: print"]


def report_by_call(body: Body) -> dict[str, Any]:
    """Do at once whatever it is, and report it by a call."""
    text = f"did: {contents(body)[-1].partition('Task #')[2].splitlines()[0]}"
    return call(("cap_update_task", {"task_id": 1, "status": "completed", "report": text}))


@pytest.mark.parametrize("finish", [report, report_by_call])
def test_a_crash_leaves_no_claim_and_no_end_of_a_task_out_of_the_ledger_and_the_chat(
    crew: Crew,
    model: TeamModel,
    monkeypatch: pytest.MonkeyPatch,
    finish: Callable[[Body], dict[str, Any]],
) -> None:
    spawned(crew, "alice")
    crew.add("parse")
    model.plans["alice"] = finish
    save = Sessions.save
    killed: list[str] = []

    def fail_once(
        store: Sessions, opened: SessionHandle, document: Document, *body: bytes | None
    ) -> SessionHandle:
        """Fail once where the task was claimed, and once where it was done."""
        task = crew.board.find(1)
        is_over = document.turn is None or (task and task.is_ended)
        if task and task.status not in ("pending", *killed) and is_over:
            killed.append(task.status)
            raise BackendError("EUNAVAILABLE", "killed before the session was saved")
        return save(store, opened, document, *body)

    handle = worker.handle_event

    def hand_out_again(*arguments: Any, **more: Any) -> Any:
        try:
            return handle(*arguments, **more)
        except BackendError:  # killed: the queue hands the event out again
            return handle(*arguments, **more)

    monkeypatch.setattr(Sessions, "save", fail_once)
    monkeypatch.setattr(worker, "handle_event", hand_out_again)
    now = crew.runtime.app.clock.now()
    posts = wake_members(crew.runtime.stores.kv, "main", now, 60.0).posts
    for event in make_events(posts, HOME, now, "first"):
        crew.runtime.queue.put(event)
    crew.chats.work_off()
    assert killed == ["in_progress", "completed"]
    done = [text for text in crew.chats.list_texts() if text.startswith("#")]
    assert done == ["#1 done by alice: did: 1: parse"]
    entries = scan_entries(crew.runtime.app, "main.alice", 0.0)
    assert [entry["facts"]["did"] for entry in entries if entry["what"] == "task"] == [
        "claimed",
        "completed",
    ]


def test_many_mails_of_ten_senders_come_in_order_once_whatever_fails_between(
    crew: Crew, model: TeamModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawned(crew, "alice")
    kv = crew.runtime.stores.kv
    mailbox = Mailbox(kv, "main.alice")
    now = time.time()
    sent = 1_000 if in_full() else 250
    for number in range(sent):
        sender, count = number % 10, number // 10
        mailbox.deliver(
            Mail(f"{number:04d}", f"s{sender}", f"mail {sender}-{count:03d}.", now + number / 1000)
        )
    removing = Mailbox.remove
    removals = iter(range(10_000))

    def fail_often(box: Mailbox, names: Any) -> None:
        if next(removals) % 2 == 0:
            raise BackendError("EUNAVAILABLE", "killed between the history and the mailbox")
        removing(box, names)

    monkeypatch.setattr(Mailbox, "remove", fail_often)
    shown: list[str] = []

    def read_all(body: Body) -> dict[str, Any]:
        inboxes = [text for text in contents(body) if "<inbox>" in text]
        found = re.findall(r"mail \d-\d{3}\.", "\n".join(inboxes))
        assert len(found) == len(set(found))  # none is twice in a request
        shown.extend(each for each in found if each not in shown)
        return say("[SILENT]")

    model.plans["alice"] = read_all
    asked = len(model.of("alice"))
    post = Post("mail", "main.alice", "own:main")
    for attempt in range(20):
        (event,) = make_events((post,), HOME, now + 2, f"wake-{attempt}")
        while True:
            try:
                worker.handle_event(event, crew.runtime)
                break
            except BackendError:  # killed: the queue hands the event out again
                continue
    assert len(shown) == sent
    for sender in range(10):
        own = [each for each in shown if each.startswith(f"mail {sender}-")]
        assert own == sorted(own)
    assert len(model.of("alice")) - asked <= 40
    assert mailbox.read()[0] == []


@pytest.mark.parametrize(
    "end", [(), (("cap_update_task", {"task_id": 1, "status": "completed", "report": "planned"}),)]
)
def test_a_report_names_the_files_that_were_written_for_the_task_and_the_lead_reads_them(
    crew: Crew, model: TeamModel, end: tuple[tuple[str, dict[str, Any]], ...]
) -> None:
    crew.add("plan")
    wrote = ("cap_write_file", {"path": "team/plan.md", "content": "one step\n"})
    failed = ("cap_write_file", {"path": "../plan.md", "content": "x"})
    ends = [call(each) for each in end]
    steps = iter([say("[SILENT]"), call(failed), call(wrote), *ends, say("planned")])
    model.plans["alice"] = lambda _: next(steps, say("[SILENT]"))
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")
    assert said[1:] == ["#1 done by alice: planned\nFiles: team/plan.md"]
    shared = crew.runtime.app.open_workspace(keys.team_of("main"))
    assert [head.path for head in shared.scan()] == ["team/plan.md"]


def test_the_prompts_of_a_first_team_work_through_chat(crew: Crew, model: TeamModel) -> None:
    order: list[str] = []

    def note_task(body: Body) -> dict[str, Any]:
        found = re.findall(r"<<TASK>>\nTask #(\d+)", "\n".join(contents(body)[-1:]))
        order.extend(found)
        return report(body) if found else say("[SILENT]")

    model.plans = dict.fromkeys(("alice", "bob"), note_task)
    tasks = [
        {"subject": "parse"},
        {"subject": "print", "blockedBy": [1]},
        {"subject": "test", "blockedBy": [2]},
    ]
    found = call(("sigil_query", {"query": "create a task"}), ("sigil_query", {"query": "spawn"}))
    made = [call(("cap_create_task", task)) for task in tasks]
    model.then(found, *made, say("They are on the board."))
    first = crew.write("Create tasks with dependencies. Watch teammates respect the blocked order.")
    assert first == ["They are on the board."]
    assert "nobody is awake: spawn one" in results(model.of("")[-1])[-1]

    model.then(*spawning("alice", "bob"))
    said = crew.write("spawn alice and bob. Watch them auto-claim.")
    assert [text.partition(" ")[0] for text in said[1:]] == ["#1", "#2", "#3"]
    assert order == ["1", "2", "3"]
    entries = [
        (entry["facts"]["did"], entry["facts"]["task"])
        for name in ("alice", "bob")
        for entry in scan_entries(crew.runtime.app, f"main.{name}", 0.0)
        if entry["what"] == "task"
    ]
    assert sorted(entries) == [
        (did, number) for did in ("claimed", "completed") for number in (1, 2, 3)
    ]
    board = crew.write("/tasks")[0]
    assert "[ ]" not in board
    assert "[>]" not in board


def test_a_teammate_with_a_bundle_has_the_services_of_its_team_and_no_other_capability(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "bob")
    (number,) = crew.add("encode hello")
    steps = iter(
        (
            call(("cap_claim_task", {"task_id": number})),
            call(("cap_encode", {"text": "hello", "format": "base64"})),
            call(("sigil_query", {"query": "calculate an expression"})),
            call(("cap_calculate", {"expression": "6*7"})),
            call(("cap_create_task", {"subject": "check it", "role": "nobody"})),
            say("aGVsbG8="),
        )
    )
    model.plans["alice"] = lambda body: next(steps, None) or say("[SILENT]")
    order = {"name": "alice", "role": "coder", "prompt": "Take tasks.", "bundle": ["encode"]}
    model.then(call(("cap_spawn_teammate", order)), say("They work."))
    crew.write("spawn alice")
    alice, bob = model.of("alice"), model.of("bob")
    assert set(offered(alice[0])) == {*offered(bob[0]), "cap_encode"}
    told = results(alice[5])
    assert ["error" in each for each in told] == [False, False, False, True, False]
    assert "calculate" not in told[2]
    assert "aGVsbG8=" in told[1]
    assert crew.write("/tasks")[0].count("[x]") == 1


def test_a_coder_that_comes_along_finds_the_tasks_that_need_its_role(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("write a letter", role="writer", priority=3)
    crew.add("add two numbers", description="sum(1, 2) is 3", role="coder")
    files = {
        "team/sum.py": "def sum(a, b):\n    return a + b\n",
        "team/test_sum.py": "assert sum(1, 2) == 3\n",
    }
    writes = [("cap_write_file", {"path": path, "content": text}) for path, text in files.items()]
    steps = iter([call(*writes), say("sum.py adds, and its test holds")])

    def code(body: Body) -> dict[str, Any]:
        is_at_work = "<<TASK>>" in "\n".join(contents(body))
        return next(steps) if is_at_work else call(("cap_idle", {}))

    model.plans["alice"] = code
    order = ("cap_spawn_teammate", {"name": "alice", "role": "coder"})
    model.then(call(("sigil_query", {"query": "spawn a coder"})), call(order), say("It looks."))
    text = "Spawn a coder teammate and let it find work from the task board itself"
    assert crew.write(text) == [
        "It looks.",
        "#2 done by alice: sum.py adds, and its test holds\nFiles: team/sum.py, team/test_sum.py",
    ]
    first = model.of("alice")[0]
    example = find_example("coder")
    assert example is not None
    assert example.prompt in "\n".join(contents(first))
    assert {"cap_write_file", "cap_edit_file", "cap_calculate", "cap_idle"} <= set(offered(first))
    # whoever asked reads in the chat what was written
    model.then(
        call(("sigil_query", {"query": "read a file"})),
        call(("cap_read_file", {"path": "team/sum.py"})),
        say("It is there."),
    )
    crew.write("show me sum.py")
    assert "return a + b" in results(model.of("")[-1])[-1]
    left = [(task.id, task.status) for task in crew.board.list_open()]
    assert left == [(1, "pending")]
    refused = ask(crew, ("cap_spawn_teammate", {"name": "bob", "role": "gardener"}))
    assert "say what the teammate is to do" in refused


def test_the_thirty_first_mail_of_one_sender_for_one_cause_is_refused_and_it_reads_why(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "bob")
    model.plans["bob"] = lambda _: say("[SILENT]")
    numbers = iter(range(100))
    steps = iter([16, 15])
    told: list[str] = []

    def flood(body: Body) -> dict[str, Any]:
        told[:] = results(body)
        count = next(steps, 0)
        mails = [
            ("cap_send_message", {"to": "lead", "content": f"no. {next(numbers)}"})
            for _ in range(count)
        ]
        return call(*mails) if mails else say("[SILENT]")

    model.plans["alice"] = flood
    model.then(*spawning("alice"))
    crew.write("spawn alice")
    refused = [text for text in told if "ELIMIT" in text]
    assert len(told) - len(refused) == 30
    assert len(refused) == 1
    assert "one agent sends at most 30 mails for the same cause" in refused[0]
    # the next message of a person is another cause
    sent = ask(crew, ("cap_send_message", {"to": "bob", "content": "and you?"}))
    assert sent == '{"ok":"Sent message to bob"}'


def test_what_a_team_says_in_a_chat_is_in_the_language_of_that_chat(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("parse")
    steps = iter([call(("cap_plan_approval", {"plan": "parser first"})), say("[SILENT]")])
    model.plans["alice"] = lambda body: (
        report(body) if "<<TASK>>" in "\n".join(contents(body)) else next(steps, say("[SILENT]"))
    )
    model.then(*spawning("alice"))
    said = crew.write("Bitte stell mir Alice als Programmiererin ein, und lass sie arbeiten.")
    assert said[1].startswith("alice bittet um die Freigabe eines Plans (request_id=")
    id = said[1].partition("request_id=")[2][:8]
    told = f"Freigegeben. alice macht mit dem Plan {id} weiter."
    assert crew.write(f"/approve {id}") == [told, "#1 von alice erledigt: did: 1: parse"]
    assert crew.write("/team")[-1].endswith("\nalice (coder): ohne Aufgabe")
    assert crew.write("/team stop alice")[-1] == "alice hat sich beendet."


def test_the_transcript_of_the_documentation_is_what_happens(crew: Crew, model: TeamModel) -> None:
    page = Path(__file__).parents[4] / "docs" / "team.md"
    transcript = page.read_text().partition("```text\n")[2].partition("```")[0]
    parts = re.split(r"^(you|agent):\s+", transcript, flags=re.MULTILINE)[1:]
    lines = [(who, text.rstrip()) for who, text in zip(parts[::2], parts[1::2], strict=True)]
    reports = dict(
        found.groups()
        for _, text in lines
        if (found := re.match(r"#\d+ done by (\w+): (.+)", text))
    )
    assert set(reports) == {"alice", "bob"}

    def follow(name: str) -> Callable[[Body], dict[str, Any]]:
        return lambda body: say(reports[name] if "Task #" in contents(body)[-1] else "[SILENT]")

    model.plans = {name: follow(name) for name in reports}
    model.then(*spawning(*reports))
    said: list[str] = []
    for who, text in lines:
        if who == "you":
            assert not said
            said = crew.write(text)
        else:
            found = said.pop(0)
            assert [line.strip() for line in found.splitlines()] == [
                line.strip() for line in text.splitlines()
            ]
    assert not said
