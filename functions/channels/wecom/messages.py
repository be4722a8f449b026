"""WeCom's messages are read as events
(https://developer.work.weixin.qq.com/document/path/90239).

They are read tolerantly: a field that is odd counts as absent. Only messages of people are events,
and presses of our own buttons. All chats are private: `wecom:USER`, by the person's user id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from functions.channels.base import Attachment
from functions.channels.visible_text import clean_text
from functions.channels.wecom.about import ABOUT
from functions.events import PRESS, PRESSED, QUOTE_LIMIT, TEXT_LIMIT, Event, Quote, Sender, order_of
from sigil.errors import one_line

Fields = Mapping[str, str]
PERSON: Final = re.compile(ABOUT.own_chat, re.ASCII)
MEDIA_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,512}", re.ASCII)
CARD: Final = "card"
"""The name in the data of a press by which its card may be changed, once within 72 hours."""
_CARD_CODE: Final = re.compile(r"[A-Za-z0-9_-]{1,200}", re.ASCII)
_MESSAGE_ID: Final = re.compile(r"[0-9]{1,32}", re.ASCII)
_TIME: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_KIND: Final = re.compile(r"[a-z_]{1,40}", re.ASCII)
_FILES: Final = {"image": "photo", "voice": "voice", "video": "video", "file": "document"}
_MIME: Final = {"image": "image/jpeg", "voice": "audio/amr"}


@dataclass(frozen=True, slots=True)
class App:
    """The app whose messages are read: the organization's id and its own, the channel's name, and
    the agent whose sessions its chats are.
    """

    corp_id: str
    agent_id: str
    channel: str
    agent: str


def read_message(fields: Fields, app: App) -> tuple[Event, ...]:
    """Return the event of a message, if it is one of a person for this app."""
    person = fields.get("FromUserName", "")
    if fields.get("AgentID", app.agent_id) != app.agent_id or not PERSON.fullmatch(person):
        return ()
    if fields.get("ToUserName", app.corp_id) != app.corp_id:
        return ()
    at = float(fields["CreateTime"]) if _TIME.fullmatch(fields.get("CreateTime", "")) else 0.0
    id, text, data = fields.get("MsgId", ""), "", {}
    attachments: tuple[Attachment, ...] = ()
    quotes: tuple[Quote, ...] = ()
    if fields.get("MsgType") == "event":
        text = fields.get("EventKey", "")
        if fields.get("Event") != "template_card_event" or not PRESSED.fullmatch(text):
            return ()
        # a press has no id of its own
        id = _make_id(person, fields.get("CreateTime", ""), fields.get("TaskId", ""), text)
        data = {PRESS: id}
        card = fields.get("ResponseCode", "")
        if _CARD_CODE.fullmatch(card):
            data[CARD] = card
    elif not _MESSAGE_ID.fullmatch(id):
        return ()
    else:
        if fields.get("MsgType") == "text":
            text = clean_text(fields.get("Content", "")[: 2 * TEXT_LIMIT])[:TEXT_LIMIT]
        spoken = fields.get("Recognition", "").strip()
        if fields.get("MsgType") == "voice" and spoken:
            # what was heard is no command, however it sounds, and no file that is left to open
            heard = f"[voice, transcribed] {spoken[: 2 * TEXT_LIMIT]}"
            text = clean_text(heard)[:TEXT_LIMIT]
        else:
            attachments = tuple(_list_attachments(fields))
        quotes = tuple(_list_quotes(fields))
    if not (text.strip() or attachments or quotes):
        return ()
    return (
        Event(
            id=f"{app.channel}:{app.corp_id}:{app.agent_id}:{id}",
            kind="message",
            agent=app.agent,
            session=f"{app.channel}:{person}",
            sender=Sender(f"{app.channel}:{person}"),
            text=text,
            at=at,
            order=order_of(at, id),
            attachments=attachments,
            private=True,
            quotes=quotes,
            data=data,
        ),
    )


def _make_id(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _list_attachments(fields: Fields) -> Iterator[Attachment]:
    """Yield the file of a message, to be fetched later; nothing is downloaded here."""
    kind = fields.get("MsgType", "")
    media = fields.get("MediaId", "")
    if kind in _FILES and MEDIA_ID.fullmatch(media):
        name = one_line(clean_text(fields.get("FileName", "")), 200)
        mime = _MIME.get(kind, "")
        yield {"kind": _FILES[kind], "file_id": media, "name": name, "size": 0, "mime": mime}
    elif kind not in ("text", "location", "link", *_FILES) and _KIND.fullmatch(kind):
        yield {"kind": kind, "file_id": "", "name": "", "size": 0, "mime": ""}


def _list_quotes(fields: Fields) -> Iterator[Quote]:
    """Yield what a message holds beside a text."""
    kind = fields.get("MsgType", "")
    if kind == "location":
        place = f"latitude {fields.get('Location_X')}, longitude {fields.get('Location_Y')}"
        lines = (fields.get("Label", ""), one_line(place, 100))
        yield _make_quote("location", lines)
    elif kind == "link":
        names = ("Title", "Description", "Url")
        yield _make_quote("forward", tuple(fields.get(name, "") for name in names))


def _make_quote(relation: str, lines: tuple[str, ...]) -> Quote:
    text = "\n".join(filter(None, lines))
    kept = clean_text(text[: 2 * QUOTE_LIMIT])[:QUOTE_LIMIT].strip()
    return Quote(relation, kept, length=len(text))
