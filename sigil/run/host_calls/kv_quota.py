"""The usage of a capability's store: one item that every writer changes by compare-and-set.

    [keys, bytes, epoch, [[mark, keys, bytes, at], …]]

A writer that makes the store larger reserves the space before, and leaves a mark until the write is
done, so that another writer that counts what is stored knows what may still come. A writer that
makes it smaller notes that afterwards, unless another one has counted meanwhile, which gives the
item another `epoch`. So the item never has too small numbers. When they are too large (after a
crash, or when values have expired), the writer that finds the store full counts again. Only a
writer that stalls for longer than `HOLD_SECONDS` is not expected any more; it counts again itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from sigil.errors import BackendError, Conflict, Refused
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, KV, Item, Key
from sigil.storage.kv.update import pause_after_race, scan_all, update_item

HOLD_SECONDS = 60.0
"""A write may take so long: longer than a run, in which it has to be answered."""
RACES = 50
DAMAGED = "damaged"
"""The epoch of a usage that cannot be read."""
COUNTS = 8
"""After so many counts the store is full, though others may still give reserved space back."""


class QuotaChange(NamedTuple):
    """A number of keys and of bytes that are added, or taken away where they are negative."""

    keys: int = 0
    size: int = 0

    def reverse(self) -> QuotaChange:
        """Return the change that undoes this one."""
        return QuotaChange(-self.keys, -self.size)


NO_CHANGE = QuotaChange()


@dataclass(frozen=True, slots=True)
class _Mark:
    """The space that was reserved for a write, at `at` (seconds since 1970).

    `rest` is what a newer version wrote behind these fields.
    """

    name: str
    keys: int
    size: int
    at: float
    rest: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class _QuotaUsage:
    """The usage as its item says it; `rest` is what a newer version wrote behind it."""

    keys: int = 0
    size: int = 0
    epoch: str = ""
    marks: tuple[_Mark, ...] = ()
    rest: tuple[Json, ...] = ()

    def add(self, change: QuotaChange) -> _QuotaUsage:
        """Return the usage after a change."""
        keys = max(self.keys + change.keys, 0)
        size = max(self.size + change.size, 0)
        return replace(self, keys=keys, size=size)

    def encode(self) -> bytes:
        """Return the usage as it is stored."""
        marks = [[mark.name, mark.keys, mark.size, mark.at, *mark.rest] for mark in self.marks]
        return orjson.dumps([self.keys, self.size, self.epoch, marks, *self.rest])


@dataclass(frozen=True, slots=True)
class Reservation:
    """The usage's item before a write, and its epoch.

    `mark` names the space that was reserved, empty when none was.
    """

    item: Item | None
    epoch: str
    mark: str = ""


class StorageUsage:
    """The usage in the item `key`, of the values in `partition`.

    The item is kept for `life` seconds, None without an end.
    """

    def __init__(
        self, kv: KV, key: Key, partition: str, life: float | None, clock: Callable[[], float]
    ) -> None:
        self._kv = kv
        self._key = key
        self._partition = partition
        self._life = life
        self._clock = clock

    def reserve(self, change: QuotaChange, most: QuotaChange) -> Reservation:
        """Reserve the space for a write.

        Raises `Refused` EQUOTA when more than `most` would be stored, also after counting again.
        """
        for count in range(COUNTS + 1):
            reservation = self._try_to_reserve(change, most, counts=count > 0)
            if reservation.mark:
                return reservation
            if count and not self._parse(reservation.item).marks:
                break
            pause_after_race(count)
        raise Refused(
            "EQUOTA",
            f"a capability keeps at most {most.keys:,} keys and {most.size:,} bytes",
            source="kv",
        )

    def _try_to_reserve(
        self, change: QuotaChange, most: QuotaChange, *, counts: bool
    ) -> Reservation:
        """Return a reservation, which has no mark when there is no space.

        `counts` says that the values are counted first, whatever the item says.
        """
        mark = _Mark(secrets.token_hex(6), change.keys, change.size, self._clock())

        def decide(item: Item | None) -> tuple[bytes | None, Reservation]:
            usage = self._parse(item)
            if counts or item is None or usage.epoch == DAMAGED:
                usage = self._count_again(usage)
            after = usage.add(change)
            if after.keys > most.keys or after.size > most.size:
                return None, Reservation(item, usage.epoch)
            after = replace(after, marks=(*after.marks, mark))
            return after.encode(), Reservation(item, after.epoch, mark.name)

        try:
            updated = update_item(self._kv, self._key, decide, self._life, tries=RACES)
        except Conflict:
            message = "the store is being written by too many at this moment"
            raise Conflict(message) from None
        return replace(updated.answer, item=updated.item)

    def observe(self) -> Reservation:
        """Look at the usage before a write that needs no space."""
        item = self._kv.get(self._key)
        return Reservation(item, self._parse(item).epoch)

    def settle(self, held: Reservation, change: QuotaChange = NO_CHANGE) -> None:
        """Note that the write is done, and changed the usage beside what was reserved.

        A store that is away fails nothing here.
        """

        def decide(item: Item | None) -> tuple[bytes | None, None]:
            if item is None:
                return None, None
            usage = self._parse(item)
            if not held.mark:
                if change == NO_CHANGE or usage.epoch != held.epoch:  # another writer counted since
                    return None, None
                return usage.add(change).encode(), None
            others = tuple(mark for mark in usage.marks if mark.name != held.mark)
            if len(others) == len(usage.marks):  # another writer may have counted without it
                return self._count_again(usage).encode(), None
            return replace(usage, marks=others).add(change).encode(), None

        known = held.item or ABSENT
        with suppress(BackendError, Conflict):
            update_item(self._kv, self._key, decide, self._life, known=known, tries=RACES)

    def count_stored(self) -> QuotaChange:
        """Return the keys and bytes that are stored."""
        keys = size = 0
        for sort, item in scan_all(self._kv, self._partition):
            keys += 1
            size += len(sort.encode()) + len(item.value)
        return QuotaChange(keys, size)

    def clear(self) -> None:
        """Forget the usage; the next writer counts again."""
        self._kv.delete(self._key)

    def _count_again(self, before: _QuotaUsage) -> _QuotaUsage:
        """Return the usage of what is stored, and of what others have reserved."""
        stored = self.count_stored()
        usage = replace(before, keys=stored.keys, size=stored.size, epoch=secrets.token_hex(4))
        for mark in before.marks:
            usage = usage.add(QuotaChange(mark.keys, mark.size))
        return usage

    def _parse(self, item: Item | None) -> _QuotaUsage:
        """Return the usage in an item, with only those marks whose write may still come.

        One that cannot be read is `DAMAGED`; the next writer counts again.
        """
        if item is None:
            return _QuotaUsage()
        try:
            keys, size, *more = orjson.loads(item.value)
            epoch, rows, *rest = more or ("", [])
            marks = []
            for name, mark_keys, mark_size, at, *mark_rest in rows:
                mark = _Mark(str(name), int(mark_keys), int(mark_size), float(at), tuple(mark_rest))
                if abs(self._clock() - mark.at) < HOLD_SECONDS:
                    marks.append(mark)
            return _QuotaUsage(int(keys), int(size), str(epoch), tuple(marks), tuple(rest))
        except (ValueError, TypeError):
            return _QuotaUsage(epoch=DAMAGED)
