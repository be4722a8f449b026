"""WeCom's messages are read as events
(https://developer.work.weixin.qq.com/document/path/90239).

They are read tolerantly: a field that is odd counts as absent. Only messages of people are events,
presses of our own buttons, and what people choose from the app's menu. All chats are private:
`wecom:USER`, by the person's user id.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from functions.channels.base import Attachment, PlatformAnswer, Received, make_unreadable
from functions.channels.typed_commands import MENU_COMMAND
from functions.channels.visible_text import clean_text
from functions.channels.wecom.about import ABOUT
from functions.events import PRESS, PRESSED, QUOTE_LIMIT, TEXT_LIMIT, Event, Quote, Sender, order_of
from sigil.errors import one_line

Fields = Mapping[str, str]
PERSON: Final = re.compile(ABOUT.own_chat, re.ASCII)
MEDIA_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,512}", re.ASCII)
CARD: Final = "card"
"""The name in the data of a press by which its card may be changed, once within 72 hours."""
EMPTY: Final = PlatformAnswer()
"""An answer with a body would be taken for a message."""
_UNANSWERED: Final = frozenset(
    {"LOCATION", "enter_agent", "location", "subscribe", "unsubscribe", "view", "view_miniprogram"}
)
"""Events that come of themselves, or that an app of WeCom answers: nobody waits for us."""
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


def read_message(fields: Fields, app: App) -> Received:
    """Return the event of a message, if it is one of a person for this app."""
    is_event = fields.get("MsgType") == "event"
    kind = fields.get("Event" if is_event else "MsgType") or "no message"
    if fields.get("AgentID", app.agent_id) != app.agent_id:
        return _ignore(f"{kind}, of another app")
    if fields.get("ToUserName", app.corp_id) != app.corp_id:
        return _ignore(f"{kind}, of another organization")
    if is_event and kind in _UNANSWERED:
        return Received(answer=EMPTY)
    person = fields.get("FromUserName", "")
    if is_event and not _is_choice(kind, fields):
        return _ignore(kind)
    if not PERSON.fullmatch(person):
        return _ignore(f"{kind}, by nobody known")
    if is_event:
        found = _read_choice(_make_event(fields, person, _make_id(fields), app), kind, fields)
        return Received((found,), EMPTY)
    id = fields.get("MsgId", "")
    if not _MESSAGE_ID.fullmatch(id):
        return _ignore(f"{kind}, without an id")
    text = fields.get("Content", "") if kind == "text" else ""
    spoken = fields.get("Recognition", "").strip() if kind == "voice" else ""
    if spoken:
        # what was heard is no command, however it sounds, and no file that is left to open
        text = f"[voice, transcribed] {spoken}"
    found = replace(
        _make_event(fields, person, id, app),
        text=clean_text(text[: 2 * TEXT_LIMIT])[:TEXT_LIMIT],
        attachments=() if spoken else tuple(_list_attachments(fields)),
        quotes=tuple(_list_quotes(fields)),
    )
    if not (found.text.strip() or found.attachments or found.quotes):
        return _ignore(f"{kind}, empty")
    return Received((found,), EMPTY)


def _make_event(fields: Fields, person: str, id: str, app: App) -> Event:
    """Return the event of a message that says nothing yet."""
    at = float(fields["CreateTime"]) if _TIME.fullmatch(fields.get("CreateTime", "")) else 0.0
    return Event(
        id=f"{app.channel}:{app.corp_id}:{app.agent_id}:{id}",
        kind="message",
        agent=app.agent,
        session=f"{app.channel}:{person}",
        sender=Sender(f"{app.channel}:{person}"),
        text="",
        at=at,
        order=order_of(at, id),
        private=True,
    )


def _is_choice(kind: str, fields: Fields) -> bool:
    """Return whether a kind of event is a press of our own button, or what somebody chose from the
    app's menu, and then waits.
    """
    if kind == "template_card_event":
        return PRESSED.fullmatch(fields.get("EventKey", "")) is not None
    return kind in ("click", "scancode_waitmsg")


def _read_choice(event: Event, kind: str, fields: Fields) -> Event:
    """Return the event with the command that was chosen; of another choice nothing can be read."""
    key = fields.get("EventKey", "")
    if kind == "template_card_event":
        data = {PRESS: _make_id(fields)}
        card = fields.get("ResponseCode", "")
        if _CARD_CODE.fullmatch(card):
            data[CARD] = card
        return replace(event, text=key, data=data)
    if kind == "click" and MENU_COMMAND.fullmatch(key):
        return replace(event, text=key)
    return replace(event, attachments=(make_unreadable(),))


def _ignore(kind: str) -> Received:
    return Received(answer=EMPTY, ignored=(kind,))


def _make_id(fields: Fields) -> str:
    """Return the id of a choice, which has none of its own."""
    names = ("FromUserName", "CreateTime", "TaskId", "EventKey")
    parts = [fields.get(name, "") for name in names]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def _list_attachments(fields: Fields) -> Iterator[Attachment]:
    """Yield the file of a message, to be fetched later; nothing is downloaded here."""
    kind = fields.get("MsgType", "")
    media = fields.get("MediaId", "")
    if kind in _FILES:
        name = one_line(clean_text(fields.get("FileName", "")), 200)
        mime = _MIME.get(kind, "")
        file = media if MEDIA_ID.fullmatch(media) else ""
        yield {"kind": _FILES[kind], "file_id": file, "name": name, "size": 0, "mime": mime}
    elif kind not in ("text", "location", "link"):
        yield make_unreadable(kind) if _KIND.fullmatch(kind) else make_unreadable()


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
