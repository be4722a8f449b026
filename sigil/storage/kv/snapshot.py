"""Show a store to one task, which reads each item once."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from sigil.storage.kv.base import KV, Expect, Item, Key, get_many


class SnapshotKV:
    """Remembers every item that it read, for the length of one task such as a deploy.

    Another writer may have changed what it remembers, so a decision by it is written by
    compare-and-set over the version that was read; after a `Conflict` the task begins again with a
    new snapshot. Writes go through, and scans are not remembered. Thread-safe.
    """

    def __init__(self, kv: KV) -> None:
        self._kv = kv
        self._read: dict[Key, Item | None] = {}
        self._lock = threading.Lock()

    def get(self, key: Key) -> Item | None:
        with self._lock:
            if key in self._read:
                return self._read[key]
        item = self._kv.get(key)
        with self._lock:
            self._read[key] = item
        return item

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        with self._lock:
            known = dict(self._read)
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        known |= zip(missing, get_many(self._kv, missing), strict=True)
        with self._lock:
            self._read |= {key: known[key] for key in missing}
        return [known[key] for key in keys]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        try:
            return self._kv.put(key, value, expect=expect, ttl=ttl)
        finally:
            self._forget(key)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        try:
            self._kv.delete(key, expect=expect)
        finally:
            self._forget(key)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self._kv.scan(partition, prefix, after, limit)

    def _forget(self, key: Key) -> None:
        with self._lock:
            self._read.pop(key, None)
