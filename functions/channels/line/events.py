"""What LINE sends is read as events
(https://developers.line.biz/en/reference/messaging-api/#webhook-event-objects).

It is read tolerantly: a field that is odd counts as absent. Messages of people are events, what
they change in them (in groups alone), that they unsend one, presses of our own buttons, and that
somebody takes us into a group or as a friend. People who come and go, and notices are none; what of
that somebody may wait for is named in the log.

A chat with one person has the session `line:U…`, by that person; a group `line:C…`, and a chat of
several people from before there were groups `line:R…`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from functions.channels.base import Attachment, Received, make_unreadable
from functions.channels.line.reply_address import LineReplyAddress
from functions.channels.visible_text import clean_text
from functions.events import (
    ALBUM,
    PRESSED,
    QUOTE_LIMIT,
    TEXT_LIMIT,
    Event,
    Quote,
    Sender,
    order_of,
)
from functions.overheard import make_overheard
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_number, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
PERSON: Final = re.compile(r"U[0-9a-f]{32}", re.ASCII)
CHAT: Final = re.compile(r"[UCR][0-9a-f]{32}", re.ASCII)
MESSAGE_ID: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
_ALBUM: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_EVENT_ID: Final = re.compile(r"[A-Za-z0-9]{1,64}", re.ASCII)
_COMMAND: Final = re.compile(r"\s*[/\uff0f][A-Za-z]")
_MOST: Final = 1_000
"""Events of one request; LINE sends far fewer."""
ANSWERS: Final = "answers"
"""The field of an event's data with the id of the message that it answers, which may be ours."""
_CHAT_FIELDS: Final = {"user": "userId", "group": "groupId", "room": "roomId"}
_FILES: Final = {"image": "photo", "video": "video", "audio": "audio", "file": "document"}
_READ: Final = ("text", "location", "sticker")
"""The kinds of messages that are no file, and have a reader."""
_KIND: Final = re.compile(r"[A-Za-z]{1,40}", re.ASCII)
_UNANSWERED: Final = frozenset(
    {
        "activated",
        "botResumed",
        "botSuspended",
        "deactivated",
        "delivery",
        "leave",
        "memberJoined",
        "memberLeft",
        "module",
        "unfollow",
        "videoPlayComplete",
    }
)
"""Events that nobody expects an answer to."""
_GREETED: Final = "/start"
"""Who takes us as a friend has pressed a button, as people on other platforms do to begin."""


@dataclass(frozen=True, slots=True)
class LineBot:
    """The bot whose events are read: the channel's `name` (`line`), and the `agent` whose sessions
    its chats are. `recall` returns the text of a message of ours by its id, None for one that is
    not known to be ours.
    """

    name: str
    agent: str
    recall: Callable[[str], str | None]


def read_payload(payload: Fields, bot: LineBot, now: float) -> Received:
    """Return what a request brings that came `now`, in order."""
    recipient = as_string(payload.get("destination"))
    if not PERSON.fullmatch(recipient):
        return Received(ignored=("no destination",))
    found = [
        _read_row(as_mapping(row), bot, recipient, place, now)
        for place, row in enumerate(as_sequence(payload.get("events"))[:_MOST])
    ]
    return Received(
        tuple(event for each in found for event in each.events),
        overheard=tuple(message for each in found for message in each.overheard),
        overheard_changes=tuple(change for each in found for change in each.overheard_changes),
        ignored=tuple(kind for each in found for kind in each.ignored),
    )


def _read_row(row: Fields, bot: LineBot, recipient: str, place: int, now: float) -> Received:
    """Return what an event of LINE's brings."""
    kind = row.get("type")
    if kind == "unsend":
        return _read_unsent(row, bot, recipient)
    if kind == "messageEdited":
        return _read_edited(row, bot, recipient, place, now)
    found = _read_event(row, bot, recipient, place, now)
    if found is None:
        return Received(ignored=tuple(_find_ignored(row)))
    if found.private or found.joined or _is_for_us(row, bot):
        return Received((found,))
    if answered := _find_answered_id(as_mapping(row.get("message"))):
        # another process may have sent that message
        return Received((replace(found, addressed=(answered,), data={ANSWERS: answered}),))
    return Received(overheard=(make_overheard(found),))


def _find_ignored(row: Fields) -> list[str]:
    """Return the kind of a row that is no event of ours, nothing where nobody waits for an answer
    to it, or another program gives it.
    """
    kind = as_string(row.get("type")) or "no event"
    if kind in _UNANSWERED or row.get("mode") == "standby":
        return []
    if kind == "message":
        kind = f"message.{as_string(as_mapping(row.get('message')).get('type'))}"
    if not as_string(as_mapping(row.get("source")).get("userId")):
        kind = f"{kind}, by nobody known"
    return [kind]


def _read_edited(row: Fields, bot: LineBot, recipient: str, place: int, now: float) -> Received:
    """Return what brings that somebody changed a message, which has the message as it is now; when
    it was written it does not tell.
    """
    from functions.channels.message_changes import receive_changed

    found = _read_row({**row, "type": "message"}, bot, recipient, place, now)
    at = max(as_number(row.get("timestamp")), 0.0) / 1000
    changed = receive_changed(found, at)
    return replace(changed, ignored=tuple(_find_ignored(row)) if found.ignored else ())


def _read_unsent(row: Fields, bot: LineBot, recipient: str) -> Received:
    """Return what brings that somebody unsent a message."""
    from functions.channels.message_changes import make_deleted, receive_deletion

    source = as_mapping(row.get("source"))
    chat = as_string(source.get(_CHAT_FIELDS.get(as_string(source.get("type")), "")))
    id = as_string(as_mapping(row.get("unsend")).get("messageId"))
    if row.get("mode") == "standby" or not CHAT.fullmatch(chat) or not MESSAGE_ID.fullmatch(id):
        return Received(ignored=tuple(_find_ignored(row)))
    at = max(as_number(row.get("timestamp")), 0.0) / 1000
    name = f"{bot.name}:{recipient}:{id}"
    gone = make_deleted(name, bot.agent, f"{bot.name}:{chat}", at, order_of(at, int(id)))
    return receive_deletion([replace(gone, private=source.get("type") == "user")], at)


def _read_event(row: Fields, bot: LineBot, recipient: str, place: int, now: float) -> Event | None:
    """Return the event of a row, whomever it addresses; None when it is none."""
    source = as_mapping(row.get("source"))
    chat = as_string(source.get(_CHAT_FIELDS.get(as_string(source.get("type")), "")))
    id = as_string(row.get("webhookEventId"))
    if row.get("mode") == "standby" or not CHAT.fullmatch(chat) or not _EVENT_ID.fullmatch(id):
        return None
    kind = as_string(row.get("type"))
    # it does not say who took us into a group, and is answered the same whoever it was
    person = chat if kind == "join" else as_string(source.get("userId"))
    if not (PERSON.fullmatch(person) or kind == "join"):
        return None
    message = as_mapping(row.get("message")) if kind == "message" else {}
    at = max(as_number(row.get("timestamp")), 0.0) / 1000
    found = Event(
        id=f"{bot.name}:{recipient}:{id}",
        kind="message",
        agent=bot.agent,
        session=f"{bot.name}:{chat}",
        sender=Sender(f"{bot.name}:{person}"),
        text="",
        at=at,
        order=order_of(at, place),
        reply_to=LineReplyAddress.read(
            row.get("replyToken"), message.get("quoteToken"), now
        ).write(),
        private=source.get("type") == "user",
    )
    match kind:
        case "message":
            return _fill_message(found, message, bot)
        case "postback":
            command = as_string(as_mapping(row.get("postback")).get("data"))
            return replace(found, text=command) if PRESSED.fullmatch(command) else None
        case "follow":
            return replace(found, text=_GREETED)
        case "join":
            return None if found.private else replace(found, joined=True)
    return None


def _fill_message(event: Event, message: Fields, bot: LineBot) -> Event | None:
    """Return the event with what the message says, None when that is nothing."""
    id = as_string(message.get("id"))
    if not MESSAGE_ID.fullmatch(id):
        return None
    quotes = [*_list_answered(message, bot), *_list_holdings(message)]
    album = as_string(as_mapping(message.get("imageSet")).get("id"))
    filled = replace(
        event,
        # by which it is unsent
        id=f"{event.id.rpartition(':')[0]}:{id}",
        text=_read_text(message),
        # the ids of messages grow
        order=order_of(event.at, int(id)),
        attachments=_list_attachments(message),
        quotes=tuple(quotes),
        data={ALBUM: album} if _ALBUM.fullmatch(album) else {},
    )
    return filled if filled.text.strip() or filled.attachments or filled.quotes else None


def _is_for_us(row: Fields, bot: LineBot) -> bool:
    """Return whether an event of a group is for us: a press, a message with our name, an answer to
    one of ours, or a command. LINE lets one bot into a group.
    """
    if row.get("type") == "postback":
        return True
    message = as_mapping(row.get("message"))
    if any(mention.get("isSelf") is True for mention in _list_mentions(message)):
        return True
    if _list_answered(message, bot):
        return True
    return _COMMAND.match(as_string(message.get("text"))) is not None


def _list_mentions(message: Fields) -> list[Fields]:
    rows = as_sequence(as_mapping(message.get("mention")).get("mentionees"))
    return [as_mapping(row) for row in rows[:20]]


def _read_text(message: Fields) -> str:
    """Return what somebody wrote, without our name if it begins with it."""
    if message.get("type") != "text":
        return ""
    text = as_string(message.get("text"))
    for mention in _list_mentions(message):
        if mention.get("isSelf") is True:
            # LINE counts in UTF-16
            encoded = text.encode("utf-16-le", "surrogatepass")
            start = 2 * max(as_integer(mention.get("index"), 0) or 0, 0)
            end = start + 2 * max(as_integer(mention.get("length"), 0) or 0, 0)
            if not encoded[:start].decode("utf-16-le", "ignore").strip():
                text = encoded[end:].decode("utf-16-le", "ignore").lstrip()
            break
    return clean_text(text)[:TEXT_LIMIT]


def _list_attachments(message: Fields) -> tuple[Attachment, ...]:
    """Return the file of a message, to be fetched later; nothing is downloaded here."""
    kind = as_string(message.get("type"))
    if kind in _READ:
        return ()
    if kind not in _FILES:
        return (make_unreadable(kind) if _KIND.fullmatch(kind) else make_unreadable(),)
    # what an app shares from elsewhere is not at LINE, and no request goes to a foreign address
    is_foreign = as_mapping(message.get("contentProvider")).get("type") == "external"
    return (
        {
            "kind": _FILES[kind],
            "file_id": "" if is_foreign else as_string(message.get("id")),
            "name": one_line(as_string(message.get("fileName")), 200),
            "size": as_integer(message.get("fileSize"), 0) or 0,
            "mime": "",
        },
    )


def _list_answered(message: Fields, bot: LineBot) -> list[Quote]:
    """Return the message of ours that is answered. LINE tells no more of it than its id."""
    sent = bot.recall(_find_answered_id(message))
    return [] if sent is None else [make_answered_quote(sent)]


def _find_answered_id(message: Fields) -> str:
    """Return the id of the message that is answered, empty when it answers none."""
    id = as_string(message.get("quotedMessageId"))
    return id if MESSAGE_ID.fullmatch(id) else ""


def make_answered_quote(text: str) -> Quote:
    """Return a message of ours that is answered."""
    return Quote("reply", text[:QUOTE_LIMIT], ours=True, length=len(text))


def _list_holdings(message: Fields) -> list[Quote]:
    """Return what a message holds beside text and files: a place, or a sticker."""
    kind = message.get("type")
    if kind == "location":
        latitude = as_number(message.get("latitude"))
        longitude = as_number(message.get("longitude"))
        named = (as_string(message.get("title")), as_string(message.get("address")))
        words = (*named, f"latitude {latitude:.6f}, longitude {longitude:.6f}")
        relation = "venue" if any(named) else "location"
        return [_make_quote(relation, "\n".join(filter(None, words)))]
    if kind == "sticker":
        keywords = map(as_string, as_sequence(message.get("keywords"))[:15])
        shown = as_string(message.get("text")) or ", ".join(filter(None, keywords))
        return [_make_quote("sticker", shown or "sticker")]
    return []


def _make_quote(relation: str, text: str) -> Quote:
    text = clean_text(text)
    return Quote(relation, text[:QUOTE_LIMIT], length=len(text))
