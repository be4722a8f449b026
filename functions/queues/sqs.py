"""The queue over a FIFO queue of SQS: a session's messages are handed out in the order of their
sending, one at a time.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import orjson

from functions import log
from functions.events import Event
from functions.queues.base import Delivery
from functions.queues.sqs_client import SqsClient
from functions.queues.sqs_message import SqsMessage, unpack
from functions.queues.sqs_receiver import SqsReceiver
from functions.settings import Settings
from functions.time.clock import SYSTEM, Clock
from sigil.errors import BackendError, UsageError
from sigil.storage.kv import KV, Key, keys
from sigil.storage.stored import Shape, dumps

DELAY_MOST = 3600.0
"""Seconds that an event waits at most; SQS ends a message's visibility 12 h after it was received,
whatever was asked for.
"""
PATIENT_RECEIVES = 20
SLOW_SECONDS = 60.0
"""A message that was received so often waits at least so long: a store that is away for hours must
not use up the receives (at most 1,000) after which SQS takes a message out of the queue.
"""
UNCOUNTED_RECEIVES = 5
"""So many receives are not counted in the store: they are too few for giving up, whatever they
were.
"""
TRIES_KEPT_SECONDS = 14 * 86_400.0
"""SQS keeps a message so long at most."""


@dataclass(frozen=True, slots=True)
class _SqsReceipt:
    """The receipt of a delivery: its message, the handle of this receive, and how often the message
    was received.
    """

    message: str
    handle: str
    receives: int


class SqsQueue:
    """A `Queue` over a FIFO queue of SQS, or two, shared by threads, processes and machines.

    Background work goes into the second queue, `work_url`, so that no chat waits behind it; without
    one it goes the way of chats. What stands in the wrong queue is handed out all the same.

    A message that its process neither answers nor renews comes again after `visibility` seconds;
    none is renewed for longer than `hold` seconds. Its order is that of the sending: SQS knows no
    other. A process that only puts needs no `kv`, which holds the dead letters. The queue's redrive
    policy should allow 1,000 receives, so that every event that is given up becomes a dead letter
    in the store.
    """

    def __init__(
        self,
        url: str,
        *,
        work_url: str = "",
        kv: KV | None = None,
        endpoint: str = "",
        visibility: float = 30.0,
        hold: float = 300.0,
        clock: Clock = SYSTEM,
    ) -> None:
        self._client = SqsClient(url, endpoint)
        self._chats_client = self._client
        self._work_client = SqsClient(work_url, endpoint) if work_url else self._client
        self._kv = kv
        self._clock = clock
        self._visibility = visibility
        self._hold = hold
        self._receive_from(self._client)

    def _receive_from(self, client: SqsClient) -> None:
        self._client = client
        self._receiver = SqsReceiver(
            client, self._decode_message, self._clock, self._visibility, self._hold
        )
        self._buffer = self._receiver.ordinary

    @property
    def control(self) -> SqsQueue:
        """Return the same queue for the workers of control events.

        From now on it hands out control events and inquiries, and this one no longer does.
        """
        other = copy.copy(self)
        other._buffer = self._receiver.control
        return other

    @property
    def work(self) -> SqsQueue | None:
        """Return the same queue for the workers of background work: it hands out what is in the
        second queue. None when there is none.
        """
        if self._work_client is self._chats_client:
            return None
        other = copy.copy(self)
        other._receive_from(self._work_client)
        return other

    def find_side(self, source: str) -> SqsQueue:
        """Return the side that hands out what is in the queue with this ARN; this one when neither
        has it.
        """
        if source.rpartition(":")[2] != self._work_client.name:
            return self
        return self.work or self

    def connect(self) -> None:
        """Load the client of SQS now rather than with the first event; `BackendError` as `put`."""
        self._chats_client.connect()

    def put(self, event: Event) -> None:
        """Store the event; one that was put within the last 5 minutes is the same event.
        `BackendError` when it is not safely stored.
        """
        client = self._work_client if event.is_background else self._chats_client
        client.send(event)

    def put_all(self, events: Sequence[Event]) -> None:
        """Store the events, ten a request; as `put`."""
        if len(events) == 1:
            # most requests of platforms bring one
            self.put(events[0])
            return
        chats = [event for event in events if not event.is_background]
        work = [event for event in events if event.is_background]
        self._chats_client.send_all(chats)
        self._work_client.send_all(work)

    def take(self, wait: float) -> Delivery | None:
        """Return the next event that may run now, for this worker alone; None after `wait` seconds
        without one.
        """
        self._require_store()
        received = self._receiver.take(self._buffer, wait)
        if received is None:
            return None
        return self._make_delivery(received.message, received.event)

    def done(self, delivery: Delivery, gathered: Sequence[Event] = ()) -> None:
        """Delete the event. One that another worker has by now comes again, and ends there."""
        receipt = _SqsReceipt(**orjson.loads(delivery.receipt))
        self._client.delete(receipt.handle)
        self._buffer.in_flight.drop(receipt.handle)

    def retry(self, delivery: Delivery, delay: float) -> None:
        """Hand the event out again in `delay` seconds, before anything that came after it."""
        if not math.isfinite(delay):
            raise UsageError("EDELAY", "a delay must be a finite number of seconds")
        receipt = _SqsReceipt(**orjson.loads(delivery.receipt))
        if receipt.receives > PATIENT_RECEIVES:
            delay = max(delay, SLOW_SECONDS)
        TriesCounter(self._require_store()).take_back(
            receipt.message, receipt.receives, delivery.tries
        )
        self._buffer.in_flight.release(receipt.handle)
        self._client.hide(receipt.handle, min(max(delay, 0.0), DELAY_MOST))

    def renew(self) -> None:
        """Hide what this side has taken from others again."""
        self._buffer.in_flight.renew()

    def count_waiting(self) -> int:
        """Return about how many events are in the queue, background work included."""
        return sum(client.count_messages() for client in {self._chats_client, self._work_client})

    def adopt(self, message: SqsMessage) -> Delivery | None:
        """Return a message that Lambda received as a delivery; None when its bytes were no event
        and became a dead letter.

        Lambda deletes it or hands it out again: nothing here renews it.
        """
        event = self._decode_message(message)
        return self._make_delivery(message, event) if event else None

    def put_off(self, message: SqsMessage, delay: float) -> None:
        """Hide a message that was not handed out to any worker."""
        self._client.hide(message.handle, min(max(delay, 0.0), DELAY_MOST))

    def close(self) -> None:
        """Let others have what was received for workers that are gone."""
        self._receiver.close()

    def _make_delivery(self, message: SqsMessage, event: Event) -> Delivery:
        receipt = _SqsReceipt(message.id, message.handle, message.receives)
        tries = TriesCounter(self._require_store()).count_receive(message)
        return Delivery(event, orjson.dumps(receipt).decode(), tries, behind=None)

    def _decode_message(self, message: SqsMessage) -> Event | None:
        """Return the event in a message; None when it holds none and became a dead letter."""
        try:
            return unpack(message.body)
        except UsageError as problem:
            from functions.queues.dead_letters import keep_undecodable  # a receiver alone has any

            raw = message.body.encode(errors="replace")
            name = sha256(message.id.encode() + b"\0" + raw).hexdigest()[:32]
            origin = Key(f"sqs#{message.group}", message.id)
            keep_undecodable(
                self._require_store(),
                name,
                origin,
                raw,
                reason=problem.message,
                at=self._clock.now(),
            )
            log.note("undecodable", message=message.id, letter=name)
            return None

    def _require_store(self) -> KV:
        if self._kv is None:
            raise UsageError("EQUEUE", "without a store this queue only puts", source="queue")
        return self._kv


def open_sqs_ingress(settings: Settings) -> SqsQueue:
    """Open the queue of the settings to put events into; it needs no store."""
    return SqsQueue(
        parse_queue_url("UNCAGED_QUEUE", settings.queue),
        work_url=parse_queue_url("UNCAGED_WORK_QUEUE", settings.work_queue),
    )


def parse_queue_url(name: str, value: str) -> str:
    """Return the address of the queue in a setting; empty when it is."""
    scheme, _, url = value.partition("://")
    if value and (scheme != "sqs" or not url.startswith(("https://", "http://"))):
        raise UsageError(
            "ESETTING",
            f"{name}={value!r} names no queue",
            suggestion="sqs://https://…, or leave it empty: events wait in the store",
        )
    return url


@dataclass(frozen=True, slots=True)
class _TriesRecord:
    """The failed tries of a message, as they are stored."""

    tries: int


_TRIES: Final = Shape[_TriesRecord](_TriesRecord)


class TriesCounter:
    """Counts how often a message was handed out and came to nothing.

    SQS itself counts every receive. Past a few of them the store counts: a receive counts as a
    failed try until a planned wait takes that back. While the store is away nothing is counted.
    """

    def __init__(self, kv: KV) -> None:
        self._kv = kv

    def count_receive(self, message: SqsMessage) -> int:
        """Count that the message is handed out, and return its failed tries before."""
        if message.receives <= UNCOUNTED_RECEIVES:
            return message.receives - 1
        tries = UNCOUNTED_RECEIVES
        with suppress(BackendError):
            item = self._kv.get(keys.delivery_tries(message.id))
            if item:
                with suppress(ValueError):
                    tries = _TRIES.read(item.value).tries
            self._write_tries(message.id, tries + 1)
        return tries

    def take_back(self, message: str, receives: int, tries: int) -> None:
        """Set the failed tries of a message that was given back on purpose to `tries`."""
        if receives >= UNCOUNTED_RECEIVES:
            with suppress(BackendError):
                self._write_tries(message, tries)

    def _write_tries(self, message: str, tries: int) -> None:
        record = dumps(_TriesRecord(tries))
        self._kv.put(keys.delivery_tries(message), record, ttl=TRIES_KEPT_SECONDS)
