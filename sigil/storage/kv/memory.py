"""Keep the store in memory, for tests and for trying things out: nothing outlives the process."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sigil.errors import Conflict
from sigil.storage.kv.base import ABSENT, Expect, Item, Key, ScannedItem
from sigil.storage.kv.encoding import encode_key, encode_text, expiry_time, new_version

SWEEP_EVERY = 1024
"""Writes with a lifetime between two sweeps."""


class _Entry(NamedTuple):
    item: Item
    expires: float | None

    def is_live(self, now: float) -> bool:
        return self.expires is None or self.expires > now


@dataclass(slots=True)
class _Partition:
    """The items of a partition. `order` has the keys of `entries`, sorted: the order of code points
    is the order of UTF-8 bytes.
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

    def list_after(self, prefix: str, after: str) -> Iterator[tuple[str, _Entry]]:
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
        """Return the item, None when there is none."""
        encode_key(key)
        with self._lock:
            return self._find_live(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, or None."""
        for key in keys:
            encode_key(key)
        with self._lock:
            return [self._find_live(key) for key in keys]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version; `Conflict` when `expect` does not
        hold.
        """
        encode_key(key)
        with self._lock:
            self._require_expected(key, expect)
            item = Item(bytes(value), new_version())
            entry = _Entry(item, expiry_time(ttl, self._clock()))
            self._partitions.setdefault(key.partition, _Partition()).put(key.sort, entry)
            if entry.expires is not None:
                self._lifetimes += 1
                if self._lifetimes >= SWEEP_EVERY:
                    self._lifetimes = 0
                    self.sweep()
            return item.version

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; `Conflict` when `expect` does not hold."""
        encode_key(key)
        with self._lock:
            self._require_expected(key, expect)
            self._remove(key)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """Return at most `limit` live items in the order of their sort keys."""
        for text in (partition, prefix, after):
            encode_text(text)
        with self._lock:
            now = self._clock()
            found: list[tuple[str, Item]] = []
            for sort, entry in self._partitions.get(partition, _Partition()).list_after(
                prefix, after
            ):
                if len(found) >= limit:
                    break
                if entry.is_live(now):
                    found.append((sort, entry.item))
            return found

    def list_partitions(self, prefix: str = "") -> Iterator[str]:
        """Yield the names of the partitions that begin with `prefix`."""
        with self._lock:
            names = [name for name in self._partitions if name.startswith(prefix)]
        yield from names

    def scan_everything(self) -> Iterator[ScannedItem]:
        """Yield every live item, all of them as they are at one moment."""
        with self._lock:
            now = self._clock()
            found = [
                ScannedItem(Key(name, sort), entry.item.value, entry.expires)
                for name, partition in self._partitions.items()
                for sort, entry in partition.entries.items()
                if entry.is_live(now)
            ]
        yield from found

    def sweep(self) -> int:
        """Drop the expired items, and return their number."""
        with self._lock:
            now = self._clock()
            ended = [
                Key(name, sort)
                for name, partition in self._partitions.items()
                for sort, entry in partition.entries.items()
                if not entry.is_live(now)
            ]
            for key in ended:
                self._remove(key)
            return len(ended)

    def _find_live(self, key: Key) -> Item | None:
        partition = self._partitions.get(key.partition)
        entry = partition.entries.get(key.sort) if partition else None
        return entry.item if entry and entry.is_live(self._clock()) else None

    def _require_expected(self, key: Key, expect: Expect) -> None:
        if expect is None:
            return
        item = self._find_live(key)
        if expect is ABSENT:
            holds = item is None
        else:
            holds = item is not None and item.version == expect
        if not holds:
            raise Conflict

    def _remove(self, key: Key) -> None:
        partition = self._partitions.get(key.partition)
        if partition:
            partition.remove(key.sort)
            if not partition.entries:
                del self._partitions[key.partition]
