"""Answers that grow in the chat as the message that they become, where a platform has a form for
that: a stream, or a card.

The answer is in the outbox and leaves as any other; only its first part does not come beside what
was shown, but completes it. So a message that grows is kept in the store from before it appears,
and says which reply it becomes before that leaves. Whatever crashes in between, the next worker
knows what stands there: it completes the message or removes it, and nothing is left or comes twice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from functions.channels.base import Busy, NotAllowed, Reply
from functions.channels.drafts import DraftForm, DraftHealth
from sigil.errors import Refused, SigilError
from sigil.storage.kv import KV, Key, keys
from sigil.storage.stored import Shape, Stored, dumps

BEGUN_MOST: Final = 3
"""So many messages grow for one answer, whose words may be replaced by others."""
KEPT_MOST: Final = 1_000


@dataclass(frozen=True, slots=True)
class GrowingNote(Stored):
    """A message that grows into the answer to `message`, the `reply_to` of an event, since `began`
    (seconds since 1970).

    `name` is what its platform calls it, empty while nobody knows that. `reply` is the key of the
    reply that it becomes, empty while the model writes.
    """

    message: str
    began: float
    name: str = ""
    reply: str = ""


_NOTE: Final = Shape[GrowingNote](GrowingNote, required=("message", "began"))


class GrowingPlace(Protocol):
    """The place in a chat where one answer grows. Errors as those of `Channel.send`."""

    @property
    def takes_over(self) -> bool:
        """Return whether a message can be completed of which only its name is known."""

    def prepare(self, text: str) -> str:
        """Return the name of a message with a text that nobody sees yet; empty where it gets one
        later.
        """

    def begin(self, name: str, text: str) -> str:
        """Let a message appear with a text, and return its name."""

    def continues(self, shown: str, text: str) -> bool:
        """Return whether what was shown can become the text."""

    def grow(self, name: str, shown: str, text: str) -> None:
        """Show a text in place of what was shown. `Busy` with no seconds: it grows no more."""

    def look_for(self, note: GrowingNote) -> str:
        """Return the name of a message that nobody knows, empty where it is not there yet."""

    def remove(self, note: GrowingNote) -> bool:
        """Remove a message with a name, and return False where it may still appear."""


class GrowingMessages:
    """The messages of one bot that grow. Safe to share between threads.

    `agent`: whose sessions its chats are. `now` returns seconds since 1970.
    """

    def __init__(self, agent: str, kv: KV, now: Callable[[], float] = time.time) -> None:
        self.health = DraftHealth()
        self.now = now
        self._agent = agent
        self._kv = kv
        self._lock = threading.Lock()
        self._here: dict[str, GrowingMessage] = {}

    def open(
        self, session: str, message: str, place: GrowingPlace, form: DraftForm
    ) -> GrowingMessage:
        """Return the message that is to grow in a session into the answer to a message."""
        opened = GrowingMessage(self, session, message, place, form)
        with self._lock:
            self._here[session] = opened
            while len(self._here) > KEPT_MOST:
                del self._here[next(iter(self._here))]
        return opened

    def take(self, reply: Reply, place: GrowingPlace, form: DraftForm) -> GrowingMessage | None:
        """Return the message that a reply may complete, None where there is none; whoever sends the
        reply settles it afterwards. What a crash has left of it is removed, where it cannot be
        completed.
        """
        if reply.goes_on or not reply.to:
            return None
        if reply.start:
            # the first part left another way, and nobody lived to remove what was shown
            self.end(reply.session, reply.to, place)
            return None
        with self._lock:
            here = self._here.get(reply.session)
            if here and here.message == reply.to:
                del self._here[reply.session]
        if here and here.message == reply.to and here.close():
            return here
        note = self.read(reply.session)
        if note is None or note.message != reply.to or note.reply not in ("", reply.key):
            return None
        left = GrowingMessage(self, reply.session, reply.to, place, form, note)
        if place.takes_over or not note.name:
            return left
        left.is_incomplete = True
        try:
            self.remove(reply.session, note, place)
        except SigilError:
            return left  # it is tried again behind the reply
        return None

    def end(self, session: str, message: str, place: GrowingPlace) -> None:
        """Remove what a crash has left of the answer to a message, to which none comes."""
        with suppress(SigilError):
            note = self.read(session)
            if note and note.message == message and not note.reply:
                self.remove(session, note, place)

    def sweep(self, session: str, place: GrowingPlace) -> None:
        """Remove what is left in a session of any answer, before another one begins there. Errors
        as `Channel.send`.
        """
        note = self.read(session)
        if note and not note.reply:
            self.remove(session, note, place)

    def remove(self, session: str, note: GrowingNote, place: GrowingPlace) -> None:
        """Remove a message; what may still appear stays noted. Errors as `Channel.send`."""
        if not note.name:
            note = replace(note, name=place.look_for(note))
            if not note.name:
                return
            # removing it takes several requests, and in between it is not found again
            self.note(session, note)
        if place.remove(note):
            self.forget(session)

    def drop(self, message: GrowingMessage) -> None:
        """Forget in this process that a message grows."""
        with self._lock:
            if self._here.get(message.session) is message:
                del self._here[message.session]

    def read(self, session: str) -> GrowingNote | None:
        """Return what the store has of a session; `BackendError` when it does not answer."""
        found = self._kv.get(self._key(session))
        if found is None:
            return None
        with suppress(ValueError):
            return _NOTE.read(found.value)
        self.forget(session)
        return None

    def note(self, session: str, note: GrowingNote) -> None:
        """Keep what grows in a session. Errors as `read`."""
        self._kv.put(self._key(session), dumps(note), ttl=keys.SEEN_TTL)

    def forget(self, session: str) -> None:
        """Forget what grew in a session. Errors as `read`."""
        self._kv.delete(self._key(session))

    def _key(self, session: str) -> Key:
        return keys.shown_draft(keys.session_of(self._agent, session))


@dataclass(slots=True)
class GrowingMessage:
    """The message in a `session` that grows into the answer to `message`.

    One thread shows words in it, and another one lets the answer complete it, perhaps while a
    request of the first is under way.
    """

    messages: GrowingMessages
    session: str
    message: str
    place: GrowingPlace
    form: DraftForm
    _note: GrowingNote | None = None
    is_incomplete: bool = field(default=False, init=False)
    """Whether no reply can complete it."""
    _shown: str = field(default="", init=False)
    _begun: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _is_beginning: bool = field(default=False, init=False)
    _is_sure: bool = field(default=False, init=False)
    _is_closed: bool = field(default=False, init=False)
    _is_taken: bool = field(default=False, init=False)
    _is_completed: bool = field(default=False, init=False)

    @property
    def health(self) -> DraftHealth:
        """Return what is known of the bot's messages that grow."""
        return self.messages.health

    def show(self, text: str) -> None:
        """Show a text in it."""
        with self._lock:
            self._require_open()
            is_other = self._note is not None and not self.place.continues(self._shown, text)
            # an answer that comes now must not find what is being removed
            note = self._leave() if is_other else None
        if note:
            self.messages.remove(self.session, note, self.place)
        if self._note is None:
            self._begin(text)
        elif self._is_beginning_lost():
            raise _stop_growing("its beginning is unknown")
        else:
            self._grow(text)

    def _require_open(self) -> None:
        if self._is_closed:
            raise _stop_growing("the answer is there")

    def _leave(self) -> GrowingNote | None:
        """Know of no message any more, and return the note of the one that there was."""
        note, self._note = self._note, None
        self._shown = ""
        return note

    def _is_beginning_lost(self) -> bool:
        """Return whether nobody knows what stands there, or whether anything does."""
        return not self._is_sure and not self.place.takes_over

    def _begin(self, text: str) -> None:
        if self._begun >= BEGUN_MOST:
            raise _stop_growing("its words were replaced too often")
        self.messages.sweep(self.session, self.place)
        prepared = self.place.prepare(text)
        note = GrowingNote(self.message, self.messages.now(), prepared)
        with self._lock:
            self._require_open()
            self.messages.note(self.session, note)
            self._note = note
            self._is_beginning = True
        try:
            name = self.place.begin(prepared, text)
        except (Busy, Refused, NotAllowed):
            with self._lock:
                self._is_beginning = False
                if not self._is_taken:
                    self._leave()
                    self.messages.forget(self.session)
            raise
        except SigilError:
            self._end_beginning()
            raise
        with self._lock:
            self._begun += 1
            self._is_sure = True
            self._shown = text
            # the answer may be completing it already, and has noted that then
            self._note = note = replace(self._note or note, name=name)
        try:
            if name != prepared:
                self._keep_name(note)
        finally:
            self._end_beginning()

    def _keep_name(self, note: GrowingNote) -> None:
        """Keep the name that the platform has given it, unless its answer is there."""
        with self._lock:
            if not self._is_closed:
                self.messages.note(self.session, note)

    def _end_beginning(self) -> None:
        """Note that the message is there or not, and remove it if the answer went another way."""
        with self._lock:
            self._is_beginning = False
            is_left = self._is_closed and not self._is_taken
        if is_left:
            self._withdraw()

    def _grow(self, text: str) -> None:
        with self._lock:
            self._require_open()
            assert self._note, "only an answer takes it, and closes it"
            name, shown = self._note.name, self._shown
            self._is_sure = False
        try:
            self.place.grow(name, shown, text)
        except (Busy, Refused, NotAllowed):
            with self._lock:
                self._is_sure = True
            raise
        with self._lock:
            self._is_sure = True
            self._shown = text

    def take_away(self) -> None:
        """Remove it."""
        self.close()
        self.messages.drop(self)
        self._withdraw()

    def close(self) -> bool:
        """Let it grow no more, since its answer comes. Return whether it stands there, or may."""
        with self._lock:
            self._is_closed = True
            return self._note is not None

    def complete(self, key: str, complete: Callable[[GrowingNote, str | None], None]) -> bool:
        """Let the reply with a key complete it by a function of its note and of what it shows, None
        where that is not known. Return False when the platform refuses: then nothing is left of it.

        Errors as `Channel.send`; the same reply tries again later.
        """
        with self._lock:
            if self._note is None or not self._note.name or self.is_incomplete:
                return False
            self._is_taken = True
            self._note = note = replace(self._note, reply=key)
            shown = self._shown if self._is_sure else None
            self.messages.note(self.session, note)
        try:
            complete(note, shown)
        except (Refused, NotAllowed):
            self._give_up()
            return False
        self._is_completed = True
        return True

    def settle(self) -> None:
        """Remove it unless the reply has completed it: it has left another way. Best effort."""
        if not self._is_completed:
            self._give_up()

    def _give_up(self) -> None:
        with self._lock:
            self._is_closed = True
            self._is_taken = False
            is_beginning = self._is_beginning
        if not is_beginning:  # else the other thread removes it
            with suppress(SigilError):
                self._withdraw()

    def _withdraw(self) -> None:
        with self._lock:
            note = self._leave()
        if note is None:
            return
        open_note = replace(note, reply="")
        if note.reply:
            self.messages.note(self.session, open_note)
        self.messages.remove(self.session, open_note, self.place)


def _stop_growing(reason: str) -> Busy:
    """Return what ends the drafts of a turn and is no failure of the bot's."""
    return Busy(f"the message grows no more: {reason}")
