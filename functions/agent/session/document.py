"""A session's document holds everything that a turn needs to know about a chat.

It is a value here, and one record in the store.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import orjson

from functions import events
from functions.agent.conversation import tokens
from functions.agent.conversation.messages import (
    RUNTIME_ORIGIN,
    Count,
    Message,
    Number,
    Usage,
    find_last_said,
)
from functions.agent.ledger.chain import LedgerChain
from functions.agent.ledger.entry import Entry
from functions.agent.safety import status
from functions.agent.safety.status import SafetyStatus
from functions.agent.session.overflow import (
    LIMIT,
    OverflowStore,
    compress,
    move_bodies_back,
    move_bodies_out,
)
from functions.events import Button, Event, order_of
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_number
from sigil.protocol import Json, KeptFile
from sigil.storage.evolve import evolve
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps, later

LAST_UPDATE: Final = 10**20 - 1
"""The number of no update is larger."""
ASLEEP: Final = "!sleep"
"""The end of a turn after which no behaviour goes on. No behaviour has this name."""
NEXT_LEG: Final = "!leg"
"""The end of a turn after which another one goes on with the same piece of work."""
IDLE: Final = "!idle"
"""The end of a turn whose teammate has nothing more to do."""
WAITS: Final = "!waits"
"""The end of a turn whose teammate waits for an answer to its plan."""
SAFE_STOP: Final = "safe_stop"
"""How a limit ends work that it cuts short; work that can still answer sleeps."""
LOST: Final = "lost"
"""How a request finished whose answer a crash took."""
COMPRESS_BYTES = 64 * 1024
SEEN_MOST = 64
OUTBOX_MOST = 200
NOTE_STEP: Final = "note"
"""The step of a turn's trace that has what the agent noted of its own work."""
HELD_STEP: Final = "held"
"""The step of a turn that said nothing because its chat has quiet hours, `until` a time of day."""
RUNS_MOST: Final = 20
RUN_TIMES: Final = 10**13 - 1
"""A time in milliseconds that none comes after."""
HIDDEN: Final = "kept:"
"""The ids that version 0.1.0 takes what is hidden for begin so; no platform is called so."""
HIDDEN_CHARACTERS: Final = 600


def describe_held(step: Mapping[str, Json]) -> str:
    """Return until when quiet hours hold back what a turn had to say."""
    return f"quiet hours until {step['until']}"


@dataclass(frozen=True, slots=True)
class GatheredMessage(Stored):
    """A message that a turn answers beside its own event: its number in the history, and its event
    without words and quotes, which are there; of those, the files stay.
    """

    seq: Count
    event: Event


@dataclass(frozen=True, slots=True)
class Turn(Stored):
    """The turn in progress.

    `attempts` counts how often it was opened since the last checkpoint, `rounds` its requests so
    far, `waits` how often a worker handed it on because its own time was up; `used` are the seconds
    of those workers. `began` is in seconds since 1970. `trace` has a row for each step so far, for
    `uncaged trace`, and never a text but the agent's own notes. `gathered` are the messages that it
    answers beside its event, in order. `posted` counts the events that it has posted. `first` is
    the number of its first message where mail may come in between, else 0. `behaviour` names the
    one that it runs in work of the agent's own. `ended` is not empty when it ends by itself:
    `ASLEEP`, or the name of the behaviour that goes on. `model` is another model of the same
    endpoint that was chosen for the work, empty for the chat's. `payer` is the id whose daily
    allowance it uses, where that is another one of the same person than its event's.
    """

    event: Event
    attempts: Count = 1
    rounds: Count = 0
    tools: tuple[str, ...] = ()
    usage: Usage = Usage()
    began: Number = 0.0
    waits: Count = 0
    used: Number = 0.0
    trace: tuple[Mapping[str, Json], ...] = ()
    gathered: tuple[GatheredMessage, ...] = later(())
    posted: Count = later(0)
    first: Count = later(0)
    behaviour: str = later("")
    ended: str = later("")
    model: str = later("")
    payer: str = later("")

    @property
    def is_cut_short(self) -> bool:
        """Return whether a limit of its behaviour has ended it before it was done."""
        return bool(self.trace) and self.trace[-1].get("end") == SAFE_STOP

    @property
    def is_handed_on(self) -> bool:
        """Return whether another behaviour goes on where it ended."""
        return bool(self.ended) and self.ended not in (ASLEEP, NEXT_LEG, IDLE, WAITS)

    @property
    def held_back(self) -> str:
        """Return what holds back what it had to say and until when, empty when nothing does."""
        for step in self.trace:
            if step["kind"] == HELD_STEP:
                return describe_held(step)
        return ""

    @property
    def events(self) -> tuple[Event, ...]:
        """Return the events that it answers, in order."""
        return (self.event, *(each.event for each in self.gathered))

    @property
    def task(self) -> str:
        """Return the piece of work that it belongs to, empty for the one before.

        A person's message begins a new one, and so does work of the agent's own, unless its event
        names the one that it goes on with.
        """
        if self.event.kind == "message":
            return self.event.id
        return self.event.task or (self.event.id if self.event.is_own_work else "")

    @property
    def failed(self) -> bool:
        """Return whether its last request to the model failed."""
        return bool(self.trace) and self.trace[-1].get("finish") == "error"

    @property
    def answered(self) -> bool:
        """Return whether its last request to the model brought an answer."""
        finishes = [row.get("finish") for row in self.trace if row.get("kind") == "request"]
        return bool(finishes) and finishes[-1] in ("stop", "length")

    @property
    def waiting(self) -> bool:
        """Return whether nobody works on it now, because the model does not answer."""
        return bool(self.trace) and self.trace[-1].get("kind") == "wait"

    @property
    def is_between_requests(self) -> bool:
        """Return whether it was saved to be gone on with later, no request under way."""
        return bool(self.trace) and self.trace[-1].get("kind") in ("wait", "hand-on")

    def count_ms(self, now: float) -> int:
        """Return how many milliseconds after its beginning a time is (seconds since 1970)."""
        return max(round((now - self.began) * 1000), 0)

    def has_reached(self, limit: str) -> bool:
        """Return whether its trace says that it has reached a limit of its behaviour."""
        return any(step["kind"] == "limit" and step["limit"] == limit for step in self.trace)

    def count_steps(self, kind: str) -> int:
        """Return how many steps of a kind it has taken."""
        return sum(step.get("kind") == kind for step in self.trace)

    def count_failed_calls(self) -> int:
        """Return how many of its calls have failed."""
        return sum(step.get("kind") == "call" and bool(step.get("error")) for step in self.trace)

    @property
    def since(self) -> int:
        """Return when what is under way began, in milliseconds after its beginning: when it was
        last saved.
        """
        for row in reversed(self.trace):
            if row.get("kind") in ("save", "resume") and "at" in row:
                return round(as_number(row["at"]))
        return 0

    @property
    def next_request(self) -> int:
        """Return the number of the next request to the model, or of the one that is under way."""
        return 1 + self.count_steps("request")

    def add_step(self, kind: str, **facts: Json) -> Turn:
        """Return the turn with one more row in its trace."""
        return evolve(self, trace=(*self.trace, {"kind": kind, **facts}))


@dataclass(frozen=True, slots=True)
class Outgoing(Stored):
    """A reply on its way, in Markdown.

    `sent` counts its parts that have left, `at` is when it was written (seconds since 1970),
    `tries` counts how often somebody took it over to send it again. `failed` says that the model
    could not answer. `files` go out below it, and `buttons` stand there. With a `file_name` its
    text goes out as one file of that name, where the platform takes files.
    """

    event: str
    session: str
    text: str
    reply_to: str = field(default="", repr=False)
    rounds: Count = 0
    tools: tuple[str, ...] = ()
    usage: Usage = Usage()
    at: Number = 0.0
    sent: Count = 0
    tries: Count = 0
    failed: bool = False
    files: tuple[KeptFile, ...] = later(())
    buttons: tuple[Button, ...] = later(())
    file_name: str = later("")


@dataclass(frozen=True, slots=True)
class Document(Stored):
    """Everything about a session that a turn needs.

    `ratio` corrects token estimates, `seen` are the ids of the events handled last, `safety` says
    whether the session may go on and what has failed so far. `consolidated` is the last message
    that memory has heard of, `unheard` has the first messages of the archived chunks of which it
    has not heard all, `noted` the words that were said to memory alone and that it has not heard
    of; `failures` counts how often in a row a consolidation failed. `usage` is of all requests
    that turns made, `last` of the last turn's. `language` is the code of the language that the chat
    chose for the agent's own texts, empty when it follows what is written. `model` is the model
    that an owner chose for the chat, empty for that of the settings. `memory` is the scope of a
    memory that the chat shares with others of the same person, empty for the chat's own (its S).
    `owed` is not 0 while a consolidation of what is `unheard` is due: the number of the last
    message when that came about. `erased` has the people whose words were erased here, as hashes,
    and when (seconds since 1970). `zone` is the time zone that the chat chose, empty for that of
    the settings. `posts` are events that its turns made and that may not be in the queue yet,
    and `taken` the mails that its history has and that may still be in the mailbox. `quiet` are the
    hours in which nothing is said by itself (`22:00-07:00`), and `held` has what waits for their
    end. `ledger` is the end of its chain in the ledger, and `runs` are the ids of its last runs.
    `handed_on`: another behaviour goes on where its last turn ended, perhaps behind others that
    wait. `edits_told`: it was told of what people changed in its workspace until then (seconds
    since 1970). `reads_mail`: there is mail for it that its next turn reads. Among the `seen` are
    also the albums of which somebody was told that nobody can open them.
    """

    messages: tuple[Message, ...] = ()
    next_seq: Count = 1
    turn: Turn | None = None
    outbox: tuple[Outgoing, ...] = ()
    seen: tuple[str, ...] = ()
    ratio: Number = tokens.MARGIN
    usage: Usage = field(default_factory=Usage)
    last: Usage = field(default_factory=Usage)
    safety: SafetyStatus = field(default_factory=SafetyStatus)
    consolidated: Count = 0
    unheard: tuple[int, ...] = ()
    noted: tuple[Message, ...] = ()
    failures: Count = 0
    language: str = later("")
    model: str = later("")
    memory: str = later("")
    zone: str = later("")
    owed: Count = later(0)
    erased: Mapping[str, Number] = later(default_factory=dict)
    posts: tuple[Event, ...] = later(())
    taken: tuple[str, ...] = later(())
    quiet: str = later("")
    held: tuple[str, ...] = later(())
    ledger: LedgerChain = later(LedgerChain())
    runs: tuple[str, ...] = later(())
    handed_on: bool = later(False)
    edits_told: Number = later(0.0)
    reads_mail: bool = later(False)

    @property
    def chosen_model(self) -> str:
        """Return the model that somebody chose for the turn in progress or else for the chat, empty
        for that of the settings.
        """
        return (self.turn.model if self.turn else "") or self.model

    @property
    def owes_memory(self) -> bool:
        """Return whether a consolidation of what left the history is due."""
        return self.owed > 0 and bool(self.unheard)

    def count_unheard(self) -> int:
        """Return how many messages are in the archive that memory has not heard of."""
        if not self.unheard:
            return 0
        here = sum(message.seq > self.consolidated for message in self.messages)
        return self.next_seq - 1 - self.consolidated - here

    def find_turn_start(self) -> int:
        """Return the position of the first message of the last turn, 0 without one.

        That is the last message that somebody sent; before the ones that the turn in progress has
        gathered stand its event's own and a note.
        """
        gathered = self.turn.gathered if self.turn else ()
        if self.turn and self.turn.first:
            earlier = sum(message.seq < self.turn.first for message in self.messages)
            return earlier if earlier < len(self.messages) else 0
        for position in range(len(self.messages) - 1, -1, -1):
            message = self.messages[position]
            if message.role == "user" and message.origin != RUNTIME_ORIGIN:
                return position - (len(gathered) + 1 if gathered else 0)
        return 0

    def without_gathered(self) -> Document:
        """Return the document without the messages that its turn has gathered, and without the note
        before them.
        """
        if self.turn is None or not self.turn.gathered:
            return self
        first = self.turn.gathered[0].seq - 1
        last = self.turn.gathered[-1].seq
        kept = tuple(each for each in self.messages if not first <= each.seq <= last)
        return evolve(self, messages=kept, turn=evolve(self.turn, gathered=()))

    def is_at_work_on(self, event: Event) -> bool:
        """Return whether the turn in progress is the event's own."""
        return self.turn is not None and self.turn.event.id == event.id

    def was_erased(self, event: Event) -> bool:
        """Return whether an event came before its sender was erased, so that nothing is left of it.

        It may come again from a queue.
        """
        return bool(self.erased) and event.at <= self.erased.get(hash_person(event.behalf), -1.0)

    def add(self, *messages: Message) -> Document:
        """Return the document with the messages at its end, numbered and measured."""
        numbered = tuple(
            evolve(message, seq=seq, tokens=round(tokens.of_message(message), 1))
            for seq, message in enumerate(messages, self.next_seq)
        )
        return evolve(
            self, messages=(*self.messages, *numbered), next_seq=self.next_seq + len(numbered)
        )

    def note(self, entries: Sequence[Entry], event: Event, now: float) -> Document:
        """Return the document with entries of the turn of `event` for the ledger."""
        return evolve(self, ledger=self.ledger.add(entries, event, now)) if entries else self


def hash_person(who: str) -> str:
    """Return a person's id as it stays where the person was erased."""
    return sha256(who.encode(errors="replace")).hexdigest()[:32]


NO_OVERFLOW = OverflowStore(None)


class UnreadableDocument(BackendError):
    """A session's document is damaged; trying again cannot help."""


def encode_document(document: Document, overflow: OverflowStore = NO_OVERFLOW) -> bytes:
    """Return the document as JSON, compressed when it is large.

    When it is larger still, its largest bodies are in the overflow.

    What every chat comes to have is written where version 0.1.0 reads something harmless, for it
    takes a field that it does not know for damage: what is `owed` among the chunks that are
    `unheard`, as a number below 0, which reads as a chunk that is gone, and the end of the ledger
    and the last runs among the ids that were `seen`.
    """
    if document.owed:
        document = evolve(document, unheard=(*document.unheard, -document.owed), owed=0)
    if document.ledger != LedgerChain() or document.runs:
        hidden = hide(dumps(Hidden(document.ledger, document.runs)))
        seen = (*hidden, *document.seen)
        document = evolve(document, seen=seen, ledger=LedgerChain(), runs=())
    body = dumps(document)
    if len(body) < COMPRESS_BYTES:
        return body
    compressed = compress(body)
    if len(compressed) <= LIMIT or not overflow.available:
        return compressed
    return move_bodies_out(body, overflow)


@dataclass(frozen=True, slots=True)
class Hidden(Stored):
    """The parts of a document that are written where version 0.1.0 reads something harmless."""

    ledger: LedgerChain = LedgerChain()
    runs: tuple[str, ...] = ()


def name_run(event: str, began: float) -> str:
    """Return the id of the run of an event whose turn began then (seconds since 1970): the ids of
    newer ones sort first.
    """
    milliseconds = min(max(round(began * 1000), 0), RUN_TIMES - 1)
    return f"{RUN_TIMES - milliseconds:013d}~{event}"


def read_began(run: str) -> float:
    """Return when the turn of a run began (seconds since 1970), by the run's id; 0 for no id."""
    inverse = run.partition("~")[0]
    return (RUN_TIMES - int(inverse)) / 1000 if inverse.isdecimal() else 0.0


def hide(value: bytes) -> tuple[str, ...]:
    """Return a value as ids that no event has, each short enough for the key of a store."""
    text = urlsafe_b64encode(zlib.compress(value, 1)).decode()
    parts = range(0, len(text), HIDDEN_CHARACTERS)
    return tuple(f"{HIDDEN}{text[at : at + HIDDEN_CHARACTERS]}" for at in parts)


def find_hidden(seen: Sequence[str]) -> bytes:
    """Return the value that is hidden among these ids; empty for none, or one that lost a part."""
    text = "".join(each.removeprefix(HIDDEN) for each in seen if each.startswith(HIDDEN))
    try:
        return zlib.decompress(urlsafe_b64decode(text)) if text else b""
    except (ValueError, zlib.error):
        return b""


HIDDEN_PARTS: Final = Shape[Hidden](Hidden)
DOCUMENT: Final = Shape[Document](
    Document, required=("messages", "next_seq", "turn", "outbox", "seen", "usage")
)


def decode_document(data: bytes, overflow: OverflowStore = NO_OVERFLOW) -> Document:
    """Return the document that `encode_document` wrote.

    Raises `UnreadableDocument` when it is damaged, `NewerFormat` when only a newer version can read
    it, and `BackendError` when a body of it cannot be read.
    """
    try:
        fields = orjson.loads(data if data.startswith(b"{") else zlib.decompress(data))
        fields = move_bodies_back(fields, overflow)
        turn = fields.get("turn")
        if turn:
            events.require_known(as_mapping(turn)["event"])
        safety = SafetyStatus()
        if "safety" in fields:
            # a damaged safety status locks the session, and does not cost it its messages
            safety = status.read_safety_status(fields.pop("safety"))
        document = DOCUMENT.convert(fields)
        if any(each.startswith(HIDDEN) for each in document.seen):
            hidden = find_hidden(document.seen)
            visible = tuple(each for each in document.seen if not each.startswith(HIDDEN))
            parts = HIDDEN_PARTS.read(hidden) if hidden else Hidden()
            document = evolve(document, seen=visible, ledger=parts.ledger, runs=parts.runs)
        return evolve(
            document,
            safety=safety,
            unheard=tuple(first for first in document.unheard if first >= 0),
            owed=-min((0, *document.unheard)),
        )
    except NewerFormat:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, zlib.error):
        raise UnreadableDocument(
            "EDAMAGED", "the session's document is damaged", suggestion="restore the store"
        ) from None


def find_last_order(document: Document) -> str:
    """Return the order of the last event that a chat's session has worked on, as far as it knows;
    empty for none.

    A binding that somebody makes on the machine holds from there on: its clock may not be that of
    the platform.
    """
    orders = [""]
    if document.turn:
        orders += [event.order for event in document.turn.events]
    said = find_last_said(document.messages)
    if said:
        orders.append(order_of(said.at, LAST_UPDATE))
    return max(orders)
