"""What waits in the store's inbox: an event and when it is due, as bytes; what cannot be read
becomes a dead letter.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import orjson

from functions.events import Event, decode, encode
from sigil.errors import UsageError
from sigil.protocol import Json
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.stored import NewerFormat, require_format, unknown

RAW_MOST = 256 * 1024
"""Bytes that a dead letter keeps of what was no event: any store takes that."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event in the inbox. `due` in seconds since the epoch, 0.0 at once; `version` of the item
    that holds it; `tries` as `Delivery`.

    `rest`: what another version wrote beside them.
    """

    event: Event
    due: float
    tries: int
    sort: str
    version: str
    rest: Mapping[str, Json] = field(default_factory=dict)


def sort_of(event: Event) -> str:
    """Where the event stands in its session's inbox: by its order; two events of the same order
    keep places of their own.
    """
    return f"{event.order}#{sha256(event.id.encode(errors='replace')).hexdigest()[:16]}"


def group_of(event: Event) -> str:
    """The key of the session in whose order the event waits; control events and inquiries wait
    beside it, and not for each other.
    """
    session = keys.session_of(event.agent, event.session)
    if event.control:
        return keys.control_of(session)
    return keys.inquiries_of(session) if event.inquiry else session


def encode_waiting(
    event: Event, due: float = 0.0, tries: int = 0, rest: Mapping[str, Json] | None = None
) -> bytes:
    """`{"due", "tries", "event"}`, and the `rest` that another version wrote beside them."""
    return orjson.dumps(
        {"due": due, "tries": tries, "event": orjson.Fragment(encode(event)), **(rest or {})}
    )


def decode_waiting(sort: str, item: Item) -> Waiting:
    """What `encode_waiting` wrote; `UsageError` when it is anything else."""
    try:
        fields = orjson.loads(item.value)
        require_format(fields)
        due, tries, event = (
            float(fields["due"]),
            int(fields.get("tries", 0)),
            decode(orjson.dumps(fields["event"])),
        )
        rest = unknown(fields, ("due", "tries", "event"))
    except NewerFormat as problem:
        raise UsageError(problem.code, problem.message, suggestion=problem.suggestion) from None
    except (ValueError, TypeError, KeyError) as problem:
        raise UsageError("EEVENT", f"not a waiting event: {type(problem).__name__}") from None
    return Waiting(event, due, tries, sort, item.version, rest)


def encode_due(due: float) -> bytes:
    """`{"due"}`: what a session's mark in the index of ready sessions says."""
    return orjson.dumps({"due": due})


def decode_due(data: bytes) -> float:
    """When the first event of a ready session is due; 0.0 when `data` does not say."""
    try:
        return float(orjson.loads(data)["due"])
    except (ValueError, TypeError, KeyError):
        return 0.0


def bury(kv: KV, key: Key, item: Item, reason: str) -> None:
    """Move bytes that are no event to the dead letters, under a name of their own that a repeat
    does not change.
    """
    name = sha256(b"\0".join((key.partition.encode(), key.sort.encode(), item.value))).hexdigest()[
        :32
    ]
    record = {
        "reason": reason,
        "partition": key.partition,
        "sort": key.sort,
        "raw": b64encode(item.value[:RAW_MOST]).decode(),
        "event": None,
    }
    kv.put(keys.dead(f"undecodable:{name}"), orjson.dumps(record))
    kv.delete(key)
