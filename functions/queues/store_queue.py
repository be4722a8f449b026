"""The store's own queue: events wait in the order of their session, and one worker at a time works
on a session. It needs nothing but a `KV`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import orjson

from functions.events import Event
from functions.queues.base import BEHIND_MOST, Delivery, Lane
from functions.queues.dead_letters import keep_undecodable
from functions.queues.leases import Lease, Leases, is_never_gone
from functions.queues.waiting_events import (
    decode_due,
    decode_waiting,
    encode_due,
    encode_waiting,
    group_of,
    is_awaited,
    sort_key_of,
)
from functions.time.clock import SYSTEM, Clock
from sigil.errors import BackendError, Conflict, UsageError
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, KV, Item, Key, keys

_INDEXES: Final[Mapping[Lane, str]] = {
    "chats": keys.READY,
    "control": keys.READY_CONTROL,
    "work": keys.READY_WORK,
}
PAGE = 100
"""Ready sessions that one request reads from the index."""
REST = 10
"""The index rests so many times as long as a look at it took that found nothing: thousands of
sessions whose events are not due yet cost a tenth of one processor at most.
"""
IDLE_POLLS = 5
"""How many times rarer the index is read while nothing waits in it."""
DELAY_MOST = 3600.0
"""Seconds that an event waits at most: a due time further off was written by a clock that has
jumped since.
"""


@dataclass(frozen=True, slots=True)
class _StoreReceipt:
    """The receipt of a delivery: the versions of the waiting item, of the session's ready mark and
    of the claim.

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

    @property
    def lease(self) -> Lease:
        """Return the lease under which the event was taken."""
        return Lease(self.session, self.claim)


class StoreQueue:
    """A `Queue` over any `KV`, shared by threads and processes.

    A worker works on a session while it has the session's lease; a lease that nobody renews or
    releases ends after `lease` seconds, and none is renewed for longer than `hold` seconds.

    A new event wakes a waiting worker of this process at once, and that worker knows which session
    to open. Events that other processes put are found in the index of ready sessions, which all
    workers of this process together read once every `poll` seconds, and five times as rarely while
    nothing waits there. A session in which somebody has written to this process does not wait
    behind the whole index, as when thousands are reminded at once: workers take one of these and
    one of those in turn.

    With `agent` it hands out the events of that agent and of those below it alone: roots may share
    a store. It hands out the events of one `lane`, so that those of the others wait for none of
    them; `put` takes all. `beside` is another side of the same queue in this process: all sides are
    told of an event that they have to hand out. `owner` and `is_gone`: see `Leases`.

    No event is forgotten, because `put` writes the event and then, always, a new version of the
    session's ready mark, and the mark is deleted only at a version that was read before the inbox
    was found empty. A mark that another version left in the index of another lane is worked on
    there.
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
        lane: Lane = "chats",
        beside: StoreQueue | None = None,
        owner: str = "",
        is_gone: Callable[[Lease], bool] = is_never_gone,
    ) -> None:
        self._kv = kv
        self._agent = agent
        # the root's sessions and its agents' begin so, and perhaps those of others
        self._prefix = keys.escape(agent)
        self._index = _INDEXES[lane]
        self._sides: list[StoreQueue] = beside._sides if beside else []
        self._sides.append(self)
        self._clock = clock
        self._leases = Leases(kv, clock, lease, hold, name=owner, is_gone=is_gone)
        self._lease_seconds = lease
        self._poll_seconds = poll
        self._changed = threading.Condition()
        self._changes = 0
        # the sessions worked on in this process, and when their leases end (monotonic)
        self._reserved: dict[str, float] = {}
        # the sessions known to be ready, and the versions of their marks: all, and those in which
        # somebody has just written to this process
        self._ready: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._serves_written = False  # whose turn it is
        self._next_read = 0.0  # of the index (monotonic)
        self._rests_until = 0.0  # after a look that found nothing (monotonic)
        self._pause = poll
        self._left_unread = False  # the last look found an event before the end of the index
        self._cursor = ""

    def put(self, event: Event) -> None:
        """Store the event; one that already waits is the same event. `BackendError` when it is not
        safely stored.
        """
        session = group_of(event)
        version = self._store(event)
        for side in self._sides:
            side._note_ready(session, version, written=is_awaited(event))

    def put_all(self, events: Sequence[Event]) -> None:
        """Store the events, with one mark for each of their sessions; as `put`.

        Sessions are marked as ready even when the store takes no more events: those that it has
        must not wait until the platform sends the others again.
        """
        stored: dict[str, bool] = {}
        try:
            for event in events:
                self._store_event(event)
                session = group_of(event)
                stored[session] = stored.get(session, False) or is_awaited(event)
        except BackendError:
            with suppress(BackendError):
                self._mark_all_ready(stored)
            raise
        self._mark_all_ready(stored)

    def put_and_take(self, event: Event) -> Delivery | None:
        """Store the event and return the first one of its session, for this worker alone.

        No other worker can take it in between. None while another one has the session.
        """
        session = group_of(event)
        lease = self._take_lease(session) if self._reserve(session) else None
        if lease is None:
            self.put(event)
            return None
        try:
            ready = self._store(event)
        except BackendError:
            with suppress(BackendError):
                self._release(lease)
            raise
        return self._open_leased(session, ready, lease)

    def take_from(self, session: str) -> Delivery | None:
        """Return the next event of a session, or of another group, for this worker alone.

        None when none is there or due, or another worker has the session.
        """
        mark = self._kv.get(keys.ready_session(session))
        if mark is None or not self._is_due(decode_due(mark.value)) or not self._reserve(session):
            return None
        return self._claim(session, mark.version)

    def forget(self, session: str) -> None:
        """Let this process take from the session again, though the store did not take it back.

        Its lease stays until it ends, or until it is taken over.
        """
        self._unreserve(session)

    def is_waiting(self, event: Event) -> bool:
        """Return whether the event is there: no worker is done with it."""
        return self._kv.get(keys.inbox_event(group_of(event), sort_key_of(event))) is not None

    def withdraw(self, event: Event) -> None:
        """Take back an event that no worker has begun with; one that has goes on."""
        self._kv.delete(keys.inbox_event(group_of(event), sort_key_of(event)))

    def _store(self, event: Event) -> str:
        """Store the event, and return the version of its session's ready mark."""
        self._store_event(event)
        return self._mark_ready(group_of(event))

    def _store_event(self, event: Event) -> None:
        key = keys.inbox_event(group_of(event), sort_key_of(event))
        with suppress(Conflict):
            self._kv.put(key, encode_waiting(event), expect=ABSENT)

    def _mark_ready(self, session: str) -> str:
        """Write a new version of a session's ready mark, and return it."""
        return self._kv.put(keys.ready_session(session), encode_due(0.0))

    def _mark_all_ready(self, stored: Mapping[str, bool]) -> None:
        """Mark sessions as ready, and tell all sides; True: somebody has written there."""
        for session, written in stored.items():
            version = self._mark_ready(session)
            for side in self._sides:
                side._note_ready(session, version, written=written)

    def take(self, wait: float) -> Delivery | None:
        """Return the next event that may run now, for this worker alone; None after `wait` seconds
        without one.
        """
        deadline = time.monotonic() + wait
        while True:
            changes = self._changes
            delivery = self._find_next(at_once=wait <= 0)
            if delivery or not self._wait_for_change(changes, deadline):
                return delivery

    def done(self, delivery: Delivery, gathered: Sequence[Event] = ()) -> None:
        """Delete the event and those `gathered`, even if another worker has the session's lease by
        now, and release the session.
        """
        receipt = _StoreReceipt(**orjson.loads(delivery.receipt))
        for sort in (receipt.sort, *map(sort_key_of, gathered)):
            self._kv.delete(keys.inbox_event(receipt.session, sort))
        if receipt.last:
            self._unmark_ready(receipt.session, receipt.ready)
        else:
            with self._changed:
                ready = (
                    self._written if any(map(is_awaited, delivery.behind or ())) else self._ready
                )
                ready.setdefault(receipt.session, receipt.ready)
        self._release(receipt.lease)

    def retry(self, delivery: Delivery, delay: float) -> None:
        """Hand the event out again in `delay` seconds, before anything that came after it."""
        if not math.isfinite(delay):
            raise UsageError("EDELAY", "a delay must be a finite number of seconds")
        receipt = _StoreReceipt(**orjson.loads(delivery.receipt))
        due = self._clock.now() + min(delay, DELAY_MOST)
        # without the lease another worker has the event, and it is not ours to put off
        if self._leases.holds(receipt.lease):
            self._leases.reset_lost(receipt.lease)
            waiting = encode_waiting(delivery.event, due, delivery.tries, receipt.rest)
            key = keys.inbox_event(receipt.session, receipt.sort)
            # a Conflict: the lease has just ended, and another worker put it off or is done with it
            with suppress(Conflict):
                self._kv.put(key, waiting, expect=receipt.item)
                self._mark_due(receipt.session, receipt.ready, due)
        self._release(receipt.lease)

    def renew(self) -> None:
        """Renew the leases of the sessions that this process works on."""
        for session in self._leases.renew():
            with self._changed:
                if session in self._reserved:
                    self._reserved[session] = self._clock.monotonic() + self._lease_seconds

    def _find_next(self, *, at_once: bool) -> Delivery | None:
        """Return the next event, of a session that is known to be ready or found in the index.

        The index is read when it is time to, or `at_once`.
        """
        now = time.monotonic()
        with self._changed:
            reads_index = at_once or now >= self._next_read
            if reads_index:
                self._next_read = now + self._pause
        if not reads_index:
            delivery = self._claim_ready_session()
            if delivery or not self._left_unread:
                return delivery
        began = time.monotonic()
        self._left_unread = False
        self._ready = {}  # what becomes ready from here on is noted while the store answers
        delivery = None
        is_empty = True
        for marks in self._scan_marks():
            if marks:
                is_empty = False
            for session, mark in marks:
                due = decode_due(mark.value)
                if self._is_due(due):
                    with self._changed:
                        if session not in self._written:
                            self._ready.setdefault(session, mark.version)
                else:
                    self._read_index_in(due - self._clock.now())
            delivery = self._claim_ready_session()
            if delivery:
                self._left_unread = True
                break
        most = IDLE_POLLS * self._poll_seconds
        self._pause = min(2 * self._pause, most) if is_empty else self._poll_seconds
        if delivery is None:
            ended = time.monotonic()
            with self._changed:
                self._rests_until = ended + min(REST * (ended - began), most)
                self._next_read = max(self._next_read, self._rests_until)
        return delivery

    def _scan_marks(self) -> Iterator[list[tuple[str, Item]]]:
        """Yield the index of ready sessions, a page at a time.

        It begins behind the session that was served last: a busy one starves nobody.
        """
        start = self._cursor
        marks = self._kv.scan(self._index, self._prefix, limit=PAGE)
        if len(marks) < PAGE:
            yield sorted(self._keep_own(marks), key=lambda mark: mark[0] <= start)
            return
        yield from self._scan_pages(start)
        if not start:
            return
        for marks in self._scan_pages(""):
            yield [mark for mark in marks if mark[0] <= start]
            if marks and marks[-1][0] > start:
                return

    def _keep_own(self, marks: list[tuple[str, Item]]) -> list[tuple[str, Item]]:
        """Return the marks of the sessions whose events this queue hands out."""
        return [mark for mark in marks if self._serves(mark[0])]

    def _serves(self, session: str) -> bool:
        return not self._agent or keys.belongs_to(self._agent, session)

    def _scan_pages(self, after: str) -> Iterator[list[tuple[str, Item]]]:
        while True:
            marks = self._kv.scan(self._index, self._prefix, after, PAGE)
            yield self._keep_own(marks)
            if len(marks) < PAGE:
                return
            after = marks[-1][0]

    def _claim_ready_session(self) -> Delivery | None:
        """Claim the first of the sessions known to be ready that is free, and return its event.

        Those in which somebody has written, and all others, come first in turn.
        """
        with self._changed:
            self._serves_written = not self._serves_written
            written_first = self._serves_written
        while found := self._reserve_first(written_first=written_first):
            known, session, version = found
            delivery = self._claim(session, version)
            if delivery:
                if known is not self._written:
                    self._cursor = session
                return delivery
        return None

    def _reserve_first(self, *, written_first: bool) -> tuple[dict[str, str], str, str] | None:
        """Reserve the first session that is known to be ready, and return who knew it, its name and
        the version of its mark; None when there is none that is free.
        """
        now = self._clock.monotonic()
        with self._changed:
            order = (self._written, self._ready) if written_first else (self._ready, self._written)
            for known in order:
                for session, version in known.items():
                    if self._reserved.get(session, now) > now:
                        continue
                    self._reserved[session] = now + self._lease_seconds
                    self._ready.pop(session, None)
                    self._written.pop(session, None)
                    return known, session, version
        return None

    def _reserve(self, session: str) -> bool:
        """Keep other threads of this process from the session, without a request to the store;
        False when one of them works on it.
        """
        now = self._clock.monotonic()
        with self._changed:
            if self._reserved.get(session, now) > now:
                return False
            self._reserved[session] = now + self._lease_seconds
            return True

    def _unreserve(self, session: str) -> None:
        with self._changed:
            self._reserved.pop(session, None)

    def _claim(self, session: str, ready: str) -> Delivery | None:
        """Take the lease of a reserved session and return its first event; None when another
        process has the lease or no event is due.
        """
        lease = self._take_lease(session)
        return self._open_leased(session, ready, lease) if lease else None

    def _take_lease(self, session: str) -> Lease | None:
        """Take the lease of a reserved session; None when another process has it."""
        lease = None
        try:
            lease = self._leases.take(session)
        finally:
            if lease is None:
                self._unreserve(session)
        return lease

    def _open_leased(self, session: str, ready: str, lease: Lease) -> Delivery | None:
        """Return the first event of a session whose lease we have; None when none is due, and then
        others may have the session.
        """
        try:
            delivery = self._open_inbox(session, ready, lease)
        except BackendError:
            with suppress(BackendError):
                self._release(lease)
            raise
        if not delivery:
            self._release(lease)
        return delivery

    def _open_inbox(self, session: str, ready: str, lease: Lease) -> Delivery | None:
        """Return the first event of a session whose lease we have, once it is due.

        What is no event becomes a dead letter.
        """
        partition = keys.inbox_event(session, "").partition
        while True:
            # those behind the first tell `done` whether any is left
            found = self._kv.scan(partition, limit=1 + BEHIND_MOST)
            waiting = []
            for sort, item in found:
                try:
                    waiting.append(decode_waiting(sort, item))
                except UsageError as problem:
                    key = keys.inbox_event(session, sort)
                    place = b"\0".join((key.partition.encode(), key.sort.encode(), item.value))
                    name = sha256(place).hexdigest()[:32]
                    keep_undecodable(self._kv, name, key, item.value, reason=problem.message)
                    self._kv.delete(key)
            if len(waiting) == len(found):
                break
        if not waiting:
            self._unmark_ready(session, ready)
            return None
        first = waiting[0]
        if not self._is_due(first.due):
            self._mark_due(session, ready, first.due)
            return None
        receipt = _StoreReceipt(
            session=session,
            sort=first.sort,
            item=first.version,
            ready=ready,
            claim=lease.owner,
            last=len(waiting) == 1,
            rest=first.rest,
        )
        return Delivery(
            event=first.event,
            receipt=orjson.dumps(receipt).decode(),
            tries=first.tries + lease.lost,
            behind=tuple(other.event for other in waiting[1:]),
        )

    def _is_due(self, due: float) -> bool:
        return not self._clock.now() < due <= self._clock.now() + DELAY_MOST

    def _note_ready(self, session: str, version: str, *, written: bool) -> None:
        """Wake a worker for a session, if this side of the queue hands out its events; `written`
        says that somebody wrote there.
        """
        is_ours = keys.ready_session(session).partition == self._index
        if is_ours and self._serves(session):
            with self._changed:
                ready = self._written if written else self._ready
                ready[session] = version
            self._wake_worker()

    def _mark_due(self, session: str, ready: str, due: float) -> None:
        """Note in the index when the session's first event is due, unless an event came since
        `ready` was read.
        """
        with suppress(Conflict):
            self._kv.put(Key(self._index, session), encode_due(due), expect=ready)
        self._read_index_in(due - self._clock.now())

    def _unmark_ready(self, session: str, ready: str) -> None:
        """Take the session off the index, unless an event came since `ready` was read."""
        with suppress(Conflict):
            self._kv.delete(Key(self._index, session), expect=ready)

    def _read_index_in(self, seconds: float) -> None:
        """Read the index in so many seconds, or earlier, but not while it rests."""
        with self._changed:
            wanted = max(time.monotonic() + max(seconds, 0.0), self._rests_until)
            self._next_read = min(self._next_read, wanted)

    def _release(self, lease: Lease) -> None:
        """Let others have the session, and wake a worker of this process for it."""
        self._leases.release(lease)
        self._unreserve(lease.session)
        self._wake_worker()

    def _wake_worker(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify()

    def _wait_for_change(self, changes: int, deadline: float) -> bool:
        """Wait until another look may help: something changed, or it is time to read the index.

        Returns False when the deadline (monotonic) has passed.
        """
        with self._changed:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            until_read = max(self._next_read - time.monotonic(), 0.001)
            self._changed.wait_for(lambda: self._changes != changes, min(until_read, left))
            return self._changes != changes or time.monotonic() < deadline
