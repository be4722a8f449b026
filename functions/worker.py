"""The door for events: one comes in, its turn runs, the replies go out."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from functions import events
from functions.agent.session import Opened, Outgoing
from functions.agent.turn import handle
from functions.channels.base import Busy, Channel
from functions.queues.base import Delivery
from functions.settings import Settings
from functions.wiring import House, open_house
from sigil.errors import BackendError, Refused, SigilError

RETRY_SECONDS = 5.0
TYPING_SECONDS = 4.5
log = logging.getLogger("uncaged")


def process(delivery: Delivery, house: House) -> None:
    """Take a delivery to its end: the event is done, or handed out again later. Never an exception."""
    event = delivery.event
    try:
        work(event, house)
    except Busy as problem:
        log.info("the platform asks for patience: %s", event.id)
        house.queue.retry(delivery, problem.retry_after or RETRY_SECONDS)
    except SigilError as problem:
        log.warning("%s waits: %s", event.id, problem)
        house.queue.retry(delivery, RETRY_SECONDS)
    except Exception:  # a door: one event's failure must not end the worker
        log.exception("%s failed", event.id)
        house.queue.retry(delivery, RETRY_SECONDS)
    else:
        house.queue.done(delivery)


def work(event: events.Event, house: House) -> None:
    """Run the event's turn and send what it says."""
    channel = house.channels.get(event.platform)
    if channel and not channel.for_us(event):
        return
    with _typing(channel, event.session):
        opened = handle(event, house.app)
    flush(opened, house)


def flush(opened: Opened, house: House) -> None:
    """Send what waits in the outbox, marking each part that left, then empty it."""
    for position in range(len(opened.document.outbox)):
        opened = _send(opened, position, house)
    if opened.document.outbox:
        house.app.sessions.delivered(opened)


def _send(opened: Opened, position: int, house: House) -> Opened:
    reply = opened.document.outbox[position]
    channel = house.channels.get(reply.session.partition(":")[0])
    if channel is None:
        house.replies.keep(opened.key, reply.event, _kept(reply))
        return opened

    def mark(parts: int) -> None:
        nonlocal opened
        opened = house.app.sessions.sent(opened, position, parts)

    try:
        channel.send(reply.session, reply.text, reply_to=reply.reply_to, start=reply.sent, sent=mark)
    except Refused as problem:
        log.warning("%s cannot be answered: %s", reply.event, problem)
    return opened


def _kept(reply: Outgoing) -> dict[str, Any]:
    usage = {"prompt_tokens": reply.usage.prompt, "completion_tokens": reply.usage.completion, "estimated": reply.usage.estimated}
    return {"reply": reply.text, "rounds": reply.rounds, "tools": list(reply.tools), "usage": usage}


@contextmanager
def _typing(channel: Channel | None, session: str) -> Iterator[None]:
    """Show that somebody is at work, again and again until the turn ends."""
    if channel is None:
        yield
        return
    over = threading.Event()

    def show() -> None:
        channel.typing(session)
        while not over.wait(TYPING_SECONDS):
            channel.typing(session)

    thread = threading.Thread(target=show, name="typing", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()


@lru_cache(maxsize=1)
def _house() -> House:
    return open_house(Settings.read())


def handler(batch: Mapping[str, Any], context: object) -> dict[str, Any]:
    """A batch of queued events (the records of an SQS batch, each body one event); those that failed are handed out again."""
    failed = []
    for record in batch.get("Records", []):
        try:
            work(events.decode(record["body"].encode()), _house())
        except BackendError as problem:
            log.warning("%s waits: %s", record["messageId"], problem)
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}
