"""A session's document: opened, saved by compare-and-set at every checkpoint, closed with its outbox in one write."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import orjson

from functions import events
from functions.agent import tokens
from functions.agent.history import History
from functions.agent.messages import Message, Usage, revive, revive_usage, sound
from functions.agent.safety import standing
from functions.agent.safety.standing import Standing
from functions.agent.spill import LIMIT, Bodies, Shelf, packed, restore, spill
from functions.events import Event
from sigil.errors import BackendError, UsageError
from sigil.kv import ABSENT, KV, keys
from sigil.protocol import Json

COMPRESS_BYTES = 64 * 1024
SEEN_MOST = 64
OUTBOX_MOST = 200
ARCHIVE = "archive#"
"""How the keys of dropped messages begin, before the number of the first."""
CHUNKS = 20
LAST = 10**12
"""More than any message's number."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn in progress. `attempts` counts its opens since the last checkpoint; `rounds` the requests so far.

    `waits` counts how often a worker handed it on because its own time was up, and `used` the seconds of those workers.
    `began`: seconds since the epoch. `trace`: what it did so far, a row a step, for `uncaged trace`; never a text.
    """

    event: Event
    attempts: int = 1
    rounds: int = 0
    tools: tuple[str, ...] = ()
    usage: Usage = Usage()
    began: float = 0.0
    waits: int = 0
    used: float = 0.0
    trace: tuple[Mapping[str, Json], ...] = ()

    @property
    def task(self) -> str:
        """The piece of work that it belongs to: what a person said begins a new one, everything else goes on with one."""
        return self.event.id if self.event.kind == "message" else ""

    @property
    def failed(self) -> bool:
        """Whether its last request to the model came to nothing."""
        return bool(self.trace) and self.trace[-1].get("finish") == "error"

    @property
    def waiting(self) -> bool:
        """Whether nobody works on it, for its model does not answer."""
        return bool(self.trace) and self.trace[-1].get("kind") == "wait"

    def did(self, kind: str, **facts: Json) -> Turn:
        """The turn with one more row in its trace."""
        return replace(self, trace=(*self.trace, {"kind": kind, **facts}))


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A reply on its way: `text` is markdown, `sent` counts the parts that have left, `at` is when it was made.

    `tries` counts how often somebody took it over to send it again; `failed`: it says that the model could not answer.
    """

    event: str
    session: str
    text: str
    reply_to: str = ""
    rounds: int = 0
    tools: tuple[str, ...] = ()
    usage: Usage = Usage()
    at: float = 0.0
    sent: int = 0
    tries: int = 0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """Everything about a session that a turn needs.

    `ratio` corrects token estimates; `seen` are the last handled events; `safety`: whether it may go on, and what has failed so far.
    `consolidated` is the last message that memory has heard of, `unheard` names the archived chunks of which it has not heard all;
    `noted`: what was said to memory alone and has still to be told it; `failures`: how often in a row telling it came to nothing.
    `usage` is of all requests, `last` of the last turn's.
    """

    messages: tuple[Message, ...] = ()
    next_seq: int = 1
    turn: Turn | None = None
    outbox: tuple[Outgoing, ...] = ()
    seen: tuple[str, ...] = ()
    ratio: float = 1.15
    usage: Usage = field(default_factory=Usage)
    last: Usage = field(default_factory=Usage)
    safety: Standing = field(default_factory=Standing)
    consolidated: int = 0
    unheard: tuple[int, ...] = ()
    noted: tuple[Message, ...] = ()
    failures: int = 0

    def add(self, *messages: Message) -> Document:
        """The document with the messages at its end, numbered and measured."""
        numbered = tuple(
            replace(message, seq=seq, tokens=round(tokens.of_message(message), 1)) for seq, message in enumerate(messages, self.next_seq)
        )
        return replace(self, messages=(*self.messages, *numbered), next_seq=self.next_seq + len(numbered))


@dataclass(frozen=True, slots=True)
class Opened:
    """A document with the store's version that it was read or saved at: the fence of whoever holds it. `size` in bytes.

    `next`: the event that lets another worker go on with the turn, when this one's time was up. `wait`: the seconds after which somebody
    should, when the model does not answer. `unread`: what stands there and cannot be read.
    """

    key: str
    document: Document
    version: str | None
    size: int = 0
    next: Event | None = None
    wait: float = 0.0
    unread: bytes | None = None


class Sessions:
    """Session documents in a store; what makes one too large is on `shelf` (None: documents stay whole, whatever their size)."""

    def __init__(self, kv: KV, shelf: Shelf | None = None) -> None:
        self._kv = kv
        self._bodies = Bodies(shelf)

    def open(self, key: str) -> Opened:
        """The session's document; an empty one when it is new, and a locked one that begins afresh when it cannot be read."""
        item = self._kv.get(keys.head(key))
        if item is None:
            return Opened(key, Document(), None)
        try:
            return Opened(key, decode(item.value, self._bodies), item.version, len(item.value))
        except Unreadable:
            return Opened(key, self._afresh(key), item.version, len(item.value), unread=item.value)

    def _afresh(self, key: str) -> Document:
        """A document after all that was archived and told to memory: its last messages are lost, and it is locked."""
        ends = {first: chunk[-1].seq if chunk else first for first, chunk in self.chunks(key, 0, LAST)}
        heard = max((entry.last for entry in History(self._kv, key).all() if entry.last < LAST), default=0)
        unheard = tuple(first for first, last in ends.items() if last > heard)
        locked = Standing(reason="damaged", told=False)
        return Document(next_seq=max(heard, *ends.values(), 0) + 1, consolidated=heard, unheard=unheard, safety=locked)

    def save(self, opened: Opened, document: Document) -> Opened:
        """Write the document over the version that was opened; `Conflict` when somebody else was faster.

        What could not be read is put aside first.
        """
        if opened.unread is not None:
            self._kv.put(keys.aside(opened.key, sha256(opened.unread).hexdigest()), opened.unread)
        expect, body = ABSENT if opened.version is None else opened.version, encode(document, self._bodies)
        return Opened(opened.key, document, self._kv.put(keys.head(opened.key), body, expect=expect), len(body))

    def holds(self, opened: Opened) -> bool:
        """Whether nobody else has saved since: asked right before something leaves that cannot be taken back."""
        item = self._kv.get(keys.head(opened.key))
        return (item.version if item else None) == opened.version

    def archive(self, key: str, dropped: Sequence[Message]) -> None:
        """Keep the messages that compaction is about to drop; writing the same ones again changes nothing."""
        if dropped:
            body = orjson.dumps(dropped)
            if len(body) > LIMIT and self._bodies.open:
                body = orjson.dumps({"spilled": self._bodies.put(packed(body))})
            self._kv.put(keys.archive(key, dropped[0].seq), body)

    def archived(self, key: str, sequence: int) -> tuple[Message, ...]:
        """The messages of the archived chunk that begins with this one; `BackendError` when it is gone or damaged."""
        item = self._kv.get(keys.archive(key, sequence))
        return self._unarchived(sequence, item.value if item else b"")

    def chunks(self, key: str, after: int, before: int) -> Iterator[tuple[int, tuple[Message, ...]]]:
        """The archived chunks that begin beyond `after` and before `before`, by their first numbers; a damaged one is empty."""
        place = keys.archive(key, after)
        while rows := self._kv.scan(place.partition, ARCHIVE, place.sort, CHUNKS):
            for sort, item in rows:
                sequence = int(sort.removeprefix(ARCHIVE))
                if sequence >= before:
                    return
                yield sequence, self._readable(sequence, item.value)
            place = place._replace(sort=rows[-1][0])

    def _readable(self, sequence: int, body: bytes) -> tuple[Message, ...]:
        try:
            return self._unarchived(sequence, body)
        except BackendError as problem:
            if problem.code != "EDAMAGED":
                raise
            return ()

    def _unarchived(self, sequence: int, body: bytes) -> tuple[Message, ...]:
        try:
            rows = orjson.loads(body)
            if isinstance(rows, dict):
                rows = orjson.loads(zlib.decompress(self._bodies.get(rows["spilled"])))
            return tuple(map(revive, rows))
        except (ValueError, TypeError, LookupError, AttributeError, zlib.error):
            raise BackendError("EDAMAGED", f"the archived messages from {sequence} on are damaged") from None

    def was_seen(self, opened: Opened, event: str) -> bool:
        """Whether the event's turn is closed already."""
        return event in opened.document.seen or self._kv.get(keys.seen(opened.key, event)) is not None

    def remember(self, key: str, event: str) -> None:
        """Keep the id of a handled event for 8 days, beyond the few in the document."""
        self._kv.put(keys.seen(key, event), b"", ttl=keys.SEEN_TTL)

    def sent(self, opened: Opened, parts: int) -> Opened:
        """Mark `parts` of the outbox's first reply as sent."""
        first, *others = opened.document.outbox
        return self.save(opened, replace(opened.document, outbox=(replace(first, sent=parts), *others)))

    def left(self, opened: Opened) -> Opened:
        """Take the first reply out of the outbox: all of it has been sent, or it is too old."""
        return self.save(opened, replace(opened.document, outbox=opened.document.outbox[1:]))

    def delivered(self, opened: Opened) -> Opened:
        """Empty the outbox: everything in it has left."""
        return self.save(opened, replace(opened.document, outbox=()))


NOWHERE = Bodies(None)


class Unreadable(BackendError):
    """A session's document is damaged: trying again, or another shelf, cannot help."""


def encode(document: Document, bodies: Bodies = NOWHERE) -> bytes:
    """The document as bytes: JSON, compressed when it is large, its largest bodies on the shelf when it is larger still."""
    body = orjson.dumps(document)
    if len(body) < COMPRESS_BYTES:
        return body
    small = packed(body)
    return small if len(small) <= LIMIT or not bodies.open else spill(body, bodies)


def decode(data: bytes, bodies: Bodies = NOWHERE) -> Document:
    """The document that `encode` wrote; `Unreadable` when it is damaged, `BackendError` when a body of it cannot be had."""
    try:
        fields = restore(orjson.loads(data if data.startswith(b"{") else zlib.decompress(data)), bodies)
        document = Document(
            **{
                **fields,
                "messages": tuple(map(revive, fields["messages"])),
                "turn": _turn(fields["turn"]),
                "outbox": tuple(map(_outgoing, fields["outbox"])),
                "seen": tuple(fields["seen"]),
                "unheard": tuple(fields.get("unheard", ())),
                "noted": tuple(map(revive, fields.get("noted", ()))),
                "usage": revive_usage(fields["usage"]),
                "last": revive_usage(fields.get("last", {})),
                "safety": standing.revive(fields["safety"]) if "safety" in fields else Standing(),
            }
        )
        if not all(isinstance(event, str) for event in document.seen) or not all(type(first) is int for first in document.unheard):
            raise TypeError
        return sound(document, counts=("next_seq", "consolidated", "failures"), numbers=("ratio",))
    except (ValueError, TypeError, LookupError, AttributeError, UsageError, zlib.error):
        raise Unreadable("EDAMAGED", "the session's document is damaged", suggestion="restore the store") from None


def _turn(fields: Mapping[str, Any] | None) -> Turn | None:
    if fields is None:
        return None
    event = events.decode(orjson.dumps(fields["event"]))
    lists = {name: tuple(fields.get(name, ())) for name in ("tools", "trace")}
    turn = Turn(**{**fields, **lists, "event": event, "usage": revive_usage(fields["usage"])})
    return sound(turn, counts=("attempts", "rounds", "waits"), numbers=("began", "used"))


def _outgoing(fields: Mapping[str, Any]) -> Outgoing:
    reply = Outgoing(**{**fields, "tools": tuple(fields["tools"]), "usage": revive_usage(fields["usage"])})
    return sound(reply, texts=("event", "session", "text", "reply_to"), counts=("sent", "tries"), numbers=("at",))
