"""Schedules of people who are gone, and of chats and agents that are not what they were."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest

from functions import scheduler
from functions.agent.agents.bindings import bind
from functions.agent.agents.record import AgentRecord, add_agent, change_state
from functions.agent.management.wakeups import make_row
from functions.agent.schedules.schedule import FAILED, FAILURES_MOST, NOBODY, Schedule, Schedules
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from functions.personal_data import PersonalData
from functions.queues.dead_letters import scan_dead_letters
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.update import scan_all
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.access.people import Wall
from tests.functions.chats import Chats
from tests.functions.people import GROUP, GUEST, OWNER, platform

BY = f"telegram:{GUEST}"
IN_GROUP = f"telegram:{GROUP['id']}"
SESSION_OF_GROUP = keys.session_of("main", IN_GROUP)
SECRET = "petunia"
HOUR = 3600.0
YEAR = 365 * 24 * HOUR
WORK: dict[str, str] = {"text": f"look after the {SECRET}"}
WORDS: dict[str, str] = {"say": f"water the {SECRET}"}


class Time:
    """Schedules of an agent, and the time that passes by one hour after the other."""

    def __init__(self, chats: Chats, agent: str = "main") -> None:
        self.chats = chats
        self.kv = chats.runtime.stores.kv
        self.schedules = Schedules(self.kv, agent)
        self.now = round(time.time(), 3)

    def add(self, session: str = BY, by: str = BY, **fields: Any) -> Schedule:
        when = When(kind="every", every=HOUR, zone="UTC")
        asked = Schedule(id="", when=when, session=session, by=by, since=self.now, **fields)
        return self.schedules.add(asked)[0]

    def tick(self) -> None:
        """Put what is due after one more hour."""
        self.now += HOUR
        wake_agents(self.kv, self.chats.runtime.queue.put, "main", self.now)

    def run(self, schedule: Schedule) -> Schedule | None:
        """Work on what is due after one more hour, and return what became of the schedule."""
        self.tick()
        self.chats.work_off()
        return self.schedules.find(schedule.id)


@pytest.mark.parametrize("session", [BY, IN_GROUP], ids=["private", "group"])
@pytest.mark.parametrize("fields", [WORK, WORDS], ids=["work", "words"])
def test_what_waits_for_a_person_who_is_erased_is_not_said_and_leaves_nothing(
    chats: Chats, model: ScriptedModel, fields: dict[str, str], session: str
) -> None:
    model.then(say("[SILENT]"))
    time = Time(chats)
    schedule = time.add(session, **fields)
    assert time.run(schedule)
    said = chats.list_texts()
    time.tick()  # one waits in the queue, and the next in the index
    personal = PersonalData(chats.runtime.app, chats.runtime.stores.artifacts)
    personal.erase(personal.find(BY))
    assert time.run(schedule) is None
    assert chats.list_texts() == said
    left = {
        (partition, sort): item.value
        for partition in list_partitions(time.kv)
        for sort, item in scan_all(time.kv, partition)
        if SECRET in str(item.value) or partition.startswith(("due#", "inbox#", "wakeup"))
    }
    if session == BY:
        assert left == {}
    else:  # what the agent said in a group stays there
        assert [partition for partition, _ in left] in ([], [f"session#{SESSION_OF_GROUP}"])


def test_the_schedules_of_whoever_is_removed_pause(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    chats = Chats(runtime(llm_url=model.url, **{**platform(bot), "access": "members"}), bot)
    time = Time(chats)
    people = chats.runtime.app.people
    people.let_in(BY, "member", "Eve", f"telegram:{OWNER}")
    made = [time.add(**WORDS), time.add(**WORK)]
    time.run(made[0])
    assert len(model.bodies) == 1
    time.tick()  # both wait in the queue
    people.remove_member(BY)
    said = chats.list_texts()
    chats.work_off()
    time.run(made[0])
    assert [each.paused for each in time.schedules.scan()] == [NOBODY, NOBODY]
    assert chats.list_texts() == said
    assert len(model.bodies) == 1


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Honolulu"])
def test_work_for_a_chat_has_its_hours_and_counts_for_its_days(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, zone: str
) -> None:
    settings = {**platform(bot), "access": "open", "guest_turns": 2, "guest_tokens": 10**6}
    chats = Chats(runtime(llm_url=model.url, **settings), bot)
    time = Time(chats)
    work = time.add(**WORK)
    chats.write(1, f"/timezone {zone}", GUEST)
    chats.write(2, "hello", GUEST)
    chats.work_off()
    model.then(say("[SILENT]"))
    assert time.run(work)
    # what is due in an hour may be due tomorrow there, and yet counts for the day of the work
    due = datetime.fromtimestamp(time.now, ZoneInfo(zone)).date().isoformat()
    today = datetime.now(ZoneInfo(zone)).date().isoformat()
    asked = str(model.bodies[-1]["messages"][-1]["content"])
    assert f"[{due} " in asked
    assert zone in asked.partition("]")[0]
    days = keys.daily_allowance("main", "", "").partition
    ((sort, item),) = time.kv.scan(days)
    assert sort.partition("#")[0] == today
    usage = orjson.loads(item.value)
    assert usage["turns"] == 2
    assert usage["tokens"] > 0
    known = time.run(work)  # the day's turns are used up
    assert known
    assert known.last
    assert (known.last.outcome, known.last.reason) == ("skipped", "allowance")


def test_after_three_days_without_a_server_each_comes_once_and_says_what_was_missed(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("[SILENT]"))
    time = Time(chats)
    words = time.add(**WORDS)
    time.add(**WORK)
    lost = When(kind="at", at=time.now + HOUR, zone="UTC")
    time.schedules.add(Schedule(id="", when=lost, session=BY, by=BY, since=time.now, say="call"))
    time.now += 71 * HOUR
    time.run(words)
    said = sorted(chats.list_texts())
    assert [text.startswith(WORDS["say"]) for text in said] == [False, True]
    assert "I was not running" in said[0]
    assert "71 times" in said[1]
    assert len(model.bodies) == 1
    assert "71 times" in str(model.bodies[0]["messages"][-1]["content"])


def test_a_reminder_comes_in_its_chat_whoever_answers_there_by_then(
    chats: Chats, model: ScriptedModel
) -> None:
    kv = chats.runtime.stores.kv
    record = AgentRecord("agent", "enabled", 1.0, "test")
    for name in ("alice", "bob"):
        add_agent(kv, "main", name, record)
    bind(kv, "main", BY, "alice", order="", by="?")
    time = Time(chats, "main.alice")
    words = time.add(**WORDS)
    assert time.run(words)
    bind(kv, "main", BY, "bob", order="", by="?")
    assert time.run(words)
    bind(kv, "main", BY, "", order="", by="?")
    assert time.run(words)
    assert chats.list_texts() == [WORDS["say"]] * 3


def test_an_agent_that_is_disabled_leaves_out_its_work_and_goes_on_when_it_is_back(
    chats: Chats, model: ScriptedModel
) -> None:
    kv = chats.runtime.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "test"))
    time = Time(chats, "main.alice")
    work = time.add(**WORK)
    change_state(kv, "main", "alice", "disabled")
    for _ in range(FAILURES_MOST + 1):
        known = time.run(work)
        assert known
        assert known.last
        assert (known.last.outcome, known.running, known.paused) == ("skipped", "", "")
    assert model.bodies == []
    assert chats.list_texts() == []
    assert list(scan_dead_letters(kv)) == []
    change_state(kv, "main", "alice", "enabled")
    model.then(say("all is well"))
    time.run(work)
    assert chats.list_texts() == ["all is well"]


def test_the_work_of_an_agent_that_is_archived_pauses_and_its_chat_is_told_once(
    chats: Chats, model: ScriptedModel
) -> None:
    kv = chats.runtime.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "test"))
    time = Time(chats, "main.alice")
    work = time.add(**WORK)
    change_state(kv, "main", "alice", "archived")
    for _ in range(FAILURES_MOST + 2):
        time.run(work)
    assert [each.paused for each in time.schedules.scan()] == [FAILED]
    (told,) = chats.list_texts()
    assert "5 times in a row" in told
    assert model.bodies == []


def test_after_a_clock_that_was_a_year_ahead_is_set_right_reminders_go_on_within_a_minute(
    open_chats: Callable[..., Chats],
) -> None:
    wall = Wall(datetime(2026, 12, 2, 10, 0, tzinfo=ZoneInfo("UTC")).timestamp())
    chats = open_chats(llm_url="", timezone="UTC")
    chats = Chats(wall.on(chats.runtime), chats.bot)
    app = chats.runtime.app
    number = 0

    def tell(text: str) -> str:
        nonlocal number
        number += 1
        chats.write(number, text, date=int(wall.now))
        chats.work_off()
        return chats.list_texts()[-1]

    def wake(seconds: float = 0.0) -> list[str]:
        wall.now += seconds
        before = len(chats.list_texts())
        scheduler.wake(chats.runtime.stores, chats.runtime.queue, "main", lambda: wall.now)
        chats.work_off()
        return [each.partition("\n")[0] for each in chats.list_texts()[before:]]

    tell("/remind every 15 minutes until 18:00 stretch")
    tell("/remind every day at 10:30 drink water")
    tell("/remind every 20 minutes look at the pot, 3 times in total")
    tell("/remind tomorrow at nine call Bob")
    assert wake() == []
    early = wake(YEAR)  # from here on the process shows another year
    assert sum("I was not running" in each for each in early) == 2
    tell("/remind every 30 minutes stand up")
    assert wake(60.0) == []
    wall.now -= YEAR - 60.0  # 10:02
    assert wake() == []
    listed = tell("/wakeups")
    for schedule in app.schedules.list_of_chat():
        (first, *_) = make_row(schedule, app)["next"]  # type: ignore[misc]
        assert wall.now < first < wall.now + 48 * HOUR
        assert f"{datetime.fromtimestamp(first, ZoneInfo('UTC')):%Y-%m-%d %H:%M}" in listed
    said = {minutes: wake(60.0) for minutes in range(3, 46)}
    assert {minutes: texts for minutes, texts in said.items() if texts} == {
        15: ["stretch"],
        30: ["stretch"],
        32: ["stand up"],
        40: ["look at the pot"],
        45: ["stretch"],
    }
    assert wake(22.25 * HOUR)[-1] == "call Bob"
