"""Updates of the Bot API are read as events (https://core.telegram.org/bots/api#update).

They are read tolerantly: Telegram's own samples lack fields that its reference calls required, and
a field that is odd counts as absent. Messages of people are events, what they change in them,
presses of our own buttons, and that somebody took us into a group: channel posts, bots and all
other service messages are none. Telegram tells no bot what is deleted. Of a kind of message that we
do not know we only say that we cannot read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import orjson

from functions.channels.base import Received, make_unreadable
from functions.channels.telegram.contents import (
    Message,
    TelegramBot,
    find_kind,
    is_foreign,
    is_service,
    list_attachments,
    list_quotes,
    raw_text,
    read_name,
)
from functions.channels.visible_text import clean_text
from functions.events import (
    ALBUM,
    NOBODY,
    PRESS,
    PRESSED,
    TEXT_LIMIT,
    Event,
    Sender,
    order_of,
)
from functions.overheard import make_overheard
from sigil.errors import UsageError
from sigil.json_fields import (
    ID_LIMIT,
    Json,
    as_integer,
    as_mapping,
    as_sequence,
    as_string,
)

_QUIET = (
    "chat_boost",
    "chat_member",
    "message_reaction",
    "message_reaction_count",
    "my_chat_member",
    "poll",
    "poll_answer",
    "removed_chat_boost",
)
"""Updates to which nobody expects an answer."""
_GROUPS = ("group", "supergroup")
_NAME = re.compile(r"@([A-Za-z0-9_]{1,64})")
_COMMAND = re.compile(r"(/[A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?")
_ALBUM = re.compile(r"[0-9]{1,40}", re.ASCII)
_PRESS_ID = re.compile(r"[0-9]{1,40}", re.ASCII)
_ANSWERED = ("reply", "passage")
"""What a message answers is no contents of its own."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}")
"""An IETF tag, such as `en` or `zh-hans`."""


def read_update(body: bytes, bot: TelegramBot) -> Received:
    """Return the event in an update, if there is one for the bot, or else what
    somebody said in a group to nobody in particular.

    `UsageError` (EINVAL): `body` is no JSON object.
    """
    update = _parse_body(body)
    if "callback_query" in update:
        presses = tuple(_read_press(update, bot))
        return Received(presses, ignored=() if presses else ("callback_query",))
    if "edited_message" in update:
        return _read_edit(update, bot)
    if "message" not in update:
        kind = next((name for name in update if name != "update_id"), "update")
        return Received(ignored=() if kind in _QUIET else (kind,))
    message = as_mapping(update.get("message"))
    event = _read_event(update, message, bot)
    if event is None:
        return Received(ignored=_name_unread(message))
    joined = _find_own_arrival(message, bot)
    if joined is not None:
        return Received((replace(event, joined=True, addressed=joined),))
    if not _has_contents(event):
        kind = find_kind(message)
        if is_service(message):
            return Received()
        if not (event.private and message.get(kind)):
            return Received(ignored=(f"message.{kind}" if kind else "message",))
        event = replace(event, attachments=(make_unreadable(kind),))
    addressed = _find_addressed(message, bot)
    if addressed is not None:
        return Received((replace(event, addressed=addressed),))
    return Received() if event.private else Received(overheard=(make_overheard(event),))


def _name_unread(message: Message) -> tuple[str, ...]:
    """Return the kind of a message that no person wrote, none for those of bots."""
    if as_mapping(message.get("from")).get("is_bot") is True and "sender_chat" not in message:
        return ()
    return ("message.sender_chat",) if "sender_chat" in message else ("message",)


def _parse_body(body: bytes) -> Message:
    try:
        update = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise UsageError("EINVAL", "the update is not JSON", source="telegram") from None
    if not isinstance(update, dict):
        raise UsageError("EINVAL", "the update is not a JSON object", source="telegram")
    return update


def _read_edit(update: Message, bot: TelegramBot) -> Received:
    """Return what brings the change of a message. Where somebody is, told anew all the time, is
    none.
    """
    from functions.channels.message_changes import receive_edit

    message = as_mapping(update.get("edited_message"))
    event = _read_event(update, message, bot)
    at = as_integer(message.get("edit_date"), 1)
    if event is None or at is None or "location" in message:
        return Received()
    if not _has_contents(event):
        kind = find_kind(message)
        if is_service(message) or not (event.private and message.get(kind)):
            return Received()
        event = replace(event, attachments=(make_unreadable(kind),))
    addressed = _find_addressed(message, bot)
    event = replace(event, addressed=NOBODY if addressed is None else addressed)
    return receive_edit(event, float(at), as_integer(update.get("update_id"), 0) or 0)


def _read_event(update: Message, message: Message, bot: TelegramBot) -> Event | None:
    """Return the event of a person's message, whomever it addresses; None when it is none.

    A message is known by its chat and its number there, which a change of it has as well.
    """
    number = as_integer(update.get("update_id"), 0)
    session = _read_session(message, bot)
    sender = _read_sender(message, bot)
    if number is None or not session or sender is None:
        return None
    at = float(as_integer(message.get("date"), 0) or 0)
    message_id = as_integer(message.get("message_id"), 1)
    chat = as_integer(as_mapping(message.get("chat")).get("id"), -ID_LIMIT)
    name = f"{chat}:{message_id}" if message_id else str(number)
    return Event(
        id=f"{bot.name}:{bot.id}:{name}",
        kind="message",
        agent=bot.agent,
        session=session,
        sender=sender,
        text=_read_text(message),
        at=at,
        order=order_of(at, number),
        attachments=list_attachments(message),
        reply_to=str(message_id or ""),
        private=as_mapping(message.get("chat")).get("type") == "private",
        quotes=list_quotes(message, bot),
        language=_read_language(message),
        data=_read_album(message),
    )


def _read_album(message: Message) -> dict[str, Json]:
    """Return the data of an event that is a part of an album."""
    album = as_string(message.get("media_group_id"))
    return {ALBUM: album} if _ALBUM.fullmatch(album) else {}


def _read_press(update: Message, bot: TelegramBot) -> list[Event]:
    """Return the event of a press of one of our buttons: the command that the button sends, by the
    person who pressed it, in the chat where it stands. Any other press is none.

    A press has no time of its own, so it has that of the message above the button.
    """
    number = as_integer(update.get("update_id"), 0)
    press = as_mapping(update.get("callback_query"))
    message = as_mapping(press.get("message"))
    session = _read_session(message, bot)
    sender = _read_sender({"from": press.get("from")}, bot)
    command = as_string(press.get("data"))
    name = as_string(press.get("id"))
    if number is None or not session or sender is None or not PRESSED.fullmatch(command):
        return []
    at = float(as_integer(message.get("date"), 0) or 0)
    event = Event(
        id=f"{bot.name}:{bot.id}:{number}",
        kind="message",
        agent=bot.agent,
        session=session,
        sender=sender,
        text=command,
        at=at,
        order=order_of(at, number),
        private=as_mapping(message.get("chat")).get("type") == "private",
        language=_read_language(press),
        data={PRESS: name} if _PRESS_ID.fullmatch(name) else {},
    )
    return [event]


def _has_contents(event: Event) -> bool:
    """Return whether a message says or holds anything that we know of: service messages do not."""
    if event.text.strip() or event.attachments:
        return True
    own = [quote for quote in event.quotes if quote.relation not in _ANSWERED]
    return any(quote.text or quote.relation == "sticker" for quote in own)


def _find_own_arrival(message: Message, bot: TelegramBot) -> tuple[str, ...] | None:
    """Return our name, as the message tells it, when its sender took us into the group."""
    if as_mapping(message.get("chat")).get("type") not in _GROUPS:
        return None
    for member in map(as_mapping, as_sequence(message.get("new_chat_members"))[:100]):
        if as_integer(member.get("id"), 1) == bot.id:
            name = as_string(member.get("username")).lower()
            return (name,) if _NAME.fullmatch(f"@{name}") else ()
    # only its first members get this message
    return () if message.get("group_chat_created") is True else None


def _read_session(message: Message, bot: TelegramBot) -> str:
    """Return `NAME:CHAT` or, in a forum's topic, `NAME:CHAT:THREAD`; empty for a chat that
    we do not serve.
    """
    chat = as_mapping(message.get("chat"))
    number = as_integer(chat.get("id"), -ID_LIMIT)
    if not number or chat.get("type") not in ("private", *_GROUPS):
        return ""
    # replies in an ordinary group carry a thread id as well, but only a topic is a place of its own
    if message.get("is_topic_message") is True:
        thread = as_integer(message.get("message_thread_id"), 1)
        if thread:
            return f"{bot.name}:{number}:{thread}"
    return f"{bot.name}:{number}"


def _read_sender(message: Message, bot: TelegramBot) -> Sender | None:
    """Return the person who wrote; None for bots, channels and anonymous admins."""
    user = as_mapping(message.get("from"))
    number = as_integer(user.get("id"), 1)
    if number is None or user.get("is_bot", False) is not False or "sender_chat" in message:
        return None
    return Sender(f"{bot.name}:{number}", read_name(user))


def _read_language(message: Message) -> str:
    """Return the language of the sender's app; empty when Telegram does not tell one."""
    tag = as_string(as_mapping(message.get("from")).get("language_code"))
    return tag if _LANGUAGE.fullmatch(tag) else ""


def _find_addressed(message: Message, bot: TelegramBot) -> tuple[str, ...] | None:
    """Return the names to which a group's message is addressed, in lower case.

    () when it is surely for us; None when it is for nobody in particular.
    """
    if as_mapping(message.get("chat")).get("type") == "private":
        return ()
    is_ours = False
    named: list[str] = []
    mentioned: list[str] = []
    for kind, offset, text, user in _read_entities(message):
        if kind == "bot_command" and (match := _COMMAND.fullmatch(text)):
            if match[2]:
                named.append(match[2].lower())
            elif offset == 0:
                is_ours = True
        elif kind == "mention" and (match := _NAME.fullmatch(text)):
            mentioned.append(match[1].lower())
        elif kind == "text_mention" and user == bot.id:
            is_ours = True
    original = as_mapping(message.get("reply_to_message"))
    # in a topic everything replies to the topic's creation, which says nothing
    if "forum_topic_created" not in original:
        author = as_integer(as_mapping(original.get("from")).get("id"), 1)
        is_ours = is_ours or author == bot.id
    if is_ours and not named:
        return ()
    return tuple(dict.fromkeys([*named, *mentioned])) or None


def _read_text(message: Message) -> str:
    """Return what the sender wrote, without a leading command's `@bot`.

    It is empty for what somebody else wrote: that is data and no command, and is in a quote.
    """
    if is_foreign(message):
        return ""
    text = raw_text(message)
    for kind, offset, command, _ in _read_entities(message):
        if kind == "bot_command" and offset == 0 and (match := _COMMAND.fullmatch(command)):
            text = match[1] + text[len(command) :]
    return clean_text(text)[:TEXT_LIMIT]


def _read_entities(message: Message) -> Iterable[tuple[str, int, str, int | None]]:
    """Yield (type, offset, text, mentioned user's id) of each entity that lies inside the text.

    Offsets are UTF-16 units.
    """
    encoded = raw_text(message).encode("utf-16-le")
    field = "entities" if as_string(message.get("text")) else "caption_entities"
    for entity in map(as_mapping, as_sequence(message.get(field))[:100]):
        offset = as_integer(entity.get("offset"), 0)
        length = as_integer(entity.get("length"), 1)
        if offset is None or length is None or 2 * (offset + length) > len(encoded):
            continue
        text = encoded[2 * offset : 2 * (offset + length)].decode("utf-16-le", "ignore")
        user = as_integer(as_mapping(entity.get("user")).get("id"), 1)
        yield as_string(entity.get("type")), offset, text, user
