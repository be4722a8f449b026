"""A session's document: everything that a turn needs of a chat, as a value and as the bytes of its
record.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import orjson

from functions import events
from functions.agent import tokens
from functions.agent.messages import Count, Message, Number, Usage
from functions.agent.safety import status
from functions.agent.safety.status import SafetyStatus
from functions.agent.session.overflow import LIMIT, Bodies, packed, restore, spill
from functions.events import Event
from sigil.errors import BackendError
from sigil.protocol import Json
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps

COMPRESS_BYTES = 64 * 1024
SEEN_MOST = 64
OUTBOX_MOST = 200


@dataclass(frozen=True, slots=True)
class Turn(Stored):
    """The turn in progress. `attempts` counts its opens since the last checkpoint; `rounds` the
    requests so far.

    `waits` counts how often a worker handed it on because its own time was up, and `used` the
    seconds of those workers. `began`: seconds since the epoch. `trace`: what it did so far, a row a
    step, for `uncaged trace`; never a text.
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

    @property
    def task(self) -> str:
        """The piece of work that it belongs to: what a person said begins a new one, everything
        else goes on with one.
        """
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
class Outgoing(Stored):
    """A reply on its way: `text` is markdown, `sent` counts the parts that have left, `at` is when
    it was made.

    `tries` counts how often somebody took it over to send it again; `failed`: it says that the
    model could not answer.
    """

    event: str
    session: str
    text: str
    reply_to: str = ""
    rounds: Count = 0
    tools: tuple[str, ...] = ()
    usage: Usage = Usage()
    at: Number = 0.0
    sent: Count = 0
    tries: Count = 0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Document(Stored):
    """Everything about a session that a turn needs.

    `ratio` corrects token estimates; `seen` are the last handled events; `safety`: whether it may
    go on, and what has failed so far. `consolidated` is the last message that memory has heard of,
    `unheard` names the archived chunks of which it has not heard all; `noted`: what was said to
    memory alone and has still to be told it; `failures`: how often in a row telling it came to
    nothing. `usage` is of all requests, `last` of the last turn's.
    """

    messages: tuple[Message, ...] = ()
    next_seq: Count = 1
    turn: Turn | None = None
    outbox: tuple[Outgoing, ...] = ()
    seen: tuple[str, ...] = ()
    ratio: Number = 1.15
    usage: Usage = field(default_factory=Usage)
    last: Usage = field(default_factory=Usage)
    safety: SafetyStatus = field(default_factory=SafetyStatus)
    consolidated: Count = 0
    unheard: tuple[int, ...] = ()
    noted: tuple[Message, ...] = ()
    failures: Count = 0

    def add(self, *messages: Message) -> Document:
        """The document with the messages at its end, numbered and measured."""
        numbered = tuple(
            replace(message, seq=seq, tokens=round(tokens.of_message(message), 1))
            for seq, message in enumerate(messages, self.next_seq)
        )
        return replace(
            self, messages=(*self.messages, *numbered), next_seq=self.next_seq + len(numbered)
        )


NOWHERE = Bodies(None)


class Unreadable(BackendError):
    """A session's document is damaged: trying again, or another shelf, cannot help."""


def encode(document: Document, bodies: Bodies = NOWHERE) -> bytes:
    """The document as bytes: JSON, compressed when it is large, its largest bodies on the shelf
    when it is larger still.
    """
    body = dumps(document)
    if len(body) < COMPRESS_BYTES:
        return body
    small = packed(body)
    return small if len(small) <= LIMIT or not bodies.open else spill(body, bodies)


DOCUMENT: Final = Shape[Document](
    Document, required=("messages", "next_seq", "turn", "outbox", "seen", "usage")
)


def decode(data: bytes, bodies: Bodies = NOWHERE) -> Document:
    """The document that `encode` wrote.

    `Unreadable` when it is damaged, `NewerFormat` when only a newer version can read it,
    `BackendError` when a body of it cannot be had.
    """
    try:
        fields = restore(
            orjson.loads(data if data.startswith(b"{") else zlib.decompress(data)), bodies
        )
        turn = fields.get("turn")
        if turn:
            events.require_known(turn["event"])
        # what does not fit of its safety locks the session, and does not cost it its messages
        safety = (
            status.read_safety_status(fields.pop("safety"))
            if "safety" in fields
            else SafetyStatus()
        )
        return replace(DOCUMENT.convert(fields), safety=safety)
    except NewerFormat:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, zlib.error):
        raise Unreadable(
            "EDAMAGED", "the session's document is damaged", suggestion="restore the store"
        ) from None
