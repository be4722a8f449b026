"""Overheard messages are what people say in a group to somebody else, kept where an owner said so.

Nobody answers them, and no id of them is remembered. A webhook without a store puts them into the
queue, and a worker keeps them. The last `SLOTS` messages
of a group are kept, each for a day at most and each by one write; the next turn of the group reads
them as context.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final
from zlib import crc32

from functions.events import NOBODY, Event, Sender, order_of
from sigil.errors import BackendError, Conflict, one_line
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps

SLOTS: Final = 50
"""A group has so many places for messages, and a new message takes that of the oldest."""
KEPT_SECONDS: Final = 86_400.0
TEXT_CHARACTERS: Final = 500
CHANGES: Final = "changes"
"""The name in the `data` of an event that changes a message which may be kept."""
TIE: Final = 21
"""Characters at the end of an `order` that tell messages of the same millisecond apart."""
_NOT_CONTENTS: Final = ("reply", "passage")


@dataclass(frozen=True, slots=True)
class OverheardMessage(Stored):
    """A message to somebody else. `order` sorts it among the chat's events, `slot` is its place."""

    agent: str
    session: str
    sender: Sender
    text: str
    at: float
    order: str
    slot: int


@dataclass(frozen=True, slots=True)
class Listening(Stored):
    """The mark of a group where the agent reads along, from behind the order `since` on."""

    by: str
    since: str


_LISTENING: Final = Shape[Listening](Listening)
_MESSAGE: Final = Shape[OverheardMessage](OverheardMessage)


def make_overheard(event: Event) -> OverheardMessage:
    """Return the message of an event that is for somebody else, as one bounded line."""
    parts = [event.text[: 2 * TEXT_CHARACTERS]]
    for quote in event.quotes:
        if quote.relation not in _NOT_CONTENTS:
            parts.append(f"({quote.relation}) {quote.text}")
    parts += [f"({attachment.get('kind')})" for attachment in event.attachments]
    # on Telegram the messages of a chat are numbered in their order
    if event.reply_to.isascii() and event.reply_to.isdigit():
        number = int(event.reply_to[-18:])
    else:
        number = crc32(event.id.encode(errors="replace"))
    return OverheardMessage(
        event.agent,
        event.session,
        event.sender,
        one_line(" ".join(" ".join(parts).split()), TEXT_CHARACTERS),
        event.at,
        event.order,
        number % SLOTS,
    )


def make_event(message: OverheardMessage) -> Event:
    """Return the event by which a webhook passes a message on to a worker, `make_overheard` of
    which is the same message.
    """
    return Event(
        id=f"overheard:{message.session}:{message.order}",
        kind="message",
        agent=message.agent,
        session=message.session,
        sender=message.sender,
        text=message.text,
        at=message.at,
        order=message.order,
        reply_to=str(message.slot),
        addressed=NOBODY,
    )


def make_change_event(change: OverheardMessage) -> Event:
    """Return the event by which a webhook passes on that a message was changed or deleted."""
    event = make_event(change)
    return replace(event, id=f"{event.id}:{change.text}", data={CHANGES: True})


def find_start(item: Item | None) -> str:
    """Return since when the agent reads along in a group, from the item of its mark: the `order`
    of an event, empty where it does not.
    """
    if item is None:
        return ""
    try:
        return _LISTENING.read(item.value).since
    except ValueError:  # a damaged mark still says that an owner wants it
        return order_of(0.0, 0)


def start_listening(kv: KV, session: str, by: str, since: str) -> None:
    """Keep what is said in a group after an event; `by` is the owner who wants it."""
    kv.put(keys.listening(session), dumps(Listening(by, since)))


def pass_over(kv: KV, session: str, until: str) -> None:
    """Let the model not read what was said up to an `order`, where the agent reads along."""

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        if value is None:
            return None, None
        try:
            known = _LISTENING.read(value)
        except ValueError:
            return None, None
        return dumps(replace(known, since=max(known.since, until))), None

    update(kv, keys.listening(session), decide)


def note_told(kv: KV, session: str, messages: Sequence[OverheardMessage]) -> None:
    """Let the model not read again what it was told, the last of which is the last message here."""
    # without it only what was said within a second of the model's last message comes again
    with suppress(BackendError):
        pass_over(kv, session, messages[-1].order)


def stop_listening(kv: KV, session: str) -> None:
    """Keep nothing any more, and delete what was kept."""
    kv.delete(keys.listening(session))
    partition = keys.overheard_message(session, 0).partition
    for sort, _ in list(scan_all(kv, partition)):
        kv.delete(Key(partition, sort))


def keep_message(kv: KV, message: OverheardMessage, age: float = 0.0) -> None:
    """Keep a message if its group is listened to: one read, and then one write.

    `age` are the seconds that it has waited. What the store does not take is lost: nobody waits for
    it, and the platform need not send it again.
    """
    left = KEPT_SECONDS - max(age, 0.0)
    if left <= 0.0:
        return
    session = keys.session_of(message.agent, message.session)
    with suppress(BackendError):
        if kv.get(keys.listening(session)) is not None:
            key = keys.overheard_message(session, message.slot)
            kv.put(key, dumps(message), ttl=left)


def change_message(kv: KV, change: OverheardMessage) -> None:
    """Change a message that is kept, or delete it where the change has no text: one read, and then
    one write. What the store does not take is lost, as in `keep_message`.

    A message is known by its place and by what tells it from the others of its millisecond, or by
    its time, where an order is of the request that brought it.
    """
    key = keys.overheard_message(keys.session_of(change.agent, change.session), change.slot)
    with suppress(BackendError, Conflict, ValueError):
        item = kv.get(key)
        if item is None:
            return
        kept = _MESSAGE.read(item.value)
        is_same = kept.at == change.at or kept.order[-TIE:] == change.order[-TIE:]
        if not is_same or change.sender.id not in ("", kept.sender.id):
            return
        if change.text:
            value = dumps(replace(kept, text=change.text))
            kv.put(key, value, expect=item.version, ttl=KEPT_SECONDS)
        else:
            kv.delete(key, expect=item.version)


def read_messages(kv: KV, session: str, after: str, before: str) -> list[OverheardMessage]:
    """Return what was said between two events, by their `order`, oldest first."""
    partition = keys.overheard_message(session, 0).partition
    found: list[OverheardMessage] = []
    for _, item in kv.scan(partition, limit=SLOTS):
        with suppress(ValueError):  # a damaged one is no reason to fail
            found.append(_MESSAGE.read(item.value))
    return sorted(
        (message for message in found if after < message.order < before),
        key=lambda message: message.order,
    )
