"""A person steers a team: a stop holds, an unlock goes on, and a limit is told once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.agents.record import change_state
from functions.agent.commands import control
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.management.team import spawn_by_hand, stop_by_hand, wake_team
from functions.agent.posts import Post
from functions.agent.team.board import Claimer
from functions.agent.team.interruption import GO_ON
from functions.agent.team.member import Members
from functions.agent.team.template import Template
from functions.agent.team.waking import make_events
from functions.ingress.hook_endpoint import HookPost, make_event
from functions.scheduler import look_after_team
from sigil.errors import UsageError
from sigil.storage.kv import keys
from tests.fakes.model import call, completion, results, say
from tests.fakes.server import json_answer
from tests.functions.agent.team.crew import (
    HOME,
    Body,
    Crew,
    TeamModel,
    ask,
    contents,
    drain,
    search,
    spawned,
    spawning,
)
from tests.functions.agent.team.waiting import let_wait
from tests.functions.hook_fixture import add_hook
from tests.functions.people import GROUP

REFUSED = json_answer({"error": {"message": "a message is too odd"}}, 400)


def work(body: Body) -> dict[str, Any]:
    """Do a task at once, and nothing else."""
    return say("did it") if "Task #" in contents(body)[-1] else say("[SILENT]")


def tick(crew: Crew, later: float = 1.0) -> None:
    """Let a minute's tick look after the team, and work on what it puts."""
    now = crew.runtime.app.clock.now() + later
    look_after_team(crew.runtime.stores, crew.runtime.queue, "main", now, 60.0)
    crew.chats.work_off()


def change(crew: Crew, name: str, **fields: Any) -> None:
    Members(crew.runtime.stores.kv, "main").change(
        name, lambda found: (found and replace(found, **fields), None)
    )


def send(crew: Crew, kind: Any, **data: Any) -> None:
    """Put an event of alice's own work as somebody else would, and work on it."""
    post = Post(kind, "main.alice", "own:main", "go on", data=data)
    for event in make_events((post,), HOME, crew.runtime.app.clock.now(), f"{kind}{data}"):
        crew.runtime.queue.put(event)
    crew.chats.work_off()


def test_whom_a_person_stops_is_woken_by_nothing_but_a_person(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice", "bob", "carol")
    change(crew, "alice", recall=True, stay=True)
    change(crew, "bob", recall=True, since=1.0)  # it had shut down for want of work
    model.plans = dict.fromkeys(("alice", "bob", "carol"), work)
    said = crew.write("/team stop all")
    assert said[0].splitlines() == [
        "alice, carol will shut down at once.",
        "bob had shut down, and nobody wakes them before you do: /team wake NAME.",
    ]
    asked = len(model.chats)

    crew.write("/tasks add parse role:coder")
    crew.add("print", owner="alice")
    tick(crew)
    send(crew, "mail")
    send(crew, "wakeup", home=HOME)
    send(crew, "task", look=True)
    app = crew.runtime.app
    Mailbox(app.kv, "main.alice").deliver(Mail("x", "bob", "well?", app.clock.now()))
    tick(crew, 61.0)
    assert len(model.chats) == asked
    assert "was stopped by a person" in ask(
        crew, ("cap_send_message", {"to": "alice", "content": "go on"})
    )
    roster = crew.write("/team")[0].splitlines()
    assert [line.strip() for line in roster[1:]] == [
        f"{name} (coder): stopped by you" for name in ("alice", "bob", "carol")
    ]
    assert "alice (coder): stopped by a person" in ask(crew, ("cap_list_teammates", {}))

    assert "They go on: alice, bob, carol." in crew.write("/team wake all")[0]
    assert [task.status for task in crew.board.list_ended()] == ["completed"] * 2


@pytest.mark.parametrize("by", ["the lead", "the machine"])
def test_a_persons_word_lets_whom_they_stopped_work_again(
    crew: Crew, model: TeamModel, by: str
) -> None:
    spawned(crew, "alice")
    app = crew.runtime.app
    crew.write("/team stop alice")
    crew.add("parse")
    model.plans["alice"] = work
    if by == "the lead":
        model.then(*spawning("alice"))
        crew.write("spawn alice again")
    else:
        for event in wake_team(app, "alice", by="terminal:local", call="x").events:
            crew.runtime.queue.put(event)
        crew.chats.work_off()
    assert crew.chats.list_texts()[-1] == "#1 done by alice: did it"


def test_work_of_the_leads_own_spawns_nobody_whom_a_person_stopped(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    crew.write("/team stop all")
    order = {"name": "alice", "role": "coder", "prompt": "Again."}
    query = call(("sigil_query", {"query": "spawn a teammate"}))
    model.then(query, call(("cap_spawn_teammate", order)), say("well"))
    post = Post("task", "main", "own:main", "care for the team", data={"home": HOME})
    for event in make_events((post,), HOME, crew.runtime.app.clock.now(), "own"):
        crew.runtime.queue.put(event)
    crew.chats.work_off()
    assert "was stopped by a person" in results(model.of("")[-1])[-1]
    assert crew.member("alice").generation == 1


def test_a_stop_that_crashed_in_the_middle_is_carried_out(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice", "bob")
    stop_by_hand(crew.runtime.app, "alice", by=HOME, call="telegram:9:stop")  # its events are lost
    crew.add("parse")
    model.plans = dict.fromkeys(("alice", "bob"), work)
    asked = len(model.of("alice"))
    tick(crew)
    assert crew.member("alice").status == "shutdown"
    assert crew.member("bob").status == "idle"
    assert len(model.of("alice")) == asked
    assert crew.write("/team stop all")[0].splitlines()[0] == "bob will shut down at once."


def test_a_stop_that_comes_twice_is_told_once(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    for call_id in ("first", "second"):
        for event in stop_by_hand(crew.runtime.app, "alice", by=HOME, call=call_id).events:
            crew.runtime.queue.put(event)
    crew.chats.work_off()
    assert crew.chats.list_texts()[1:] == ["alice has shut down."]


def test_whom_a_person_wakes_before_it_has_stopped_goes_on(crew: Crew, model: TeamModel) -> None:
    crew.add("parse")
    app = crew.runtime.app

    def be_stopped(body: Body) -> dict[str, Any]:
        """Be stopped and woken within one request."""
        model.plans["alice"] = work
        stopped = stop_by_hand(app, "alice", by=HOME, call="telegram:9:stop")
        woken = wake_team(app, "alice", by=HOME, call="telegram:10:wake")
        for event in (*stopped.events, *woken.events):
            crew.runtime.queue.put(event)
        return search(1)

    model.plans["alice"] = be_stopped
    model.then(*spawning("alice"))
    assert crew.write("spawn alice")[-1] == "#1 done by alice: did it"


def test_whom_a_limit_held_shuts_down_where_it_has_no_work(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    now = crew.runtime.app.clock.now()
    change(crew, "alice", held=now + 10.0)
    tick(crew, 61.0)
    member = crew.member("alice")
    assert member.find_status(now + 100.0, 60.0) == "idle"
    assert member.find_status(now + 200.0, 60.0) == "shutdown"


def test_mail_that_is_interrupted_twice_is_not_taken_for_the_prompt(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    halts = iter(range(2))

    def be_halted(body: Body) -> dict[str, Any]:
        number = next(halts, None)
        if number is None:
            return say("well")
        control.halt_root(crew.runtime.app, HOME)
        return search(number)

    model.plans["alice"] = be_halted
    crew.write("/team tell alice how are you")
    for _ in range(2):
        assert crew.member("alice").left["text"] == GO_ON
        said = crew.write("/unlock")
    assert said[-1] == "alice: well"


@pytest.mark.parametrize("words", ["/unlock", "/unlock all"])
def test_an_unlock_goes_on_with_what_a_halt_has_ended(
    crew: Crew, model: TeamModel, words: str
) -> None:
    crew.add("parse", "print", owner="alice")
    crew.add("paint", role="painter")
    halted: list[str] = []

    def be_halted(body: Body) -> dict[str, Any]:
        """Halt everything while the prompt is worked on, and while the first task is."""
        last = "\n".join(contents(body))
        phase = "task" if "Task #" in last else "prompt"
        if phase not in halted:
            halted.append(phase)
            control.halt_root(crew.runtime.app, HOME)
            return search(len(halted))
        return say("did it")

    model.plans["alice"] = be_halted
    model.then(*spawning("alice", prompt="Write a poem."))
    crew.write("spawn alice")
    assert halted == ["prompt"]
    tick(crew, 200.0)
    assert len(model.of("alice")) == 1

    assert crew.write(words) == [
        "Unlocked. They go on: alice. Tasks that wait: 1 (role painter: #3).",
        "alice: did it",
    ]
    assert halted == ["prompt", "task"]
    assert [(task.id, task.owner, task.attempts) for task in crew.board.list_open()[:2]] == [
        (1, "alice", 0),
        (2, "alice", 0),
    ]
    assert crew.write("/unlock")[1:] == ["#1 done by alice: did it", "#2 done by alice: did it"]


def test_whom_a_person_wakes_within_a_halt_goes_on_after_it(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    crew.write("/team stop alice")
    control.halt_root(crew.runtime.app, HOME)
    crew.add("parse")
    model.plans["alice"] = work
    assert crew.write("/team wake alice")[0].startswith("Woken: alice. I was halted")
    assert crew.write("/unlock") == [
        "Unlocked. They go on: alice.",
        "#1 done by alice: did it",
    ]


def test_a_crash_in_an_unlock_leaves_the_rest_to_the_tick(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    crew.add("parse")
    app = crew.runtime.app
    control.halt_root(app, HOME)
    tick(crew)
    assert crew.member("alice").held
    control.unlock("", app, HOME)  # its events are lost
    model.plans["alice"] = work
    tick(crew, 200.0)
    assert crew.chats.list_texts()[-1] == "#1 done by alice: did it"
    assert not crew.member("alice").held


def test_a_used_up_budget_is_told_once_with_its_setting_and_work_waits_for_it(
    open_crew: Callable[..., Crew], model: TeamModel
) -> None:
    crew = open_crew(tokens_per_day=20_000)
    crew.add("parse", "print")
    big = {"prompt_tokens": 30_000, "completion_tokens": 1}
    model.plans = dict.fromkeys(
        ("alice", "bob"),
        lambda body: (
            {**search(1), "usage": big} if "Task #" in contents(body)[-1] else say("[SILENT]")
        ),
    )
    model.then(*spawning("alice", "bob"))
    said = crew.write("spawn alice and bob")
    (told,) = [text for text in said if "budget" in text]
    assert "UNCAGED_TOKENS_PER_DAY" in told
    assert [task.attempts for task in crew.board.list_open()] == [0, 0]
    asked = len(model.chats)
    tick(crew, 100.0)
    assert len(model.chats) == asked
    model.plans = dict.fromkeys(("alice", "bob"), work)
    said = crew.write("/unlock")
    assert sorted(text[:2] for text in said[1:]) == ["#1", "#2"]


def test_a_chain_that_has_used_up_its_tokens_ends_a_task_as_stuck_with_the_setting(
    open_crew: Callable[..., Crew], model: TeamModel
) -> None:
    crew = open_crew(chain_tokens=20_000)
    crew.add("parse", "print")
    big = {"prompt_tokens": 30_000, "completion_tokens": 1}
    model.plans = {
        name: lambda body: (
            {**search(1), "usage": big} if "<<TASK>>" in "\n".join(contents(body)) else say("x")
        )
        for name in ("alice",)
    }
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")
    (told,) = [text for text in said if "UNCAGED_CHAIN_TOKENS" in text]
    assert told.startswith("#1 is stuck: ")
    assert [task.status for task in crew.board.list_open()] == ["stuck", "pending"]


def test_too_few_hp_end_a_task_without_an_attempt_and_it_goes_on_when_they_are_back(
    open_crew: Callable[..., Crew], model: TeamModel
) -> None:
    crew = open_crew(hp=6_000, hp_floor=1_000)
    crew.add("parse", owner="alice")
    big = {"prompt_tokens": 48_000, "completion_tokens": 1}
    model.plans["alice"] = lambda body: (
        {**search(1), "usage": big} if "Task #" in contents(body)[-1] else say("[SILENT]")
    )
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")
    (told,) = [text for text in said if "UNCAGED_HP" in text]
    assert told.startswith("alice: I ended work of my own before it was done")
    (task,) = crew.board.list_open()
    assert (task.status, task.owner, task.attempts) == ("pending", "alice", 0)
    asked = len(model.of("alice"))
    tick(crew, 61.0)
    assert len(model.of("alice")) == asked
    crew.runtime.stores.kv.delete(keys.hp("main.alice"))  # by then they are back
    model.plans["alice"] = work
    change(crew, "alice", held=1.0)
    tick(crew, 3_600.0)
    assert crew.chats.list_texts()[-1] == "#1 done by alice: did it"


def test_no_hp_is_refused_where_somebody_would_wait_for_it_and_shown(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    drain(crew, "alice")
    crew.add("parse")
    model.plans["alice"] = work
    asked = len(model.of("alice"))
    order = {"name": "alice", "role": "coder", "prompt": "Again."}
    text = {"content": "x"}
    mail = {"to": "alice", **text}
    ask(crew, ("cap_spawn_teammate", order), ("cap_send_message", mail), ("cap_broadcast", text))
    *refused, told = results(model.of("")[-1])[-3:]
    for each in refused:
        assert "'alice' is disabled (HP 0)" in each
        assert "/agents enable alice" in each
    assert told == '{"ok":"Broadcast to 0 teammates"}'
    with pytest.raises(UsageError, match=r"disabled \(HP 0\)"):
        spawn_by_hand(
            crew.runtime.app, "alice", Template("x"), home="", by="terminal:local", call="y"
        )
    tick(crew)
    assert len(model.of("alice")) == asked
    assert "alice (coder): disabled (HP 0)" in crew.write("/team")[0]
    assert "alice (disabled (HP 0)): coder" in crew.write("/agents")[0]
    assert crew.write("/agents enable alice") == [
        "alice is enabled now. They go on: alice.",
        "#1 done by alice: did it",
    ]


@pytest.mark.parametrize("why", ["stopped", "no HP"])
def test_what_a_hook_brings_a_teammate_that_begins_nothing_is_a_dead_letter(
    crew: Crew, model: TeamModel, why: str
) -> None:
    spawned(crew, "alice")
    if why == "stopped":
        crew.write("/team stop alice")
    else:
        drain(crew, "alice")
    hook, _ = add_hook(crew.runtime, agent="main.alice")
    posted = make_event(hook, HookPost("build 7 failed", "check_run", "1"), time.time())
    crew.runtime.queue.put(posted)
    crew.chats.work_off()
    dead = crew.runtime.stores.kv.scan("dead")
    assert [sort for sort, _ in dead] == [keys.escape(posted.id)]


def test_whoever_is_enabled_takes_up_what_waits(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    app = crew.runtime.app
    change_state(app.kv, "main", "alice", "disabled", app.clock.now())
    crew.add("parse", owner="alice")
    change(crew, "alice", since=1.0)
    model.plans["alice"] = work
    tick(crew)
    assert "alice (coder): disabled" in crew.write("/team")[0]
    assert crew.write("/agents enable alice")[1:] == ["#1 done by alice: did it"]


def test_an_assignment_stays_whatever_ends_the_work(crew: Crew) -> None:
    crew.add("parse", owner="alice")
    board = crew.board

    def claim() -> None:
        board.claim(1, Claimer(member="alice", generation=1))

    claim()
    assert board.release(1, "put back").task.owner == "alice"
    for attempt in range(3):
        claim()
        status = board.release(1, "no such key", failed=True).task.status
        assert status == ("stuck" if attempt == 2 else "pending")
    assert board.reopen(1).task.owner == "alice"
    board.drop(1)
    assert board.reopen(1).task.owner == "alice"
    claim()
    board.complete(1)
    assert board.reopen(1).task.owner == "alice"
    # whoever found it by itself gives it back to anybody, also when it ended
    board.assign(1, "")
    claim()
    assert board.release(1).task.owner == ""
    claim()
    board.complete(1)
    assert board.reopen(1).task.owner == ""
    # and who works on it already may have it assigned
    claim()
    board.assign(1, "alice")
    assert board.release(1).task.owner == "alice"


def test_a_to_do_of_ones_own_is_no_work_for_whoever_wakes(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    model.plans["alice"] = work
    assert crew.write("/tasks add buy milk") == [
        "Added #1: buy milk\nIt stays yours; /tasks assign 1 anybody gives it to the team."
    ]
    task = {"subject": "call Ann", "personal": True}
    model.then(
        call(("sigil_query", {"query": "add a task"})), call(("cap_create_task", task)), say("well")
    )
    crew.write("put it on my list: call Ann")
    tick(crew)
    assert [each.status for each in crew.board.list_open()] == ["pending"] * 2
    assert crew.write("/tasks add parse role:coder")[1:] == ["#3 done by alice: did it"]
    assert crew.write("/tasks assign 1 anybody")[1:] == ["#1 done by alice: did it"]
    assert crew.write("/tasks assign 2 alice")[1:] == ["#2 done by alice: did it"]


def test_in_a_group_a_task_is_for_the_team_and_a_stop_holds(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")
    model.plans["alice"] = work

    def write(number: int, text: str) -> str:
        command = {"type": "bot_command", "offset": 0, "length": len(text.split(maxsplit=1)[0])}
        crew.chats.write(number, text, chat=GROUP, entities=[command])
        crew.chats.work_off()
        return crew.chats.list_texts()[-1]

    assert write(100, "/tasks add parse") == "#1 done by alice: did it"
    write(101, "/team stop all")
    asked = len(model.of("alice"))
    write(102, "/tasks add print")
    tick(crew)
    assert len(model.of("alice")) == asked
    assert write(103, "/team").endswith("alice (coder): stopped by you")
    assert write(104, "/team wake alice") == "#2 done by alice: did it"


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(REFUSED, id="refused"),
        pytest.param(say(""), id="empty"),
        pytest.param(
            completion({"role": "assistant", "content": ""}, "content_filter"), id="filtered"
        ),
    ],
)
def test_a_task_whose_last_leg_failed_is_not_done(crew: Crew, model: TeamModel, last: Any) -> None:
    crew.add("parse")
    steps = iter(range(7))

    def fail(body: Body) -> Any:
        if "<<TASK>>" not in "\n".join(contents(body)):
            return say("[SILENT]")
        number = next(steps, None)
        return last if number is None else search(number)

    model.plans["alice"] = fail
    model.then(*spawning("alice"))
    crew.write("spawn alice")
    (task,) = crew.board.list_open()
    assert (task.status, task.attempts) == ("stuck", 3)


def test_whoever_is_woken_before_a_stop_was_carried_out_works_on(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    crew.add("parse")
    model.plans["alice"] = work
    app = crew.runtime.app
    stopped = stop_by_hand(app, "all", by=HOME, call="x")
    woken = wake_team(app, "all", by=HOME, call="y")
    for event in (*stopped.events, *woken.events):
        crew.runtime.queue.put(event)
    crew.chats.work_off()
    assert crew.chats.list_texts()[-1] == "#1 done by alice: did it"
    assert not crew.member("alice").stopped


def test_a_stop_is_said_once_whatever_else_waits_for_the_teammate(crew: Crew) -> None:
    spawned(crew, "alice")
    send(crew, "mail")
    assert crew.write("/team stop @alice") == [
        "alice will shut down at once.",
        "alice has shut down.",
    ]
    assert crew.write("/team stop 所有")[0].startswith("alice had shut down")


def test_a_stop_takes_the_task_from_whoever_is_disabled(crew: Crew) -> None:
    let_wait(crew.runtime.app, "rewrite all")
    change(crew, "alice", task=crew.add("parse")[0])
    crew.write("/agents disable alice")
    crew.write("/team stop alice")
    crew.write("/agents enable alice")
    found = crew.member("alice")
    assert (found.status, found.task, found.waiting) == ("idle", 0, "")


def test_who_gives_work_to_a_stopped_one_or_wakes_it_in_a_halt_is_told_what_keeps_it(
    crew: Crew, model: TeamModel
) -> None:
    spawned(crew, "alice")
    model.plans["alice"] = work
    crew.write("/team stop alice")
    (said,) = crew.write("/tasks add parse @alice")
    assert said.endswith("nobody wakes them before you do: /team wake NAME.")
    crew.write("/halt all")
    assert crew.write("/team wake alice") == [
        "Woken: alice. I was halted and do nothing until I am unlocked."
    ]
    assert crew.write("/unlock") == [
        "Unlocked. They go on: alice.",
        "#1 done by alice: did it",
    ]
    change(crew, "alice", since=1.0)
    (said,) = crew.write("/tasks add print @alice")
    assert said.endswith("Nobody is awake to do it; ask me to spawn a teammate.")
    crew.runtime.app.kv.put(keys.team_member("main", "alice"), b"damaged")
    assert crew.write("/tasks add paint @alice") == ["Added #3: paint"]
