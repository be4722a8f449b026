"""What a tick enqueues, and when the server's own scheduler ticks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from datetime import time as dtime
from zoneinfo import ZoneInfo

import pytest

from functions import scheduler
from functions.agent.conversation.messages import Usage
from functions.agent.runs.run import Run as TurnRun
from functions.agent.runs.run import save_run
from functions.agent.schedules.heartbeat import make_heartbeat
from functions.agent.schedules.schedule import HEARTBEAT, Run, Schedule, Schedules
from functions.agent.schedules.when import When
from functions.agent.workspace.files import REMOVED_SECONDS, Workspace, Writer
from functions.events import CONSOLIDATION, Event
from functions.local import QueueWorkers
from functions.queues.dead_letters import give_up, scan_dead_letters
from functions.queues.store_queue import StoreQueue
from functions.settings import Settings
from functions.texts.languages import load_texts
from functions.wiring import AgentRuntime
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import KV, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.stored import dumps
from sigil.wiring import Stores
from tests.fakes.bot_api import BotApi
from tests.functions.people import OWNER, platform
from tests.functions.queues.workers import event, handle_all
from tests.machine import until
from tests.sigil.storage.kv.model import Clock

DAY = scheduler.DAY_SECONDS


def owed(number: int) -> Event:
    """A consolidation of a chat of its own."""
    session = f"telegram:{number}"
    identity = f"{CONSOLIDATION}{session}:7"
    return replace(event(number, session), id=identity, kind="continue", text="")


@pytest.fixture
def kv(clock: Clock) -> KV:
    return MemoryKV(clock)


@pytest.fixture
def work(kv: KV) -> StoreQueue:
    return StoreQueue(kv, lane="work")


def test_a_consolidation_that_was_given_up_is_tried_again_a_day_later_and_each_day_after(
    kv: KV, work: StoreQueue, clock: Clock
) -> None:
    give_up(kv, owed(1), "no model for two hours", clock.now, notify_sender=False)
    give_up(kv, event(2), "it failed", clock.now)
    strange = replace(owed(3), agent="main-two", id=f"{CONSOLIDATION}of-another-agent")
    give_up(kv, strange, "no model for two hours", clock.now, notify_sender=False)
    tick = scheduler.tick(Stores(kv, MemoryArtifacts()), work, "main", clock)
    assert (tick.queued, tick.due) == (0, clock.now + scheduler.TICK_SECONDS)

    ids = []
    for _ in range(3):
        clock.advance(DAY)
        assert scheduler.tick(Stores(kv, MemoryArtifacts()), work, "main", clock).queued == 1
        assert scheduler.tick(Stores(kv, MemoryArtifacts()), work, "main", clock).queued == 0
        (again,) = handle_all(work)
        assert (again.session, again.at) == (owed(1).session, clock.now)
        assert again.is_consolidation
        assert {letter.id for letter in scan_dead_letters(kv)} == {event(2).id, strange.id}
        ids.append(again.id)
        give_up(kv, again, "no model for two hours", clock.now, notify_sender=False)
    assert len(set(ids)) == 3
    assert len({len(identity) for identity in ids}) == 1


def test_a_crash_between_the_queue_and_the_dead_letter_enqueues_none_twice(
    kv: KV, work: StoreQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_up(kv, owed(1), "no model for two hours", clock.now, notify_sender=False)
    clock.advance(DAY)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr("functions.queues.dead_letters.drop", die)
        with pytest.raises(KeyboardInterrupt):
            scheduler.tick(Stores(kv, MemoryArtifacts()), work, "main", clock)
    kv.delete(scheduler.keys.daily_task("consolidations:main"))  # another scheduler on the same day
    assert scheduler.tick(Stores(kv, MemoryArtifacts()), work, "main", clock).queued == 1
    assert len(handle_all(work)) == 1
    assert list(scan_dead_letters(kv)) == []


def test_the_servers_scheduler_ticks_as_soon_as_it_is_woken_or_something_is_due(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    dues = [0.0, 0.0, None]
    ticks: list[object] = []

    def tick(stores: Stores, queue: object, agent: str, *, late_most: float) -> scheduler.Tick:
        ticks.append(queue)
        due = dues[len(ticks) - 1]
        return scheduler.Tick(0, 0, float("inf") if due is None else due)

    monkeypatch.setattr(scheduler, "wake", tick)
    home = runtime()
    workers = QueueWorkers(home)
    workers.start()
    try:
        home.due.set()
        until(lambda: len(ticks) == 3, "what is due is done")  # the third has nothing due
    finally:
        assert workers.stop()
    assert ticks == [home.queue] * 3


def test_a_reminder_that_was_just_made_is_said_at_its_second(
    runtime: Callable[..., AgentRuntime], bot: BotApi
) -> None:
    home = runtime(**platform(bot))
    workers = QueueWorkers(home)
    workers.start()
    try:
        time.sleep(scheduler.TICK_SECONDS / 100)  # the scheduler has looked, and sleeps
        now = time.time()
        when = When(kind="at", at=now + 0.5, zone="UTC")
        who = f"telegram:{OWNER}"
        home.app.schedules.add(
            Schedule(id="", when=when, session=who, by=who, since=now, say="drink water")
        )
        until(lambda: bot.messages != [], "it is said")
        # a scheduler that nobody wakes would say it with its next tick
        assert 0.5 <= time.time() - now < scheduler.TICK_SECONDS / 2
    finally:
        assert workers.stop()
    assert [message["text"] for message in bot.messages] == ["drink water"]


def test_what_somebody_writes_reaches_a_heartbeat_that_looks_rarely(
    runtime: Callable[..., AgentRuntime], bot: BotApi
) -> None:
    home = runtime(**platform(bot))
    now = time.time()
    schedules = home.app.schedules
    beat = make_heartbeat(
        1800.0,
        session="terminal:main",
        by=f"telegram:{OWNER}",
        now=now,
        zone="UTC",
        known={},
        texts=load_texts("en"),
    )
    schedules.set_heartbeat(beat)
    item = home.stores.kv.get(keys.wakeup("main", HEARTBEAT))
    schedules.write(item, replace(beat, delay=DAY, due=now + DAY), moved=True)
    home.queue.put(replace(event(1, f"telegram:{OWNER}"), private=True))
    workers = QueueWorkers(home)
    workers.start()
    try:
        until(lambda: bot.messages != [], "it is answered")
        home.due.set()
        until(lambda: _due_of(schedules) < now + 2 * 1800.0, "the heartbeat knows")
    finally:
        assert workers.stop()
    assert now + 1800.0 <= _due_of(schedules)


def _due_of(schedules: Schedules) -> float:
    found = schedules.find_heartbeat()
    return found.due if found else 0.0


def test_a_clock_a_year_ahead_costs_one_run_and_set_back_it_goes_on(
    kv: KV, work: StoreQueue, clock: Clock
) -> None:
    begin = clock.now
    schedules = Schedules(kv, "main")
    when = When(kind="every", every=3_600.0, zone="UTC")
    asked = Schedule(id="", when=when, session="telegram:1", by="telegram:1", since=begin, text="x")
    made, _ = schedules.add(asked)
    stores = Stores(kv, MemoryArtifacts())
    queued = []
    for at in (0.0, 365 * DAY, 120.0, 3_599.0, 3_600.0, 3_660.0):
        clock.now = begin + at
        queued.append(scheduler.tick(stores, work, "main", clock).queued)
        for each in handle_all(work):
            schedules.note_run(made.id, Run(each.id, each.at, clock.now, "silent"))
    assert queued == [0, 1, 0, 0, 1, 0]


def test_on_aws_the_scheduled_function_wakes_who_is_due(
    monkeypatch: pytest.MonkeyPatch, kv: KV, clock: Clock
) -> None:
    queue = StoreQueue(kv)
    parts = (Stores(kv, MemoryArtifacts()), queue, Settings())
    monkeypatch.setattr(scheduler, "_open_parts", lambda: parts)
    now = time.time()
    when = When(kind="at", at=now - 1.0, zone="UTC")
    Schedules(kv, "main").add(
        Schedule(id="", when=when, session="telegram:1", by="telegram:1", since=now - 2, say="tea")
    )
    assert scheduler.handler({}, None) == {"swept": 0, "queued": 1}
    assert scheduler.handler({}, None) == {"swept": 0, "queued": 0}
    assert [event.text for event in handle_all(queue)] == ["tea"]


def test_on_aws_what_was_spent_is_summed_up_by_the_days_of_the_deployment(
    monkeypatch: pytest.MonkeyPatch, kv: KV
) -> None:
    parts = (Stores(kv, MemoryArtifacts()), StoreQueue(kv), Settings(timezone="Asia/Tokyo"))
    monkeypatch.setattr(scheduler, "_open_parts", lambda: parts)
    zone = ZoneInfo("Asia/Tokyo")
    day = datetime.now(zone).date() - timedelta(days=2)
    # half past midnight in Tokyo, the day before in UTC
    began = datetime.combine(day, dtime(0, 30), zone).timestamp()
    spent = TurnRun(
        event="e",
        session="telegram:1",
        agent="main",
        kind="message",
        reason="message",
        outcome="said",
        began=began,
        usage=Usage(70, 7),
    )
    save_run(kv, spent, 90)
    scheduler.handler({}, None)
    folded = [sort.partition("#")[0] for sort, _ in kv.scan("spent#main") if sort[-1] != "#"]
    assert folded == [day.isoformat()]


def test_once_a_day_a_tick_sweeps_the_files_of_the_agent_and_of_those_below_it(
    kv: KV, work: StoreQueue, clock: Clock
) -> None:
    stores = Stores(kv, MemoryArtifacts())
    scopes = ("main", "main.alice", keys.session_of("main", "telegram:42"))
    for scope in (*scopes, "another"):
        files = Workspace(kv, stores.artifacts, scope, clock)
        made = files.write("a", b"text", Writer("telegram:1"))
        orphan = replace(made, version=9, before=1)  # a crash came before its head
        kv.put(keys.workspace_version(scope, "a", 9), dumps(orphan))
    clock.now += DAY + 1
    scheduler.tick(stores, work, "main", clock)
    left = [scope for scope in scopes if kv.get(keys.workspace_version(scope, "a", 9))]
    assert left == []
    assert kv.get(keys.workspace_version("another", "a", 9))
    for scope in scopes:
        assert Workspace(kv, stores.artifacts, scope, clock).read("a").body == b"text"


def test_files_that_cannot_be_read_keep_no_tick_from_its_work(
    kv: KV, work: StoreQueue, clock: Clock
) -> None:
    stores = Stores(kv, MemoryArtifacts())
    for scope in ("main", "main.alice"):
        files = Workspace(kv, stores.artifacts, scope, clock)
        files.write("a", b"text", Writer("telegram:1"))
        files.remove("a", Writer("telegram:1"))
    kv.put(keys.workspace_file("main", "a"), b"no head")
    clock.now += REMOVED_SECONDS + 1
    scheduler.tick(stores, work, "main", clock)
    assert kv.get(keys.workspace_file("main", "a"))
    assert kv.get(keys.workspace_file("main.alice", "a")) is None
