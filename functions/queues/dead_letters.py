"""Dead letters: events that were given up, kept with the reason until somebody looks."""

from __future__ import annotations

import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from urllib.parse import unquote

import orjson

from functions import log
from functions.events import Event, decode, encode
from sigil.errors import Conflict, UsageError
from sigil.json_fields import as_integer, as_string
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.kv.update import scan_all, update

RAW_MOST = 256 * 1024
"""Bytes that a dead letter keeps of what was no event: any store takes that."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that was given up, and why.

    `event` is None when its bytes were no event; `at`: seconds since the epoch, 0.0 when unknown.
    """

    id: str
    reason: str
    at: float
    event: Event | None


def give_up(
    kv: KV, event: Event, reason: str, at: float, *, notify_sender: bool = True
) -> float | None:
    """Keep the event as a dead letter, once.

    Returns since when its sender has to be told (seconds since the epoch), None when that is done.
    `notify_sender`: False when its sender need not be told at all.
    """
    record = {
        "reason": reason,
        "at": at,
        "told": not notify_sender,
        "event": orjson.Fragment(encode(event)),
    }
    with suppress(Conflict):
        kv.put(keys.dead_letter(event.id), orjson.dumps(record), expect=ABSENT)
        log.trouble("dead", event)
        return at if notify_sender else None
    item = kv.get(keys.dead_letter(event.id))
    fields = orjson.loads(item.value) if item else {}
    return None if fields.get("told", True) else fields["at"]


def keep_undecodable(
    kv: KV, name: str, origin: Key, raw: bytes, *, reason: str, at: float | None = None
) -> None:
    """Keep bytes that are no event as a dead letter.

    `name` comes from the bytes and their place, so that a repeat changes nothing. `origin`: the key
    or the queue that held them. `at`: seconds since the epoch.
    """
    record: dict[str, object] = {"reason": reason}
    if at is not None:
        record["at"] = at
    record["partition"] = origin.partition
    record["sort"] = origin.sort
    record["raw"] = b64encode(raw[:RAW_MOST]).decode()
    record["event"] = None
    kv.put(keys.dead_letter(f"undecodable:{name}"), orjson.dumps(record))


def note_sender_told(kv: KV, event: Event) -> None:
    """Note that the sender of a dead letter was told."""
    _update_record(kv, event, lambda fields: {**fields, "told": True})


def count_untold(kv: KV, event: Event) -> int:
    """Note that the platform did not take the notice to the sender of a dead letter, and return how
    often that has happened by now.
    """
    fields = _update_record(kv, event, lambda fields: {**fields, "tries": _count_tries(fields) + 1})
    return _count_tries(fields)


def _count_tries(fields: Mapping[str, object]) -> int:
    return as_integer(fields.get("tries"), 0) or 0


def _update_record(
    kv: KV, event: Event, change: Callable[[dict[str, object]], dict[str, object]]
) -> dict[str, object]:
    """Change the record of a dead letter and return it; empty when there is none any more."""

    def decide(value: bytes | None) -> tuple[bytes | None, dict[str, object]]:
        if value is None:
            return None, {}
        fields = change(orjson.loads(value))
        return orjson.dumps(fields), fields

    return update(kv, keys.dead_letter(event.id), decide)


def scan_dead_letters(kv: KV) -> Iterator[DeadLetter]:
    """Yield every dead letter, by id.

    One whose record cannot be read says so as its reason, so that it can be dropped.
    """
    for name, item in scan_all(kv, keys.dead_letter("").partition):
        try:
            fields = orjson.loads(item.value)
            if fields.get("event"):
                event: Event | None = decode(orjson.dumps(fields["event"]))
            else:
                event = _decode_raw(fields)
            identity = event.id if event else unquote(name)
            at = float(fields.get("at") or 0.0)
            letter = DeadLetter(identity, str(fields["reason"]), at, event)
        except (ValueError, TypeError, KeyError, AttributeError, UsageError):
            letter = DeadLetter(unquote(name), "its record is damaged", 0.0, None)
        yield letter


def _decode_raw(fields: Mapping[str, object]) -> Event | None:
    """Return the event in bytes that were none when they became a dead letter; None when they still
    are none.

    They may have been written by a newer version: after the upgrade the event can be retried.
    """
    try:
        raw = b64decode(as_string(fields["raw"]))
        body = orjson.loads(raw)
        return decode(orjson.dumps(body["event"]) if "event" in body else raw)
    except (ValueError, TypeError, KeyError, UsageError):
        return None


def find(kv: KV, name: str) -> DeadLetter:
    """Return the dead letter of this id; `UsageError` with ENOENT when there is none."""
    for letter in scan_dead_letters(kv):
        if letter.id == name:
            return letter
    raise UsageError(
        "ENOENT", "no such dead letter", source=name, suggestion="`uncaged inbox dead` lists them"
    )


def retry(kv: KV, put: Callable[[Event], None], letter: DeadLetter) -> Event:
    """Enqueue the event of a dead letter again under a new id, and drop the letter.

    It keeps its order in the session.
    """
    if letter.event is None:
        raise UsageError(
            "EEVENT", "its bytes are no event: it can only be dropped", source=letter.id
        )
    event = replace(letter.event, id=f"{letter.event.id}~{uuid.uuid4().hex[:8]}")
    put(event)
    drop(kv, letter)
    return event


def drop(kv: KV, letter: DeadLetter) -> None:
    """Delete the dead letter."""
    kv.delete(keys.dead_letter(letter.id))
