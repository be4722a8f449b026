"""Updates of the Bot API are read as events (https://core.telegram.org/bots/api#update).

They are read tolerantly: Telegram's own samples lack fields that its reference calls required, and
a field that is odd counts as absent. Only new messages of people are events: edits, channel posts,
bots, buttons and service messages are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypedDict

import orjson

from functions.channels.visible_text import clean_text
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from sigil.errors import UsageError, one_line
from sigil.json_fields import (
    ID_LIMIT,
    as_integer,
    as_mapping,
    as_sequence,
    as_string,
)
from sigil.protocol import Json

Message = Mapping[str, Json]
_GROUPS = ("group", "supergroup")
_NAME = re.compile(r"@([A-Za-z0-9_]{1,64})")
_COMMAND = re.compile(r"(/[A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?")
_FOREIGN = {
    "forward_origin": "[forwarded]",
    "forward_date": "[forwarded]",
    "via_bot": "[from another bot]",
}
"""The fields of a message whose sender did not write it: its text is data, and no command."""
_FILES = ("animation", "document", "audio", "video", "voice", "video_note", "sticker")
_FILE_ID = re.compile(r"[A-Za-z0-9_-]{1,256}")
_MIME = re.compile(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}")


def parse_update(body: bytes, bot: int, agent: str) -> list[Event]:
    """Return the event in `body`, if there is one for the bot with the id `bot`.

    `UsageError` (EINVAL): `body` is no JSON object.
    """
    try:
        update = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise UsageError("EINVAL", "the update is not JSON", source="telegram") from None
    if not isinstance(update, dict):
        raise UsageError("EINVAL", "the update is not a JSON object", source="telegram")
    number = as_integer(update.get("update_id"), 0)
    message = as_mapping(update.get("message"))
    session = _read_session(message)
    sender = _read_sender(message)
    addressed = _find_addressed(message, bot)
    if number is None or not session or sender is None or addressed is None:
        return []
    files = list_attachments(message)
    text = _read_text(message, bool(files))
    if not text.strip() and not files:
        return []
    at = float(as_integer(message.get("date"), 0) or 0)
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
        reply_to=str(as_integer(message.get("message_id"), 1) or ""),
        addressed=addressed,
        private=as_mapping(message.get("chat")).get("type") == "private",
    )
    return [event]


def _read_session(message: Message) -> str:
    """Return `telegram:CHAT` or, in a forum's topic, `telegram:CHAT:THREAD`; empty for a chat that
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
            return f"telegram:{number}:{thread}"
    return f"telegram:{number}"


def _read_sender(message: Message) -> Sender | None:
    """Return the person who wrote; None for bots, channels and anonymous admins."""
    user = as_mapping(message.get("from"))
    number = as_integer(user.get("id"), 1)
    if number is None or user.get("is_bot", False) is not False or "sender_chat" in message:
        return None
    names = (as_string(user.get("first_name")), as_string(user.get("last_name")))
    name = " ".join(filter(None, names)) or as_string(user.get("username"))
    return Sender(f"telegram:{number}", one_line(name, 100))


def _find_addressed(message: Message, bot: int) -> tuple[str, ...] | None:
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
        elif kind == "text_mention" and user == bot:
            is_ours = True
    original = as_mapping(message.get("reply_to_message"))
    # in a topic everything replies to the topic's creation, which says nothing
    if "forum_topic_created" not in original:
        author = as_integer(as_mapping(original.get("from")).get("id"), 1)
        is_ours = is_ours or author == bot
    if is_ours and not named:
        return ()
    return tuple(dict.fromkeys([*named, *mentioned])) or None


def _read_text(message: Message, has_files: bool) -> str:
    """Return the text without a leading command's `@bot`; marked when its sender did not write
    it.
    """
    text = _raw_text(message)
    mark = next((mark for field, mark in _FOREIGN.items() if field in message), "")
    if mark and (text.strip() or has_files):
        return clean_text(f"{mark}\n{text}").rstrip("\n")[:TEXT_LIMIT]
    for kind, offset, command, _ in _read_entities(message):
        if kind == "bot_command" and offset == 0 and (match := _COMMAND.fullmatch(command)):
            text = match[1] + text[len(command) :]
    return clean_text(text)[:TEXT_LIMIT]


def _raw_text(message: Message) -> str:
    return as_string(message.get("text")) or as_string(message.get("caption"))


def _read_entities(message: Message) -> Iterable[tuple[str, int, str, int | None]]:
    """Yield (type, offset, text, mentioned user's id) of each entity that lies inside the text.

    Offsets are UTF-16 units.
    """
    encoded = _raw_text(message).encode("utf-16-le")
    field = "entities" if as_string(message.get("text")) else "caption_entities"
    for entity in map(as_mapping, as_sequence(message.get(field))[:100]):
        offset = as_integer(entity.get("offset"), 0)
        length = as_integer(entity.get("length"), 1)
        if offset is None or length is None or 2 * (offset + length) > len(encoded):
            continue
        text = encoded[2 * offset : 2 * (offset + length)].decode("utf-16-le", "ignore")
        user = as_integer(as_mapping(entity.get("user")).get("id"), 1)
        yield as_string(entity.get("type")), offset, text, user


class Attachment(TypedDict):
    """A file of a message; `size` in bytes, 0 when unknown, other unknown fields are empty."""

    kind: str
    file_id: str
    name: str
    size: int
    mime: str


def list_attachments(message: Message) -> tuple[Attachment, ...]:
    """Return the files of a message, to be fetched later; nothing is downloaded here."""
    sizes = [as_mapping(size) for size in as_sequence(message.get("photo"))]
    largest = max(sizes, key=lambda size: as_integer(size.get("width"), 0) or 0, default={})
    files = [_read_file("photo", largest, "image/jpeg")]
    files += [_read_file(kind, as_mapping(message.get(kind))) for kind in _FILES]
    found: dict[str, Attachment] = {}
    for file in files:
        if file:
            # an animation comes a second time, as a document
            found.setdefault(file["file_id"], file)
    return tuple(found.values())


def _read_file(kind: str, fields: Mapping[str, Json], mime: str = "") -> Attachment | None:
    file_id = as_string(fields.get("file_id"))
    if not _FILE_ID.fullmatch(file_id):
        return None
    declared = as_string(fields.get("mime_type"))
    return {
        "kind": kind,
        "file_id": file_id,
        "name": one_line(as_string(fields.get("file_name")), 200),
        "size": as_integer(fields.get("file_size"), 0) or 0,
        "mime": declared if _MIME.fullmatch(declared) else mime,
    }
