"""What enters an agent: one event, whatever the platform."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import orjson

from sigil.errors import UsageError
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps

Kind = Literal["message", "mail", "task", "wakeup", "continue"]
KINDS = get_args(Kind)
_CONTROL = re.compile(
    r"/(?:stop|halt)(?:@[A-Za-z0-9_]+)?(?:\s.*)?|/unlock(?:@[A-Za-z0-9_]+)?(?:\s+here)?|admin:unlock",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""Whatever stands after them, what stops and halts does; what unlocks has to be meant."""
_INQUIRY = re.compile(
    r"/(?:status|help|whoami|usage|tools|recall)(?:@[A-Za-z0-9_]+)?(?:\s.*)?",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""The commands that only read. Nothing that changes a chat may stand here: it is answered beside
the chat's queue.
"""
TEXT_LIMIT = 100_000
"""Characters of an event's text; platforms allow far less."""


@dataclass(frozen=True, slots=True)
class Sender(Stored):
    """Who wrote: `id` is the platform's user id with its platform (`telegram:42`)."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Event(Stored):
    """One thing that happened to a session.

    `id`: platform, bot and the platform's own update id. `order`: sorts a session's events by the
    platform's own time (ms, 15 digits) and update id (20 digits), never by arrival. `at`: seconds
    since the epoch, the platform's own time. `addressed`: whom a group message names (`@bot`),
    empty when it is for us without doubt. `private`: nobody but the sender writes into the session.
    """

    id: str
    kind: Kind
    agent: str
    session: str
    sender: Sender
    text: str
    at: float
    order: str
    attachments: tuple[Mapping[str, Any], ...] = ()
    reply_to: str = ""
    addressed: tuple[str, ...] = ()
    private: bool = False

    @property
    def platform(self) -> str:
        return self.session.partition(":")[0]

    @property
    def control(self) -> bool:
        """Whether it must not queue behind the turns that it is about (`/stop`, `/halt`,
        `/unlock`).
        """
        return self.kind == "message" and _CONTROL.fullmatch(self.text.strip()) is not None

    @property
    def inquiry(self) -> bool:
        """Whether it only asks to read something (`/status`, `/help`, …), and so need not wait for
        a turn.
        """
        return self.kind == "message" and _INQUIRY.fullmatch(self.text.strip()) is not None

    @property
    def beside(self) -> bool:
        """Whether it goes beside the queue of its session."""
        return self.control or self.inquiry


def order_of(at: float, update: int) -> str:
    """The sort key of an event: `at` in seconds, `update` the platform's own counter (both clamped
    to their digits).
    """
    milliseconds = min(max(int(at * 1000), 0), 10**15 - 1)
    return f"{milliseconds:015d}-{min(max(update, 0), 10**20 - 1):020d}"


EVENT: Final = Shape[Event](Event)


def encode(event: Event) -> bytes:
    """The event as JSON; `UsageError` when its text is no Unicode."""
    try:
        return dumps(event)
    except TypeError:
        raise UsageError("EEVENT", "not an event: a lone surrogate") from None


def decode(data: bytes) -> Event:
    """The event that `encode` wrote.

    `UsageError` EEVENT when it is none, EFORMAT when only a newer version can read it.
    """
    try:
        raw = orjson.loads(data)
        require_known(raw)
        return EVENT.convert(raw)
    except NewerFormat as problem:
        raise UsageError(problem.code, problem.message, suggestion=problem.suggestion) from None
    except ValueError as problem:
        raise UsageError("EEVENT", f"not an event: {type(problem).__name__}") from None


def require_known(raw: Any) -> None:
    """Raise `NewerFormat` for an event of a kind that came after this version."""
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if isinstance(kind, str) and kind not in KINDS:
        raise NewerFormat(f"event {kind}")
