"""The store in memory, for tests and for trying things out: nothing outlives the process."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sigil.errors import Conflict
from sigil.storage.kv.base import ABSENT, Expect, Item, Key
from sigil.storage.kv.encoding import encoded, expiry, new_version, text_bytes

SWEEP_EVERY = 1024
"""Writes with a lifetime between two sweeps."""


class _Entry(NamedTuple):
    item: Item
    expires: float | None

    def live(self, now: float) -> bool:
        return self.expires is None or self.expires > now


@dataclass(slots=True)
class _Partition:
    """`order` holds the keys of `entries`, sorted: the order of code points is the order of UTF-8
    bytes.
    """

    entries: dict[str, _Entry] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    def put(self, sort: str, entry: _Entry) -> None:
        if sort not in self.entries:
            insort(self.order, sort)
        self.entries[sort] = entry

    def remove(self, sort: str) -> None:
        if self.entries.pop(sort, None) is not None:
            del self.order[bisect_left(self.order, sort)]

    def between(self, prefix: str, after: str) -> Iterator[tuple[str, _Entry]]:
        start = max(prefix, after + "\0") if after else prefix
        for index in range(bisect_left(self.order, start), len(self.order)):
            sort = self.order[index]
            if not sort.startswith(prefix):
                return
            yield sort, self.entries[sort]


class MemoryKV:
    """A `KV` of this process alone. `clock` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._partitions: dict[str, _Partition] = {}
        self._lifetimes = 0

    def get(self, key: Key) -> Item | None:
        """The item, or None."""
        encoded(key)
        with self._lock:
            return self._live(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, or None."""
        for key in keys:
            encoded(key)
        with self._lock:
            return [self._live(key) for key in keys]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version; `Conflict` when `expect` does not
        hold.
        """
        encoded(key)
        with self._lock:
            self._check(key, expect)
            item = Item(bytes(value), new_version())
            entry = _Entry(item, expiry(ttl, self._clock()))
            self._partitions.setdefault(key.partition, _Partition()).put(key.sort, entry)
            self._sweep_now_and_then(entry)
            return item.version

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; `Conflict` when `expect` does not hold."""
        encoded(key)
        with self._lock:
            self._check(key, expect)
            self._remove(key)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """At most `limit` live items in the order of their sort keys."""
        for text in (partition, prefix, after):
            text_bytes(text)
        with self._lock:
            now = self._clock()
            found: list[tuple[str, Item]] = []
            for sort, entry in self._partitions.get(partition, _Partition()).between(prefix, after):
                if len(found) >= limit:
                    break
                if entry.live(now):
                    found.append((sort, entry.item))
            return found

    def sweep(self) -> int:
        """Drop what has expired; how many items that were."""
        with self._lock:
            now = self._clock()
            ended = [
                Key(name, sort)
                for name, partition in self._partitions.items()
                for sort, entry in partition.entries.items()
                if not entry.live(now)
            ]
            for key in ended:
                self._remove(key)
            return len(ended)

    def _live(self, key: Key) -> Item | None:
        partition = self._partitions.get(key.partition)
        entry = partition.entries.get(key.sort) if partition else None
        return entry.item if entry and entry.live(self._clock()) else None

    def _check(self, key: Key, expect: Expect) -> None:
        if expect is None:
            return
        item = self._live(key)
        if (item is not None) if expect is ABSENT else (item is None or item.version != expect):
            raise Conflict

    def _remove(self, key: Key) -> None:
        partition = self._partitions.get(key.partition)
        if partition:
            partition.remove(key.sort)
            if not partition.entries:
                del self._partitions[key.partition]

    def _sweep_now_and_then(self, entry: _Entry) -> None:
        self._lifetimes += entry.expires is not None
        if self._lifetimes >= SWEEP_EVERY:
            self._lifetimes = 0
            self.sweep()
