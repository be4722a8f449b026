"""Messages that the gateway tells of are read as events
(https://discord.com/developers/docs/resources/message).

They are read tolerantly: a field that is odd counts as absent. Messages of people are events, what
they change in them, and that they are deleted: what bots, webhooks and Discord itself write is
none. Of a private message of a kind that we do not know we only say that we cannot read it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from functions.channels.base import Attachment, Received, make_unreadable
from functions.channels.discord.incoming_text import (
    MENTION,
    Names,
    RecallName,
    name_event,
    note_guild,
    read_names,
    read_text,
)
from functions.channels.discord.interactions import list_attachments, read_person
from functions.channels.discord.reply_address import read_snowflake
from functions.channels.visible_text import clean_text
from functions.events import NOBODY, QUOTE_LIMIT, TEXT_LIMIT, Event, Quote, order_of
from functions.overheard import make_overheard
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
_OF_PEOPLE = (0, 19)
"""The types of messages that people write: a message, and a reply to another one."""
_OF_DISCORD = frozenset((*range(1, 13), *range(14, 19), *range(20, 33), *range(36, 40), 44, 46))
"""The types of messages that Discord itself writes: somebody joined, pinned, called, paid."""
_OPTIONS_MOST = 20
_DM = 1
_EPHEMERAL = 1 << 6
_FORWARD = 1
FORWARDED_MOST = 5
EDIT_SECONDS = 3_600.0
"""An edit is told at once, and its time with whatever becomes of the message later."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads: the channel's `name`, the `agent` whose sessions its chats are, and the ids of the
    bot's `application` and of its `user`. `recall` tells the names that are known by now.
    """

    name: str
    agent: str
    application: int
    user: int
    recall: RecallName | None = None


def read_message(message: Fields, reader: Reader, roles: Collection[int] = ()) -> Received:
    """Return the event of a message for us, or what people of a server said to nobody in
    particular. `roles`: those of ours that it mentions.
    """
    id = read_snowflake(message.get("id"))
    channel = read_snowflake(message.get("channel_id"))
    sender = read_person(message.get("author"), message.get("member"), reader.name)
    private = "guild_id" not in message
    type = as_integer(message.get("type", 0), 0)
    if _is_quiet(message, type):
        return Received()
    if (
        id is None
        or channel is None
        or sender is None
        or (private and message.get("channel_type", _DM) != _DM)
        or type is None
        or (type not in _OF_PEOPLE and not private)
    ):
        return Received(ignored=(_name_kind(type),))
    answered = as_mapping(message.get("referenced_message"))
    is_answer = _read_author(answered) == reader.user
    is_mentioned = bool(roles) or reader.user in _list_mentioned(message)
    is_for_us = private or is_answer or is_mentioned
    at = id.seconds
    event = Event(
        id=f"{reader.name}:{reader.application}:{id.number}",
        kind="message",
        agent=reader.agent,
        session=f"{reader.name}:{channel.number}",
        sender=sender,
        text=_read_text(message, reader.user, roles)[:TEXT_LIMIT],
        at=at,
        order=order_of(at, id.number),
        attachments=_list_files(message),
        # in private an answer stands below its question anyway
        reply_to="" if private else str(id.number),
        addressed=() if is_for_us else NOBODY,
        private=private,
        quotes=_list_quotes(message, answered, reader),
    )
    if not (event.text.strip() or event.attachments or event.quotes):
        if not is_for_us:
            # without the intent for it Discord tells no words of others
            return Received()
        event = replace(event, attachments=(make_unreadable(),))
    guild = read_snowflake(message.get("guild_id"))
    number = guild.number if guild else 0
    if event.is_overheard:
        # nobody asks for names because of what people say to each other
        find_name = partial(reader.recall, number) if reader.recall else Names().find
        named = name_event(event, find_name)
        return Received(overheard=(make_overheard(named),))
    return Received((note_guild(event, number),))


def read_edit(message: Fields, reader: Reader, roles: Collection[int] = ()) -> Received:
    """Return what brings the change of a message. What Discord adds by itself, such as the preview
    of a link, is no edit, and nor is it that somebody pins what was edited long ago.
    """
    from functions.channels.message_changes import receive_changed

    try:
        at = datetime.fromisoformat(as_string(message.get("edited_timestamp"))).timestamp()
    except (ValueError, OverflowError):
        return Received()
    if time.time() - at > EDIT_SECONDS:
        return Received()
    return receive_changed(read_message(message, reader, roles), at)


def read_deletion(deleted: Fields, reader: Reader, now: float) -> Received:
    """Return what brings the deletion of one message, or of several at once. Discord does not tell
    whose they were.
    """
    from functions.channels.message_changes import DELETED_MOST, make_deleted, receive_deletion

    channel = read_snowflake(deleted.get("channel_id"))
    rows = as_sequence(deleted.get("ids"))[:DELETED_MOST] or [deleted.get("id")]
    gone = []
    for id in filter(None, map(read_snowflake, rows)):
        name = f"{reader.name}:{reader.application}:{id.number}"
        session = f"{reader.name}:{channel.number if channel else 0}"
        order = order_of(id.seconds, id.number)
        event = make_deleted(name, reader.agent, session, id.seconds, order)
        is_private = "guild_id" not in deleted
        gone.append(replace(event, reply_to=str(id.number), private=is_private))
    return receive_deletion(gone if channel else [], now)


def _is_quiet(message: Fields, type: int | None) -> bool:
    """Return whether nobody expects an answer: to what bots, webhooks and Discord itself write."""
    author = as_mapping(message.get("author"))
    is_bot = bool(author.get("bot") or author.get("system")) or "webhook_id" in message
    is_ephemeral = (as_integer(message.get("flags"), 0) or 0) & _EPHEMERAL
    return is_bot or type in _OF_DISCORD or bool(is_ephemeral)


def _name_kind(type: int | None) -> str:
    return f"MESSAGE_CREATE type {type}" if type else "MESSAGE_CREATE"


def _list_mentioned(message: Fields) -> tuple[int, ...]:
    """Return the ids of the people whom a text mentions.

    Discord lists the author of the message that is answered as well, who may be mentioned nowhere.
    """
    return tuple(int(id) for id in MENTION.findall(as_string(message.get("content"))))


def _read_text(message: Fields, own: int, roles: Collection[int] = ()) -> str:
    """Return the text with the names of those whom it mentions, and without a mention of us, or of
    one of our `roles`, at its beginning or its end.
    """
    text = as_string(message.get("content")).strip()
    ours = "|".join([f"<@!?{own}>", *(f"<@&{role}>" for role in roles)])
    # who writes our name alone says at least that
    text = re.sub(rf"^(?:(?:{ours})[\s,:]*)+|(?:\s*(?:{ours}))+$", "", text) or text
    return clean_text(read_text(text, read_names(message)))


def _read_author(message: Fields) -> int:
    """Return the id of who wrote a message, 0 when it tells none."""
    author = read_snowflake(as_mapping(message.get("author")).get("id"))
    return author.number if author else 0


def _list_quotes(message: Fields, answered: Fields, reader: Reader) -> tuple[Quote, ...]:
    """Return the message that is answered, those that are forwarded, the stickers and the poll."""
    quotes = []
    reference = as_mapping(message.get("message_reference"))
    by = _read_author(answered)
    said = _read_text(answered, reader.user)
    files = list_attachments(answered.get("attachments"))
    is_here = reference.get("channel_id", message["channel_id"]) == message["channel_id"]
    if (said or files) and is_here and reference.get("type", 0) == 0:
        author = as_mapping(answered.get("author"))
        name = as_string(author.get("global_name")) or as_string(author.get("username"))
        quote = _make_quote(
            "reply",
            said,
            author=one_line(name, 100),
            by=f"{reader.name}:{by}" if by else "",
            ours=by == reader.user,
        )
        quotes.append(replace(quote, files=files))
    if reference.get("type") == _FORWARD:
        for forwarded in _list_forwarded(message):
            said = _describe(forwarded, reader)
            if said:
                quotes.append(_make_quote("forward", said))
    for sticker in map(as_mapping, as_sequence(message.get("sticker_items"))[:5]):
        quotes.append(_make_quote("sticker", as_string(sticker.get("name"))))
    poll = _read_poll(as_mapping(message.get("poll")))
    if poll:
        quotes.append(_make_quote("poll", poll))
    return tuple(quotes)


def _list_forwarded(message: Fields) -> list[Fields]:
    """Return the messages that a message passes on."""
    snapshots = as_sequence(message.get("message_snapshots"))[:FORWARDED_MOST]
    return [as_mapping(as_mapping(each).get("message")) for each in snapshots]


def _list_files(message: Fields) -> tuple[Attachment, ...]:
    """Return the files of a message, and of those that it passes on."""
    given = (message, *_list_forwarded(message))
    return tuple(file for each in given for file in list_attachments(each.get("attachments")))


def _read_poll(poll: Fields) -> str:
    """Return the question of a poll and its answers, empty for none."""
    lines = [one_line(as_string(as_mapping(poll.get("question")).get("text")), 300)]
    for answer in map(as_mapping, as_sequence(poll.get("answers"))[:_OPTIONS_MOST]):
        media = as_mapping(answer.get("poll_media"))
        emoji = as_string(as_mapping(media.get("emoji")).get("name"))
        shown = " ".join(filter(None, (emoji, as_string(media.get("text")))))
        lines.append(f"- {one_line(shown, 200)}")
    return "\n".join(filter(None, lines))


def _describe(message: Fields, reader: Reader) -> str:
    """Return the text of another message, with a line for each file that it has, and its poll."""
    files = [f"[{file['kind']}]" for file in list_attachments(message.get("attachments"))]
    poll = _read_poll(as_mapping(message.get("poll")))
    held = [*files, f"[poll] {poll}" if poll else ""]
    return "\n".join(filter(None, (_read_text(message, reader.user), *held)))


def _make_quote(
    relation: str, text: str, author: str = "", by: str = "", ours: bool = False
) -> Quote:
    kept = clean_text(text[: 2 * QUOTE_LIMIT])[:QUOTE_LIMIT].strip()
    return Quote(relation, kept, author, by, ours, len(text))
