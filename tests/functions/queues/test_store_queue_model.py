"""The store's own queue compared with a plain list, whatever the workers do and in whatever
order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from functions.events import Event
from functions.queues.base import Delivery
from functions.queues.store_queue import StoreQueue
from sigil.storage.kv.memory import MemoryKV
from tests.functions.queues.workers import LEASE, event, timed
from tests.selection import examples
from tests.sigil.storage.kv.model import Clock

STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from("abc"), st.integers(0, 5)),
    st.tuples(st.just("take"), st.integers(0, 1)),
    st.tuples(st.just("done"), st.integers(0, 5)),
    st.tuples(st.just("done"), st.integers(0, 5), st.integers(1, 3)),
    st.tuples(st.just("retry"), st.integers(0, 5), st.sampled_from([0.0, 10.0, 500.0])),
    st.tuples(st.just("crash"), st.integers(0, 5)),
    st.tuples(st.just("advance"), st.sampled_from([1.0, 10.0, LEASE])),
)


@dataclass(eq=False)
class Turn:
    """When an event is due; every retry makes a new one."""

    due: float


@dataclass(eq=False)
class Hand:
    """A delivery in a worker's hand, its session's until the lease ends or it is given back."""

    inbox: StoreQueue
    delivery: Delivery
    turn: Turn
    until: float
    alive: bool = True

    @property
    def event(self) -> Event:
        return self.delivery.event


@dataclass
class Workers:
    """Two inboxes on one store, and beside them what should be true: what waits until when, what is
    in whose hand.
    """

    clock: Clock = field(default_factory=Clock)
    waiting: dict[Event, Turn] = field(default_factory=dict)
    hands: list[Hand] = field(default_factory=list)

    def __post_init__(self) -> None:
        kv = MemoryKV(self.clock)
        self.inboxes = [StoreQueue(kv, clock=timed(self.clock), lease=LEASE) for _ in range(2)]

    def put(self, session: str, number: int) -> None:
        self.inboxes[number % 2].put(event(number, session))
        self.waiting.setdefault(event(number, session), Turn(0.0))

    def free(self) -> list[Event]:
        """The first event of each session that is in no hand, if it is due."""
        held = {hand.event.session for hand in self.hands if hand.until > self.clock.now}
        firsts: dict[str, Event] = {}
        for each in sorted(self.waiting, key=lambda each: each.order):
            firsts.setdefault(each.session, each)
        return [
            first
            for first in firsts.values()
            if first.session not in held and self.waiting[first].due <= self.clock.now
        ]

    def take(self, worker: int) -> None:
        delivery, free = self.inboxes[worker].take(0), self.free()
        assert (delivery.event in free) if delivery else not free
        if delivery:
            self.hands.append(
                Hand(
                    self.inboxes[worker],
                    delivery,
                    self.waiting[delivery.event],
                    self.clock.now + LEASE,
                )
            )

    def give_back(self, index: int) -> Hand | None:
        """One of the hands that can still speak, in time or late."""
        alive = [hand for hand in self.hands if hand.alive]
        if not alive:
            return None
        hand = alive[index % len(alive)]
        self.hands.remove(hand)
        return hand

    def done(self, index: int, gathered: int = 0) -> None:
        if hand := self.give_back(index):
            behind = (hand.delivery.behind or ())[:gathered]
            hand.inbox.done(hand.delivery, behind)
            for ended in (hand.event, *behind):
                self.waiting.pop(ended, None)

    def retry(self, index: int, delay: float) -> None:
        if hand := self.give_back(index):
            hand.inbox.retry(hand.delivery, delay)
            if self.waiting.get(hand.event) is hand.turn:
                self.waiting[hand.event] = Turn(self.clock.now + delay)

    def crash(self, index: int) -> None:
        if hand := self.give_back(index):
            hand.alive = False
            self.hands.append(hand)

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def finish(self) -> None:
        """Handle everything that waits in the end, whatever happened, and see that nothing else comes."""
        self.advance(1000.0)
        self.hands.clear()
        while self.free():
            self.take(0)
            self.done(0)
        assert not self.waiting
        assert self.inboxes[1].take(0) is None


@settings(max_examples=examples(75), deadline=None)
@given(steps=st.lists(STEPS, min_size=5, max_size=60))
def test_workers_that_crash_and_come_late_change_neither_order_nor_number(
    steps: list[tuple[Any, ...]],
) -> None:
    workers = Workers()
    for verb, *arguments in steps:
        getattr(workers, verb)(*arguments)
    workers.finish()
