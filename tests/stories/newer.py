"""A store as a newer version writes it: each object in a value has a field that this version does
not know.
"""

from __future__ import annotations

import uuid
import zlib
from typing import Any

import orjson

from sigil.storage.kv import KV, Expect, Item, Key

FIELD = "later"
PARTS = frozenset(
    (
        *(
            "messages",
            "calls",
            "loads",
            "outbox",
            "noted",
            "turn",
            "event",
            "sender",
            "usage",
            "last",
            "safety",
            "counters",
        ),
        *("window", "failures", "record", "manifest", "permissions", "tests"),
    )
)
"""Fields whose objects are ours; in others (schemas, arguments, a guest's data) every name is
somebody else's.
"""
FOREIGN = (
    "reply#",
    "run#",
    "ledger#",
    "stored#",
    "thing-index",
    "kb-index",
    "artifact",
    "seen#",
)
"""Partitions whose values are no objects of ours, or are written once."""


class Recorded:
    """The store, and every key that was written through it."""

    def __init__(self, kv: KV, known: set[Key]) -> None:
        self._kv = kv
        self._known = known

    def get(self, key: Key) -> Item | None:
        return self._kv.get(key)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._known.add(key)
        return self._kv.put(key, self.written(key, value), expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self._kv.scan(partition, prefix, after, limit)

    def written(self, key: Key, value: bytes) -> bytes:
        return value


class Newer(Recorded):
    """The same, written by a version with a field more in every object."""

    def written(self, key: Key, value: bytes) -> bytes:
        parsed = read(value)
        if not isinstance(parsed, dict | list) or key.partition.startswith(FOREIGN):
            return value
        if key.partition.startswith("health#"):
            changed: Any = {name: _grown(part) for name, part in parsed.items()}
        elif key.partition.startswith("use#"):
            changed = parsed if len(parsed) > 6 else [*parsed, uuid.uuid4().hex]
        else:
            changed = (
                [_grown(part) for part in parsed] if isinstance(parsed, list) else _grown(parsed)
            )
        return orjson.dumps(changed)


def read(value: bytes) -> Any:
    """What a value says; None when it is no JSON of ours."""
    try:
        return orjson.loads(value if value[:1] in b"{[" else zlib.decompress(value))
    except (ValueError, zlib.error):
        return None


def _grown(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    grown = {FIELD: uuid.uuid4().hex, **value}
    for name in PARTS & value.keys():
        part = value[name]
        grown[name] = [_grown(one) for one in part] if isinstance(part, list) else _grown(part)
    if isinstance(value.get("history"), list):
        grown["history"] = [
            [*step, uuid.uuid4().hex] if len(step) == 4 else step for step in value["history"]
        ]
    return grown
