"""The records that Lambda hands to one invocation, as a queue of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from functions import log
from functions.events import Event
from functions.queues.base import Delivery
from functions.queues.sqs import SqsQueue
from functions.queues.sqs_message import Message, recorded
from sigil.errors import BackendError, SigilError


class Batch:
    """A `Queue` for the worker of one invocation: `take` hands out the records in their order, and
    `report` tells Lambda what became of them. Only what ended is deleted, by Lambda itself.

    After a record that did not end, the later ones of its group are not handed out: they would
    overtake it. They are put off as long as it is, because FIFO holds a group back while any
    message of it is hidden.
    """

    def __init__(self, queue: SqsQueue, event: Mapping[str, Any]) -> None:
        """`event`: as Lambda's handler gets it, `{"Records": […]}`."""
        self._queue = queue
        self._messages = list(_messages(event))
        self._left = iter(self._messages)
        self._ended: set[str] = set()
        self._handed: dict[
            str, Message
        ] = {}  # by receipt: what the worker has not answered for yet
        self._stuck: dict[
            str, float | None
        ] = {}  # the groups of records that did not end, and for how long they wait

    def put(self, event: Event) -> None:
        """As the queue itself."""
        self._queue.put(event)

    def take(self, wait: float) -> Delivery | None:
        """The next record that may run; None after the last."""
        for message in self._handed.values():  # the worker came back without an answer for it
            self._stuck.setdefault(message.group, None)
        for message in self._left:
            delivery = self._delivery(message)
            if delivery:
                self._handed[delivery.receipt] = message
                return delivery
        return None

    def done(self, delivery: Delivery) -> None:
        """Lambda will delete it."""
        self._ended.add(self._handed.pop(delivery.receipt).id)

    def retry(self, delivery: Delivery, delay: float) -> None:
        """Lambda is told that it failed, and SQS when to hand it out again."""
        self._queue.retry(delivery, delay)
        self._stuck[self._handed.pop(delivery.receipt).group] = delay

    def renew(self) -> None:
        """The queue's visibility is longer than an invocation lasts."""

    def report(self) -> dict[str, list[dict[str, str]]]:
        """The handler's answer: every record that did not end."""
        failed = [message.id for message in self._messages if message.id not in self._ended]
        return {"batchItemFailures": [{"itemIdentifier": name} for name in failed]}

    def _delivery(self, message: Message) -> Delivery | None:
        if message.group in self._stuck:
            self._put_off(message, self._stuck[message.group])
            return None
        try:
            delivery = self._queue.adopt(message)
        except BackendError as problem:
            log.note("waits", message=message.id, code=problem.code)
            self._stuck[message.group] = None
            return None
        if delivery is None:
            self._ended.add(message.id)
        return delivery

    def _put_off(self, message: Message, seconds: float | None) -> None:
        if seconds is not None:
            with suppress(
                BackendError
            ):  # then it waits for the end of its visibility, and its group with it
                self._queue.put_off(message, seconds)


def _messages(event: Mapping[str, Any]) -> Iterator[Message]:
    for record in event.get("Records", []):
        try:
            yield recorded(record)
        except SigilError as problem:
            log.note("not a record", code=problem.code)
