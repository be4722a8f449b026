"""Events and workers for the tests of queues."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable

from functions.events import Event, Sender, order_of
from functions.queues.base import Delivery, Queue
from functions.time.clock import Clock
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
