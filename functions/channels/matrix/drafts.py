"""Drafts in rooms of two, where an owner wants them: a message that changes, and that is redacted
before its answer leaves.

The answer is a message of its own and no last change of the draft. It would have to find the draft
whatever crashed in between, and would notify nobody. What a crash leaves of a draft, or what could
not be redacted, is in the store, and goes with the answer or with the next draft there.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from functions.channels.base import Busy, Draft
from functions.channels.drafts import DraftForm, DraftHealth
from functions.channels.matrix.identifiers import MatrixChat
from functions.events import Event
from sigil.errors import Refused
from sigil.storage.kv import KV, Key, keys
from sigil.storage.stored import Shape, Stored, dumps

if TYPE_CHECKING:
    from functions.channels.matrix.api import MatrixApi
    from functions.channels.matrix.encrypted_rooms import EncryptedRooms
    from functions.channels.matrix.events import Account

FORM: Final = DraftForm(pace=2.0, characters=4_000, shows_most=20)
"""Each change is an event that the room keeps for ever."""
PLACEHOLDER: Final = "…"


@dataclass(frozen=True, slots=True)
class _DraftNote(Stored):
    """The draft of the answer to a `message`, by the transaction that sent it and the event that
    this made, empty while nobody knows it.
    """

    message: str
    transaction: str
    event: str = ""


_NOTE: Final = Shape[_DraftNote](_DraftNote, required=("message", "transaction"))


class MatrixDrafts:
    """The drafts of one account. `note_answer` hears of each room in which something of ours
    appears.
    """

    def __init__(
        self,
        open_api: Callable[[], MatrixApi],
        account: Account,
        encrypted: EncryptedRooms,
        note_answer: Callable[[str], None],
        kv: KV,
    ) -> None:
        self.open_api = open_api
        self.account = account
        self.encrypted = encrypted
        self.note_answer = note_answer
        self.health = DraftHealth()
        self._kv = kv

    def open(self, event: Event) -> Draft | None:
        """Return the draft of the answer to an event; None but in a room of two that is not known
        to be encrypted.
        """
        chat = MatrixChat.parse(event.session)
        is_room = chat.room and not chat.thread and event.private and event.reply_to
        if not is_room or self.encrypted.knows(chat.room):
            return None
        return MatrixDraft(self, chat.room, event.reply_to)

    def note(self, room: str, note: _DraftNote) -> None:
        """Keep which draft is in a room. `BackendError` when the store does not answer."""
        self._kv.put(self._key(room), dumps(note), ttl=keys.SEEN_TTL)

    def forget(self, room: str) -> None:
        """Forget the draft in a room: it is not there. Errors as `note`."""
        self._kv.delete(self._key(room))

    def remove(self, room: str, message: str = "") -> None:
        """Redact what is left in a room of the draft of the answer to a message, or of any.

        Errors as `MatrixApi.call` and `note`; what could not be redacted is tried again.
        """
        found = self._kv.get(self._key(room))
        if found is None:
            return
        try:
            note = _NOTE.read(found.value)
        except ValueError:
            self.forget(room)
            return
        if message in ("", note.message):
            self.redact(room, note)

    def redact(self, room: str, note: _DraftNote) -> None:
        """Redact a draft. One of which nobody knows whether it was sent is sent once more: the
        homeserver takes its transaction once, and tells its name.
        """
        from functions.channels.matrix.api import MatrixRejected
        from functions.channels.matrix.sending import EDIT_TIMEOUT, redact_message

        try:
            name = note.event or self.send(room, note.transaction, PLACEHOLDER)
            redact_message(self.open_api(), room, name, f"{note.transaction}-gone", EDIT_TIMEOUT)
        except MatrixRejected as problem:
            if problem.error != "M_NOT_FOUND":
                raise
        self.forget(room)

    def send(self, room: str, transaction: str, text: str) -> str:
        """Send a draft, and return the name of its event. Errors as `MatrixApi.call`."""
        from functions.channels.matrix.sending import EDIT_TIMEOUT, RoomSender, make_live

        sender = RoomSender(self.open_api(), self.account.user, MatrixChat(room), transaction)
        return sender.put(make_live(text), "draft", 0, EDIT_TIMEOUT)

    def _key(self, room: str) -> Key:
        return keys.shown_draft(keys.session_of(self.account.agent, f"{self.account.name}:{room}"))


@dataclass(slots=True)
class MatrixDraft:
    """The draft of the answer to a `message` in a room."""

    drafts: MatrixDrafts
    room: str
    message: str
    form: DraftForm = FORM
    _note: _DraftNote | None = field(default=None, init=False)

    @property
    def health(self) -> DraftHealth:
        """Return how the drafts of the account fare."""
        return self.drafts.health

    def show(self, text: str) -> None:
        """Send a message, and change it from then on."""
        from functions.channels.matrix.sending import replace_message

        api = self.drafts.open_api()
        if self.drafts.encrypted.ask(api, self.room):
            raise Refused("EBLOCKED", "we write nothing into an encrypted room", source="matrix")
        if self._note and self._note.event:
            user = self.drafts.account.user
            replace_message(api, user, self.room, self._note.event, text, is_live=True)
        else:
            self._send(text)

    def _send(self, text: str) -> None:
        is_first = self._note is None
        if self._note is None:
            self.drafts.remove(self.room)
            note = _DraftNote(self.message, uuid.uuid4().hex)
            self.drafts.note(self.room, note)
            self._note = note
        self.drafts.note_answer(self.room)
        try:
            event = self.drafts.send(self.room, self._note.transaction, text)
        except (Busy, Refused):
            if is_first:  # else an earlier request may have come through
                self._note = None
                self.drafts.forget(self.room)
            raise
        self._note = replace(self._note, event=event)
        self.drafts.note(self.room, self._note)

    def take_away(self) -> None:
        """Redact the message."""
        if self._note:
            self.drafts.redact(self.room, self._note)
