"""Updates of the Bot API as events (https://core.telegram.org/bots/api#update).

Read tolerantly: Telegram's own samples lack fields that its reference calls required, and a field
that is odd counts as absent. Only new messages of people are events: edits, channel posts, bots,
buttons and service messages are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from functions.channels.telegram.attachments import attachments
from functions.channels.telegram.fields import ID_LIMIT, integer, mapping, sequence, string
from functions.channels.visible_text import clean
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from sigil.errors import UsageError, one_line

Message = Mapping[str, Any]
_GROUPS = ("group", "supergroup")
_NAME = re.compile(r"@([A-Za-z0-9_]{1,64})")
_OTHERS = {
    "forward_origin": "[forwarded]",
    "forward_date": "[forwarded]",
    "via_bot": "[from another bot]",
}
"""Who sent such a message did not write it: what stands there is data, and no command of theirs."""
_COMMAND = re.compile(r"(/[A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?")


def events(body: bytes, bot: int, agent: str) -> list[Event]:
    """Return the event in `body`, if there is one for the bot with the id `bot`. `UsageError`
    (EINVAL): `body` is no JSON object.
    """
    update = _read_update(body)
    number = integer(update.get("update_id"), 0)
    message = mapping(update.get("message"))
    session, sender = _session(message), _sender(message)
    addressed = _addressed(message, bot)
    files = attachments(message)
    text = _text(message, bool(files))
    if (
        number is None
        or not session
        or sender is None
        or addressed is None
        or not (text.strip() or files)
    ):
        return []
    at = float(integer(message.get("date"), 0) or 0)
    event = Event(
        id=f"telegram:{bot}:{number}",
        kind="message",
        agent=agent,
        session=session,
        sender=sender,
        text=text,
        at=at,
        order=order_of(at, number),
        attachments=files,
        reply_to=str(integer(message.get("message_id"), 1) or ""),
        addressed=addressed,
        private=mapping(message.get("chat")).get("type") == "private",
    )
    return [event]


def _read_update(body: bytes) -> Message:
    try:
        update = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise UsageError("EINVAL", "the update is not JSON", source="telegram") from None
    if not isinstance(update, dict):
        raise UsageError("EINVAL", "the update is not a JSON object", source="telegram")
    return update


def _session(message: Message) -> str:
    """Return `telegram:CHAT` or, in a forum's topic, `telegram:CHAT:THREAD`; empty for a chat that
    we do not serve.
    """
    chat = mapping(message.get("chat"))
    number = integer(chat.get("id"), -ID_LIMIT)
    if not number or chat.get("type") not in ("private", *_GROUPS):
        return ""
    # replies in an ordinary group carry a thread id as well, but only a topic is a place of its own
    thread = (
        integer(message.get("message_thread_id"), 1)
        if message.get("is_topic_message") is True
        else None
    )
    return f"telegram:{number}:{thread}" if thread else f"telegram:{number}"


def _sender(message: Message) -> Sender | None:
    """Return the person who wrote; None for bots, channels and anonymous admins."""
    user = mapping(message.get("from"))
    number = integer(user.get("id"), 1)
    if number is None or user.get("is_bot", False) is not False or "sender_chat" in message:
        return None
    names = (string(user.get("first_name")), string(user.get("last_name")))
    name = one_line(" ".join(filter(None, names)) or string(user.get("username")), 100)
    return Sender(f"telegram:{number}", name)


def _text(message: Message, files: bool) -> str:
    """Return the text without a leading command's `@bot`; marked when somebody else wrote it."""
    text = _raw_text(message)
    other = next((mark for field, mark in _OTHERS.items() if field in message), "")
    if other and (text.strip() or files):
        return clean(f"{other}\n{text}").rstrip("\n")[:TEXT_LIMIT]
    for kind, offset, command, _ in _entities(message):
        if kind == "bot_command" and offset == 0 and (match := _COMMAND.fullmatch(command)):
            text = match[1] + text[len(command) :]
    return clean(text)[:TEXT_LIMIT]


def _addressed(message: Message, bot: int) -> tuple[str, ...] | None:
    """Return whom a message is for: () us without doubt, names that need comparing, None nobody."""
    if mapping(message.get("chat")).get("type") == "private":
        return ()
    found = list(_entities(message))
    commands = [
        (offset, match)
        for kind, offset, text, _ in found
        if kind == "bot_command" and (match := _COMMAND.fullmatch(text))
    ]
    named = [match[2] for _, match in commands if match[2]]
    mentions = [
        match[1]
        for kind, _, text, _ in found
        if kind == "mention" and (match := _NAME.fullmatch(text))
    ]
    ours = (
        any(offset == 0 and not match[2] for offset, match in commands)
        or any(kind == "text_mention" and user == bot for kind, _, _, user in found)
        or _replies_to_us(message, bot)
    )
    if ours and not named:
        return ()
    return _unique(name.lower() for name in (*named, *mentions)) or None


def _replies_to_us(message: Message, bot: int) -> bool:
    """Return whether it replies to a message of ours. In a topic everything replies to the topic's
    creation, which says nothing.
    """
    original = mapping(message.get("reply_to_message"))
    ours = integer(mapping(original.get("from")).get("id"), 1) == bot
    return ours and "forum_topic_created" not in original


def _raw_text(message: Message) -> str:
    return string(message.get("text")) or string(message.get("caption"))


def _entities(message: Message) -> Iterable[tuple[str, int, str, int | None]]:
    """Yield (type, offset, text, mentioned user's id) of each entity that lies inside the text.
    Offsets are UTF-16 units.
    """
    encoded = _raw_text(message).encode("utf-16-le")
    listed = sequence(
        message.get("entities" if string(message.get("text")) else "caption_entities")
    )
    for entity in map(mapping, listed[:100]):
        offset, length = integer(entity.get("offset"), 0), integer(entity.get("length"), 1)
        if offset is not None and length is not None and 2 * (offset + length) <= len(encoded):
            text = encoded[2 * offset : 2 * (offset + length)].decode("utf-16-le", "ignore")
            yield (
                string(entity.get("type")),
                offset,
                text,
                integer(mapping(entity.get("user")).get("id"), 1),
            )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
