"""Gathering: messages that waited while a turn ran are answered by the next one, all together.

Only messages of one person in a row are gathered: a turn has one sender, whose role, daily limits
and `/stop` hold for all of it. A command ends the row, and so does whatever is answered without the
model. Each event stays in the queue until the turn that answers it is closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import Final

from functions.agent.access.roles import Role
from functions.agent.conversation import tokens, unopened
from functions.agent.conversation.messages import (
    RUNTIME_ORIGIN,
    SCHEDULED_NOTE,
    Message,
    shorten_own_words,
    user_message,
)
from functions.agent.mailbox import find_answered, format_mails, make_mail, take_fitting
from functions.agent.sanitize import sanitize_text
from functions.agent.session.document import Document, GatheredMessage
from functions.agent.workspace.received import has_file
from functions.events import Event
from functions.overheard import OverheardMessage
from sigil.storage.evolve import evolve

SHARE: Final = 0.25
"""The part of the window's room that a turn's messages take together; one alone may take more."""
NOTE: Final = (
    "Before you could answer this, {messages} of the same person came. They stand below: answer all"
    " of them, in their order, in one answer."
)
"""The runtime's words between a turn's own message and those that it answers beside it."""
POSTS_NOTE: Final = "Before you could look at this, {posts} came over the same hook:"
"""The same for what came over a hook."""


def list_row(event: Event, waiting: Sequence[Event]) -> list[Event]:
    """Return the first of the waiting events that a turn of `event` could answer as well.

    Scheduled work answers none: it may end without a word. What came over a hook is looked at
    together with what came over the same one.
    """
    row: list[Event] = []
    if event.is_posted:
        # a repeated delivery may wait twice
        beside = takewhile(partial(_is_posted_beside, event), waiting)
        return list({each.id: each for each in beside if each.id != event.id}.values())
    if event.kind != "message":
        return row
    for other in waiting:
        is_message = other.kind == "message" and not other.joined and not other.skips_queue
        same_people = other.sender.id == event.sender.id and other.private == event.private
        for_us = other.addressed in ((), event.addressed)
        if (
            not (is_message and same_people and for_us)
            or other.looks_like_command
            or unopened.is_all(other)
            or has_file(other)
            or find_answered(other)
        ):
            break
        row.append(other)
    return row


def _is_posted_beside(event: Event, other: Event) -> bool:
    return other.is_posted and (other.session, other.by) == (event.session, event.by)


def add_posts(
    document: Document, events: Sequence[Event], now: float, most: int
) -> tuple[Document, tuple[GatheredMessage, ...]]:
    """Return the document with what came over a hook, and the events that a turn of the first one
    has gathered: as many as fit into `most` characters.

    What is to be done with it stands before the data, which nothing in it can close.
    """
    mails = take_fitting([(event.id, make_mail(event)) for event in events], most)
    first, *others = [mail for _, mail in mails]
    note = sanitize_text(str(events[0].data.get("note") or ""))
    message = format_mails([first], now, most)
    content = "\n".join(filter(None, (note, message.content, "" if others else SCHEDULED_NOTE)))
    document = document.add(evolve(message, content=content))
    if not others:
        return document, ()
    told = POSTS_NOTE.format(posts="another post" if len(others) == 1 else f"{len(others)} posts")
    message = format_mails(others, now, most)
    seq = document.next_seq + 1
    document = document.add(
        Message("user", told, at=now, origin=RUNTIME_ORIGIN),
        evolve(message, content=f"{message.content}\n{SCHEDULED_NOTE}"),
    )
    gathered = [
        GatheredMessage(seq, evolve(event, text="", quotes=())) for event in events[1 : len(mails)]
    ]
    return document, tuple(gathered)


def add_messages(
    document: Document,
    events: Sequence[Event],
    role: Role,
    overheard: Sequence[OverheardMessage],
    room: float,
    *,
    zone: str,
) -> tuple[Document, tuple[GatheredMessage, ...]]:
    """Return the document with the messages of a turn's events, and those that it has gathered.

    The first event is the turn's own; of the others, as many are gathered as fit. `overheard` is
    what others said in the group before each of them, and `room` are the estimated tokens that the
    history may take. `zone` is the chat's time zone.
    """
    messages: list[Message] = []
    gathered: list[GatheredMessage] = []
    used = tokens.of_text(events[0].text)
    after = ""
    for event in events:
        heard = [each for each in overheard if after < each.order < event.order]
        said = shorten_own_words(event, document.messages)
        message = user_message(said, role, heard, room - used, zone)
        if messages:
            used += tokens.of_message(message)
            if used > room * SHARE:
                break
            number = document.next_seq + 1 + len(messages)
            quoted = [evolve(each, text="", author="") for each in event.quotes if each.files]
            bare = evolve(event, text="", quotes=tuple(quoted))
            gathered.append(GatheredMessage(number, bare))
        messages.append(message)
        after = event.order
    if gathered:
        more = "another message" if len(gathered) == 1 else f"{len(gathered)} more messages"
        text = NOTE.format(messages=more)
        messages.insert(1, Message("user", text, at=events[0].at, origin=RUNTIME_ORIGIN))
    return document.add(*messages), tuple(gathered)
