"""Matrix as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import hmac
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from functions import log
from functions.channels.about import name_variable
from functions.channels.base import (
    AttachedFile,
    ChatEncrypted,
    Draft,
    PlatformAnswer,
    PlatformRequest,
    Received,
    Reply,
)
from functions.channels.first_use import FirstUse
from functions.channels.matrix.answer_runs import ECHO_MOST, RUN_MOST, AnswerRuns
from functions.channels.matrix.contents import (
    begins_with_name,
    holds_name,
    read_relation,
    strip_name,
)
from functions.channels.matrix.encrypted_rooms import EncryptedRooms
from functions.channels.matrix.events import ANSWERS, DECLARED, Account, list_deleted, read_events
from functions.channels.matrix.identifiers import FILE, USER, MatrixChat, find_id
from functions.channels.platform_api.address import read_address
from functions.channels.typed_commands import as_command
from functions.events import (
    CAME,
    DELETED,
    EDITED,
    ENCRYPTED,
    WRITTEN,
    Event,
    Quote,
    Sender,
    order_of,
)
from functions.overheard import OverheardMessage, make_overheard
from sigil.errors import BackendError, Refused, SigilError, UsageError
from sigil.json_fields import as_mapping, as_number, as_sequence, as_string

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.listening.updates import Updates
    from functions.channels.matrix.api import MatrixApi
    from functions.channels.matrix.drafts import MatrixDrafts
    from functions.channels.matrix.rooms import Room, RoomDirectory
    from functions.channels.platform_api.http_client import Transport
    from sigil.storage.kv import KV

BODY_MOST: Final = 32 << 20
"""A transaction has a hundred events or more, of up to 64 KiB each."""
_NOTICE: Final = "encrypted"
"""The address of an answer that only says that nothing encrypted can be read."""
WAITING_SECONDS: Final = 20.0
TYPING_MILLISECONDS: Final = 30_000
WAITING_TIMEOUT: Final = 5.0
JOIN_TIMEOUT: Final = 60.0
"""A room of another server is joined through that server."""
REMEMBERED_MOST: Final = 1_000
"""Messages of which this process remembers that they were read, or answered."""
EMPTY: Final = PlatformAnswer(body=b"{}")
_UNKNOWN: Final = PlatformAnswer(404, b'{"errcode":"M_UNRECOGNIZED","error":"unknown address"}')
_OTHER_METHOD: Final = PlatformAnswer(405, b'{"errcode":"M_UNRECOGNIZED","error":"other method"}')
_NOT_OURS: Final = PlatformAnswer(404, b'{"errcode":"M_NOT_FOUND","error":"none of ours"}')
_PATH: Final = re.compile(
    r"(?:_matrix/app/(?:v1|unstable/fi\.mau\.msc2659)/)?(transactions|users|rooms|ping)(?:/(.*))?",
    re.DOTALL,
)
_METHODS: Final = {"transactions": "PUT", "users": "GET", "rooms": "GET", "ping": "POST"}


class Matrix:
    """One account at a homeserver.

    `user` is its id. `token` is its access token, or that of the application service whose sender
    it is; `secret` is the token by which the homeserver proves itself to that service (empty: every
    request is refused). `agent`: whose sessions its chats are. `name`: the channel's, with which
    its sessions and people begin. `drafts`: "on" to show answers while they are written.
    `transport` makes the HTTP transport (None: httpx's own), `now` returns seconds since 1970.
    `UsageError` when `user`, `homeserver` or `drafts` cannot be right.
    """

    splits_albums = True

    def __init__(
        self,
        homeserver: str,
        user: str,
        token: str,
        secret: str = "",
        *,
        agent: str = "main",
        name: str = "matrix",
        drafts: str = "off",
        transport: Transport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not find_id(USER, user):
            raise UsageError(
                "EINVAL",
                "MATRIX_USER is the account's whole id, such as @sigil:example.org",
                source="matrix",
            )
        if drafts not in ("on", "off"):
            raise UsageError("EINVAL", "MATRIX_DRAFTS is on or off", source="matrix")
        self._base = (
            read_address(homeserver, "MATRIX_HOMESERVER", source="matrix") if homeserver else ""
        )
        self._account = Account(user, name, agent)
        self._token = token
        self._secret = secret
        self._transport = transport
        self._now = now
        self._lock = threading.Lock()
        self._api = FirstUse(self._open_api)
        self._rooms = FirstUse(self._make_rooms)
        self._encrypted = EncryptedRooms(agent, name)
        self._runs = AnswerRuns()
        self._wants_drafts = drafts == "on"
        self._drafts: MatrixDrafts | None = None
        self._read: set[str] = set()
        self._answered: set[str] = set()
        self._threads: dict[str, str] = {}

    @property
    def body_most(self) -> int:
        """Return more than a homeserver sends."""
        return BODY_MOST

    @property
    def api(self) -> MatrixApi:
        """Return the homeserver's API, opened at its first use."""
        for field, value in (("homeserver", self._base), ("token", self._token)):
            if not value:
                raise BackendError(
                    "EUNAVAILABLE",
                    f"{name_variable(self._account.name, field)} is not set",
                    source="matrix",
                    suggestion="set it",
                )
        return self._api.get()

    def _open_api(self) -> MatrixApi:
        from functions.channels.matrix.api import MatrixApi

        return MatrixApi(self._base, self._token, self._transport)

    @property
    def rooms(self) -> RoomDirectory:
        """Return what is known of rooms."""
        return self._rooms.get()

    def _make_rooms(self) -> RoomDirectory:
        from functions.channels.matrix.rooms import RoomDirectory

        return RoomDirectory(self._account.user, self._account.name)

    def use_store(self, kv: KV) -> None:
        """Remember there which rooms are encrypted, and which show a draft."""
        self._encrypted.use_store(kv)
        if self._wants_drafts:
            from functions.channels.matrix.drafts import MatrixDrafts

            self._drafts = MatrixDrafts(
                lambda: self.api, self._account, self._encrypted, self._note_ours, kv
            )

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse a request without our homeserver's token, which older ones send in the query."""
        given = [request.query["access_token"]] if "access_token" in request.query else []
        authorization = request.headers.get("authorization")
        if authorization is not None:
            kind, _, token = authorization.partition(" ")
            given.append(token if kind.lower() == "bearer" else "")
        own = self._secret.encode()
        if not own:
            variable = name_variable(self._account.name, "secret")
            raise Refused("EAUTH", f"{variable} is not set", source="matrix")
        fits = [hmac.compare_digest(own, each.encode("utf-8", "surrogatepass")) for each in given]
        if not fits or not all(fits):
            raise Refused("EAUTH", "the request is not our homeserver's", source="matrix")
        return True

    def answer_refused(self, problem: Refused) -> PlatformAnswer:
        """Return the refusal that a homeserver understands."""
        error = {"errcode": "M_FORBIDDEN", "error": problem.message}
        return PlatformAnswer(403, orjson.dumps(error))

    def receive(self, request: PlatformRequest) -> Received:
        """Return the events of a transaction, or the answer to a question of the homeserver."""
        self.verify_head(request)
        match = _PATH.fullmatch(request.path)
        if match is None:
            return Received(answer=_UNKNOWN)
        kind, rest = match[1], match[2] or ""
        if request.method != _METHODS[kind]:
            return Received(answer=_OTHER_METHOD)
        if kind == "transactions":
            return self._receive_transaction(request.body)
        if kind == "users" and rest == self._account.user:
            return Received(answer=EMPTY)
        return Received(answer=EMPTY if kind == "ping" else _NOT_OURS)

    @property
    def bot(self) -> str:
        """Return the account's id."""
        return self._account.user

    @property
    def may_poll(self) -> bool:
        """Return whether no homeserver pushes its events: they would come twice."""
        return bool(self._token) and not self._secret

    @property
    def saves_position(self) -> bool:
        """Return True: a homeserver does not remember what it told."""
        return True

    def fetch_updates(self, position: str, seconds: int) -> Updates:
        """Return what is new in our rooms since a position, and wait `seconds` for it."""
        from functions.channels.matrix.sync import fetch_updates

        return fetch_updates(self.api, self._account.user, position, seconds)

    def read_update(self, body: bytes) -> Received:
        """Return the events of an update, which is read as a transaction is."""
        return self._receive_transaction(body)

    def _receive_transaction(self, body: bytes) -> Received:
        try:
            payload = as_mapping(orjson.loads(body))
        except orjson.JSONDecodeError:
            raise UsageError("EINVAL", "the transaction is not JSON", source="matrix") from None
        return replace(self._read_rows(payload.get("events")), answer=EMPTY)

    def _read_rows(self, rows: object) -> Received:
        """Return the events of rooms. One of what is encrypted is enough for its room, and what
        people of a group that is known say to each other is no event.
        """
        found = read_events(rows, self._account, self._now())
        changes = tuple(gone for event in found.events for gone in list_deleted(event))
        for id in found.encrypted:
            self._encrypted.note(id)
        rooms = self._rooms.made
        if rooms is None:
            return Received(found.events, overheard_changes=changes, ignored=found.ignored)
        for id in found.changed:
            rooms.forget_room(id)
        events: list[Event] = []
        overheard: list[OverheardMessage] = []
        for event in found.events:
            chat = MatrixChat.parse(event.session)
            id = chat.room
            if event.reply_to and not (event.attachments or event.is_change):
                # files are dropped in a row, and each is answered at once where it is not read
                self._runs.note_arrival(id, event.sender.id, event.reply_to, self._now())
            if chat.thread:
                self._note_thread(event.id, event.session)
            room = rooms.get_known_room(id)
            if ENCRYPTED in event.data:
                if not rooms.knows_told(id):
                    events.append(event)
            elif room is None or self._may_concern_us(event, room):
                events.append(event)
            else:
                self._runs.note_message(id, event.sender.id)
                person = event.sender.id.partition(":")[2]
                sender = Sender(event.sender.id, room.name_member(person))
                overheard.append(make_overheard(replace(event, sender=sender)))
        return Received(
            tuple(events),
            overheard=tuple(overheard),
            overheard_changes=changes,
            ignored=found.ignored,
        )

    def _may_concern_us(self, event: Event, room: Room) -> bool:
        """Return whether an event of a room is for us, or may be: it answers another."""
        if room.count <= 2 or event.joined or CAME in event.data or ANSWERS in event.data:
            return True
        if event.is_change:  # what it changes is not told here
            return True
        chat = MatrixChat.parse(event.session)
        if chat.thread:
            thread = self.rooms.recall_thread(chat.room, chat.thread)
            if thread is None or thread.ours:
                return True
        return self._names_us(event, room)

    def _names_us(self, event: Event, room: Room) -> bool:
        own_name = self._find_own_name(room)
        if not event.addressed or begins_with_name(event.text, (own_name,)):
            return True
        return DECLARED not in event.data and holds_name(event.text, own_name)

    def _find_own_name(self, room: Room) -> str:
        return room.names.get(self._account.user, "") or self._account.localpart

    def accept(self, event: Event) -> Event | None:
        """Return the event with its sender's name and what it answers, if it is for us: in a room
        of two everything is.

        An invitation is accepted, and a room is told once that nothing encrypted can be read. Who
        has come in says nothing, but the room may be private no longer.
        """
        from functions.channels.matrix.api import MatrixRejected

        chat = MatrixChat.parse(event.session)
        person = event.sender.id.partition(":")[2]
        if event.joined and not self._join(chat.room):
            return None
        if CAME in event.data:
            self.rooms.forget_room(chat.room)
        if EDITED in event.data:
            original = self._find_original(event, chat.room)
            if original is None:
                return None
            event = original
            chat = MatrixChat.parse(event.session)
        try:
            room = self.rooms.find_room(self.api, chat.room)
            is_unreadable = ENCRYPTED in event.data
            if is_unreadable or event.joined:
                is_unreadable |= self._encrypted.ask(self.api, chat.room)
            if is_unreadable:
                if self.rooms.has_told(self.api, chat.room):
                    return None
                return replace(event, addressed=(), reply_to=_NOTICE, data={ENCRYPTED: True})
        except MatrixRejected:
            # we have left the room, or were sent away
            return None
        is_edit = EDITED in event.data
        if not is_edit:
            self._runs.note_message(chat.room, event.sender.id)
        own = self._account.user
        own_name = self._find_own_name(room)
        private = room.is_private(own, person)
        if is_edit and private:
            # it keeps its place
            at = as_number(event.data.get(WRITTEN))
            event = replace(event, at=at, order=order_of(at, event.reply_to))
        if CAME in event.data:
            return replace(event, addressed=(), private=private)
        sender = Sender(event.sender.id, room.name_member(person))
        if event.joined:
            return self._greet(event, chat.room, person, sender, own_name, private=private)
        answers = as_string(event.data.get(ANSWERS))
        quotes = event.quotes
        is_named = private or self._names_us(event, room)
        if answers:
            answered = self.rooms.fetch_message(self.api, chat.room, answers)
            is_named = is_named or answered.ours
            if answered.quote:
                quotes = (answered.quote, *quotes)
        if chat.thread and answers != chat.thread:
            is_below_ours, first = self._read_thread(event, chat, is_named=is_named)
            is_named = is_named or is_below_ours
            if first:
                quotes = (first, *quotes)
        if not is_named:
            return None
        text = event.text
        if not event.addressed or begins_with_name(text, (own_name,)):
            text = strip_name(text, (own_name,))
        found = replace(
            event,
            sender=sender,
            text=as_command(text),
            addressed=(),
            private=private,
            quotes=quotes,
        )
        # a change says nothing; the message as it is then is looked at in its own turn
        return None if not is_edit and self._ends_run(found, chat.room) else found

    def _read_thread(
        self, event: Event, chat: MatrixChat, *, is_named: bool
    ) -> tuple[bool, Quote | None]:
        """Return whether a thread begins with a message of ours, and that message for the first
        event for us there that this process sees.
        """
        from functions.channels.matrix.rooms import Thread

        known = self.rooms.recall_thread(chat.room, chat.thread)
        if known is not None:
            is_for_us = is_named or known.ours
            if not is_for_us or known.first not in ("", event.reply_to):
                return known.ours, None
        try:
            root = self.rooms.fetch_message(self.api, chat.room, chat.thread)
        except BackendError:
            if not is_named:
                raise
            return False, None
        is_for_us = is_named or root.ours
        thread = Thread(root.ours, event.reply_to if is_for_us else "")
        self.rooms.note_thread(chat.room, chat.thread, thread)
        return root.ours, root.quote if is_for_us else None

    def _ends_run(self, event: Event, room: str) -> bool:
        """Return whether an event is not answered since its sender may be a program, and say so
        once: we would answer each other for ever. What stops or halts is always obeyed.
        """
        # a message that was changed since counts once
        sender = event.sender.id
        length = self._runs.measure(room, sender, event.reply_to, event.at)
        echoes = self._runs.count_echoes(room, sender, event.reply_to)
        if (length <= RUN_MOST and echoes < ECHO_MOST) or event.is_control:
            return False
        log.trouble("not answered", event, sender=sender, run=length, echoes=echoes)
        if length == RUN_MOST + 1 or echoes == ECHO_MOST:
            from functions.texts.languages import find_texts

            count = ECHO_MOST if echoes >= ECHO_MOST else RUN_MOST
            text = find_texts(event.text).answered_too_fast.format(count=count)
            with suppress(SigilError):
                self._send_notice(room, text, f"run-{event.id}")
        return True

    def _send_notice(self, room: str, text: str, key: str) -> None:
        """Send a notice to a room that is not encrypted."""
        from functions.channels.matrix.sending import RoomSender, make_notice

        self._require_clear(room, text)
        sender = RoomSender(self.api, self.bot, MatrixChat(room), key)
        self._runs.note_answer(room, self._now())
        sender.put(make_notice(text), "notice", 0)

    def _find_original(self, event: Event, room: str) -> Event | None:
        """Return what changes a message with what the message tells of itself: when it was written,
        its thread, and what it answers. None unless the same person wrote it: any homeserver passes
        on what anybody wants to replace.
        """
        original = self.rooms.fetch_event(self.api, room, event.reply_to)
        if find_id(USER, original.get("sender")) != event.sender.id.partition(":")[2]:
            return None
        relation = read_relation(as_mapping(original.get("content")))
        written = as_number(original.get("origin_server_ts")) / 1000
        data = {**event.data, WRITTEN: min(max(written, 0.0), event.at)}
        if relation.answers:
            data[ANSWERS] = relation.answers
        session = MatrixChat(room, relation.thread).name_session(self._account.name)
        return replace(event, session=session, data=data)

    def find_sessions(self, event: Event) -> Sequence[str]:
        """Return the room, and the threads of deleted messages that this process knows: nobody
        else tells them any more. Who may redact in one room may not in another.
        """
        deleted = map(as_string, as_sequence(event.data.get(DELETED)))
        threads = [self._threads.get(id, event.session) for id in deleted]
        room = MatrixChat.parse(event.session).room
        here = [each for each in threads if MatrixChat.parse(each).room == room]
        return tuple(dict.fromkeys((event.session, *here)))

    def count_rooms(self) -> int:
        """Return how many rooms our account has joined."""
        return self.rooms.count_joined(self.api)

    def decline(self, event: Event, reason: str) -> None:
        """Decline an invitation; best effort."""
        from functions.channels.matrix.api import quote_id

        room = MatrixChat.parse(event.session).room
        with suppress(SigilError):
            path = f"/rooms/{quote_id(room)}/leave"
            self.api.call("POST", path, {"reason": reason}, timeout=WAITING_TIMEOUT)

    def _join(self, room: str) -> bool:
        """Accept an invitation; False when it is none any more."""
        from functions.channels.matrix.api import MatrixRejected, quote_id

        api = self.api
        if self._secret:
            # some homeservers know the account of an application service only once it registers
            register = {
                "type": "m.login.application_service",
                "username": self._account.localpart,
                "inhibit_login": True,
            }
            with suppress(SigilError):
                api.call("POST", "/register", register)
        try:
            api.call("POST", f"/rooms/{quote_id(room)}/join", {}, timeout=JOIN_TIMEOUT)
        except MatrixRejected:
            return False
        self.rooms.forget_room(room)
        return True

    def _greet(
        self, event: Event, room: str, person: str, sender: Sender, own: str, *, private: bool
    ) -> Event:
        """Return the event by which a room is greeted; a person alone has started a chat."""
        if not private:
            return replace(event, sender=sender, addressed=(own,))
        with suppress(SigilError):
            self.rooms.note_direct(self.api, person, room)
        return replace(
            event, sender=sender, text="/start", addressed=(), private=True, joined=False
        )

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send each part of a reply as a message, a picture or a file as one of its own.

        More than five messages would be sent as four, and the whole of it as a file. `reply.to` is
        a message's id; only a group's first part points at it.
        """
        from functions.channels.matrix.sending import RoomSender, make_attachment, make_parts
        from functions.channels.replies.reply_parts import list_unsent

        chat = self._find_chat(reply.session)
        is_notice = reply.to == _NOTICE
        points = not is_notice and not reply.goes_on and self._is_group(chat.room)
        answers = reply.to if points else ""
        # a room is told once, whatever could not be read there
        sender = RoomSender(self.api, self.bot, chat, _NOTICE if is_notice else reply.key, answers)
        parts = make_parts(reply)
        for number, part in list_unsent(parts, reply.start, sent):
            if not is_notice:
                # before each one, and before a file is uploaded
                self._require_clear(chat.room, reply.text)
            self._runs.note_answer(chat.room, self._now(), "" if is_notice else reply.to)
            if isinstance(part, AttachedFile):
                sender.send(make_attachment(part, reply.words), number)
            else:
                sender.send(part, number)
        if is_notice:
            self.rooms.note_told(self.api, chat.room)
            return
        self._note_answered(reply.to)
        self._remove_draft(chat.room, reply.to)
        self._set_typing(chat.room, is_typing=False)

    def _note_ours(self, room: str) -> None:
        """Note that something of ours appears in a room now."""
        self._runs.note_answer(room, self._now())

    def open_draft(self, event: Event) -> Draft | None:
        """Return the draft of an answer in a room of two, where an owner wants drafts."""
        return self._drafts.open(event) if self._drafts else None

    def _remove_draft(self, room: str, message: str) -> None:
        """Take away what is left of the draft of the answer to a message; best effort."""
        if self._drafts and message:
            with suppress(SigilError):
                self._drafts.remove(room, message)

    def _find_chat(self, session: str) -> MatrixChat:
        """Return the chat of a session; a person's own is the room where we are alone with them."""
        chat = MatrixChat.parse(session)
        if not chat.person:
            return chat
        api = self.api
        return MatrixChat(
            self.rooms.find_direct(api, chat.person, lambda room: self._encrypted.ask(api, room))
        )

    def _require_clear(self, room: str, text: str) -> None:
        """Raise `ChatEncrypted` for a room in which what is said is encrypted. It is told so if it
        was not yet, in the language of `text`, which does not leave.
        """
        if not self._encrypted.ask(self.api, room):
            return
        from functions.channels.matrix.sending import MatrixText, RoomSender
        from functions.channels.render.matrix import MatrixPart
        from functions.texts.languages import find_texts

        with suppress(SigilError):
            if not self.rooms.has_told(self.api, room):
                told = MatrixText(MatrixPart(find_texts(text).encrypted_room))
                RoomSender(self.api, self.bot, MatrixChat(room), _NOTICE).send(told, 0)
                self.rooms.note_told(self.api, room)
        raise ChatEncrypted("we write nothing into an encrypted room", source="matrix")

    def send_editable(self, session: str, text: str, key: str) -> str:
        """Send a message; one with the same key is the one that is there. Its name is that of the
        room and its own.
        """
        from functions.channels.matrix.sending import RoomSender, make_editable

        chat = self._find_chat(session)
        self._require_clear(chat.room, text)
        sent = RoomSender(self.api, self.bot, chat, key).put(make_editable(text), "line", 0)
        return f"{chat.room} {sent}"

    def edit(self, session: str, message: str, text: str) -> None:
        """Replace a message (https://spec.matrix.org/latest/client-server-api/#event-replacements)."""
        from functions.channels.matrix.sending import replace_message

        room, _, event = message.partition(" ")
        self._require_clear(room, text)
        replace_message(self.api, self.bot, room, event, text)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent, from our own homeserver, which gets it from theirs."""
        match = FILE.fullmatch(as_string(attachment.get("file_id")))
        if match is None:
            raise UsageError("EINVAL", "not a file of Matrix that can be read", source="matrix")
        return self.api.download(match[1], match[2], most)

    def show_waiting(self, event: Event) -> float:
        """Mark the message as read, and show that we write."""
        chat = MatrixChat.parse(event.session)
        is_waited_for = event.reply_to not in self._answered
        if not chat.room or not is_waited_for or self._encrypted.knows(chat.room):
            return 0.0
        with suppress(SigilError):
            self._mark_read(chat, event.reply_to)
        self._set_typing(chat.room, is_typing=True)
        if event.reply_to in self._answered:
            # the answer was faster than the sign of it
            self._set_typing(chat.room, is_typing=False)
        return WAITING_SECONDS

    def end_waiting(self, event: Event) -> None:
        """Show that we do not write any more."""
        with suppress(SigilError):
            chat = MatrixChat.parse(event.session)
            if chat.room:
                self._note_answered(event.reply_to)
                self._remove_draft(chat.room, event.reply_to)
                self._set_typing(chat.room, is_typing=False)

    def acknowledge(self, event: Event) -> None:
        """Do nothing: there are no buttons."""

    def fetch_bot_name(self) -> str:
        """Return our account's name; `BackendError` when the homeserver does not answer, or the
        token is another account's.
        """
        from functions.channels.matrix.api import quote_id

        own = self._account.user
        try:
            found = as_string(self.api.call("GET", "/account/whoami").get("user_id"))
            if found != own:
                raise BackendError(
                    "EUNAVAILABLE",
                    f"MATRIX_TOKEN is of {found:.100}, not of MATRIX_USER",
                    source="matrix",
                    suggestion="set both to those of one account",
                )
            profile = self.api.call("GET", f"/profile/{quote_id(own)}")
        except Refused:
            # an account has no name until somebody sets one
            return self._account.localpart
        return as_string(as_mapping(profile).get("displayname")) or self._account.localpart

    def check_webhook(self) -> None:
        """Let the homeserver reach the application service; `BackendError` when it does not.

        A homeserver that cannot be asked to, or that knows the service by another id, tells
        nothing.
        """
        from functions.channels.matrix.recipe import name_service

        if not self._secret:
            return
        problem = self.api.ping_service(name_service(self._account.user))
        if problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"the homeserver does not reach the webhook: {problem}",
                source="matrix",
                suggestion="check the url of its registration, and that hs_token is MATRIX_SECRET",
            )

    def _is_group(self, room: str) -> bool:
        """Return whether more people are in a room than one and we; best effort."""
        try:
            return self.rooms.find_room(self.api, room).count > 2
        except SigilError:
            return False

    def _note_thread(self, message: str, session: str) -> None:
        """Remember in which thread a message stood, for when it is redacted."""
        with self._lock:
            if len(self._threads) >= REMEMBERED_MOST:
                self._threads.clear()
            self._threads[message] = session

    def _note_answered(self, message: str) -> None:
        """Remember that nobody waits for the answer to a message any more."""
        with self._lock:
            if len(self._answered) >= REMEMBERED_MOST:
                self._answered.clear()
            if message:
                self._answered.add(message)

    def _mark_read(self, chat: MatrixChat, message: str) -> None:
        from functions.channels.matrix.api import quote_id

        if not message or message in self._read:
            return
        with self._lock:
            if len(self._read) >= REMEMBERED_MOST:
                self._read.clear()
            self._read.add(message)
        path = f"/rooms/{quote_id(chat.room)}/receipt/m.read/{quote_id(message)}"
        thread = chat.thread or "main"
        self.api.call("POST", path, {"thread_id": thread}, timeout=WAITING_TIMEOUT)

    def _set_typing(self, room: str, *, is_typing: bool) -> None:
        """Show whether we write; best effort."""
        from functions.channels.matrix.api import quote_id

        path = f"/rooms/{quote_id(room)}/typing/{quote_id(self._account.user)}"
        body: dict[str, object] = {"typing": is_typing}
        if is_typing:
            body["timeout"] = TYPING_MILLISECONDS
        with suppress(SigilError):
            self.api.call("PUT", path, body, timeout=WAITING_TIMEOUT)


def open_channel(settings: ChannelSettings) -> Matrix:
    """Open the account that the settings describe."""
    return Matrix(
        settings["homeserver"],
        settings["user"],
        settings.reveal("token"),
        settings.reveal("secret"),
        agent=settings.agent,
        name=settings.name,
        drafts=settings["drafts"],
    )
