"""The records of the store's queue: a waiting event, and a session's mark in the index of those
that have one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import orjson

from functions import events
from functions.events import BACKGROUND_KINDS, Event
from sigil.errors import UsageError
from sigil.json_fields import Json
from sigil.storage.kv import Item, keys
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps


@dataclass(frozen=True, slots=True)
class WaitingEvent:
    """An event in the inbox of its session.

    `due` in seconds since the epoch, 0.0 at once; `tries` as `Delivery`; `sort` and `version` are
    those of the item that holds it. `rest`: what another version wrote beside them.
    """

    event: Event
    due: float
    tries: int
    sort: str
    version: str
    rest: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _WaitingRecord(Stored):
    """A waiting event as it is stored. `event` is JSON, whose format is an event's own affair."""

    due: float
    tries: int = 0
    event: Json


@dataclass(frozen=True, slots=True)
class _ReadyMark:
    """The mark of a session in the index of ready sessions."""

    due: float


_WAITING: Final = Shape[_WaitingRecord](_WaitingRecord)
_READY: Final = Shape[_ReadyMark](_ReadyMark)


def sort_key_of(event: Event) -> str:
    """Return where the event waits in the inbox of its session.

    It sorts by the event's order; two events of the same order keep places of their own.
    """
    return f"{event.order}#{sha256(event.id.encode(errors='replace')).hexdigest()[:16]}"


def group_of(event: Event) -> str:
    """Return the key of the session in whose order the event waits.

    Control events and inquiries have groups of their own, so that neither waits for the other or
    for a turn; what changes a message that waits goes with the inquiries. So have consolidations,
    for which no turn waits. What an agent does by itself has one group, whichever of its own
    sessions it belongs to: it does one such thing at a time.
    """
    session = keys.session_of(event.agent, event.session)
    if event.is_change:
        return keys.inquiries_of(session)
    if event.is_control:
        return keys.control_of(session)
    if event.is_inquiry:
        return keys.inquiries_of(session)
    if event.is_consolidation:
        return keys.memory_of(session)
    if event.is_own_work:
        return keys.own_work_of(event.agent)
    return session


def is_awaited(event: Event) -> bool:
    """Return whether somebody wrote it and waits for what comes of it."""
    return not (event.is_background or event.kind in BACKGROUND_KINDS)


def encode_waiting(
    event: Event, due: float = 0.0, tries: int = 0, rest: Mapping[str, Json] | None = None
) -> bytes:
    """Return `{"due", "tries", "event"}`, and the `rest` that another version wrote beside them."""
    raw_event = orjson.Fragment(events.encode(event))
    return dumps(_WaitingRecord(due=due, tries=tries, event=raw_event, _rest=rest))


def decode_waiting(sort: str, item: Item) -> WaitingEvent:
    """Return the event that `encode_waiting` wrote; `UsageError` when the item is anything else."""
    try:
        record = _WAITING.read(item.value)
    except NewerFormat as problem:
        raise UsageError(problem.code, problem.message, suggestion=problem.suggestion) from None
    except ValueError as problem:
        raise UsageError("EEVENT", f"not a waiting event: {type(problem).__name__}") from None
    return WaitingEvent(
        event=events.convert(record.event),
        due=record.due,
        tries=record.tries,
        sort=sort,
        version=item.version,
        rest=record._rest or {},
    )


def encode_due(due: float) -> bytes:
    """Return `{"due"}`, the value of a session's mark in the index of ready sessions."""
    return dumps(_ReadyMark(due))


def decode_due(data: bytes) -> float:
    """Return when the first event of a ready session is due; 0.0 when `data` does not say."""
    try:
        return _READY.read(data).due
    except (ValueError, NewerFormat):
        return 0.0
