"""The records that Lambda hands to one invocation are a queue of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from functions import log
from functions.events import Event
from functions.queues.base import Delivery
from functions.queues.sqs import SqsQueue
from functions.queues.sqs_message import SqsMessage, parse_record
from sigil.errors import BackendError, SigilError
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json


class SqsBatch:
    """A `Queue` for the worker of one invocation.

    `take` hands out the records in their order, and `report` tells Lambda what became of them. Only
    what ended is deleted, by Lambda itself. After a record that did not end, the later ones of its
    group are not handed out: they would overtake it. They are put off as long as it is, because
    FIFO holds a group back while any message of it is hidden.
    """

    def __init__(self, queue: SqsQueue, event: Mapping[str, Json]) -> None:
        """`event`: as Lambda's handler gets it, `{"Records": […]}`, all of them of one queue."""
        records = [as_mapping(record) for record in as_sequence(event.get("Records"))]
        source = as_string(records[0].get("eventSourceARN")) if records else ""
        self._queue = queue.find_side(source)
        self._messages: list[SqsMessage] = []
        for record in records:
            try:
                self._messages.append(parse_record(record))
            except SigilError as problem:
                log.note("not a record", code=problem.code)
        self._left = iter(self._messages)
        self._ended: set[str] = set()
        # by receipt: the messages for which the worker has not answered yet
        self._handed_out: dict[str, SqsMessage] = {}
        # by group: for how many seconds it is put off after a record that did not end, if known
        self._put_off: dict[str, float | None] = {}

    def put(self, event: Event) -> None:
        """Put the event into the queue itself."""
        self._queue.put(event)

    def put_all(self, events: Sequence[Event]) -> None:
        """Put the events into the queue itself."""
        self._queue.put_all(events)

    def take(self, wait: float) -> Delivery | None:
        """Return the next record that may run; None after the last."""
        for message in self._handed_out.values():  # the worker came back without an answer for it
            self._put_off.setdefault(message.group, None)
        for message in self._left:
            if message.group in self._put_off:
                seconds = self._put_off[message.group]
                if seconds is not None:
                    # on an error its group waits for the end of its visibility
                    with suppress(BackendError):
                        self._queue.put_off(message, seconds)
                continue
            try:
                delivery = self._queue.adopt(message)
            except BackendError as problem:
                log.note("waits", message=message.id, code=problem.code)
                self._put_off[message.group] = None
                continue
            if delivery is None:  # it held no event
                self._ended.add(message.id)
                continue
            self._handed_out[delivery.receipt] = message
            return delivery
        return None

    def done(self, delivery: Delivery, gathered: Sequence[Event] = ()) -> None:
        """Leave the record out of the report, so that Lambda deletes it."""
        self._ended.add(self._handed_out.pop(delivery.receipt).id)

    def retry(self, delivery: Delivery, delay: float) -> None:
        """Report the record as failed, and tell SQS when to hand it out again."""
        self._queue.retry(delivery, delay)
        self._put_off[self._handed_out.pop(delivery.receipt).group] = delay

    def renew(self) -> None:
        """Do nothing: the queue's visibility is longer than an invocation lasts."""

    def report(self) -> dict[str, list[dict[str, str]]]:
        """Return the handler's answer, which names every record that did not end."""
        failed = [message.id for message in self._messages if message.id not in self._ended]
        return {"batchItemFailures": [{"itemIdentifier": name} for name in failed]}
