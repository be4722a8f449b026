"""schedule-wakeup, list-wakeups and cancel-wakeup from outside: what the model reads, what is kept."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from functions.agent.schedules import schedule
from functions.agent.schedules.schedule import (
    SCHEDULES_MOST,
    Schedule,
    Schedules,
)
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from functions.agent.services import table
from functions.agent.services.call_context import CallContext
from functions.agent.services.schedules import cancel_wakeup, list_wakeups, schedule_wakeup
from functions.agent.shares import Holder, divide_places
from functions.wiring import AgentRuntime
from sigil.errors import Refused, SigilError, UsageError
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.access.people import Wall
from tests.functions.agent.services.conftest import Chat, OpenAgent
from tests.functions.agent.talk import event, run_event, tell
from tests.library import copy_capabilities

MONDAY = datetime(2026, 11, 23, 12, 0, tzinfo=UTC).timestamp()
NAMES = ("schedule-wakeup", "list-wakeups", "cancel-wakeup")
CHAT, OTHER = "telegram:7", "telegram:8"
PILLS = {"when": "every day at 8:00", "say": "take the pills"}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return copy_capabilities(tmp_path / "library", *NAMES)


@pytest.fixture
def wall() -> Wall:
    return Wall(MONDAY)


@pytest.fixture
def chat(open_agent: OpenAgent, model: ScriptedModel, library: Path, wall: Wall) -> Chat:
    home = open_agent(library, timezone="UTC")
    return Chat(wall.on(home), model)


class Caller:
    """Calls the services as the turns of a chat do."""

    def __init__(self, home: AgentRuntime) -> None:
        self.context = CallContext(
            home.app,
            keys.session_of("main", CHAT),
            by="telegram:42",
            call="e1",
            role="member",
            private=True,
            home=CHAT,
            asked_at=MONDAY,
        )

    def add(self, **arguments: Any) -> dict[str, Any]:
        return schedule_wakeup(self.context, arguments)  # type: ignore[return-value]

    def numbers(self, **context: Any) -> list[int]:
        found: Any = list_wakeups(replace(self.context, **context), {})
        return [each["number"] for each in found["items"]]

    def why_not(self, **arguments: Any) -> str:
        with pytest.raises(SigilError) as caught:
            self.add(**arguments)
        return f"{caught.value.code}: {caught.value.message}"


@pytest.fixture
def caller(chat: Chat) -> Caller:
    return Caller(chat.home)


def test_the_model_schedules_a_reminder_that_is_said_without_it(chat: Chat, wall: Wall) -> None:
    made = chat.gets("schedule-wakeup", PILLS, private=True)
    assert made["in_words"] == (
        "every day at 08:00 (UTC). Next: Tuesday, 24 November 2026 08:00; Wednesday, 25 November"
        " 2026 08:00; Thursday, 26 November 2026 08:00 (UTC)."
    )
    assert made["next"] == [f"2026-11-{day}T08:00+00:00" for day in (24, 25, 26)]
    assert (made["number"], made["new"], made["say"]) == (1, True, "take the pills")
    asked = len(chat.model.bodies)
    events: list[Any] = []
    wall.now += 20 * 3600.0
    wake_agents(chat.home.stores.kv, events.append, "main", wall.now)
    assert [(each.kind, each.session, each.text) for each in events] == [
        ("say", CHAT, "take the pills")
    ]
    assert len(chat.model.bodies) == asked


def test_work_wakes_the_agent_in_a_session_of_its_own(caller: Caller, wall: Wall) -> None:
    made = caller.add(when="every weekday at 8", text="look at the rates", name="rates")
    assert made["in_words"].startswith("every Monday to Friday at 08:00 (UTC). Next: Tuesday")
    events: list[Any] = []
    wall.now += 20 * 3600.0
    wake_agents(caller.context.app.kv, events.append, "main", wall.now)
    (event,) = events
    assert (event.kind, event.session, event.by) == ("wakeup", f"own:w-{made['id']}", "telegram:42")
    assert event.data["home"] == CHAT


def test_what_another_agent_has_scheduled_in_the_chat_is_listed_and_cancelled(
    caller: Caller,
) -> None:
    mine = caller.add(**PILLS)
    others = Schedules(caller.context.app.kv, "main.alice")
    when = When(kind="every", every=3600.0, zone="UTC")
    fields = {"id": "", "when": when, "by": "telegram:42", "since": MONDAY, "say": "stretch"}
    theirs = others.add(Schedule(**fields, session=CHAT))[0]
    elsewhere = others.add(Schedule(**fields, session=OTHER))[0]
    answer: Any = list_wakeups(caller.context, {})
    assert [(each["number"], each.get("agent")) for each in answer["items"]] == [
        (mine["number"], None),
        (theirs.number, "alice"),
    ]
    cancel_wakeup(caller.context, {"id": f"{theirs.number}"})
    assert [each.id for each in others.list_of_chat()] == [elsewhere.id]
    with pytest.raises(UsageError):
        cancel_wakeup(caller.context, {"id": elsewhere.id})


@pytest.mark.parametrize(
    ("when", "more", "next_time"),
    [
        ("2026-11-25T09:00", {}, "2026-11-25T09:00+00:00"),
        ("2026-11-25T09:00:00Z", {"zone": "Asia/Shanghai"}, "2026-11-25T17:00+08:00"),
        ("tomorrow at nine", {"zone": "Berlin"}, "2026-11-24T09:00+01:00"),
        ("明天上午九点", {}, "2026-11-24T09:00+00:00"),
        ("0 8 * * 1-5", {}, "2026-11-24T08:00+00:00"),
        ("in 20 minutes", {}, "2026-11-23T12:20+00:00"),
        ("every day at 7", {"until": "2026-11-25"}, "2026-11-24T07:00+00:00"),
        ("every hour", {"times": 2}, "2026-11-23T13:00+00:00"),
    ],
)
def test_a_time_is_words_cron_or_iso(
    caller: Caller, when: str, more: dict[str, Any], next_time: str
) -> None:
    made = caller.add(when=when, say="x", **more)
    assert made["next"][0] == next_time
    assert len(made["next"]) == (2 if more.keys() & {"until", "times"} else len(made["next"]))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"when": "tomorrow at 5"}, "Do you mean Tuesday, 24 November 2026 05:00 or"),
        ({"when": "2026-11-22T09:00"}, "2026-11-22T09:00 is past"),
        ({"when": "every second"}, "Once a minute is the most"),
        ({"when": "soon"}, "I see no time"),
        ({"when": "tomorrow at 9 call Bob"}, "'call Bob' is no part of a time"),
        ({"when": "0 0 30 2 *"}, ""),
        ({"when": "tomorrow at 9am", "zone": "Atlantis"}, "I know no time zone Atlantis"),
        ({"when": "every day at 8", "until": "2020-01-01"}, ""),
        ({"when": "every day at 8", "times": 0}, "times is a whole number"),
        ({"when": "every day at 8", "text": "y"}, "give either text or say"),
        ({"when": "every day at 8", "say": ""}, "give either text or say"),
        ({"when": "every day at 8", "say": "x" * 4001}, "at most 4,000 characters"),
        ({"when": ""}, ""),
    ],
)
def test_what_cannot_be_is_a_question_and_nothing_is_stored(
    caller: Caller, arguments: dict[str, Any], why: str
) -> None:
    said = caller.why_not(**{"say": "x", **arguments})
    assert said.startswith(("EASK: ", "EINVAL: "))
    assert why in said
    assert caller.numbers() == []


def test_a_question_goes_to_the_person(caller: Caller) -> None:
    with pytest.raises(UsageError) as caught:
        caller.add(when="tomorrow at 5", say="x")
    assert caught.value.code == "EASK"
    assert "ask the person" in caught.value.suggestion


def test_whoever_passes_a_question_on_is_neither_verified_nor_blamed(chat: Chat) -> None:
    asked = call(("cap_schedule_wakeup", {"when": "tomorrow at 5", "say": "tea"}))
    chat.model.then(call(("sigil_query", {"query": "schedule-wakeup"})))
    for question in (
        "In the morning, or in the afternoon, at 17:00?",
        "I can do that. Do you mean Tuesday, 24 November 2026 05:00 or Tuesday, 24 November 2026 17:00?",
        "5 in the morning?",
        "One thing first: at which time?",
        "明天早上五点，还是下午五点？",
    ):
        chat.model.then(asked, say(question))
        (reply,) = tell(chat.home, "tea tomorrow at 5", sender="telegram:42")
        assert reply.split("\n\n(I do not know")[0] == question
    requests = len(chat.model.bodies)
    chat.model.then(asked, say("I set it."), say("I really did."))
    (reply,) = tell(chat.home, "tea tomorrow at 5", sender="telegram:42")
    assert len(chat.model.bodies) == requests + 3
    assert "schedule-wakeup" in reply.split("I really did.")[1]


def test_a_call_that_runs_again_makes_one_schedule(caller: Caller, wall: Wall) -> None:
    first = caller.add(when="in 20 minutes", say="tea")
    wall.now += 30.0
    again = caller.add(when="in 20 minutes", say="tea")
    assert (again["id"], again["new"]) == (first["id"], False)
    assert caller.numbers() == [1]


def test_it_is_listed_paused_resumed_and_cancelled_in_its_chat(caller: Caller) -> None:
    made = caller.add(**PILLS)
    caller.add(when="every hour", say="stretch")
    cancel_wakeup(caller.context, {"id": "1", "pause": True})
    found: Any = list_wakeups(caller.context, {})
    assert [each.get("paused") for each in found["items"]] == ["paused", None]
    assert found["items"][0]["next"] == []
    again = caller.add(**PILLS)
    assert (again["new"], again.get("paused"), len(again["next"])) == (False, None, 3)
    assert cancel_wakeup(caller.context, {"id": made["id"]}) == {
        "id": made["id"],
        "number": 1,
        "title": "take the pills",
        "cancelled": True,
    }
    assert caller.numbers() == [2]


def test_what_belongs_to_another_chat_is_not_there(caller: Caller) -> None:
    made = caller.add(**PILLS)
    other = replace(caller.context, home=OTHER)
    assert caller.numbers(home=OTHER) == []
    for named in (made["id"], "1", "#1", "own:w-1", "../x", "9" * 60, ""):
        with pytest.raises(UsageError, match="nothing here has the id") as caught:
            cancel_wakeup(other, {"id": named})
        assert caught.value.code == "ENOENT"
    assert caller.numbers() == [1]


def test_work_of_the_agents_own_schedules_for_the_chat_that_it_belongs_to(caller: Caller) -> None:
    work = replace(caller.context, session=keys.session_of("main", "own:w-1"), call="e2")
    made: Any = schedule_wakeup(work, PILLS)
    assert caller.numbers() == [made["number"]]
    with pytest.raises(UsageError, match="belongs to no chat"):
        schedule_wakeup(replace(work, home=""), PILLS)


def test_who_may_is_as_with_remind(caller: Caller) -> None:
    group = replace(caller.context, private=False)
    with pytest.raises(Refused, match="only owners"):
        schedule_wakeup(group, PILLS)
    with pytest.raises(Refused, match="only owners"):
        cancel_wakeup(group, {"id": "1"})
    schedule_wakeup(replace(group, role="owner"), PILLS)
    guest = replace(caller.context, role="guest", by="telegram:9")
    schedule_wakeup(guest, {"when": "every hour", "text": "look"})
    for number in range(divide_places(SCHEDULES_MOST).guest - 1):
        schedule_wakeup(guest, {"when": "every hour", "say": str(number)})
    with pytest.raises(Refused, match="one guest has at most 8 of 64 schedules"):
        schedule_wakeup(guest, {"when": "every hour", "say": "one more"})
    closed = replace(guest.app, rules=replace(guest.app.rules, access="members"))
    with pytest.raises(Refused, match="no work is done for guests"):
        schedule_wakeup(replace(guest, app=closed), {"when": "every hour", "text": "x"})


def test_calls_side_by_side_take_no_more_than_the_share_of_a_person(caller: Caller) -> None:
    share = divide_places(SCHEDULES_MOST).person

    def take(number: int) -> None:
        with suppress(Refused):
            caller.add(when="every hour", say=str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, range(share + 8)))
    assert len(caller.numbers()) == share


def test_schedules_that_several_processes_add_at_once_leave_the_reserve(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule, "SCHEDULES_MOST", 8)
    app = caller.context.app
    begin = Barrier(8)

    def take(number: int) -> None:
        who = f"telegram:{number % 4 + 50}"
        wanted = Schedule(
            id="",
            when=When(kind="every", every=3600.0, zone="UTC"),
            session=who,
            by=who,
            since=1e9,
            say="x",
        )
        begin.wait()
        with suppress(Refused):
            app.schedules.add(replace(wanted, say=str(number)), Holder(who, "member", app.people))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(take, range(8)))
    assert len(app.schedules.list_of_chat()) <= 6


def test_an_agent_has_so_many_schedules(caller: Caller) -> None:
    caller.context = replace(caller.context, role="owner")
    for number in range(SCHEDULES_MOST):
        caller.add(when="every hour", say=str(number))
    assert caller.why_not(when="every hour", say="65").startswith("EQUOTA")
    assert len(caller.numbers()) == SCHEDULES_MOST


def test_the_chats_zone_and_language_are_those_of_the_answer(chat: Chat) -> None:
    tell(chat.home, "/timezone Shanghai", session=CHAT, sender="telegram:1")
    tell(chat.home, "/language zh", session=CHAT, sender="telegram:1")
    made = Caller(chat.home).add(when="每天早上七点", say="吃药")
    assert made["in_words"].startswith("每天 07:00（Asia/Shanghai）")
    assert made["next"][0] == "2026-11-24T07:00+08:00"


class Crash(BaseException):
    """The process ends here."""


def test_a_crash_between_the_call_and_its_answer_makes_no_second_schedule(
    chat: Chat, wall: Wall, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashes = [1]

    def schedule_and_crash(context: CallContext, arguments: Any) -> Any:
        answer = schedule_wakeup(context, arguments)
        if crashes.pop():
            crashes.append(0)
            raise Crash
        return answer

    monkeypatch.setitem(table.SERVICES, "schedule-wakeup", schedule_and_crash)  # type: ignore[arg-type]
    given = {"when": "in 20 minutes", "say": "tea"}
    chat.model.then(
        call(("sigil_query", {"query": "schedule-wakeup"})),
        call(("cap_schedule_wakeup", given)),
        say("done"),
    )
    written = replace(event("tea please", session=CHAT, sender="telegram:42"), at=MONDAY)
    with pytest.raises(Crash):
        run_event(chat.home, written)
    wall.now += 60.0
    run_event(chat.home, written)

    assert crashes == []
    (kept,) = chat.home.app.schedules.list_of_chat(CHAT)
    assert (kept.say, kept.due) == ("tea", MONDAY + 1_200.0)
    assert '"new":false' in chat.read()[-1]
