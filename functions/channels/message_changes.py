"""The events that say that a message was changed or deleted, which every platform tells in its own
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from functions.channels.base import Received
from functions.events import DELETED, EDIT, EDITED, NOBODY, WRITTEN, Event, Sender, order_of
from functions.overheard import make_overheard

DELETED_MOST: Final = 100
"""Messages of one deletion that are looked for."""


def receive_edit(message: Event, at: float, tie: int | str = 0) -> Received:
    """Return what brings the change of a message: `message` is its event, with the words that it
    has now, and `at` (seconds since 1970) and `tie` tell one change of it from the others.

    In a chat of one person it keeps the place of the message; in a group, where it may be for us
    only now, it comes behind what was said since.
    """
    if message.is_overheard:
        return Received(overheard_changes=(make_overheard(message),))
    order = order_of(at, tie)
    edit = replace(
        message,
        id=f"{EDIT}{message.id}~{order}",
        data={**message.data, EDITED: message.id, WRITTEN: message.at},
    )
    if not message.private:
        edit = replace(edit, at=at, order=order)
    return Received((edit,))


def receive_changed(found: Received, at: float) -> Received:
    """Return what brings the change of a message, where `found` is what the message would bring if
    it came now, with the words that it has now. What would be left aside is no change.
    """
    events: list[Event] = []
    for message in found.events:
        events += receive_edit(message, at, message.text).events
    return Received(tuple(events), found.answer, overheard_changes=found.overheard)


def receive_deletion(messages: Sequence[Event], at: float) -> Received:
    """Return what brings the deletion of messages of one chat. Of their events, it needs what makes
    their ids, their places and their times; who has written them may be unknown.
    """
    found = messages[:DELETED_MOST]
    if not found:
        return Received()
    first = found[0]
    event = Event(
        id=f"{first.id}~deleted",
        kind="message",
        agent=first.agent,
        session=first.session,
        sender=first.sender,
        text="",
        at=at,
        order=order_of(at, first.id),
        private=first.private,
        data={DELETED: [message.id for message in found]},
    )
    if first.private:
        return Received((event,))
    gone = [replace(make_overheard(message), text="") for message in found]
    return Received((event,), overheard_changes=tuple(gone))


def make_deleted(id: str, agent: str, session: str, at: float, order: str) -> Event:
    """Return the event of a message that was deleted, whoever wrote it."""
    return Event(id, "message", agent, session, Sender(""), "", at, order, addressed=NOBODY)
