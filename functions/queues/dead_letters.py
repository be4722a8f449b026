"""Dead letters: events that were given up, kept with the reason until somebody looks."""

from __future__ import annotations

import uuid
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import orjson

from functions import log
from functions.events import Event, decode, encode
from sigil.errors import Conflict, UsageError
from sigil.storage.kv import ABSENT, KV, keys
from sigil.storage.kv.update import update

PAGE = 100


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter. `event` is None when its bytes were no event; `at`: seconds since the
    epoch.
    """

    id: str
    reason: str
    at: float
    event: Event | None


def give_up(kv: KV, event: Event, reason: str, at: float, *, told: bool = False) -> float | None:
    """Keep the event as a dead letter. Since when its sender waits to be told, None when that is
    done (`told`: it goes without saying).
    """
    record = {"reason": reason, "at": at, "told": told, "event": orjson.Fragment(encode(event))}
    with suppress(Conflict):
        kv.put(keys.dead(event.id), orjson.dumps(record), expect=ABSENT)
        log.trouble("dead", event)
        return None if told else at
    item = kv.get(keys.dead(event.id))
    fields = orjson.loads(item.value) if item else {}
    return None if fields.get("told", True) else fields["at"]


def tell(kv: KV, event: Event) -> None:
    """Note that the sender of a dead letter was told."""
    _update_record(kv, event, lambda fields: {**fields, "told": True})


def count_untold(kv: KV, event: Event) -> int:
    """Note that the platform did not take the notice to the sender of a dead letter, and return how
    often that has happened by now.
    """
    fields = _update_record(
        kv, event, lambda fields: {**fields, "tries": int(fields.get("tries", 0)) + 1}
    )
    return int(fields.get("tries", 0))


def _update_record(
    kv: KV, event: Event, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Change the record of a dead letter and return it; empty when there is none any more."""

    def decide(value: bytes | None) -> tuple[bytes | None, dict[str, Any]]:
        if value is None:
            return None, {}
        fields = change(orjson.loads(value))
        return orjson.dumps(fields), fields

    return update(kv, keys.dead(event.id), decide)


def letters(kv: KV) -> Iterator[Letter]:
    """All dead letters, by id."""
    after = ""
    while page := kv.scan(keys.dead("").partition, after=after, limit=PAGE):
        for sort, item in page:
            yield _letter(sort, item.value)
        after = page[-1][0]


def _letter(name: str, data: bytes) -> Letter:
    """The letter in a record; one that cannot be read says so, so that it can be dropped."""
    try:
        fields = orjson.loads(data)
        event = decode(orjson.dumps(fields["event"])) if fields.get("event") else _reread(fields)
        return Letter(
            event.id if event else unquote(name),
            str(fields["reason"]),
            float(fields.get("at") or 0.0),
            event,
        )
    except (ValueError, TypeError, KeyError, AttributeError, UsageError):
        return Letter(unquote(name), "its record is damaged", 0.0, None)


def _reread(fields: Mapping[str, Any]) -> Event | None:
    """Return the event in bytes that were none for the version that buried them; None when they
    still are.

    They may have been written by a newer version: after the upgrade the letter can be retried.
    """
    try:
        raw = b64decode(fields["raw"])
        body = orjson.loads(raw)
        return decode(orjson.dumps(body["event"]) if "event" in body else raw)
    except (ValueError, TypeError, KeyError, UsageError):
        return None


def find(kv: KV, name: str) -> Letter:
    """The letter of this id; `UsageError` with ENOENT when there is none."""
    found = next((letter for letter in letters(kv) if letter.id == name), None)
    if found is None:
        raise UsageError(
            "ENOENT",
            "no such dead letter",
            source=name,
            suggestion="`uncaged inbox dead` lists them",
        )
    return found


def retry(kv: KV, put: Callable[[Event], None], letter: Letter) -> Event:
    """Enqueue the letter's event again under a new id, and drop the letter; its order in the
    session stays.
    """
    if letter.event is None:
        raise UsageError(
            "EEVENT", "its bytes are no event: it can only be dropped", source=letter.id
        )
    again = replace(letter.event, id=f"{letter.event.id}~{uuid.uuid4().hex[:8]}")
    put(again)
    drop(kv, letter)
    return again


def drop(kv: KV, letter: Letter) -> None:
    """Forget the letter."""
    kv.delete(keys.dead(letter.id))
