"""Events and workers for the tests of queues."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

from functions.events import Event, Sender, order_of
from functions.queues.base import Delivery, Queue
from functions.time.clock import Clock
from functions.wiring import AgentRuntime
from functions.worker import process
from tests.machine import within

LEASE = 180.0
PATIENCE = within(20.0)
"""Seconds after which a thread that should have been woken counts as forgotten."""


def event(number: int, session: str = "telegram:1", text: str = "hello") -> Event:
    """The `number`-th event of a session."""
    at = 1_700_000_000.0 + number
    identity = f"{session}:{number}"
    return Event(
        identity,
        "message",
        "main",
        session,
        Sender("telegram:42", "Ann"),
        text,
        at,
        order_of(at, number),
    )


def taken(queue: Queue) -> Delivery:
    """Return what can be had at once."""
    delivery = queue.take(0)
    assert delivery is not None
    return delivery


def handle_all(queue: Queue) -> list[Event]:
    """Handle what can be had at once."""
    handled = []
    while delivery := queue.take(0):
        handled.append(delivery.event)
        queue.done(delivery)
    return handled


def together(*works: Callable[[], None]) -> None:
    """Run each in a thread; the first failure is raised here."""
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as problem:  # raised below, in the test's own thread
            failures.append(problem)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class Ledger:
    """Notes what workers handle and whether a session was ever in two hands."""

    def __init__(self, expected: int) -> None:
        self.handled: dict[str, list[int]] = defaultdict(list)
        self.working: set[str] = set()
        self.overlaps = 0
        self.left = expected
        self.lock = threading.Lock()

    def work(self, queue: Queue) -> None:
        """Handle events until all that were expected are."""
        while self.left > 0:
            delivery = queue.take(0.05)
            if delivery is None:
                continue
            session, number = delivery.event.session, int(delivery.event.at - 1_700_000_000)
            with self.lock:
                self.overlaps += session in self.working
                self.working.add(session)
            with self.lock:
                self.handled[session].append(number)
                self.working.discard(session)
                self.left -= 1
            queue.done(delivery)


def timed(clock: Callable[[], float]) -> Clock:
    """A clock both of whose hands are `clock`."""
    return Clock(clock, clock)


def process_all(runtime: AgentRuntime) -> list[Delivery]:
    """Process what can be had at once: control events, then chats, then background work."""
    processed = []
    for queue in filter(None, (runtime.control, runtime.queue, runtime.work)):
        while delivery := queue.take(0.0):
            process(delivery, replace(runtime, queue=queue))
            processed.append(delivery)
    return processed


class OwnWork:
    """A queue whose events travel as work that an agent does by itself, each session's as that of an
    agent of its own: what is taken is as it was put.

    Control events stay as they are.
    """

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def put(self, event: Event) -> None:
        self._queue.put(_disguise(event))

    def put_all(self, events: Sequence[Event]) -> None:
        self._queue.put_all([_disguise(event) for event in events])

    def take(self, wait: float) -> Delivery | None:
        delivery = self._queue.take(wait)
        if delivery is None:
            return None
        behind = delivery.behind and tuple(map(_reveal, delivery.behind))
        return replace(delivery, event=_reveal(delivery.event), behind=behind)

    def done(self, delivery: Delivery, gathered: Sequence[Event] = ()) -> None:
        behind = delivery.behind and tuple(map(_disguise, delivery.behind))
        self._queue.done(replace(delivery, behind=behind), tuple(map(_disguise, gathered)))

    def retry(self, delivery: Delivery, delay: float) -> None:
        self._queue.retry(replace(delivery, event=_disguise(delivery.event)), delay)

    def renew(self) -> None:
        self._queue.renew()


def _disguise(event: Event) -> Event:
    if event.skips_queue:
        return event
    return replace(event, agent=f"{event.agent} {event.session}", session=f"own:{event.id}")


def _reveal(event: Event) -> Event:
    if not event.is_own_work:
        return event
    agent, _, session = event.agent.partition(" ")
    return replace(event, agent=agent, session=session)
