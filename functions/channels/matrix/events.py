"""What a homeserver tells of is read as events
(https://spec.matrix.org/latest/application-service-api/#pushing-events).

Messages of people are events, what they change in them and that they are redacted, and that
somebody invites us into a room. Reactions, notices (which bots write), what another agent writes or
changes and the state of rooms are none. A kind that we do not know is read by the words that it has
for those who do not know it. Whether a room has anybody beside its sender and us is not told here,
so nothing is private yet, and what names nobody is addressed to the room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from functions.channels.matrix.contents import (
    begins_with_name,
    list_attachments,
    list_holdings,
    read_mentions,
    read_relation,
    read_text,
    strip_name,
)
from functions.channels.matrix.identifiers import MESSAGE, ROOM, USER, MatrixChat, find_id
from functions.channels.typed_commands import as_command
from functions.events import CAME, DELETED, ENCRYPTED, Event, Sender, order_of
from functions.overheard import OverheardMessage, make_overheard
from sigil.json_fields import as_mapping, as_number, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
EVENTS_MOST: Final = 10_000
"""Events of one transaction; homeservers send a hundred."""
_QUIET: Final = (
    *("m.call.answer", "m.call.asserted_identity", "m.call.candidates", "m.call.hangup"),
    *("m.call.negotiate", "m.call.reject", "m.call.replaces", "m.call.sdp_stream"),
    *("m.call.select_answer", "m.key.verification.", "m.poll.end", "m.poll.response"),
    *("org.matrix.msc3381.poll.end", "org.matrix.msc3381.poll.response"),
    "m.reaction",
)
"""The kinds of events begin so to which nobody expects an answer: what follows a call, a poll or a
verification, and marks on what was said.
"""
ANSWERS: Final = "answers"
"""The name in an event's data of the message that it answers."""
DECLARED: Final = "declared"
"""The name in its data that says that its client tells whom it notifies."""
AGENT_MARK: Final = "app.uncaged.agent"
"""The field of a message that an agent has written: it holds the account that wrote it, so that a
person who forwards the message is still heard.
"""


@dataclass(frozen=True, slots=True)
class Account:
    """Our account: its id (`user`), the channel's `name` (`matrix`), and the `agent` whose sessions
    its chats are.
    """

    user: str
    name: str
    agent: str

    @property
    def localpart(self) -> str:
        """Return the id without its server."""
        return self.user[1:].partition(":")[0]


@dataclass(frozen=True, slots=True)
class RoomEvents:
    """The events of some rooms, the rooms whose members have `changed`, those that are `encrypted`
    from now on, and the kinds of what was left aside.
    """

    events: tuple[Event, ...] = ()
    changed: frozenset[str] = field(default_factory=frozenset)
    encrypted: frozenset[str] = field(default_factory=frozenset)
    ignored: tuple[str, ...] = ()


def read_events(rows: object, account: Account, now: float) -> RoomEvents:
    """Return what a homeserver tells of, in its order; `now` is in seconds since 1970."""
    events: list[Event] = []
    changed: set[str] = set()
    encrypted: set[str] = set()
    ignored: list[str] = []
    for row in map(as_mapping, as_sequence(rows)[:EVENTS_MOST]):
        if row.get("type") == "m.room.member":
            changed.add(as_string(row.get("room_id")))
        elif _is_encryption(row) and find_id(ROOM, row.get("room_id")):
            encrypted.add(as_string(row.get("room_id")))
        found = tuple(_read_event(row, account, now))
        events.extend(found)
        if not found and not _is_quiet(row, account):
            ignored.append(_name_kind(row))
    return RoomEvents(
        tuple(events),
        frozenset(changed),
        frozenset(encrypted),
        tuple(dict.fromkeys(ignored)),
    )


def _is_quiet(row: Fields, account: Account) -> bool:
    """Return whether nobody expects an answer to an event that is no message."""
    content = as_mapping(row.get("content"))
    return (
        "state_key" in row
        or row.get("sender") == account.user
        or "redacted_because" in as_mapping(row.get("unsigned"))
        or as_string(row.get("type")).startswith(_QUIET)
        or content.get("msgtype") == "m.notice"
        or _is_of_agent(content, row.get("sender"))
        or bool(read_relation(content).edits)
    )


def _is_of_agent(content: Fields, sender: Json) -> bool:
    """Return whether an agent has written a message, or changes it."""
    new = as_mapping(content.get("m.new_content"))
    return bool(sender) and sender in (content.get(AGENT_MARK), new.get(AGENT_MARK))


def _name_kind(row: Fields) -> str:
    """Return the kind of an event, and of what message it is."""
    kind = as_string(row.get("type"))
    of_message = as_string(as_mapping(row.get("content")).get("msgtype"))
    return f"{kind}.{of_message}" if of_message else kind or "event"


def _is_encryption(row: Fields) -> bool:
    """Return whether an event is the state of a room that says that it is encrypted."""
    return row.get("type") == "m.room.encryption" and row.get("state_key") == ""


def _read_event(row: Fields, account: Account, now: float) -> Iterator[Event]:
    """Yield the event that one of a room is, if it is any."""
    id = find_id(MESSAGE, row.get("event_id"))
    room = find_id(ROOM, row.get("room_id"))
    sender = find_id(USER, row.get("sender"))
    if not id or not room or not sender or sender == account.user:
        return
    if "redacted_because" in as_mapping(row.get("unsigned")):
        return
    content = as_mapping(row.get("content"))
    # another server's clock may be wrong, and its message must not stand behind all others for ever
    at = min(max(as_number(row.get("origin_server_ts")) / 1000, 0.0), now)
    base = Event(
        id=f"{account.name}:{id}",
        kind="message",
        agent=account.agent,
        session=MatrixChat(room).name_session(account.name),
        sender=Sender(f"{account.name}:{sender}", sender),
        text="",
        at=at,
        order=order_of(at, id),
        addressed=(room,),
    )
    kind = row.get("type")
    if "state_key" in row:
        is_ours = row["state_key"] == account.user
        if kind == "m.room.member" and is_ours and content.get("membership") == "invite":
            yield replace(base, joined=True)
        elif kind == "m.room.member" and row["state_key"] == sender and _has_come(row, content):
            yield replace(base, data={CAME: True})
        elif _is_encryption(row):
            yield replace(base, data={ENCRYPTED: True})
    elif kind == "m.room.encrypted":
        yield replace(base, data={ENCRYPTED: True})
    elif kind == "m.room.redaction":
        # newer rooms have it in the content
        gone = find_id(MESSAGE, row.get("redacts") or content.get("redacts"))
        if gone:
            yield _make_deletion(gone, base, account)
    elif _is_of_agent(content, sender):
        return  # another agent, which would answer us as well, and so for ever
    elif kind == "m.room.message":
        yield from _read_message(as_string(content.get("msgtype")), content, base, id, account)
    elif not as_string(kind).startswith(_QUIET):
        yield from _read_message(as_string(kind), content, base, id, account)


def _has_come(row: Fields, content: Fields) -> bool:
    """Return whether a membership says that somebody came in, and not only how they are called."""
    before = as_mapping(as_mapping(row.get("unsigned")).get("prev_content"))
    return content.get("membership") == "join" and before.get("membership") != "join"


def _read_message(
    kind: str, content: Fields, base: Event, id: str, account: Account
) -> Iterator[Event]:
    relation = read_relation(content)
    edited = find_id(MESSAGE, relation.edits)
    if edited:
        content = as_mapping(content.get("m.new_content"))
        # what is no message has no other kind than that of its event
        kind = as_string(content.get("msgtype")) or kind
        base = replace(base, id=f"{account.name}:{edited}", order=order_of(base.at, edited))
        id = edited
    attachments = list_attachments(kind, content)
    holdings = list_holdings(kind, content)
    text = read_text(kind, content)
    if relation.edits and not (edited and content):
        return
    if not (text.strip() or attachments or holdings):
        return
    mentions = read_mentions(content)
    names = (account.user, mentions.labels.get(account.user, ""), account.localpart)
    is_named = account.user in mentions.ids or begins_with_name(text, names)
    data: dict[str, Json] = {}
    if relation.answers:
        data[ANSWERS] = relation.answers
    if mentions.declared:
        data[DECLARED] = True
    room = MatrixChat.parse(base.session).room
    event = replace(
        base,
        session=MatrixChat(room, relation.thread).name_session(account.name),
        text=as_command(strip_name(text, names) if is_named else text),
        attachments=attachments,
        quotes=holdings,
        reply_to=id,
        addressed=() if is_named else base.addressed,
        data=data,
    )
    if edited:
        from functions.channels.message_changes import receive_edit

        yield from receive_edit(event, event.at, edited).events
    else:
        yield event


def list_deleted(event: Event) -> list[OverheardMessage]:
    """Return the messages that an event says were deleted, as they may have been overheard."""
    rows = map(as_string, as_sequence(event.data.get(DELETED)))
    gone = (replace(event, id=id, order=order_of(event.at, id.partition(":")[2])) for id in rows)
    return [replace(make_overheard(each), sender=Sender("")) for each in gone]


def _make_deletion(id: str, base: Event, account: Account) -> Event:
    """Return the event that says that a message was redacted, in its room: the homeserver does not
    tell its thread, nor who wrote it.
    """
    from functions.channels.message_changes import make_deleted, receive_deletion

    order = order_of(base.at, id)
    gone = make_deleted(f"{account.name}:{id}", base.agent, base.session, base.at, order)
    [event] = receive_deletion([gone], base.at).events
    return event
