"""Feishu's events are read as ours
(https://open.feishu.cn/document/server-docs/im-v1/message/events/receive).

They are read tolerantly: a field that is odd counts as absent. Messages of people are events, what
they change in them and that they recall them, presses of our own buttons, and that somebody took us
into a group; reactions and other bots are none.

A chat with one person has the session `feishu:ou_…`, by that person; a group `feishu:oc_…`, and a
thread in it `feishu:oc_…:om_…`, by the message with which it began.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from functions.channels.base import PlatformAnswer, Received, make_unreadable
from functions.channels.feishu.contents import ID, Mention, read_contents, read_mentions
from functions.channels.feishu.signature import CHALLENGE, Payload
from functions.channels.typed_commands import MENU_COMMAND
from functions.events import PRESS, PRESSED, Event, Sender, order_of
from functions.overheard import make_overheard
from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

ANSWERS: Final = "answers"
"""The name in an event's `data` of the id of the message that it answers."""
CHAT: Final = "chat"
"""The name beside it of the chat's own id, which a private chat's session does not tell."""
SESSION: Final = re.compile(
    r"[a-z][a-z0-9-]*:(o[uc]_[A-Za-z0-9]{1,64})(?::(om_[A-Za-z0-9_]{1,64}))?", re.ASCII
)
_PERSON = re.compile(r"ou_[A-Za-z0-9]{1,64}", re.ASCII)
_CHAT = re.compile(r"oc_[A-Za-z0-9]{1,64}", re.ASCII)
_MESSAGE = re.compile(r"om_[A-Za-z0-9_]{1,64}", re.ASCII)
_TIME = re.compile(r"[0-9]{1,18}", re.ASCII)
_COMMAND = re.compile(r"\s*[/\uff0f]\w")
_MICROSECONDS: Final = 10**15
"""From here on a time counts microseconds, as that of a press does; else it counts milliseconds."""
_TAKEN = PlatformAnswer(body=b"{}")
_BOTS: Final = ("app", "bot")
_UNANSWERED: Final = frozenset(
    {
        "im.chat.access_event.bot_p2p_chat_entered_v1",
        "im.chat.disbanded_v1",
        "im.chat.member.bot.deleted_v1",
        "im.chat.member.user.added_v1",
        "im.chat.member.user.deleted_v1",
        "im.chat.member.user.withdrawn_v1",
        "im.chat.updated_v1",
        "im.message.message_read_v1",
        "im.message.reaction.created_v1",
        "im.message.reaction.deleted_v1",
    }
)
"""Events of chats that nobody expects an answer to."""


@dataclass(frozen=True, slots=True)
class FeishuApp:
    """The app whose events are read: its id at Feishu, the channel's name, and the agent whose
    sessions its chats are.
    """

    id: str
    channel: str
    agent: str


def read_payload(payload: Payload, app: FeishuApp) -> Received:
    """Return what Feishu tells, with the answer that it waits for."""
    if payload.get("type") == CHALLENGE:
        # answered within a second, or the console does not take the address
        return Received(answer=_answer_challenge(as_string(payload.get("challenge"))))
    header = as_mapping(payload.get("header"))
    event = as_mapping(payload.get("event"))
    # events from before there were headers have their kind elsewhere
    kind = as_string(header.get("event_type")) or as_string(event.get("type")) or "no event"
    if as_string(header.get("app_id")) not in ("", app.id):
        return _ignore(f"{kind}, of another app")
    found: Event | None
    match header.get("event_type"):
        case "im.message.receive_v1":
            return _read_message(event, app)
        case "im.message.updated_v1":
            return _read_edit(event, app)
        case "im.message.recalled_v1":
            return _read_recalled(event, app)
        case "card.action.trigger":
            found = _read_press(header, event, app)
        case "im.chat.member.bot.added_v1":
            found = _read_arrival(header, event, app)
        case "application.bot.menu_v6":
            found = _read_menu(header, event, app)
        case _:
            found = None
    if found:
        return Received((found,), _TAKEN)
    return Received(answer=_TAKEN) if kind in _UNANSWERED else _ignore(kind)


def _ignore(kind: str) -> Received:
    return Received(answer=_TAKEN, ignored=(kind,))


def _answer_challenge(challenge: str) -> PlatformAnswer:
    import orjson

    return PlatformAnswer(body=orjson.dumps({"challenge": challenge[:1000]}))


def _read_message(event: Mapping[str, Json], app: FeishuApp) -> Received:
    """Return the event of a person's message; what people of a group say to each other is
    overheard.

    An answer to a message is addressed to that message, which has to be fetched to know whether it
    was ours.
    """
    message = as_mapping(event.get("message"))
    kind = as_string(message.get("message_type")) or "no message"
    if as_mapping(event.get("sender")).get("sender_type") in _BOTS or kind == "system":
        # another bot or we ourselves, or nobody
        return Received(answer=_TAKEN)
    id = _find_id(_MESSAGE, message.get("message_id"))
    person = _read_person(event.get("sender"))
    if not person:
        return _ignore(f"{kind}, by nobody known")
    if not id:
        return _ignore(f"{kind}, without an id")
    session = _read_session(message, person, app)
    if not session:
        return _ignore(f"{kind}, in no known chat")
    mentions = read_mentions(message)
    contents = read_contents(kind, as_string(message.get("content")), id, mentions)
    if contents.is_empty:
        return _ignore(f"{kind}, empty")
    private = message.get("chat_type") == "p2p"
    answered = _read_answered(message)
    at = _read_time(message.get("create_time"))
    found = Event(
        id=f"{app.channel}:{app.id}:{id}",
        kind="message",
        agent=app.agent,
        session=session,
        sender=Sender(f"{app.channel}:{person}"),
        text=_strip_mention(contents.text, mentions),
        at=at,
        order=order_of(at, _number(id)),
        attachments=contents.attachments,
        reply_to=id,
        private=private,
        quotes=contents.quotes,
        data=_name_answered(message, answered) if answered else {},
    )
    if private:
        return Received((found,), _TAKEN)
    named = tuple(dict.fromkeys(mention.id for mention in mentions if mention.id))
    if named:
        return Received((replace(found, addressed=named),), _TAKEN)
    if answered:
        return Received((replace(found, addressed=(answered,)),), _TAKEN)
    return Received(answer=_TAKEN, overheard=(make_overheard(found),))


def _read_edit(event: Mapping[str, Json], app: FeishuApp) -> Received:
    """Return what brings the change of a message, which Feishu tells as it told the message."""
    from functions.channels.message_changes import receive_changed

    at = _read_time(as_mapping(event.get("message")).get("update_time"))
    return receive_changed(_read_message(event, app), at)


def _read_recalled(event: Mapping[str, Json], app: FeishuApp) -> Received:
    """Return what brings that a message was recalled. Feishu does not tell who wrote it, nor
    whether its chat is a private one.
    """
    from functions.channels.message_changes import make_deleted, receive_deletion

    id = _find_id(_MESSAGE, event.get("message_id"))
    chat = _find_id(_CHAT, event.get("chat_id"))
    if not id or not chat:
        return _ignore("im.message.recalled_v1")
    at = _read_time(event.get("recall_time"))
    name = f"{app.channel}:{app.id}:{id}"
    gone = make_deleted(name, app.agent, f"{app.channel}:{chat}", at, order_of(at, _number(id)))
    return replace(receive_deletion([gone], at), answer=_TAKEN)


def _read_press(
    header: Mapping[str, Json], event: Mapping[str, Json], app: FeishuApp
) -> Event | None:
    """Return the event of a press of one of our buttons: its command, by the person who pressed it,
    in the chat where we put it.

    Whoever forwards our message takes its buttons along: they do nothing elsewhere.
    """
    person = _find_id(_PERSON, as_mapping(event.get("operator")).get("open_id"))
    value = as_mapping(as_mapping(event.get("action")).get("value"))
    command = as_string(value.get("command"))
    session = as_string(value.get("session"))
    place = SESSION.fullmatch(session)
    id = as_string(header.get("event_id"))
    here = as_string(as_mapping(event.get("context")).get("open_chat_id"))
    if not person or not place or place[1] not in (person, here) or not ID.fullmatch(id):
        return None
    if session.partition(":")[0] != app.channel or not PRESSED.fullmatch(command):
        return None
    at = _read_time(header.get("create_time"))
    return Event(
        id=f"{app.channel}:{app.id}:{id}",
        kind="message",
        agent=app.agent,
        session=session,
        sender=Sender(f"{app.channel}:{person}"),
        text=command,
        at=at,
        order=order_of(at, _number(id)),
        private=place[1] == person,
        data={PRESS: id},
    )


def _read_arrival(
    header: Mapping[str, Json], event: Mapping[str, Json], app: FeishuApp
) -> Event | None:
    """Return the event that somebody took us into a group."""
    person = _find_id(_PERSON, as_mapping(event.get("operator_id")).get("open_id"))
    chat = _find_id(_CHAT, event.get("chat_id"))
    id = as_string(header.get("event_id"))
    if not person or not chat or not ID.fullmatch(id):
        return None
    at = _read_time(header.get("create_time"))
    return Event(
        id=f"{app.channel}:{app.id}:{id}",
        kind="message",
        agent=app.agent,
        session=f"{app.channel}:{chat}",
        sender=Sender(f"{app.channel}:{person}"),
        text="",
        at=at,
        order=order_of(at, _number(id)),
        joined=True,
    )


def _read_menu(
    header: Mapping[str, Json], event: Mapping[str, Json], app: FeishuApp
) -> Event | None:
    """Return the event that somebody chose from the bot's menu, which the owner made: a command, if
    that is the item's key.
    """
    operator = as_mapping(as_mapping(event.get("operator")).get("operator_id"))
    person = _find_id(_PERSON, operator.get("open_id"))
    key = as_string(event.get("event_key"))
    id = as_string(header.get("event_id"))
    if not person or not ID.fullmatch(id):
        return None
    at = _read_time(header.get("create_time"))
    is_command = MENU_COMMAND.fullmatch(key) is not None
    return Event(
        id=f"{app.channel}:{app.id}:{id}",
        kind="message",
        agent=app.agent,
        session=f"{app.channel}:{person}",
        sender=Sender(f"{app.channel}:{person}"),
        text=key if is_command else "",
        at=at,
        order=order_of(at, _number(id)),
        attachments=() if is_command else (make_unreadable(),),
        private=True,
    )


def _read_person(value: Json) -> str:
    """Return the id of the person who wrote, empty for what is anonymous."""
    sender = as_mapping(value)
    if sender.get("sender_type", "user") != "user":
        return ""
    return _find_id(_PERSON, as_mapping(sender.get("sender_id")).get("open_id"))


def _read_session(message: Mapping[str, Json], person: str, app: FeishuApp) -> str:
    if message.get("chat_type") == "p2p":
        return f"{app.channel}:{person}" if person else ""
    chat = _find_id(_CHAT, message.get("chat_id"))
    if not chat:
        return ""
    # an answer in an ordinary group has a root as well, but only a thread is a place of its own
    if as_string(message.get("thread_id")):
        first = message.get("root_id") or message.get("message_id")
        root = _find_id(_MESSAGE, first)
        if root:
            return f"{app.channel}:{chat}:{root}"
    return f"{app.channel}:{chat}"


def _read_answered(message: Mapping[str, Json]) -> str:
    """Return the id of the message that is answered.

    In a thread everything answers its first message, which says nothing.
    """
    answered = _find_id(_MESSAGE, message.get("parent_id"))
    if as_string(message.get("thread_id")) and answered == message.get("root_id"):
        return ""
    return answered


def _strip_mention(text: str, mentions: tuple[Mention, ...]) -> str:
    """Return the text without the name that it begins with, if it names nobody else or goes on
    with a command: what follows is said to whom it names.
    """
    stripped = text.lstrip()
    for mention in mentions:
        called = f"@{mention.name or mention.id}"
        if mention.id and stripped.startswith(called):
            rest = stripped[len(called) :]
            if len({each.id for each in mentions}) == 1 or _COMMAND.match(rest):
                return rest.lstrip()
    return text


def _name_answered(message: Mapping[str, Json], answered: str) -> dict[str, Json]:
    """Return the data of an event that answers a message."""
    chat = _find_id(_CHAT, message.get("chat_id"))
    return {ANSWERS: answered, CHAT: chat} if chat else {ANSWERS: answered}


def _read_time(value: Json) -> float:
    """Return the seconds of a time, which is digits in a string."""
    text = one_line(str(value), 20)
    number = int(text) if _TIME.fullmatch(text) else 0
    return number / (1_000_000 if number >= _MICROSECONDS else 1_000)


def _number(id: str) -> int:
    """Return a number by which an id sorts among those of the same millisecond."""
    return int.from_bytes(hashlib.sha256(id.encode()).digest()[:8])


def _find_id(form: re.Pattern[str], value: Json) -> str:
    id = as_string(value)
    return id if form.fullmatch(id) else ""
