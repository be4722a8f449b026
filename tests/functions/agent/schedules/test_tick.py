"""The tick puts each run once, whatever crashes, and makes up for no more than one of those missed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import count
from threading import Semaphore, Thread
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from functions.agent.schedules.schedule import (
    FAILED,
    FAILURES_MOST,
    RUN_SECONDS_MOST,
    SCHEDULES_MOST,
    Run,
    Schedule,
    Schedules,
)
from functions.agent.schedules.tick import LATE_MOST, PAGE, restore_marks, wake_agents
from functions.agent.schedules.when import When
from functions.events import Event
from functions.queues.store_queue import StoreQueue
from functions.scheduler import HANDS
from functions.settings import Settings
from sigil.errors import Refused, UsageError
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.functions.queues.workers import handle_all
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]

ADA = "telegram:42"
START = 4_000_000_000.0
"""When the tests' clock begins."""
YEAR = 365 * 86_400.0


def once(seconds: float = 600.0, **fields: Any) -> Schedule:
    """A reminder of Ada's, so many seconds after the clock's beginning."""
    when = When(kind="at", at=START + seconds, zone="UTC")
    return make(when, **{"say": "call Bob", **fields})


def again(every: float = 1800.0, **fields: Any) -> Schedule:
    """Work that the agent does for Ada every so many seconds."""
    when = When(kind="every", every=every, zone="UTC", times=fields.pop("times", 0))
    return make(when, **{"text": "look at the mail", **fields})


def make(when: When, **fields: Any) -> Schedule:
    given = {"id": "", "session": ADA, "by": ADA, "since": START, "name": "mail", **fields}
    return Schedule(**{"when": when, **given})


class Agents:
    """The agent `main` with a queue and a clock of its own."""

    def __init__(self, kv: KV, clock: Clock) -> None:
        self.kv = kv
        self.clock = clock
        self.schedules = Schedules(kv, "main")
        self.put: list[Event] = []

    def add(self, schedule: Schedule) -> Schedule:
        return self.schedules.add(schedule)[0]

    def tick(self, seconds: float = 0.0) -> list[Event]:
        """Let time pass and wake who is due; return what was put."""
        self.clock.advance(seconds)
        before = len(self.put)
        wake_agents(self.kv, self.put.append, "main", self.clock.now)
        return self.put[before:]

    def end(self, event: Event, outcome: str = "silent") -> Schedule:
        """Let a run end."""
        id = event.id.split(":")[2]
        run = Run(event.id, int(event.id.split(":")[3]) / 1000, self.clock.now, outcome)
        schedule = self.schedules.note_run(id, run)
        assert schedule
        return schedule

    def read(self, schedule: Schedule) -> Schedule:
        found = self.schedules.find(schedule.id)
        assert found
        return found

    def list_marks(self) -> list[str]:
        return [sort for sort, _ in self.kv.scan(keys.due_wakeup("main", 0.0, "", "").partition)]


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def agents(clock: Clock) -> Agents:
    return Agents(MemoryKV(clock), clock)


def test_a_reminder_is_said_once_at_its_time_and_is_over(agents: Agents) -> None:
    reminder = agents.add(once(600.0))
    assert wake_agents(agents.kv, agents.put.append, "main", START).due == START + 600.0
    assert agents.tick(599.0) == []
    (event,) = agents.tick(1.0)
    assert (event.kind, event.session, event.text, event.by) == ("say", ADA, "call Bob", ADA)
    assert event.id == f"wakeup:main:{reminder.id}:{round((START + 600) * 1000)}"
    (run,) = agents.schedules.list_runs(reminder.id)
    assert (run.outcome, run.due) == ("said", START + 600.0)
    assert agents.list_marks() == []
    assert agents.schedules.list_of_chat() == []
    assert agents.tick(YEAR) == []


def test_work_runs_in_a_session_of_its_own_and_names_its_chat(agents: Agents) -> None:
    work = agents.add(again(1800.0, times=2))
    (event,) = agents.tick(1800.0)
    assert (event.kind, event.session) == ("wakeup", f"own:w-{work.id}")
    assert event.data == {
        "wakeup": work.id,
        "owner": "main",
        "due": START + 1800.0,
        "from": "wakeup mail",
        "home": ADA,
    }
    agents.end(event)
    (event,) = agents.tick(1800.0)
    assert agents.end(event).is_over
    assert agents.tick(3600.0) == []


def test_a_run_that_is_still_on_is_skipped_and_counted(agents: Agents) -> None:
    work = agents.add(again(1800.0))
    (first,) = agents.tick(1800.0)
    assert agents.tick(1800.0) == []
    assert agents.tick(1800.0) == []
    assert agents.read(work).skipped == 2
    assert not agents.read(work).is_running(START - YEAR)  # the clock was a year ahead
    agents.end(first)
    assert len(agents.tick(1800.0)) == 1
    # a run that nobody hears of any more holds up none for ever
    assert len(agents.tick(RUN_SECONDS_MOST)) == 1


def test_what_was_missed_runs_once_and_says_how_often(agents: Agents) -> None:
    work = agents.add(again(1800.0))
    (event,) = agents.tick(3 * 86_400.0)
    assert "144 times" not in event.text
    assert "143 times" in event.text
    assert agents.read(work).missed == 143
    agents.end(event)
    assert agents.tick(60.0) == []
    assert len(agents.tick(1800.0)) == 1


def test_what_was_due_more_than_a_day_ago_does_not_run_and_its_chat_is_told(
    agents: Agents,
) -> None:
    agents.add(once(600.0))
    agents.add(again(7 * 86_400.0))
    (told,) = agents.tick(600.0 + LATE_MOST + 60.0)
    assert (told.kind, told.session) == ("say", ADA)
    assert "I was not running" in told.text
    assert agents.tick() == []
    (told,) = agents.tick(9 * 86_400.0)
    assert "missed: 1" in told.text
    assert len(agents.list_marks()) == 1


def test_the_hours_of_catching_up_are_a_setting(agents: Agents, clock: Clock) -> None:
    agents.add(once(600.0))
    clock.advance(600.0 + 2 * 3_600.0)
    kept = replace(Settings(), catch_up_hours=1).catch_up_seconds
    wake_agents(agents.kv, agents.put.append, "main", clock.now, late_most=kept)
    assert "I was not running" in agents.put[0].text


def test_a_reminder_that_is_late_says_so(agents: Agents) -> None:
    agents.add(once(600.0))
    (event,) = agents.tick(7200.0)
    assert event.text.startswith("call Bob\n\n(This was due at")


@pytest.mark.parametrize(("language", "words"), [("zh", "没有运行"), ("de", "da lief ich nicht")])
def test_it_is_said_in_the_language_of_who_wanted_it(
    agents: Agents, language: str, words: str
) -> None:
    agents.add(once(600.0, language=language))
    assert words in agents.tick(7200.0)[0].text


def test_a_clock_a_year_ahead_makes_one_run_and_set_back_it_goes_on_from_now(
    agents: Agents, clock: Clock
) -> None:
    work = agents.add(again(1800.0))
    (event,) = agents.tick(YEAR)
    agents.end(event)
    assert agents.read(work).due > START + YEAR
    clock.now = START + 60.0
    assert restore_marks(agents.kv, ["main"], clock.now) == 1
    assert restore_marks(agents.kv, ["main"], clock.now) == 0
    assert agents.read(work).due == START + 3600.0  # the run of 1800 was the one that came early
    assert agents.tick(1740.0) == []
    assert len(agents.tick(1800.0)) == 1
    assert len(agents.list_marks()) == 2  # that of the wrong year is dropped when it comes
    assert restore_marks(agents.kv, ["main"], clock.now) == 0


@pytest.mark.parametrize(
    ("zone", "cron", "begin", "times"),
    [
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2027-03-27T00:00+01:00",
            ["03-27 02:30 +0100", "03-28 03:00 +0200", "03-29 02:30 +0200"],
        ),
        (
            "Europe/Berlin",
            "30 2 * * *",
            "2027-10-30T00:00+02:00",
            ["10-30 02:30 +0200", "10-31 02:30 +0200", "11-01 02:30 +0100"],
        ),
        (
            "America/New_York",
            "0 2 * * *",
            "2027-03-13T00:00-05:00",
            ["03-13 02:00 -0500", "03-14 03:00 -0400", "03-15 02:00 -0400"],
        ),
        (
            "America/New_York",
            "30 1 * * *",
            "2027-11-06T00:00-04:00",
            ["11-06 01:30 -0400", "11-07 01:30 -0400", "11-08 01:30 -0500"],
        ),
        (
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2027-10-02T00:00+10:30",
            ["10-02 02:15 +1030", "10-03 02:30 +1100", "10-04 02:15 +1100"],
        ),
        (
            "Australia/Lord_Howe",
            "45 1 * * *",
            "2027-04-03T00:00+11:00",
            ["04-03 01:45 +1100", "04-04 01:45 +1100", "04-05 01:45 +1030"],
        ),
    ],
)
def test_on_days_when_the_clocks_change_a_reminder_comes_once_at_the_right_time(
    agents: Agents, clock: Clock, zone: str, cron: str, begin: str, times: list[str]
) -> None:
    clock.now = datetime.fromisoformat(begin).timestamp()
    when = When(kind="cron", cron=cron, zone=zone)
    agents.add(make(when, since=clock.now, say="call Bob"))
    shown = []
    end = clock.now + 3 * 86_400.0
    while clock.now < end:
        for event in agents.tick(300.0):
            assert event.text == "call Bob"
            shown.append(f"{datetime.fromtimestamp(clock.now, ZoneInfo(zone)):%m-%d %H:%M %z}")
    assert shown == times


def test_a_lost_mark_is_made_anew_from_its_record(agents: Agents) -> None:
    agents.add(once(600.0))
    (mark,) = agents.list_marks()
    agents.kv.delete(Key("due#main", mark))
    assert agents.tick(600.0) == []
    assert restore_marks(agents.kv, ["main"], START) == 1
    assert len(agents.tick()) == 1


def test_nothing_happens_while_it_is_paused_or_after_it_was_dropped(agents: Agents) -> None:
    work = agents.add(again(1800.0))
    agents.schedules.pause(work.id)
    assert agents.tick(86_400.0) == []
    resumed = agents.schedules.resume(work.id, agents.clock.now)
    assert resumed
    assert agents.tick(1.0) == []
    assert len(agents.tick(1800.0)) == 1
    agents.schedules.drop(work.id)
    assert agents.schedules.resume(work.id, agents.clock.now) is None
    assert agents.tick(86_400.0) == []
    assert agents.list_marks() == []


def test_five_failures_in_a_row_pause_it_and_resuming_begins_anew(agents: Agents) -> None:
    work = agents.add(again(1800.0))
    for number in range(FAILURES_MOST + 2):
        (event,) = agents.tick(1800.0)
        outcome = "silent" if number == 1 else "failed"
        agents.end(event, outcome)
        agents.end(event, outcome)  # the same one again counts once
    assert agents.read(work).paused == FAILED
    assert agents.tick(86_400.0) == []
    resumed = agents.schedules.resume(work.id, agents.clock.now)
    assert resumed
    assert (resumed.paused, resumed.failures) == ("", 0)
    assert len(agents.tick(1800.0)) == 1


def test_the_same_schedule_twice_is_one(agents: Agents) -> None:
    first, is_new = agents.schedules.add(again(1800.0))
    second, is_new_again = agents.schedules.add(again(1800.0))
    assert (is_new, is_new_again) == (True, False)
    assert first == second
    other = agents.add(again(1800.0, session="telegram:43"))
    assert (other.id == first.id, other.number) == (False, 1)
    assert agents.add(again(3600.0)).number == 2


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        (once(-60.0), "is over"),
        (again(59.0), "once a minute"),
        (once(say="x" * 4_001), "at most 4,000"),
        (once(say=""), "a text"),
        (once(text="both"), "either"),
        (replace(once(), when=When(kind="at", at=START + 60, zone="Mars/Base")), "no time zone"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_in_a_sentence(
    agents: Agents, schedule: Schedule, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        agents.schedules.add(schedule)
    assert list(agents.schedules.scan()) == []
    assert agents.list_marks() == []


def test_an_agent_has_no_more_than_sixty_four_that_are_not_over(agents: Agents) -> None:
    for number in range(SCHEDULES_MOST):
        agents.add(once(600.0 + number, session=f"telegram:{number}"))
    with pytest.raises(Refused, match="64 of 64 schedules are taken"):
        agents.schedules.add(once(60.0))
    agents.tick(600.0)  # the first is over
    agents.add(once(900.0))


class DyingKV:
    """A store whose process dies before one of its writes."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self.left = 1_000_000

    def get(self, key: Key) -> Item | None:
        return self._kv.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        return get_many(self._kv, keys)

    def scan(self, *args: Any, **options: Any) -> list[tuple[str, Item]]:
        return self._kv.scan(*args, **options)

    def put(self, *args: Any, **options: Any) -> str:
        self._count()
        return self._kv.put(*args, **options)

    def delete(self, *args: Any, **options: Any) -> None:
        self._count()
        self._kv.delete(*args, **options)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("ends", [False, True], ids=["later", "at once"])
@pytest.mark.parametrize("kind", ["reminder", "work"])
def test_a_crash_before_any_write_of_the_tick_repeats_the_same_run(
    place: Place, clock: Clock, kind: str, ends: bool
) -> None:
    kv = DyingKV(place.open(clock))
    agents = Agents(kv, clock)
    queue = StoreQueue(kv, lane="chats" if kind == "reminder" else "work")

    def work_off(handled: list[str]) -> None:
        for event in handle_all(queue):
            if event.id not in handled:  # the session knows what comes again
                handled.append(event.id)
                if kind == "work":
                    agents.end(event)

    for writes in count():
        fields = {"say" if kind == "reminder" else "text": f"of crash {writes}"}
        when = When(kind="every", every=600.0, zone="UTC")
        made = agents.add(make(when, since=clock.now, **fields))
        clock.advance(600.0)
        kv.left = writes
        with suppress(KeyboardInterrupt):
            wake_agents(kv, queue.put, "main", clock.now)
        has_crashed = kv.left < 0
        kv.left = 1_000_000
        handled: list[str] = []
        if ends:
            work_off(handled)
        for _ in range(2):
            clock.advance(1.0)
            wake_agents(kv, queue.put, "main", clock.now)
        work_off(handled)
        assert handled == [f"wakeup:main:{made.id}:{round(made.due * 1000)}"]
        known = agents.read(made)
        assert (known.due, known.runs, known.running) == (made.due + 600.0, 1, "")
        assert len(agents.list_marks()) == 1
        agents.schedules.drop(made.id)
        if not has_crashed:
            break
    assert writes >= 5


def test_two_schedulers_at_once_put_each_run_once(place: Place, clock: Clock) -> None:
    stores = [place.open(clock), place.open(clock)]
    agents = Agents(stores[0], clock)
    ids = {agents.add(again(600.0, text=f"work {number}")).id for number in range(12)}
    clock.advance(600.0)
    queue = StoreQueue(stores[0], lane="work")
    ends = [
        Thread(target=wake_agents, args=(kv, StoreQueue(kv, lane="work").put, "main", clock.now))
        for kv in stores
    ]
    for thread in ends:
        thread.start()
    for thread in ends:
        thread.join()
    handled = [event.id.split(":")[2] for event in handle_all(queue)]
    assert sorted(handled) == sorted(ids)
    assert {each.runs for each in agents.schedules.scan()} == {1}
    assert len(agents.list_marks()) == 12
    assert {each.due for each in agents.schedules.scan()} == {START + 1200.0}


class SlowKV(DyingKV):
    """A store each of whose requests takes a while, and that knows how many it had at once."""

    def __init__(self, kv: KV) -> None:
        super().__init__(kv)
        self._at_work = Semaphore(HANDS)
        self.most = 0

    def _count(self) -> None:
        assert self._at_work.acquire(blocking=False)
        self.most = max(self.most, HANDS - self._at_work._value)
        time.sleep(0.001)  # the store's own time, in which others may ask as well
        self._at_work.release()
        super()._count()


def test_many_hands_put_each_run_once_whenever_they_crash_and_keep_the_order_of_a_chat(
    clock: Clock,
) -> None:
    kv = SlowKV(MemoryKV(clock))
    agents = Agents(kv, clock)
    queue = StoreQueue(kv)
    chats = [f"telegram:{number}" for number in range(20)]
    for number in range(60):
        agents.add(once(600.0 + number // 20, session=chats[number % 20], say=f"{number // 20}"))
    clock.advance(700.0)
    for left in (7, 61, 200, 10**6):
        kv.left = left
        with suppress(KeyboardInterrupt):
            wake_agents(kv, queue.put, "main", clock.now, hands=HANDS)
    kv.left = 10**6
    handled = {event.id: event for event in handle_all(queue)}.values()
    said = {chat: [each.text[0] for each in handled if each.session == chat] for chat in chats}
    assert said == {chat: ["0", "1", "2"] for chat in chats}
    assert agents.list_marks() == []
    assert kv.most > HANDS // 2


def test_all_that_is_due_at_once_is_put_page_after_page(agents: Agents) -> None:
    due = 2 * PAGE + 1
    for number in range(due):
        schedule = again(1800.0, id=f"{number:012x}", due=START + 600.0)
        Schedules(agents.kv, f"main.a{number}").write(None, schedule, moved=True)
    agents.add(once(601.0))
    put = agents.tick(600.0)
    assert len({event.agent for event in put}) == len(put) == due
    assert len(agents.tick(1.0)) == 1
    assert len(agents.kv.scan("due#main", limit=2 * due)) == due
