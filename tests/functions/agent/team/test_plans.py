"""A teammate waits for an answer to its plan, and what it asks is answered by a reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions import worker
from functions.agent.mailbox import find_answered
from functions.agent.posts import Post
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.team.member import Members
from functions.agent.team.plan import PlanAnswer, answer_plan, list_plans
from functions.agent.team.tick import tick_team
from functions.agent.team.waking import make_events
from functions.events import Event, Quote, Sender
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.languages import list_codes, load_texts
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.fakes.model import call, results, say
from tests.functions.agent.team.crew import (
    HOME,
    Body,
    Crew,
    TeamModel,
    ask,
    contents,
    drain,
    spawned,
    spawning,
)
from tests.functions.people import GROUP, GUEST, OWNER
from tests.selection import sample

MEMBER, OTHER = 7, 8


def hand_in(crew: Crew, *plans: str, report: str = "parsed") -> str:
    """Let alice hand in plans for task #1, one after the other, and return the id of the first."""

    def work(body: Body) -> dict[str, Any]:
        read = "\n".join(contents(body))
        if "<<TASK>>" not in read:
            return say("[SILENT]")
        done = read.count("Plan submitted")
        return call(("cap_plan_approval", {"plan": plans[done]})) if plans[done:] else say(report)

    crew.add("parse")
    crew.model.plans["alice"] = work
    crew.model.then(*spawning("alice"))
    return find_id(crew.write("spawn alice")[-1])


def find_id(said: str) -> str:
    return said.partition("request_id=")[2][:8]


def last_words(crew: Crew) -> str:
    return "\n".join(contents(crew.model.of("alice")[-1]))


def tick(crew: Crew, later: float = 60.0) -> int:
    put = crew.runtime.work or crew.runtime.queue
    now = crew.runtime.app.clock.now() + later
    return tick_team(crew.runtime.stores.kv, put.put, "main", now, idle=60.0, note=lambda *_: None)


def test_a_plan_is_refused_with_words_and_the_next_one_approved_while_the_task_waits(
    crew: Crew, model: TeamModel
) -> None:
    id = hand_in(crew, "rewrite all", "mend the lexer")
    markup = crew.chats.bot.messages[-1]["reply_markup"]["inline_keyboard"]
    pressed = [button["callback_data"] for row in markup for button in row]
    assert pressed == [f"/approve {id}", f"/deny {id}"]
    asked = len(model.of("alice"))

    # others leave the task alone, and so does the tick
    spawned(crew, "bob")
    assert tick(crew, 600.0) == 0
    crew.chats.work_off()
    (task,) = crew.board.list_open()
    assert (task.status, task.owner, task.claims) == ("in_progress", "alice", 1)
    (line, _) = crew.write("/team")[-1].splitlines()[1:]
    assert line.startswith("alice (coder): working #1, for ")
    assert line.endswith(f" — waits for an answer to its plan {id}")
    listed = crew.write("/proposals")[-1]
    assert listed.startswith(f"• {id}: plan of alice, for {HOME} in {HOME}: rewrite all")
    # what another teammate writes does not let it go on
    model.plans["bob"] = lambda body: (
        call(("cap_send_message", {"to": "alice", "content": "go on"}))
        if "ask her" in contents(body)[-1]
        else say("[SILENT]")
    )
    ask(crew, ("cap_send_message", {"to": "bob", "content": "ask her"}))
    assert len(model.of("alice")) == asked

    refused = crew.write(f"/reject {id} too much\nat once")
    assert refused[0] == f"Denied. alice reads that, and may hand in another plan than {id}."
    assert f"request_id={id} approve=false too much\\nat once" in last_words(crew)
    newer = find_id(refused[-1])
    assert newer not in ("", id)
    said = crew.write(f"/approve {newer} but test it")
    assert said == [f"Approved. alice goes on with plan {newer}.", "#1 done by alice: parsed"]
    told = last_words(crew)
    assert f"request_id={newer} approve=true but test it" in told
    assert f"plan {newer}: approved. but test it" in told
    assert crew.board.list_open() == []
    assert (crew.member("alice").status, crew.member("alice").waiting) == ("idle", "")
    assert crew.write("/proposals") == [ENGLISH.proposals_none]


def write_as(crew: Crew, number: int, text: str, sender: int, **message: Any) -> list[str]:
    """Write as somebody, and return what is said of it in any chat."""
    before = len(crew.chats.list_texts())
    crew.chats.write(number, text, sender, **message)
    crew.chats.work_off()
    return crew.chats.list_texts()[before:]


def write_in_group(crew: Crew, number: int, text: str, sender: int) -> list[str]:
    """Write to the agent in a group, as somebody there."""
    kind = "mention"
    if text.startswith("/"):
        kind, text = "bot_command", text.replace(" ", "@Sigil_Bot ", 1)
    else:
        text = f"@Sigil_Bot {text}"
    entity = {"type": kind, "offset": 0, "length": text.index(" ")}
    return write_as(crew, number, text, sender, chat=GROUP, entities=[entity])


def test_a_plan_is_answered_by_whoever_wanted_the_work_and_by_no_stranger(
    crew: Crew, model: TeamModel
) -> None:
    people = crew.runtime.app.people
    for who in (MEMBER, OTHER):
        people.let_in_by_id(f"telegram:{who}", f"telegram:{OWNER}")
    model.plans["alice"] = lambda body: (
        say("[SILENT]")
        if "request_id" in contents(body)[-1]
        else call(("cap_plan_approval", {"plan": "buy <all>"}))
    )
    model.then(*spawning("alice"))
    id = find_id(write_in_group(crew, 1, "spawn alice", MEMBER)[-1])
    refusal = f"Only my owner, or whoever wanted the work, answers the plan {id} of alice."
    for number, who in enumerate((OTHER, GUEST), 2):
        assert write_in_group(crew, number, f"/approve {id}", who) == [refusal]
    # nor does the lead's model for a stranger
    approval = ("cap_plan_approval", {"request_id": id, "approve": True})
    model.then(call(("sigil_query", {"query": "approve a plan"})), call(approval), say("no"))
    write_in_group(crew, 5, "approve it", OTHER)
    assert "Only my owner, or whoever wanted the work" in str(model.of("")[-1])
    assert write_in_group(crew, 6, "/deny 00000000", MEMBER) == [
        "There is no plan 00000000. /proposals shows those that wait."
    ]
    # to decide on a proposal takes an owner as before
    assert write_in_group(crew, 7, "/approve 123456", MEMBER) == [ENGLISH.owners_only]
    approved = write_in_group(crew, 8, f"/approve {id}", MEMBER)
    assert approved == [f"Approved. alice goes on with plan {id}."]


def test_an_answer_that_nobody_waits_for_is_a_clear_sentence(crew: Crew, model: TeamModel) -> None:
    id = hand_in(crew, "one", "two", "three")
    crew.runtime.app.kv.put(keys.owner_lock(keys.escape("main.alice")), b"damaged")
    assert crew.write(f"/approve {id}")[-1].startswith("I am halted, so nothing would come of")
    crew.runtime.app.kv.delete(keys.owner_lock(keys.escape("main.alice")))
    crew.write(f"/deny {id}")
    assert crew.write(f"/approve {id}") == [f"The plan {id} of alice was denied already."]
    (newer, _), *_ = list_plans(crew.runtime.stores.kv, "main")
    # a word of its lead is read at once, and the plan handed in then is in place of this one
    crew.write("/team tell alice a smaller one")
    (newest, plan), *_ = list_plans(crew.runtime.stores.kv, "main")
    assert "a smaller one" in last_words(crew)
    assert plan.text == "three"
    assert crew.write(f"/approve {newer}") == [
        f"alice has handed in another plan instead of {newer}: {newest}."
    ]
    assert crew.member("alice").task == 1
    crew.write("/team stop alice")
    ended = f"alice has shut down, and with that the plan {newest} has ended."
    assert crew.write(f"/approve {newest}") == [ended]
    (task,) = crew.board.list_open()
    assert (task.status, task.owner) == ("pending", "")


def test_a_plan_that_is_approved_before_its_turn_has_ended_goes_on(
    crew: Crew, model: TeamModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Sessions.save
    answered: list[str] = []

    def answer_early(
        store: Sessions, opened: SessionHandle, document: Document, *body: bytes | None
    ) -> SessionHandle:
        member = Members(crew.runtime.stores.kv, "main").read("alice")
        if member and member.waiting and not answered:
            answered.append(member.waiting)
            answer_plan(crew.runtime.app, PlanAnswer(member.waiting, True, HOME, owner=True))
        return save(store, opened, document, *body)

    monkeypatch.setattr(Sessions, "save", answer_early)
    hand_in(crew, "one")
    assert answered
    assert crew.chats.list_texts()[-1] == "#1 done by alice: parsed"
    assert (crew.member("alice").status, crew.member("alice").waiting) == ("idle", "")


def test_the_tick_lets_a_plan_go_on_whose_answer_a_crash_has_left_alone(
    crew: Crew, model: TeamModel
) -> None:
    id = hand_in(crew, "one")
    # the answer is written, and whoever gave it is killed before anything else
    answer = PlanAnswer(id, True, HOME, owner=True, words="quickly", key="m1")
    answer_plan(crew.runtime.app, answer)
    assert tick(crew, 10.0) == 0
    tick(crew)
    tick(crew, 120.0)
    before = len(crew.chats.list_texts())
    crew.chats.work_off()
    assert crew.chats.list_texts()[before:] == ["#1 done by alice: parsed"]
    assert len(model.of("alice")) == 3
    # the message that was killed comes again, and finds its own answer
    assert answer_plan(crew.runtime.app, answer).request.state == "approved"


def quote(crew: Crew, text: str, chat: dict[str, Any]) -> dict[str, Any]:
    """The message of ours that a reply points at."""
    id = int(crew.chats.bot.token.partition(":")[0])
    us = {"id": id, "is_bot": True, "first_name": "Sigil", "username": "Sigil_Bot"}
    return {"message_id": 900, "date": 1, "chat": chat, "from": us, "text": text}


def test_in_a_group_a_member_replies_to_what_a_teammate_asks(crew: Crew, model: TeamModel) -> None:
    for who in (MEMBER, OTHER):
        crew.runtime.app.people.let_in_by_id(f"telegram:{who}", f"telegram:{OWNER}")
    steps = iter([call(("cap_send_message", {"to": "lead", "content": "Tabs or spaces?"}))])
    model.plans["alice"] = lambda body: next(steps, say("[SILENT]"))
    model.then(*spawning("alice"))
    asked = write_in_group(crew, 1, "spawn alice", MEMBER)[-1]
    quoted = quote(crew, asked, GROUP)
    asks = len(model.of(""))
    told = write_as(crew, 2, "spaces", OTHER, chat=GROUP, reply_to_message=quoted)
    assert told == ["alice reads that now."]
    assert len(model.of("")) == asks
    assert "spaces" in last_words(crew)
    # who writes such a message themselves quotes nothing of ours
    model.then(say("what?"))
    quoted["from"] = {"id": OTHER, "is_bot": False, "first_name": "Eve"}
    own = "@Sigil_Bot tabs"
    entity = {"type": "mention", "offset": 0, "length": 10}
    forged = {"chat": GROUP, "entities": [entity], "reply_to_message": quoted}
    assert write_as(crew, 3, own, OTHER, **forged) == ["what?"]
    assert "tabs" not in last_words(crew)


def test_a_reply_to_what_a_teammate_asks_reaches_it_and_the_chat_hears_it_once(
    crew: Crew, model: TeamModel
) -> None:
    question = {"to": "lead", "content": "Tabs or spaces?"}
    steps = iter([call(("cap_send_message", question)), say("[SILENT]")])
    model.plans["alice"] = lambda body: next(steps, say("[SILENT]"))
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")[1:]
    id = said[0].partition("(")[2][:8]
    assert said == [
        f"alice asks ({id}): Tabs or spaces?\n\nReply to this, or send /team tell alice WORDS."
    ]
    quoted = quote(crew, said[0], {"id": OWNER})
    # long after it has shut down for want of work
    members = Members(crew.runtime.stores.kv, "main")
    members.change("alice", lambda each: (each and replace(each, since=each.since - 999), None))
    asked = len(model.of(""))
    told = write_as(crew, 50, "spaces /halt", OWNER, reply_to_message=quoted)
    assert told == ["alice reads that now."]
    assert len(model.of("")) == asked
    assert f"request_id={id}: spaces /halt" in last_words(crew)
    # the lead knows of both with its next message
    model.then(say("fine"))
    crew.write("and?")
    history = "\n".join(contents(model.of("")[-1]))
    assert history.count('"content":"Tabs or spaces?"') == 1
    assert "spaces /halt" in history
    # a stopped one is not woken, and a guest wakes nobody
    crew.write("/team stop alice")
    assert write_as(crew, 51, "tabs", OWNER, reply_to_message=quoted) == [
        ENGLISH.team_stopped.format(names="alice").replace("`", "")
    ]
    assert crew.write("/team tell carol hi") == ["There is no teammate carol."]


def test_each_sentence_about_a_plan_exists_in_each_language() -> None:
    for code in list_codes():
        assert load_texts(code).plan_problems.keys() == ENGLISH.plan_problems.keys()
        asked = load_texts(code).team_asks.format(name="al-1ce", id="0a1b2c3d", text="x?")
        quote = Quote("reply", asked, ours=True)
        reply = Event("1", "message", "main", HOME, Sender(HOME), "x", 1.0, "1", quotes=(quote,))
        assert find_answered(reply) == "0a1b2c3d"
        forged = replace(reply, quotes=(replace(quote, ours=False),))
        assert find_answered(forged) == ""


@pytest.mark.parametrize("killed", sample(range(1, 15), 2))
def test_a_plan_is_asked_and_answered_once_whichever_write_a_kill_comes_before(
    crew: Crew, model: TeamModel, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    save = Sessions.save
    handle = worker.handle_event
    saves: list[str] = []

    def fail_once(
        store: Sessions, opened: SessionHandle, document: Document, *body: bytes | None
    ) -> SessionHandle:
        if opened.key.startswith("main.alice"):
            saves.append(document.turn.event.kind if document.turn else "")
            if len(saves) == killed:
                raise BackendError("EUNAVAILABLE", "killed before the session was saved")
        return save(store, opened, document, *body)

    def hand_out_again(*arguments: Any, **more: Any) -> Any:
        try:
            return handle(*arguments, **more)
        except BackendError:  # killed: the queue hands the event out again
            return handle(*arguments, **more)

    monkeypatch.setattr(Sessions, "save", fail_once)
    monkeypatch.setattr(worker, "handle_event", hand_out_again)
    id = hand_in(crew, "one")
    assert crew.member("alice").waiting == id
    asked = [text for text in crew.chats.list_texts() if "asks for approval" in text]
    assert len(asked) == 1
    assert crew.write(f"/approve {id}") == [
        f"Approved. alice goes on with plan {id}.",
        "#1 done by alice: parsed",
    ]
    assert len(saves) >= killed
    assert crew.member("alice").waiting == ""


def test_the_leads_model_answers_no_plan_that_nobody_asks_it_to(
    crew: Crew, model: TeamModel
) -> None:
    id = hand_in(crew, "rewrite it")
    query = call(("sigil_query", {"query": "approve the plan of a teammate"}))
    approve = call(("cap_plan_approval", {"request_id": id, "approve": True}))
    model.then(query, approve, say("well"))
    post = Post("task", "main", "own:main", "care for the team", data={"home": HOME})
    for event in make_events((post,), HOME, crew.runtime.app.clock.now(), "own"):
        crew.runtime.queue.put(event)
    crew.chats.work_off()
    assert "or whoever wanted the work, answers the plan" in results(model.of("")[-1])[-1]
    assert [waiting for waiting, _ in list_plans(crew.runtime.stores.kv, "main")] == [id]


def give_up(crew: Crew, change: str) -> None:
    """Take the task from alice that waits with her plan, as a person says or as she does herself,
    or where a crash has lost what tells her of it.
    """
    if change == "she is done":
        done = {"task_id": 1, "status": "completed", "report": "small enough"}
        steps = iter([call(("cap_update_task", done))])
        crew.model.plans["alice"] = lambda _: next(steps, say("[SILENT]"))
        crew.write("/team tell alice do it")
    elif change == "a crash":
        crew.board.drop(1)
        tick(crew)
        crew.chats.work_off()
    else:
        crew.write(change)


@pytest.mark.parametrize(
    "change", ["/tasks drop 1", "/tasks assign 1 bob", "she is done", "a crash"]
)
def test_a_teammate_waits_for_no_answer_about_a_task_that_it_has_lost(
    crew: Crew, change: str
) -> None:
    id = hand_in(crew, "rewrite all")
    if "bob" in change:
        spawned(crew, "bob")
    give_up(crew, change)
    assert (crew.member("alice").status, crew.member("alice").waiting) == ("idle", "")
    assert crew.write("/proposals") == [ENGLISH.proposals_none]
    ended = ENGLISH.plan_problems["ended"].format(name="alice", id=id)
    assert crew.write(f"/approve {id}") == [ended]
    crew.model.plans["alice"] = lambda _: say("printed")
    assert crew.write("/tasks add print @alice")[-1].endswith("done by alice: printed")


def test_a_halt_keeps_what_a_teammate_is_told_from_it_until_an_unlock(
    crew: Crew, model: TeamModel
) -> None:
    id = hand_in(crew, "rewrite all")
    crew.write("/halt all")
    assert crew.write("/team tell alice a smaller one") == [
        ENGLISH.team_told_halted.format(name="alice")
    ]
    crew.write("/unlock")
    assert "a smaller one" in last_words(crew)
    assert crew.write(f"/Approve #{id.upper()}: well")[0].startswith("Approved. alice goes on")


def test_a_plan_of_a_teammate_without_hp_is_not_approved(open_crew: Callable[..., Crew]) -> None:
    crew = open_crew(hp=6_000, hp_floor=1_000)
    id = hand_in(crew, "rewrite all")
    drain(crew, "alice")
    assert crew.write(f"/approve {id}") == [
        ENGLISH.plan_problems["disabled"].format(name="alice", id=id)
    ]
    crew.write("/agents enable alice")
    assert crew.write(f"/approve {id}")[-1] == "#1 done by alice: parsed"


def test_whoever_is_archived_answers_to_nothing_and_a_guest_tells_nobody_anything(
    crew: Crew,
) -> None:
    id = hand_in(crew, "rewrite all")
    # also where anybody may talk
    assert write_as(crew, 60, "/team tell alice stop", GUEST) == [ENGLISH.team_not_for_guests]
    crew.write("/agents archive alice")
    ended = ENGLISH.plan_problems["shut_down"].format(name="alice", id=id)
    assert crew.write(f"/approve {id}") == [ended]
    gone = ENGLISH.team_reads_nothing.format(name="alice")
    assert crew.write("/team wake all") == [gone]


def test_no_teammate_takes_the_task_of_another_one_that_waits(crew: Crew, model: TeamModel) -> None:
    id = hand_in(crew, "rewrite all")
    spawned(crew, "bob")
    changes = ({"status": "pending"}, {"status": "dropped"}, {"owner": "bob"})
    calls = [("cap_update_task", {"task_id": 1, **change}) for change in changes]
    steps = iter([call(*calls)])
    model.plans["bob"] = lambda _: next(steps, say("[SILENT]"))
    crew.write("/team tell bob take it")
    refused = [text for text in contents(model.of("bob")[-1]) if "task 1 is alice's" in text]
    assert len(refused) == len(calls)
    assert crew.member("alice").waiting == id
    # the lead knows what it waits for
    crew.write("well?")
    assert f"waits for an answer to its plan {id}" in str(model.of("")[-1]["messages"])
