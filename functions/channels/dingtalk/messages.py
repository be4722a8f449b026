"""DingTalk's messages are read as events
(https://open.dingtalk.com/document/orgapp/receive-message).

They are read tolerantly: a field that is odd counts as absent. Only messages of people
are events.

A private chat has the session `dingtalk:STAFF`, by the person's user id in the organization; a
group `dingtalk:group:cid…`, or `dingtalk:group:id-…` where its id has another form than DingTalk's
usual one. Who has no user id there is known by an id that DingTalk made.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from functions.channels.base import Attachment, PlatformAnswer, Received, make_unreadable
from functions.channels.dingtalk.about import ABOUT
from functions.channels.dingtalk.reply_address import MESSAGE_ID, DingTalkReplyAddress
from functions.channels.visible_text import clean_text
from functions.events import QUOTE_LIMIT, TEXT_LIMIT, Event, Quote, Sender, order_of
from functions.overheard import make_overheard
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
STAFF: Final = re.compile(ABOUT.own_chat, re.ASCII)
FILE_CODE: Final = re.compile(r"[A-Za-z0-9+/=_-]{1,1000}", re.ASCII)
NAME_CHARACTERS: Final = 100
TAKEN: Final = Received(answer=PlatformAnswer())
"""An answer with a body could be taken for a message."""
_STRANGER: Final = re.compile(r"\$:[A-Za-z0-9_]{1,20}:\$[A-Za-z0-9+/=]{1,64}", re.ASCII)
_CONVERSATION: Final = re.compile(r"cid[A-Za-z0-9+/]{8,120}={0,2}", re.ASCII)
_ODD_CONVERSATION_CHARACTERS: Final = 100
_GROUP: Final = re.compile(
    r"[a-z][a-z0-9-]*:group:(?:cid([A-Za-z0-9_-]{8,120})|id-([A-Za-z0-9_-]{1,534}))", re.ASCII
)
_KIND: Final = re.compile(r"[A-Za-z]{1,40}", re.ASCII)
_ELEMENTS_MOST: Final = 1_000
_NAMED_COMMAND: Final = re.compile(r"\A\s*@\S{1,60}\s+(?=[/\uff0f]\w)")
_FILES: Final = {"picture": "photo", "audio": "voice", "video": "video", "file": "document"}


@dataclass(frozen=True, slots=True)
class Robot:
    """The robot whose messages are read: its app's key, the channel's name, and the agent whose
    sessions its chats are.
    """

    app_key: str
    channel: str
    agent: str


def read_message(message: Fields, robot: Robot) -> Received:
    """Return what a message brings: an event, or what people of a group said to each other."""
    id = as_string(message.get("msgId"))
    kind = as_string(message.get("msgtype"))
    if not kind:
        # what else an organization tells has its kind in another field
        return _ignore(as_string(message.get("EventType")) or "no message")
    if _is_own(message):
        return TAKEN
    sender = _read_sender(message, robot)
    if sender is None:
        return _ignore(f"{kind}, by nobody known")
    if not MESSAGE_ID.fullmatch(id):
        return _ignore(f"{kind}, without an id")
    private = str(message.get("conversationType")) == "1"
    session = sender.id if private else _make_group(message, robot)
    if not session:
        return _ignore(f"{kind}, in no known chat")
    text, attachments, quotes = _read_contents(message)
    if not (text.strip() or attachments or quotes):
        return _ignore(f"{kind}, empty")
    at = (as_integer(message.get("createAt"), 0) or 0) / 1000
    is_named = message.get("isInAtList") is True
    if not private:
        # the name that a group's message begins with is ours, or that of somebody who is named too
        text = _NAMED_COMMAND.sub("", text, count=1) if is_named else text
        text = text.lstrip()
    event = Event(
        id=f"{robot.channel}:{robot.app_key}:{id}",
        kind="message",
        agent=robot.agent,
        session=session,
        sender=sender,
        text=text,
        at=at,
        order=order_of(at, id),
        attachments=attachments,
        reply_to=DingTalkReplyAddress.read(message, at).write(),
        private=private,
        quotes=quotes,
    )
    if private or is_named:
        return Received((event,), TAKEN.answer)
    return Received(answer=TAKEN.answer, overheard=(make_overheard(event),))


def _ignore(kind: str) -> Received:
    return replace(TAKEN, ignored=(kind,))


def find_conversation(session: str) -> str:
    """Return the id of the conversation of a group's session; empty for any other session."""
    match = _GROUP.fullmatch(session)
    if match is None:
        return ""
    if match[2]:
        try:
            id = urlsafe_b64decode(f"{match[2]}{'=' * (-len(match[2]) % 4)}").decode()
        except ValueError:
            return ""
        # the last letter of base64 can be written in several ways
        return id if _write_odd(id) == match[2] else ""
    code = match[1].replace("-", "+").replace("_", "/")
    return f"cid{code}{'=' * (-len(code) % 4)}"


def _make_group(message: Fields, robot: Robot) -> str:
    """Return the session of a group: its conversation's id without what is odd in a name.

    An id of a form that we do not know is written in base64, so that nothing in it can be taken for
    another part of the session, and no two ids are one session.
    """
    id = as_string(message.get("conversationId"))
    if not id or str(message.get("conversationType")) != "2":
        return ""
    if _CONVERSATION.fullmatch(id):
        code = id.removeprefix("cid").rstrip("=").replace("+", "-").replace("/", "_")
        session = f"{robot.channel}:group:cid{code}"
        if find_conversation(session) == id:
            return session
    if len(id) > _ODD_CONVERSATION_CHARACTERS or not id.isprintable():
        return ""
    return f"{robot.channel}:group:id-{_write_odd(id)}"


def _write_odd(id: str) -> str:
    return urlsafe_b64encode(id.encode()).decode().rstrip("=")


def _is_own(message: Fields) -> bool:
    """Return whether the robot itself wrote."""
    sender = as_string(message.get("senderId"))
    return bool(sender) and sender == message.get("chatbotUserId")


def _read_sender(message: Fields, robot: Robot) -> Sender | None:
    """Return who wrote; None for nobody."""
    staff = as_string(message.get("senderStaffId"))
    foreign = as_string(message.get("senderId"))
    who = staff if STAFF.fullmatch(staff) else foreign
    if not STAFF.fullmatch(staff) and not _STRANGER.fullmatch(foreign):
        return None
    name = one_line(clean_text(as_string(message.get("senderNick"))), NAME_CHARACTERS)
    return Sender(f"{robot.channel}:{who}", " ".join(name.split()) or who)


def _read_contents(message: Fields) -> tuple[str, tuple[Attachment, ...], tuple[Quote, ...]]:
    """Return what a message says, its files, and what it answers or holds."""
    kind = as_string(message.get("msgtype"))
    content = as_mapping(message.get("content"))
    quotes: tuple[Quote, ...] = ()
    files: list[Attachment] = []
    if kind == "text":
        said = as_mapping(message.get("text"))
        text = as_string(said.get("content"))
        quotes = tuple(_list_quotes(said, as_string(message.get("chatbotUserId"))))
    elif kind == "richText":
        elements = [
            as_mapping(each) for each in as_sequence(content.get("richText"))[:_ELEMENTS_MOST]
        ]
        text = "".join(map(_write_element, elements))
        files = [_make_file("picture", each) for each in elements if each.get("downloadCode")]
    elif kind in _FILES:
        text = ""
        spoken = as_string(content.get("recognition")).strip()
        if kind == "audio" and spoken:
            # what was heard is no command, however it sounds, and no file that is left to open
            text = f"[voice, transcribed] {spoken}"
        else:
            files = [_make_file(kind, content)]
    else:
        text = ""
        files = [make_unreadable(kind) if _KIND.fullmatch(kind) else make_unreadable()]
    return clean_text(text[: 2 * TEXT_LIMIT])[:TEXT_LIMIT], tuple(files), quotes


def _write_element(element: Fields) -> str:
    """Return a piece of rich text as markdown."""
    text = as_string(element.get("text"))
    if not text.strip():
        return text
    match element.get("type"):
        case "bold":
            return f"**{text}**"
        case "italic":
            return f"*{text}*"
        case "inlineCode":
            return f"`{text}`"
        case "pre":
            return f"\n```\n{text}\n```\n"
        case _:
            return text


def _make_file(kind: str, content: Fields) -> Attachment:
    """Return a file to be fetched later; with a code of no known form it cannot be."""
    code = as_string(content.get("downloadCode"))
    size = as_string(content.get("fileSize"))
    return {
        "kind": _FILES[kind],
        "file_id": code if FILE_CODE.fullmatch(code) else "",
        "name": one_line(clean_text(as_string(content.get("fileName"))), 200),
        "size": int(size) if re.fullmatch(r"[0-9]{1,12}", size, re.ASCII) else 0,
        "mime": "image/jpeg" if kind == "picture" else "",
    }


def _list_quotes(said: Fields, bot: str) -> Iterator[Quote]:
    """Yield the message that is answered."""
    answered = as_mapping(said.get("repliedMsg"))
    if said.get("isReplyMsg") is not True or not answered:
        return
    content = as_mapping(answered.get("content"))
    pieces = [as_mapping(each) for each in as_sequence(content.get("richText"))[:_ELEMENTS_MOST]]
    text = as_string(content.get("text")) or "".join(map(_write_element, pieces))
    kind = as_string(answered.get("msgType"))
    if not text and _KIND.fullmatch(kind):
        text = f"[{kind}]"
    kept = clean_text(text[: 2 * QUOTE_LIMIT])[:QUOTE_LIMIT].strip()
    if kept:
        ours = bool(bot) and answered.get("senderId") == bot
        yield Quote("reply", kept, ours=ours, length=len(text))
