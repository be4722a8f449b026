"""A FIFO queue of SQS: what waits in a session's group is handed out in the order of its sending,
one message at a time.
"""

from __future__ import annotations

import copy
import math
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256

import orjson

from functions import log
from functions.clock import SYSTEM, Clock
from functions.events import Event
from functions.queues.base import Delivery
from functions.queues.sqs_attempts import Tries
from functions.queues.sqs_client import Calls
from functions.queues.sqs_message import Message, unpack
from functions.queues.sqs_receiver import Receiver
from functions.queues.sqs_visibility import Holds
from functions.queues.waiting_events import RAW_MOST
from sigil.errors import UsageError
from sigil.storage.kv import KV, keys

DELAY_MOST = 3600.0
"""Seconds that an event waits at most; SQS ends a message's visibility 12 h after it was received,
whatever was asked for.
"""
PATIENT_RECEIVES, SLOW_SECONDS = 20, 60.0
"""A message that was received so often waits at least so long: a store that is away for hours must
not use up the receives (at most 1,000) after which SQS takes a message out of the queue.
"""


@dataclass(frozen=True, slots=True)
class _Receipt:
    """What a worker holds: the message, the handle that answers for it this time, and how often it
    was received.
    """

    message: str
    handle: str
    receives: int


class SqsQueue:
    """A `Queue` over one FIFO queue of SQS, shared by threads, processes and machines.

    A message that its process neither answers nor renews comes again after `visibility` seconds;
    none is renewed for longer than `hold` seconds. Its order is that of the sending: SQS knows no
    other. A process that only puts needs no `kv`, which holds the dead letters. The queue's redrive
    policy should allow 1,000 receives: whatever comes to nothing too often becomes a dead letter of
    ours.
    """

    def __init__(
        self,
        url: str,
        *,
        kv: KV | None = None,
        endpoint: str = "",
        visibility: float = 30.0,
        hold: float = 300.0,
        clock: Clock = SYSTEM,
    ) -> None:
        self._calls = Calls(url, endpoint)
        self._kv = kv
        self._clock = clock
        self._receiver = Receiver(
            self._calls, self._opened, lambda: Holds(self._calls, clock, visibility, hold), clock
        )
        self._side = self._receiver.ordinary

    @property
    def control(self) -> SqsQueue:
        """The same queue for the worker of control events: from now on it hands them out, and this
        one hands them out no more.
        """
        side = copy.copy(self)
        side._side = self._receiver.control
        return side

    def put(self, event: Event) -> None:
        """Store the event; one that was put within the last 5 minutes is the same event.
        `BackendError` when it is not safely stored.
        """
        self._calls.send(event)

    def take(self, wait: float) -> Delivery | None:
        """The next event that may run now, for this worker alone; None after `wait` seconds without
        one.
        """
        self._store()
        received = self._receiver.take(self._side, wait)
        return self._delivery(received.message, received.event) if received else None

    def done(self, delivery: Delivery) -> None:
        """The event is handled to its end. One that somebody else has by now comes again, and ends
        there.
        """
        receipt = _receipt(delivery)
        self._calls.delete(receipt.handle)
        self._side.holds.drop(receipt.handle)

    def retry(self, delivery: Delivery, delay: float) -> None:
        """Hand the event out again in `delay` seconds, before anything that came after it."""
        if not math.isfinite(delay):
            raise UsageError("EDELAY", "a delay must be a finite number of seconds")
        receipt = _receipt(delivery)
        if receipt.receives > PATIENT_RECEIVES:
            delay = max(delay, SLOW_SECONDS)
        Tries(self._store()).waits(receipt.message, receipt.receives, delivery.tries)
        self._side.holds.release(receipt.handle)
        self._calls.hide(receipt.handle, min(max(delay, 0.0), DELAY_MOST))

    def renew(self) -> None:
        """Keep what this side has taken hidden from others."""
        self._side.holds.renew()

    def waiting(self) -> int:
        """How many events are in the queue, more or less."""
        return self._calls.waiting()

    def adopt(self, message: Message) -> Delivery | None:
        """A message that Lambda received for us; None when its bytes were no event: a dead letter
        keeps them.

        It is Lambda's to delete or to hand out again: nothing here renews it.
        """
        event = self._read(message)
        return self._delivery(message, event) if event else None

    def put_off(self, message: Message, delay: float) -> None:
        """Hide a message that was not handed out to anybody."""
        self._calls.hide(message.handle, min(max(delay, 0.0), DELAY_MOST))

    def close(self) -> None:
        """Let others have what was received for workers that are gone."""
        self._receiver.close()

    def _delivery(self, message: Message, event: Event) -> Delivery:
        receipt = _Receipt(message.id, message.handle, message.receives)
        return Delivery(
            event, orjson.dumps(receipt).decode(), Tries(self._store()).taken(message), behind=None
        )

    def _opened(self, message: Message) -> Event | None:
        """The event in a message; one that holds none is deleted once its dead letter stands."""
        event = self._read(message)
        if event is None:
            self._calls.delete(message.handle)
        return event

    def _read(self, message: Message) -> Event | None:
        try:
            return unpack(message.body)
        except UsageError as problem:
            self._bury(message, problem.message)
            return None

    def _bury(self, message: Message, reason: str) -> None:
        raw = message.body.encode(errors="replace")
        name = sha256(message.id.encode() + b"\0" + raw).hexdigest()[:32]
        place = {
            "partition": f"sqs#{message.group}",
            "sort": message.id,
            "raw": b64encode(raw[:RAW_MOST]).decode(),
        }
        record = {"reason": reason, "at": self._clock.now(), **place, "event": None}
        self._store().put(keys.dead(f"undecodable:{name}"), orjson.dumps(record))
        log.note("undecodable", message=message.id, letter=name)

    def _store(self) -> KV:
        if self._kv is None:
            raise UsageError("EQUEUE", "without a store this queue only puts", source="queue")
        return self._kv


def _receipt(delivery: Delivery) -> _Receipt:
    return _Receipt(**orjson.loads(delivery.receipt))
