"""A heartbeat looks without a model, and ever more rarely while nothing is new."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

import pytest

from functions.agent.mailbox import Mail, Mailbox
from functions.agent.management.files import FileEditor
from functions.agent.memory.documents import Documents
from functions.agent.schedules.heartbeat import (
    InputNotes,
    make_heartbeat,
    parse_interval,
    read_versions,
)
from functions.agent.schedules.outcome import note_run
from functions.agent.schedules.schedule import DELAY_MOST, HEARTBEAT, Schedule, Schedules
from functions.agent.schedules.tick import restore_marks, wake_agents
from functions.agent.session.document import Turn
from functions.agent.workspace.files import Workspace, Writer
from functions.events import Event
from functions.queues.store_queue import StoreQueue
from functions.texts.languages import load_texts
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import KV, keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.functions.agent.schedules.test_tick import ADA, START, DyingKV
from tests.functions.queues.workers import handle_all
from tests.sigil.stores import Place, place, pytest_generate_tests
from tests.tables import each_row

__all__ = ["place", "pytest_generate_tests"]

MINUTE = 60.0
DOUBLED = [60.0 * 2**number for number in range(1, 11)]
"""The delays after the looks of a heartbeat of a minute, before they reach a day."""


class Beating:
    """The agent `main` with a heartbeat, and a clock of its own."""

    def __init__(self, kv: KV, clock: Clock, every: float = MINUTE) -> None:
        self.kv = kv
        self.clock = clock
        self.schedules = Schedules(kv, "main")
        self.mailbox = Mailbox(kv, "main")
        self.put: list[Event] = []
        self.every = every
        self.set()

    def set(self) -> Schedule:
        wanted = make_heartbeat(
            self.every,
            session=ADA,
            by=ADA,
            now=self.clock.now,
            zone="UTC",
            known=read_versions(self.kv, "main"),
            texts=load_texts("en"),
        )
        return self.schedules.set_heartbeat(wanted)

    def read(self) -> Schedule:
        found = self.schedules.find_heartbeat()
        assert found
        return found

    def look(self) -> list[Event]:
        """Let the time of the next look come, and return what it put."""
        self.clock.now = self.read().due
        return self.tick()

    def tick(self) -> list[Event]:
        before = len(self.put)
        wake_agents(self.kv, self.put.append, "main", self.clock.now)
        return self.put[before:]

    def mail(self, text: str = "the parcel is here") -> None:
        self.mailbox.deliver(Mail(text, "alice", text, self.clock.now))

    def end(self, event: Event, outcome: str = "silent") -> None:
        """Let the turn of a run end as it does, with an answer or without."""
        turn = Turn(event, began=self.clock.now)
        if outcome == "failed":
            turn = turn.add_step("given-up")
        note_run(self.kv, turn, "", said=outcome == "said", now=self.clock.now)


@pytest.fixture
def clock() -> Clock:
    return Clock(START)


@pytest.fixture
def beating(clock: Clock) -> Beating:
    return Beating(MemoryKV(clock), clock)


def open_files(kv: KV, clock: Clock) -> Workspace:
    return Workspace(kv, MemoryArtifacts(), "main", lambda: clock.now)


@pytest.fixture
def files(beating: Beating) -> Workspace:
    return open_files(beating.kv, beating.clock)


def test_looks_that_find_nothing_double_the_delay_up_to_a_day(beating: Beating) -> None:
    delays = []
    for _ in range(13):
        before = beating.read().due
        assert beating.look() == []
        delays.append(beating.read().due - before)
    assert delays == [*DOUBLED, DELAY_MOST, DELAY_MOST, DELAY_MOST]
    assert beating.read().due > beating.clock.now
    index = keys.due_wakeup("main", 0.0, "", "").partition
    assert len(beating.kv.scan(index)) == 1


def test_mail_is_found_once_it_is_there_and_the_delay_goes_back(beating: Beating) -> None:
    for _ in range(5):
        beating.look()
    beating.mail()
    (event,) = beating.look()
    assert (event.kind, event.session, event.data["home"]) == ("wakeup", "own:main", ADA)
    assert "mail that you have not read" in event.text
    known = beating.read()
    assert (known.delay, known.due) == (MINUTE, beating.clock.now + MINUTE)
    assert beating.look() == []  # the run is still on
    assert beating.read().skipped == 1
    beating.end(event)
    assert beating.look() != []  # nobody has read it
    beating.end(beating.put[-1])
    for name, _ in beating.mailbox.read()[0]:
        beating.mailbox.remove([name])
    assert beating.look() == []


def test_a_document_that_was_changed_is_found_once(beating: Beating) -> None:
    beating.kv.put(keys.document("main", "role"), b"the shop's helper")
    (event,) = beating.look()
    assert "documents of yours have changed (role)" in event.text
    beating.end(event)
    assert beating.look() == []
    beating.kv.delete(keys.document("main", "role"))
    beating.kv.put(keys.thing_totals("main"), b"{}")
    (event,) = beating.look()
    assert "(role)" in event.text
    assert "you remember something else" in event.text


def test_a_change_stays_news_until_a_run_ends_well_and_its_own_changes_are_none(
    beating: Beating,
) -> None:
    beating.kv.put(keys.document("main", "role"), b"the shop's helper")
    for _ in range(2):
        (event,) = beating.look()
        beating.end(event, "failed")
    (event,) = beating.look()
    beating.kv.put(keys.thing_totals("main"), b"{}")
    beating.end(event, "said")
    assert beating.look() == []
    assert beating.read().failures == 0


def test_a_file_that_a_person_changed_is_news_once_and_what_the_agent_wrote_is_none(
    beating: Beating, files: Workspace
) -> None:
    files.write("notes.md", b"from the agent", Writer(ADA, "a task", "a call"))
    assert beating.look() == []
    editor = FileEditor(beating.kv, files, "http:admin")
    editor.write("todo.md", b"- buy milk")
    (event,) = beating.look()
    assert "people have changed files of your workspace" in event.text
    assert "documents of yours" not in event.text
    beating.end(event, "failed")
    (event,) = beating.look()
    files.write("todo.md", b"- milk was bought", Writer(ADA, "a task", "another call"))
    beating.end(event)
    assert beating.look() == []
    editor.remove("todo.md")
    assert beating.look() != []


def test_a_file_that_a_person_changed_during_a_run_is_news_after_it(
    beating: Beating, files: Workspace
) -> None:
    beating.mail()
    (event,) = beating.look()
    turn = Turn(event, began=beating.clock.now)
    beating.clock.advance(1.0)
    FileEditor(beating.kv, files, "http:admin").write("todo.md", b"- buy milk")
    for name, _ in beating.mailbox.read()[0]:
        beating.mailbox.remove([name])
    beating.clock.advance(1.0)
    note_run(beating.kv, turn, "", said=False, now=beating.clock.now)
    (event,) = beating.look()
    assert "files of your workspace" in event.text
    assert "mail" not in event.text


def test_files_of_an_owner_wake_no_heartbeat_that_speaks_in_a_group(
    clock: Clock,
) -> None:
    beat = make_heartbeat(
        MINUTE,
        session="telegram:-100",
        by=ADA,
        now=clock.now,
        zone="UTC",
        known={},
        texts=load_texts("en"),
    )
    kv = MemoryKV(clock)
    Schedules(kv, "main").set_heartbeat(beat)
    files = open_files(kv, clock)
    FileEditor(kv, files, "http:admin").write("todo.md", b"- buy milk")
    events: list[Event] = []
    clock.advance(MINUTE)
    wake_agents(kv, events.append, "main", clock.now)
    assert events == []


def test_what_another_agent_got_is_no_news(beating: Beating) -> None:
    Mailbox(beating.kv, "main.alice").deliver(Mail("1", "bob", "hello", START))
    beating.kv.put(keys.document("main.alice", "role"), b"somebody else")
    assert beating.look() == []


def test_what_somebody_writes_sets_the_delay_back_without_a_write_where_it_is_short(
    beating: Beating,
) -> None:
    for _ in range(8):
        beating.look()
    beating.clock.now += 600.0
    beating.schedules.note_input(beating.clock.now)
    known = beating.read()
    assert (known.delay, known.due) == (MINUTE, beating.clock.now + MINUTE)
    item = beating.kv.get(keys.wakeup("main", HEARTBEAT))
    beating.schedules.note_input(beating.clock.now + 30.0)
    assert beating.kv.get(keys.wakeup("main", HEARTBEAT)) == item
    assert beating.look() == []
    assert beating.read().delay == 2 * MINUTE


def test_an_agent_that_sleeps_until_a_time_looks_then_and_no_earlier(beating: Beating) -> None:
    until = START + 9 * 3600.0
    slept = beating.schedules.sleep_until(until, START)
    assert slept
    assert slept.due == until
    beating.schedules.note_input(START + 600.0)
    restore_marks(beating.kv, ["main"], START + 700.0)
    assert beating.read().due == until
    assert beating.look() == []
    assert beating.read().due == until + 2 * MINUTE
    assert beating.schedules.sleep_until(0.0, beating.clock.now)
    assert beating.read().due == beating.clock.now + MINUTE
    beating.schedules.drop(HEARTBEAT)
    assert beating.schedules.sleep_until(until, START) is None


def test_a_clock_that_was_set_back_moves_the_next_look_back_too(beating: Beating) -> None:
    beating.clock.now += 365 * DELAY_MOST
    beating.tick()
    restore_marks(beating.kv, ["main"], START)
    assert beating.read().due == START + 2 * MINUTE


def test_two_schedulers_at_once_look_once(place: Place, clock: Clock) -> None:
    stores = [place.open(clock), place.open(clock)]
    beating = Beating(stores[0], clock)
    clock.advance(MINUTE)

    def tick_both() -> None:
        ends = [
            Thread(
                target=wake_agents,
                args=(kv, StoreQueue(kv, lane="work").put, "main", clock.now),
            )
            for kv in stores
        ]
        for thread in ends:
            thread.start()
        for thread in ends:
            thread.join()

    tick_both()
    assert beating.read().delay == 2 * MINUTE
    beating.mail()
    clock.now = beating.read().due
    tick_both()
    assert len(handle_all(StoreQueue(stores[0], lane="work"))) == 1
    assert beating.read().runs == 1


@pytest.mark.parametrize("news", [False, True], ids=["nothing", "mail"])
def test_a_crash_before_any_write_of_a_look_repeats_it(clock: Clock, news: bool) -> None:
    for writes in range(10):
        clock.now = START
        kv = DyingKV(MemoryKV(clock))
        beating = Beating(kv, clock)
        if news:
            beating.mail()
        queue = StoreQueue(kv, lane="work")
        clock.advance(MINUTE)
        kv.left = writes
        with suppress(KeyboardInterrupt):
            wake_agents(kv, queue.put, "main", clock.now)
        kv.left = 1_000_000
        for _ in range(2):
            wake_agents(kv, queue.put, "main", clock.now)
        assert len(handle_all(queue)) == news
        assert beating.read().delay == (MINUTE if news else 2 * MINUTE)
        index = keys.due_wakeup("main", 0.0, "", "").partition
        assert len(kv.scan(index)) == 1


class ReadsCounted(MemoryKV):
    """A store that counts its reads."""

    reads = 0

    def get(self, key):  # type: ignore[no-untyped-def]
        self.reads += 1
        return super().get(key)

    def get_many(self, wanted):  # type: ignore[no-untyped-def]
        self.reads += 1
        return [super(ReadsCounted, self).get(key) for key in wanted]

    def scan(self, *args, **options):  # type: ignore[no-untyped-def]
        self.reads += 1
        return super().scan(*args, **options)


def test_a_look_is_two_requests_beside_that_of_the_index(clock: Clock) -> None:
    kv = ReadsCounted(clock)
    beating = Beating(kv, clock)
    clock.advance(MINUTE)
    kv.reads = 0
    assert beating.tick() == []
    assert kv.reads == 1 + 2


@pytest.mark.parametrize("count", [1, 40])
def test_of_many_that_look_at_once_each_finds_its_own_news(clock: Clock, count: int) -> None:
    """More than one request has room for: those behind them read for themselves."""
    kv = ReadsCounted(clock)
    agents = [f"main.a{number:02}" for number in range(count)]
    for agent in agents:
        beat = make_heartbeat(
            MINUTE,
            session=ADA,
            by=ADA,
            now=clock.now,
            zone="UTC",
            known={},
            texts=load_texts("en"),
        )
        Schedules(kv, agent).set_heartbeat(beat)
    with_news = agents[::3]
    for agent in with_news:
        documents = Documents(kv, agent, lambda: clock.now)
        documents.write(documents.agent, "role", "A clerk.", by="terminal:local")
    clock.advance(MINUTE)
    events: list[Event] = []
    wake_agents(kv, events.append, "main", clock.now)
    assert sorted(event.agent for event in events) == with_news


def test_who_was_written_to_is_told_to_their_heartbeats_once_a_minute(clock: Clock) -> None:
    kv = ReadsCounted(clock)
    beating = Beating(kv, clock)
    notes = InputNotes(lambda: clock.now)
    for _ in range(3):
        notes.add("main")
        notes.add("main.alice")  # has none
        kv.reads = 0
        notes.tell_heartbeats(kv, clock.now)
        assert kv.reads in (0, 2)
        clock.advance(25.0)
    for _ in range(5):
        beating.look()
    notes.add("main")
    notes.tell_heartbeats(kv, clock.now)
    assert beating.read().due == clock.now + MINUTE
    kv.reads = 0
    notes.tell_heartbeats(kv, clock.now)
    assert not kv.reads


@each_row(
    ("words", "seconds"),
    [
        ("30m", 1800.0),
        ("every 30 minutes", 1800.0),
        ("1h 30m", 5400.0),
        ("1h30m", 5400.0),
        ("2 Stunden", 7200.0),
        ("每30分钟", 1800.0),
        ("2小时", 7200.0),
        ("1d", 86_400.0),
        ("60s", 60.0),
        ("", 0.0),
        ("30", 0.0),
        ("0m", 0.0),
        ("30s", 0.0),
        ("90s", 0.0),
        ("2d", 0.0),
        ("99999h", 0.0),
        ("soon", 0.0),
        ("30m please", 0.0),
        ("-30m", 0.0),
    ],
)
def test_an_interval_is_read_in_three_languages(words: str, seconds: float) -> None:
    assert parse_interval(words) == seconds
