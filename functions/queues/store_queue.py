"""The store's own queue: waiting events in order of their session, one worker a session, nothing
but a `KV` under it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import orjson

from functions.clock import SYSTEM, Clock
from functions.events import Event
from functions.queues.base import Delivery
from functions.queues.leases import Claim, Claims
from functions.queues.waiting_events import (
    Waiting,
    bury,
    decode_due,
    decode_waiting,
    encode_due,
    encode_waiting,
    group_of,
    sort_of,
)
from sigil.errors import BackendError, Conflict, UsageError
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, KV, Item, keys

PAGE = 100
"""Ready sessions that a look at the index reads at once."""
IDLE_POLLS = 5
"""How many times rarer the index is looked at while nothing waits in it."""
DELAY_MOST = 3600.0
"""Seconds that an event waits at most: a due time further off was written by a clock that has
jumped since.
"""


@dataclass(frozen=True, slots=True)
class _Receipt:
    """What a worker holds: the versions of the waiting item, of the session's ready mark and of the
    claim.

    `last`: no other event waited in the session when this one was taken. `rest`: what another
    version wrote beside the event.
    """

    session: str
    sort: str
    item: str
    ready: str
    claim: str
    last: bool
    rest: Mapping[str, Json] = field(default_factory=dict)


class Inbox:
    """A `Queue` over any `KV`, shared by threads and processes.

    A session is worked on by whoever holds its claim; a claim that nobody renews or gives back ends
    after `lease` seconds, and none is renewed for longer than `hold` seconds.

    A new event wakes a waiting worker of this process at once, and that worker knows which session
    to open. What other processes put is found in the index of ready sessions, at which all workers
    of this process together look once every `poll` seconds, and five times as rarely while nothing
    waits there.

    With `agent` it hands out the events of that agent alone: agents may share a store. With
    `control` it hands out control events and nothing else, so that those wait behind no turn; `put`
    takes both. `beside` is the other side of the same queue in this process, which is told of an
    event that it has to hand out.

    Nothing is forgotten because `put` writes the event and then, always, a new version of the
    session's ready mark, and the mark is deleted only at a version that was read before the inbox
    was found empty.
    """

    def __init__(
        self,
        kv: KV,
        agent: str = "",
        *,
        clock: Clock = SYSTEM,
        lease: float = 30.0,
        hold: float = 300.0,
        poll: float = 0.25,
        control: bool = False,
        beside: Inbox | None = None,
    ) -> None:
        self._kv = kv
        self._mine = keys.session_of(agent, "") if agent else ""
        self._index = keys.READY_CONTROL if control else keys.READY
        self._beside = beside
        self._clock = clock
        self._claims = Claims(kv, clock, lease, hold)
        self._lease = lease
        self._poll = poll
        self._changed = threading.Condition()
        self._changes = 0
        # the sessions worked on in this process, and when their leases end (monotonic)
        self._held: dict[str, float] = {}
        # the sessions known to be ready, and the versions of their marks
        self._known: dict[str, str] = {}
        self._next_look = 0.0  # at the index (monotonic)
        self._pause = poll
        self._cursor = ""

    def put(self, event: Event) -> None:
        """Store the event; one that already waits is the same event. `BackendError` when it is not
        safely stored.
        """
        session = group_of(event)
        with suppress(Conflict):
            self._kv.put(keys.inbox(session, sort_of(event)), encode_waiting(event), expect=ABSENT)
        version = self._kv.put(keys.ready(session), encode_due(0.0))
        for side in filter(None, (self, self._beside)):
            side._note_ready(session, version)

    def take(self, wait: float) -> Delivery | None:
        """The next event that may run now, claimed for this worker; None after `wait` seconds
        without one.
        """
        deadline = time.monotonic() + wait
        while True:
            known = self._changes
            delivery = self._next(at_once=wait <= 0)
            if delivery or not self._another_look(known, deadline):
                return delivery

    def done(self, delivery: Delivery) -> None:
        """The event is handled to its end, whoever holds the claim by now."""
        receipt = _Receipt(**orjson.loads(delivery.receipt))
        self._kv.delete(keys.inbox(receipt.session, receipt.sort))
        if receipt.last:
            self._forget(receipt.session, receipt.ready)
        else:
            with self._changed:
                self._known.setdefault(receipt.session, receipt.ready)
        self._release(Claim(receipt.session, receipt.claim))

    def retry(self, delivery: Delivery, delay: float) -> None:
        """Hand the event out again in `delay` seconds, before anything that came after it."""
        if not math.isfinite(delay):
            raise UsageError("EDELAY", "a delay must be a finite number of seconds")
        receipt, due = (
            _Receipt(**orjson.loads(delivery.receipt)),
            self._clock.now() + min(delay, DELAY_MOST),
        )
        claim = Claim(receipt.session, receipt.claim)
        if self._claims.holds(
            claim
        ):  # else another worker has the event: it is not ours to put off
            self._claims.settle(claim)
            self._put_off(
                receipt, encode_waiting(delivery.event, due, delivery.tries, receipt.rest), due
            )
        self._release(claim)

    def renew(self) -> None:
        """Keep the sessions that this process works on."""
        for session in self._claims.renew():
            with self._changed:
                if session in self._held:
                    self._held[session] = self._clock.monotonic() + self._lease

    def _put_off(self, receipt: _Receipt, waiting: bytes, due: float) -> None:
        with suppress(
            Conflict
        ):  # the lease has just ended: another worker put it off, or is done with it
            self._kv.put(keys.inbox(receipt.session, receipt.sort), waiting, expect=receipt.item)
            self._postpone(receipt.session, receipt.ready, due)

    def _next(self, *, at_once: bool) -> Delivery | None:
        """Return the next event, of a session that is known to be ready or found in the index.

        The index is asked when it is time to, or `at_once`.
        """
        now = time.monotonic()
        with self._changed:
            look = at_once or now >= self._next_look
            if look:
                self._next_look = now + self._pause
        if not look:
            return self._claim_known()
        self._known = {}  # what becomes ready from here on is noted while the store answers
        pause = min(2 * self._pause, IDLE_POLLS * self._poll)
        for marks in self._marks():
            if marks:
                pause = self._poll
            self._note_marks(marks)
            delivery = self._claim_known()
            if delivery:
                break
        else:
            delivery = None
        self._pause = pause
        return delivery

    def _marks(self) -> Iterator[list[tuple[str, Item]]]:
        """Yield the index of ready sessions in pages, those behind the one that was served last
        first: a busy one starves nobody.
        """
        start = self._cursor
        marks = self._kv.scan(self._index, self._mine, limit=PAGE)
        if len(marks) < PAGE:
            yield sorted(marks, key=lambda mark: mark[0] <= start)
            return
        if start:
            marks = self._kv.scan(self._index, self._mine, start, PAGE)
        yield marks
        while len(marks) == PAGE:
            marks = self._kv.scan(self._index, self._mine, marks[-1][0], PAGE)
            yield marks
        after, behind = "", not start
        while not behind:
            marks = self._kv.scan(self._index, self._mine, after, PAGE)
            yield [mark for mark in marks if mark[0] <= start]
            behind = len(marks) < PAGE or marks[-1][0] > start
            after = marks[-1][0] if marks else ""

    def _note_marks(self, marks: list[tuple[str, Item]]) -> None:
        """Know from now on which sessions are ready, and when to look for those that are not."""
        for session, mark in marks:
            due = decode_due(mark.value)
            if self._is_due(due):
                with self._changed:
                    self._known.setdefault(session, mark.version)
            else:
                self._look_in(due - self._clock.now())

    def _claim_known(self) -> Delivery | None:
        """Claim and open the first of the sessions known to be ready that can be had."""
        with self._changed:
            known = list(self._known.items())
        for session, version in known:
            if not self._hold(session):
                continue
            with self._changed:
                self._known.pop(session, None)
            delivery = self._claim(session, version)
            if delivery:
                self._cursor = session
                return delivery
        return None

    def _look_in(self, seconds: float) -> None:
        """Look at the index in so many seconds, or earlier."""
        with self._changed:
            self._next_look = min(self._next_look, time.monotonic() + max(seconds, 0.0))

    def _note_ready(self, session: str, version: str) -> None:
        """Wake a worker for a session whose events this side of the queue hands out."""
        control = self._index == keys.READY_CONTROL
        if session.endswith("!") != control or not session.startswith(self._mine):
            return
        with self._changed:
            self._known[session] = version
        self._wake()

    def _hold(self, session: str) -> bool:
        """Whether no other thread of this process works on the session; asks no store."""
        now = self._clock.monotonic()
        with self._changed:
            if self._held.get(session, now) > now:
                return False
            self._held[session] = now + self._lease
            return True

    def _claim(self, session: str, ready: str) -> Delivery | None:
        """Claim a session that this thread holds and open it; None when another process has it or
        nothing is due.
        """
        try:
            claim = self._claims.take(session)
        except BackendError:
            self._let_go(session)
            raise
        if claim is None:
            self._let_go(session)
            return None
        try:
            delivery = self._open(session, ready, claim)
        except BackendError:
            with suppress(BackendError):
                self._release(claim)
            raise
        if not delivery:
            self._release(claim)
        return delivery

    def _open(self, session: str, ready: str, claim: Claim) -> Delivery | None:
        waiting = self._first_two(session)
        if not waiting:
            self._forget(session, ready)
            return None
        first = waiting[0]
        if not self._is_due(first.due):
            self._postpone(session, ready, first.due)
            return None
        receipt = _Receipt(
            session,
            first.sort,
            first.version,
            ready,
            claim.owner,
            last=len(waiting) == 1,
            rest=first.rest,
        )
        behind = tuple(other.event for other in waiting[1:])
        return Delivery(
            first.event, orjson.dumps(receipt).decode(), first.tries + claim.lost, behind
        )

    def _is_due(self, due: float) -> bool:
        return not self._clock.now() < due <= self._clock.now() + DELAY_MOST

    def _first_two(self, session: str) -> list[Waiting]:
        """The event to hand out and, so that `done` knows whether any is left, the one behind
        it.
        """
        partition = keys.inbox(session, "").partition
        while True:
            found = self._kv.scan(partition, limit=2)
            try:
                return [decode_waiting(sort, item) for sort, item in found]
            except UsageError:
                self._bury_undecodable(session, found)

    def _bury_undecodable(self, session: str, found: list[tuple[str, Item]]) -> None:
        for sort, item in found:
            try:
                decode_waiting(sort, item)
            except UsageError as problem:
                bury(self._kv, keys.inbox(session, sort), item, problem.message)

    def _forget(self, session: str, ready: str) -> None:
        """Take the session off the index, unless an event came since `ready` was read."""
        with suppress(Conflict):
            self._kv.delete(keys.ready(session), expect=ready)

    def _postpone(self, session: str, ready: str, due: float) -> None:
        """Note in the index when the session's first event is due, unless an event came since
        `ready` was read.
        """
        with suppress(Conflict):
            self._kv.put(keys.ready(session), encode_due(due), expect=ready)
        self._look_in(due - self._clock.now())

    def _release(self, claim: Claim) -> None:
        self._claims.give_back(claim)
        self._let_go(claim.session)
        self._wake()

    def _let_go(self, session: str) -> None:
        with self._changed:
            self._held.pop(session, None)

    def _wake(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify()

    def _another_look(self, known: int, deadline: float) -> bool:
        """Waits until another look may help: something changed, or it is time to poll. False when
        the time is up.
        """
        with self._changed:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            until_look = max(self._next_look - time.monotonic(), 0.001)
            self._changed.wait_for(lambda: self._changes != known, min(until_look, left))
            return self._changes != known or time.monotonic() < deadline
