"""The store's own queue, over memory and over one SQLite file."""

from __future__ import annotations

import base64
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import orjson
import pytest

from functions.events import CONSOLIDATION, Event
from functions.queues.base import Delivery, Queue
from functions.queues.dead_letters import RAW_MOST
from functions.queues.store_queue import PAGE, StoreQueue
from functions.queues.waiting_events import group_of
from sigil.errors import BackendError
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.functions.queues.contract import QueueContract
from tests.functions.queues.watched import WatchedKV
from tests.functions.queues.workers import (
    LEASE,
    PATIENCE,
    OwnWork,
    event,
    handle_all,
    taken,
    timed,
    together,
)
from tests.sigil.storage.kv.model import Clock
from tests.sigil.storage.kv.processes import finish, start

SESSION = keys.session_of("main", "telegram:1")


class InboxContract(QueueContract):
    """An inbox does more than other queues: it knows the platforms' order."""

    def test_the_platforms_order_counts_and_not_the_arrival(
        self, queue: Queue, other: Queue
    ) -> None:
        for number in (3, 1, 2):
            queue.put(event(number))
        assert handle_all(other) == [event(1), event(2), event(3)]

    def test_an_older_event_that_arrives_late_goes_before_one_that_waits(
        self, queue: Queue, other: Queue, clock: Clock
    ) -> None:
        queue.put(event(2))
        queue.retry(taken(queue), 30.0)
        other.put(event(1))
        assert handle_all(queue) == [event(1)]
        clock.advance(30.0)
        assert handle_all(other) == [event(2)]

    def test_an_older_event_that_arrives_before_the_retry_goes_before_it(
        self, queue: Queue, other: Queue
    ) -> None:
        queue.put(event(2))
        delivery = taken(queue)
        other.put(event(1))
        queue.retry(delivery, 30.0)
        assert handle_all(queue) == [event(1)]

    def test_a_busy_session_starves_no_other(self, queue: Queue) -> None:
        for session in ("a", "b", "c", "d"):
            for number in range(5 if session == "b" else 1):
                queue.put(event(number, session))
        served = [handled.session for handled in handle_all(queue)]
        assert set(served[:4]) == {"a", "b", "c", "d"}
        assert served[4:] == ["b"] * 4


class TestOneInboxInMemory(InboxContract):
    @pytest.fixture
    def store(self, clock: Clock) -> KV:
        return MemoryKV(clock)

    @pytest.fixture
    def queue(self, store: KV, clock: Clock) -> Queue:
        return StoreQueue(store, clock=timed(clock), lease=LEASE, hold=self.hold, poll=PATIENCE * 2)

    @pytest.fixture
    def other(self, queue: Queue) -> Queue:
        return queue

    @pytest.fixture
    def control(self, store: KV, clock: Clock) -> Queue:
        return StoreQueue(store, clock=timed(clock), lease=LEASE, poll=0.005, lane="control")


class TestTwoInboxesOnOneFile(InboxContract):
    many = PAGE + 20  # what is in memory has more than two pages of the index
    rounds = 50

    @pytest.fixture
    def queue(self, clock: Clock, tmp_path: Path) -> Iterator[Queue]:
        with closing(SqliteKV(tmp_path / "store.db", clock)) as kv:
            yield StoreQueue(kv, clock=timed(clock), lease=LEASE, hold=self.hold, poll=0.005)

    @pytest.fixture
    def other(self, queue: Queue, clock: Clock, tmp_path: Path) -> Iterator[Queue]:
        with closing(SqliteKV(tmp_path / "store.db", clock)) as kv:
            yield StoreQueue(kv, clock=timed(clock), lease=LEASE, hold=self.hold, poll=0.005)

    @pytest.fixture
    def control(self, queue: Queue, clock: Clock, tmp_path: Path) -> Iterator[Queue]:
        with closing(SqliteKV(tmp_path / "store.db", clock)) as kv:
            yield StoreQueue(kv, clock=timed(clock), lease=LEASE, poll=0.005, lane="control")


class TestOwnWorkOnOneFile(InboxContract):
    """The lane of background work, in which each agent's own work is a session of the contract."""

    many = PAGE + 20
    rounds = 50

    @pytest.fixture
    def store(self, clock: Clock, tmp_path: Path) -> Iterator[KV]:
        with closing(SqliteKV(tmp_path / "store.db", clock)) as kv:
            yield kv

    @pytest.fixture
    def side(self, store: KV, clock: Clock) -> Callable[..., StoreQueue]:
        return partial(
            StoreQueue, store, clock=timed(clock), lease=LEASE, hold=self.hold, poll=0.005
        )

    @pytest.fixture
    def queue(self, side: Callable[..., StoreQueue]) -> Queue:
        return OwnWork(side(lane="work"))

    @pytest.fixture
    def other(self, side: Callable[..., StoreQueue]) -> Queue:
        return OwnWork(side(lane="work"))

    @pytest.fixture
    def control(self, side: Callable[..., StoreQueue]) -> Queue:
        return side(lane="control")


@pytest.fixture
def kv(clock: Clock) -> WatchedKV:
    return WatchedKV(MemoryKV(clock))


@pytest.fixture
def inbox(kv: KV, clock: Clock) -> StoreQueue:
    return StoreQueue(kv, clock=timed(clock), lease=LEASE, poll=PATIENCE * 2)


def left(kv: KV) -> list[str]:
    """Return what the store still has of the queue."""
    partitions = [keys.inbox_event(SESSION, "").partition, "ready", "claim"]
    return [f"{partition} {sort}" for partition in partitions for sort, _ in kv.scan(partition)]


def test_an_event_costs_eight_verbs_from_put_to_done_and_leaves_nothing(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    inbox.put(event(1))
    assert kv.asked == ["put inbox", "put ready"]
    delivery = taken(inbox)
    inbox.done(delivery)
    assert kv.asked[2:] == [
        "scan ready",
        "put claim",
        "scan inbox",
        "delete inbox",
        "delete ready",
        "delete claim",
    ]
    assert left(kv) == []


def test_a_session_that_waits_for_its_time_costs_no_more_than_the_look_at_the_index(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    inbox.put(event(1))
    inbox.retry(taken(inbox), 30.0)
    assert inbox.take(0) is None
    kv.asked.clear()
    assert inbox.take(0) is None
    assert kv.asked == ["scan ready"]


def test_a_session_that_waits_and_gets_another_event_is_looked_at_once(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    inbox.put(event(1))
    inbox.retry(taken(inbox), 30.0)
    inbox.put(event(2))
    assert inbox.take(0) is None
    kv.asked.clear()
    assert inbox.take(0) is None
    assert kv.asked == ["scan ready"]


def test_a_session_that_is_busy_here_costs_no_more_than_the_look_at_the_index(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    inbox.put(event(1))
    taken(inbox)
    assert inbox.take(0) is None
    kv.asked.clear()
    assert inbox.take(0) is None
    assert kv.asked == ["scan ready"]


def test_workers_of_one_process_are_woken_without_polling(inbox: StoreQueue) -> None:
    woken = threading.Semaphore(0)

    def work() -> None:
        delivery = inbox.take(PATIENCE)
        assert delivery is not None
        inbox.done(delivery)
        woken.release()

    def produce() -> None:
        for number in range(6):
            inbox.put(event(number))
            assert woken.acquire(timeout=PATIENCE / 2), "slept through an event"

    together(produce, *[work] * 6)


def test_the_end_of_a_turn_wakes_a_worker_for_what_came_meanwhile(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    inbox.put(event(1))
    delivery = taken(inbox)
    inbox.put(event(2))
    kv.asked.clear()
    waits, found = threading.Event(), []

    def wait() -> None:
        waits.set()
        found.append(inbox.take(PATIENCE))

    def end() -> None:
        assert waits.wait(PATIENCE)
        inbox.done(delivery)

    together(wait, end)
    assert found[0] is not None


def test_a_take_ends_although_the_queue_never_comes_to_rest(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    inbox.put(event(0))
    taken(inbox)

    def disturb(verb: str) -> None:
        if verb == "scan ready":
            assert len(kv.asked) < 10_000, "never ends"
            inbox.put(event(1))

    kv.hook = disturb
    assert inbox.take(0.01) is None


def test_a_session_that_another_process_has_is_asked_for_once_a_look(
    inbox: StoreQueue, kv: WatchedKV, clock: Clock
) -> None:
    elsewhere = StoreQueue(kv, clock=timed(clock), lease=LEASE)
    for session in ("a", "c"):
        inbox.put(event(1, session))
        taken(elsewhere)
    inbox.put(event(1, "b"))
    assert taken(inbox).event.session == "b"
    kv.asked.clear()
    assert inbox.take(0) is None
    assert kv.asked.count("put claim") == 2


def test_a_store_that_fails_for_a_moment_does_not_cost_the_session_its_lease(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    def fail_once(verb: str) -> None:
        if verb == "scan inbox":
            kv.hook = lambda verb: None
            raise BackendError("EUNAVAILABLE", "the store was away")

    kv.hook = fail_once
    inbox.put(event(1))
    with pytest.raises(BackendError):
        inbox.take(0)
    assert handle_all(inbox) == [event(1)]


@pytest.mark.parametrize("steps", range(9))
def test_wherever_the_store_goes_away_the_event_is_handled_afterwards(
    inbox: StoreQueue, kv: WatchedKV, clock: Clock, steps: int
) -> None:
    inbox.put(event(1))
    kv.asked.clear()
    kv.allowed = steps
    ended = False
    try:
        inbox.done(taken(inbox))
        ended = True
    except BackendError:
        assert steps < 6
    kv.allowed = 10**9
    deleted = "delete inbox" in kv.asked
    clock.advance(LEASE)
    assert handle_all(inbox) == ([] if deleted else [event(1)])
    assert ended == (steps >= 6)
    inbox.put(event(2))
    assert handle_all(inbox) == [event(2)]
    clock.advance(LEASE)
    assert inbox.take(0) is None
    assert left(kv) == []


@pytest.mark.parametrize("steps", range(2))
def test_an_event_whose_put_failed_is_handled_once_when_it_is_put_again(
    inbox: StoreQueue, kv: WatchedKV, steps: int
) -> None:
    kv.allowed = steps
    with pytest.raises(BackendError):
        inbox.put(event(1))
    kv.allowed = 10**9
    inbox.put(event(1))
    assert handle_all(inbox) == [event(1)]


NOT_EVENTS = [
    b"",
    b"\xff\x00",
    b"[]",
    b"null",
    b"{}",
    b'{"due":0}',
    b'{"due":null,"event":{}}',
    b'{"due":"soon","event":{}}',
    b'{"due":NaN,"event":{}}',
    b'{"due":0,"event":{"id":"x"}}',
    b'{"due":0,"event":' + b"[" * 400 + b"]" * 400 + b"}",
    b"[" * 100_000,
]


def test_a_worker_that_dies_while_it_gives_an_event_back_is_counted_once(
    kv: WatchedKV, clock: Clock
) -> None:
    def next_process() -> StoreQueue:
        clock.advance(LEASE)
        return StoreQueue(kv, clock=timed(clock), lease=LEASE)

    def die(verb: str) -> None:
        if verb == "delete claim":
            raise KeyboardInterrupt

    inbox = next_process()
    inbox.put(event(1))
    for tries in range(3):
        inbox = next_process()
        delivery = taken(inbox)
        assert delivery.tries == tries
    kv.hook = die
    with pytest.raises(KeyboardInterrupt):
        inbox.retry(delivery, 0.0)
    kv.hook = lambda verb: None
    assert taken(next_process()).tries == 3


@pytest.mark.parametrize("raw", NOT_EVENTS, ids=range(len(NOT_EVENTS)))
def test_bytes_that_are_no_event_become_a_dead_letter_and_their_session_goes_on(
    inbox: StoreQueue, kv: WatchedKV, raw: bytes
) -> None:
    for sort in ("0", "000001700000001#"):
        kv.put(keys.inbox_event(SESSION, sort), raw)
    inbox.put(event(1))
    inbox.put(event(2))
    assert handle_all(inbox) == [event(1), event(2)]
    letters = [orjson.loads(item.value) for _, item in kv.scan("dead")]
    assert [base64.b64decode(letter["raw"]) for letter in letters] == [raw[:RAW_MOST]] * 2
    assert {letter["sort"] for letter in letters} == {"0", "000001700000001#"}
    assert all(letter["reason"] for letter in letters)
    assert left(kv) == []


def test_a_session_of_nothing_but_bytes_that_are_no_event_is_cleared(
    inbox: StoreQueue, kv: WatchedKV
) -> None:
    kv.put(keys.inbox_event(SESSION, "0"), b"?")
    kv.put(keys.ready_session(SESSION), b"not json either")
    assert inbox.take(0) is None
    assert left(kv) == []


def worker(path: Path, code: str) -> subprocess.Popen[str]:
    head = (
        "from functions.queues.store_queue import StoreQueue\nkv = SqliteKV(sys.argv[1])\ninbox ="
        " StoreQueue(kv, poll=0.01)\n"
    )
    return start(head + code, path)


def test_an_event_whose_worker_was_killed_comes_to_another_process(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    later = Clock(time.time())
    with closing(SqliteKV(path, later)) as kv:
        inbox = StoreQueue(kv, clock=timed(later))
        inbox.put(event(1))
        with worker(
            path, "print(inbox.take(10).event.id, flush=True)\nsys.stdin.readline()"
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == f"{event(1).id}\n"
            assert inbox.take(0) is None
            process.send_signal(signal.SIGKILL)
        assert inbox.take(0) is None
        later.advance(200.0)
        assert handle_all(inbox) == [event(1)]


@pytest.mark.usefixtures("fork_commands")
def test_several_processes_handle_each_event_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    code = """
while delivery := inbox.take(1):
    log = Key('log', delivery.event.session)
    item = kv.get(log)
    said = (item.value if item else b'') + b' %d' % (delivery.event.at - 1_700_000_000)
    kv.put(log, said, expect=item.version if item else ABSENT)
    inbox.done(delivery)
    print(delivery.event.id)
"""
    with closing(SqliteKV(path)) as kv:
        inbox = StoreQueue(kv)
        for number in range(5):
            for session in range(12):
                inbox.put(event(number, f"chat-{session}"))
        outputs = finish([worker(path, code) for _ in range(3)])
        logs = {sort: item.value for sort, item in kv.scan("log")}
    assert logs == {f"chat-{session}": b" 0 1 2 3 4" for session in range(12)}
    assert sum(len(output.split()) for output in outputs) == 60


def test_control_events_wait_behind_nothing_and_are_handed_out_apart(kv: KV, clock: Clock) -> None:
    events, control = (
        StoreQueue(kv, clock=timed(clock), lease=LEASE, lane=lane) for lane in ("chats", "control")
    )
    events.put(event(1))
    events.put(event(2, text="/stop"))
    assert taken(events).event == event(1)
    assert events.take(0) is None
    delivery = taken(control)
    assert delivery.event.text == "/stop"
    control.done(delivery)
    assert control.take(0) is None
    assert kv.scan(keys.READY_CONTROL) == []


def own(number: int, session: str = "own:main", agent: str = "main") -> Event:
    return replace(event(number, session), kind="wakeup", agent=agent, id=f"{agent} {number}")


def hear(number: int, session: str = "telegram:1") -> Event:
    return replace(event(number, session), kind="continue", id=f"{CONSOLIDATION}{number}", text="")


@pytest.fixture
def sides(kv: KV, clock: Clock) -> dict[str, StoreQueue]:
    """The three sides of one queue in one process, which read no index while a test runs."""
    queue = partial(StoreQueue, kv, clock=timed(clock), lease=LEASE, poll=PATIENCE * 2)
    chats = queue()
    return {
        "chats": chats,
        "control": queue(lane="control", beside=chats),
        "work": queue(lane="work", beside=chats),
    }


def test_each_side_hands_out_its_own_events_whichever_side_they_were_put_into(
    sides: dict[str, StoreQueue],
) -> None:
    put = [event(1), event(2, text="/stop"), own(3), hear(4)]
    expected = {"chats": [event(1)], "control": [put[1]], "work": [own(3), hear(4)]}
    for into in sides.values():
        for each in put:
            into.put(each)
        for lane, side in sides.items():
            handled = handle_all(side)
            assert sorted(handled, key=lambda each: each.order) == expected[lane], lane


@pytest.mark.parametrize("into", ["chats", "work"])
def test_each_side_wakes_a_worker_of_the_side_that_has_to_hand_the_event_out(
    sides: dict[str, StoreQueue], into: str
) -> None:
    new = {"chats": own(2), "work": event(2)}[into]
    waits = sides["work" if into == "chats" else "chats"]
    assert waits.take(0) is None  # from here on the index is not read for a long time
    found: list[Delivery | None] = []
    waiting = threading.Thread(target=lambda: found.append(waits.take(PATIENCE)))
    waiting.start()
    sides[into].put(new)
    waiting.join()
    assert found[0] is not None
    assert found[0].event == new


def test_what_an_agent_does_by_itself_is_done_one_at_a_time_and_beside_its_chats(
    sides: dict[str, StoreQueue],
) -> None:
    for each in (own(1, "own:main"), own(2, "own:w-7"), own(3, "own:main"), event(4)):
        sides["chats"].put(each)
    sides["chats"].put(own(2, "own:main", "main.alice"))
    work = sides["work"]
    deliveries = [taken(work), taken(work)]
    assert {delivery.event.agent for delivery in deliveries} == {"main", "main.alice"}
    assert work.take(0) is None
    assert taken(sides["chats"]).event == event(4)
    for delivery in deliveries:
        work.done(delivery)
    assert [each.session for each in handle_all(work)] == ["own:w-7", "own:main"]


def test_background_work_that_an_older_version_marked_as_a_chat_is_handled_and_leaves_nothing(
    sides: dict[str, StoreQueue], kv: KV
) -> None:
    for each in (hear(1), own(2)):
        sides["chats"].put(each)
        group = group_of(each)
        kv.delete(keys.ready_session(group))
        kv.put(Key(keys.READY, group), b'{"due":0}')
    fresh = StoreQueue(kv, clock=sides["chats"]._clock, lease=LEASE, poll=0.005)
    delivery = taken(fresh)
    fresh.retry(delivery, 0.0)
    assert sorted(each.id for each in handle_all(fresh)) == sorted((hear(1).id, own(2).id))
    assert kv.scan(keys.READY) == []
    assert kv.scan("claim") == []


def test_a_mark_of_an_older_version_beside_the_new_one_brings_no_event_twice(
    sides: dict[str, StoreQueue], kv: KV
) -> None:
    sides["chats"].put(own(1))
    kv.put(Key(keys.READY, group_of(own(1))), b'{"due":0}')
    fresh = StoreQueue(kv, clock=sides["chats"]._clock, lease=LEASE, poll=0.005)
    delivery = taken(sides["work"])
    assert fresh.take(0) is None
    sides["work"].done(delivery)
    assert fresh.take(0) is None
    assert kv.scan(keys.READY) == []
    assert kv.scan(keys.READY_WORK) == []


def test_a_worker_goes_on_behind_the_first_page_of_the_index_without_waiting_for_the_next_look(
    kv: KV, clock: Clock
) -> None:
    other = StoreQueue(kv, clock=timed(clock), lease=LEASE)
    for number in range(PAGE + 20):
        other.put(event(1, f"chat-{number}"))
        if number % 2:
            other.retry(taken(other), 30.0)
    clock.advance(30.0)
    queue = StoreQueue(kv, clock=timed(clock), lease=LEASE, poll=PATIENCE * 2)
    for _ in range(PAGE + 20):
        delivery = queue.take(PATIENCE)
        assert delivery
        queue.done(delivery)
    assert kv.scan(keys.READY) == []


def test_whoever_writes_does_not_wait_behind_thousands_that_are_reminded_at_once(
    inbox: StoreQueue,
) -> None:
    reminders = 2 * PAGE + 1
    for number in range(reminders):
        inbox.put(replace(event(number, f"telegram:{1_000 + number}"), kind="say"))
    order = []
    for number in range(9):
        if number % 3 == 1:
            inbox.put(event(number, "http:admin:main"))
        delivery = taken(inbox)
        order.append(delivery.event.kind)
        inbox.done(delivery)
    # each is taken at once, or after one of the others, which go on as well
    assert order.count("message") == 3
    assert "message" in order[1:3]
    assert len(handle_all(inbox)) == reminders - 6
