"""What Meta sends is read as events
(https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/components).

It is read tolerantly: a field that is odd counts as absent. Messages of people are events, what
they change in them and that they delete them, and presses of our own buttons: reactions, receipts
and notices are none. All chats are private, and what is said in a group is none of ours. What is
left aside is named in the log, unless nobody waits for an answer to it.

WhatsApp takes a message of ours first, and tells in a receipt when it does not arrive.

A person is known by their phone number. Who hides it behind a user name has an id for our business
alone (`US.134…`) instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import orjson

from functions.channels.base import Attachment, Received, Undelivered, make_unreadable
from functions.channels.visible_text import clean_text
from functions.events import PRESSED, QUOTE_LIMIT, TEXT_LIMIT, Event, Quote, Sender, order_of
from sigil.errors import one_line
from sigil.json_fields import as_integer, as_mapping, as_number, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
PERSON: Final = re.compile(r"[1-9][0-9]{4,19}|[A-Z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}", re.ASCII)
MESSAGE_ID: Final = re.compile(r"(?:wamid\.)?[A-Za-z0-9+/=_-]{1,250}", re.ASCII)
FILE_ID: Final = re.compile(r"[0-9]{1,40}", re.ASCII)
NAME_CHARACTERS: Final = 100
_MOST: Final = 1_000
"""Messages of one request; Meta sends far fewer."""
_MIME: Final = re.compile(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}")
_FILES: Final = {
    "image": "photo",
    "audio": "audio",
    "video": "video",
    "document": "document",
    "sticker": "sticker",
}
WINDOW_CLOSED: Final = 131047
"""More than 24 hours have passed since the person wrote: only templates may be sent."""
_READ: Final = ("text", "button", "location", "contacts", "request_welcome")
"""Kinds of messages that are no file, and have a reader; some of `interactive` have one as well."""
_KIND: Final = re.compile(r"[a-z_]{1,40}", re.ASCII)
_UNANSWERED: Final = ("reaction",)
"""Kinds of messages that nobody expects an answer to."""
_CHANGES: Final = ("edit", "revoke")
"""Kinds of messages that say what became of an older one."""
_NOTICES: Final = ("system",)
"""Kinds of messages that say nothing to us; their kind stands in the log."""
_ECHOES: Final = ("message_echoes", "smb_message_echoes")
"""What the number's owner writes in the app of WhatsApp Business."""
_RECEIPTS: Final = ("sent", "delivered", "read", "played", "failed")
_GREETED: Final = "/start"
"""Who opens the chat for the first time, where the owner wants to know it, has pressed a button, as
people on other platforms do to begin.
"""
_FORM_FIELDS_MOST: Final = 50
_FORM_VALUE_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Number:
    """Our phone number: its `id` at Meta, the channel's `name` (`whatsapp`), and the `agent` whose
    sessions its chats are.
    """

    id: str
    name: str
    agent: str


def read_payload(payload: Fields, number: Number) -> Received:
    """Return what a request brings, in order; what is for another number of ours is nothing."""
    events: list[Event] = []
    undelivered: list[Undelivered] = []
    ignored: list[str] = []
    for entry in map(as_mapping, as_sequence(payload.get("entry"))[:_MOST]):
        for change in map(as_mapping, as_sequence(entry.get("changes"))[:_MOST]):
            value = as_mapping(change.get("value"))
            known = as_string(as_mapping(value.get("metadata")).get("phone_number_id"))
            field = as_string(change.get("field")) or "no field"
            if field in _ECHOES:
                continue
            if field != "messages":
                ignored.append(field)
            elif known != number.id:
                ignored.append("messages, to another number")
            else:
                for found in _read_messages(value, number):
                    if isinstance(found, Event):
                        events.append(found)
                    else:
                        ignored.append(found)
                undelivered.extend(_read_failures(value, number))
                ignored.extend(_list_other_notices(value))
    return Received(
        tuple(events[:_MOST]),
        undelivered=tuple(undelivered[:_MOST]),
        ignored=tuple(ignored[:_MOST]),
    )


def _list_other_notices(value: Fields) -> Iterator[str]:
    """Yield the kinds of what is told beside messages and receipts."""
    if value.get("errors"):
        yield "errors"
    for status in map(as_mapping, as_sequence(value.get("statuses"))[:_MOST]):
        kind = as_string(status.get("status"))
        if kind not in _RECEIPTS:
            yield f"statuses.{kind}"


def _read_failures(value: Fields, number: Number) -> Iterator[Undelivered]:
    """Yield the messages of ours that do not arrive."""
    for status in map(as_mapping, as_sequence(value.get("statuses"))[:_MOST]):
        people = (as_string(status.get("recipient_id")), as_string(status.get("recipient_user_id")))
        person = next(filter(PERSON.fullmatch, people), "")
        if status.get("status") != "failed" or not person:
            continue
        problem = as_mapping(next(iter(as_sequence(status.get("errors"))), None))
        code = as_integer(problem.get("code"), 0) or 0
        words = as_string(problem.get("title")) or as_string(problem.get("message"))
        yield Undelivered(
            f"{number.name}:{person}", one_line(f"{code} {words}", 200), code == WINDOW_CLOSED
        )


def _read_messages(value: Fields, number: Number) -> Iterator[Event | str]:
    """Yield the event of each message, or the kind of one that is left aside."""
    contacts = [as_mapping(each) for each in as_sequence(value.get("contacts"))[:_MOST]]
    messages = map(as_mapping, as_sequence(value.get("messages"))[:_MOST])
    for place, message in enumerate(messages):
        kind = message.get("type")
        if kind in _CHANGES:
            yield _read_change(message, contacts, number, place)
        elif kind not in _UNANSWERED:
            yield _read_message(message, contacts, number, place)


def _read_change(
    message: Fields, contacts: list[Fields], number: Number, place: int
) -> Event | str:
    """Return what brings that somebody changed or deleted a message, or its kind when it is none.
    Meta tells it only of numbers that the WhatsApp Business app has as well.
    """
    from functions.channels.message_changes import make_deleted, receive_deletion, receive_edit

    kind = as_string(message.get("type"))
    change = as_mapping(message.get(kind))
    id = as_string(change.get("original_message_id"))
    at = _read_time(message)
    sender = _read_sender(message, contacts, number)
    if sender is None or not MESSAGE_ID.fullmatch(id) or "group_id" in message:
        return kind
    if kind == "edit":
        known = {name: message.get(name) for name in ("from", "from_user_id", "timestamp")}
        new = as_mapping(change.get("message"))
        if new.get("type") in (*_CHANGES, *_UNANSWERED):
            return kind
        event = _read_message({**new, **known, "id": id}, contacts, number, place)
        return kind if isinstance(event, str) else receive_edit(event, at, event.text).events[0]
    name = f"{number.name}:{number.id}:{id}"
    gone = make_deleted(name, number.agent, sender.id, at, order_of(at, place))
    return receive_deletion([replace(gone, sender=sender, private=True)], at).events[0]


def _read_message(
    message: Fields, contacts: list[Fields], number: Number, place: int
) -> Event | str:
    """Return the event of a person's message, or its kind when it is none. `place` is that in its
    request, which is the order of messages of the same second.
    """
    kind = as_string(message.get("type")) or "no message"
    if kind in _NOTICES:
        return kind
    if "group_id" in message:
        return f"{kind}, in a group"
    id = as_string(message.get("id"))
    sender = _read_sender(message, contacts, number)
    if sender is None:
        return f"{kind}, by nobody known"
    if not MESSAGE_ID.fullmatch(id):
        return f"{kind}, without an id"
    text = _read_text(message)
    attachments = _list_attachments(message, text)
    holdings = _list_holdings(message)
    if text and _is_forwarded(message):
        # whoever wrote it is not the sender, and gives no command
        holdings = (*holdings, _make_quote("forward", text))
        text = ""
    if not (text.strip() or attachments or holdings):
        return f"{kind}, empty"
    at = _read_time(message)
    return Event(
        id=f"{number.name}:{number.id}:{id}",
        kind="message",
        agent=number.agent,
        session=sender.id,
        sender=sender,
        text=text,
        at=at,
        order=order_of(at, place),
        attachments=attachments,
        reply_to=id,
        private=True,
        quotes=holdings,
    )


def _read_sender(message: Fields, contacts: list[Fields], number: Number) -> Sender | None:
    """Return who wrote, with the name that they have chosen."""
    phone = as_string(message.get("from"))
    scoped = as_string(message.get("from_user_id"))
    who = phone if PERSON.fullmatch(phone) else scoped
    if not PERSON.fullmatch(who):
        return None
    name = ""
    for contact in contacts:
        if who in (contact.get("wa_id"), contact.get("user_id")):
            name = as_string(as_mapping(contact.get("profile")).get("name"))
    return Sender(f"{number.name}:{who}", one_line(clean_text(name), NAME_CHARACTERS))


def _read_time(message: Fields) -> float:
    """Return when it was sent: Meta writes the seconds as a string."""
    stamp = as_string(message.get("timestamp"))
    return float(stamp) if stamp.isascii() and stamp.isdigit() and len(stamp) <= 12 else 0.0


def _read_text(message: Fields) -> str:
    """Return what somebody wrote or chose; a press of one of our buttons is its command."""
    kind = as_string(message.get("type"))
    content = as_mapping(message.get(kind))
    text = ""
    if kind == "text":
        text = as_string(content.get("body"))
    elif kind == "button":
        text = as_string(content.get("text"))
    elif kind == "interactive":
        chosen = as_mapping(content.get("button_reply")) or as_mapping(content.get("list_reply"))
        command = as_string(chosen.get("id"))
        text = command if PRESSED.fullmatch(command) else as_string(chosen.get("title"))
        text = text or _read_form(as_mapping(content.get("nfm_reply")))
    elif kind == "request_welcome":
        text = _GREETED
    elif kind in _FILES:
        text = as_string(content.get("caption"))
    return clean_text(text)[:TEXT_LIMIT]


def _read_form(reply: Fields) -> str:
    """Return what somebody filled into a form (a flow, or an address), empty for no form.

    It never begins as a command does. What tells one form that was sent from another is a secret of
    whoever sent it.
    """
    try:
        filled = as_mapping(orjson.loads(as_string(reply.get("response_json"))))
    except orjson.JSONDecodeError:
        return ""
    lines = []
    for name, value in list(filled.items())[:_FORM_FIELDS_MOST]:
        if name != "flow_token":
            written = value if isinstance(value, str) else orjson.dumps(value).decode()
            lines.append(f"{name}: {one_line(written, _FORM_VALUE_CHARACTERS)}")
    return "\n".join(["[form, filled in]", *lines]) if lines else ""


def _is_forwarded(message: Fields) -> bool:
    context = as_mapping(message.get("context"))
    return context.get("forwarded") is True or context.get("frequently_forwarded") is True


def _list_attachments(message: Fields, text: str) -> tuple[Attachment, ...]:
    """Return the file of a message, to be fetched later; nothing is downloaded here. `text` is what
    was read of the message.
    """
    kind = as_string(message.get("type"))
    if kind in _READ or (kind == "interactive" and text):
        return ()
    if kind not in _FILES:
        return (make_unreadable(kind) if _KIND.fullmatch(kind) else make_unreadable(),)
    content = as_mapping(message.get(kind))
    id = as_string(content.get("id"))
    mime = as_string(content.get("mime_type")).partition(";")[0]
    is_voice = kind == "audio" and content.get("voice") is True
    return (
        {
            "kind": "voice" if is_voice else _FILES[kind],
            "file_id": id if FILE_ID.fullmatch(id) else "",
            "name": one_line(as_string(content.get("filename")), 200),
            "size": as_integer(content.get("file_size"), 0) or 0,
            "mime": mime if _MIME.fullmatch(mime) else "",
        },
    )


def _list_holdings(message: Fields) -> tuple[Quote, ...]:
    """Return what a message holds beside text and files: a place, or people's contacts."""
    kind = message.get("type")
    if kind == "location":
        place = as_mapping(message.get("location"))
        latitude = as_number(place.get("latitude"))
        longitude = as_number(place.get("longitude"))
        named = (as_string(place.get("name")), as_string(place.get("address")))
        words = (*named, f"latitude {latitude:.6f}, longitude {longitude:.6f}")
        relation = "venue" if any(named) else "location"
        return (_make_quote(relation, "\n".join(filter(None, words))),)
    if kind == "contacts":
        cards = [as_mapping(each) for each in as_sequence(message.get("contacts"))[:20]]
        return tuple(_make_quote("contact", _describe_contact(card)) for card in cards)
    return ()


def _describe_contact(card: Fields) -> str:
    name = as_string(as_mapping(card.get("name")).get("formatted_name"))
    phones = [as_mapping(each) for each in as_sequence(card.get("phones"))[:5]]
    numbers = [as_string(phone.get("phone")) for phone in phones]
    return "\n".join(filter(None, (name, *numbers)))


def _make_quote(relation: str, text: str) -> Quote:
    text = clean_text(text)
    return Quote(relation, text[:QUOTE_LIMIT], length=len(text))
