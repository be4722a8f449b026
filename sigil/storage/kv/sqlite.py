"""Keep the store in one SQLite file, which threads and processes share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sigil.errors import Conflict
from sigil.storage.kv.base import ABSENT, Expect, Item, Key, ScannedItem
from sigil.storage.kv.encoding import encode_key, encode_text, expiry_time, new_version
from sigil.storage.kv.sqlite_file import SqliteFile, SqlValue

SWEEP_EVERY = 512
"""Writes with a lifetime between two sweeps."""
SWEEP_BATCH = 1024
"""Items that a single statement drops, so that other writers wait for milliseconds only."""

_GET = (
    "SELECT value, version FROM item WHERE partition = ?1 AND sort = ?2 AND (expires IS NULL OR"
    " expires > ?3)"
)
_GET_MANY = """
    WITH wanted (place, partition, sort) AS (VALUES {rows})
    SELECT place, value, version FROM wanted JOIN item USING (partition, sort)
    WHERE expires IS NULL OR expires > ?
"""
_SCAN = """
    SELECT sort, value, version FROM item
    WHERE partition = ?1 AND sort >= ?2 AND sort < ?3 AND (expires IS NULL OR expires > ?4) ORDER BY sort LIMIT ?5
"""
_PUT = """
    INSERT INTO item (partition, sort, version, expires, value) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT DO UPDATE SET version = excluded.version, expires = excluded.expires, value = excluded.value
"""
_PUT_ABSENT = _PUT + "WHERE expires <= ?6"
_PUT_OVER = """
    UPDATE item SET version = ?3, expires = ?4, value = ?5
    WHERE partition = ?1 AND sort = ?2 AND version = ?7 AND (expires IS NULL OR expires > ?6)
"""
_PARTITIONS = """
    SELECT DISTINCT partition FROM item
    WHERE partition >= ?1 AND partition < ?2 AND (expires IS NULL OR expires > ?3)
"""
_EVERYTHING = (
    "SELECT partition, sort, value, expires FROM item WHERE expires IS NULL OR expires > ?1"
)
_DELETE = "DELETE FROM item WHERE partition = ?1 AND sort = ?2"
_DELETE_AT = _DELETE + " AND version = ?4 AND (expires IS NULL OR expires > ?3)"
_SWEEP = (
    "DELETE FROM item WHERE (partition, sort) IN (SELECT partition, sort FROM item WHERE expires <="
    " ?1 LIMIT ?2)"
)


class SqliteKV:
    """A `KV` in the file `path`, which is created if need be (0600, its folders 0700).

    Every verb is one statement, so that a race has one winner whatever thread or process it runs
    in. A write survives `kill -9`; power loss may take the last ones but never harms the file (WAL,
    synchronous=NORMAL). `clock` gives seconds since the epoch; `timeout` is how long a verb waits
    for other writers, in seconds. A file that cannot be used raises `BackendError`.
    """

    def __init__(
        self, path: Path | str, clock: Callable[[], float] = time.time, *, timeout: float = 5.0
    ) -> None:
        self._file = SqliteFile(path, timeout)
        self._clock = clock
        self._lifetimes = 0

    def get(self, key: Key) -> Item | None:
        """Return the item, None when there is none."""
        rows = self._file.query_rows(_GET, (*encode_key(key), self._clock()))
        return Item(*rows[0]) if rows else None

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, or None."""
        found: list[Item | None] = [None] * len(keys)
        if not keys:
            return found
        statement = _GET_MANY.format(rows=", ".join(["(?, ?, ?)"] * len(keys)))
        values: list[SqlValue] = []
        for place, key in enumerate(keys):
            values += (place, *encode_key(key))
        for place, value, version in self._file.query_rows(statement, (*values, self._clock())):
            found[place] = Item(value, version)
        return found

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version; `Conflict` when `expect` does not
        hold.
        """
        now = self._clock()
        version = new_version()
        row: tuple[SqlValue, ...] = (*encode_key(key), version, expiry_time(ttl, now), value)
        if expect is None:
            changed = self._file.change_rows(_PUT, row)
        elif expect is ABSENT:
            changed = self._file.change_rows(_PUT_ABSENT, (*row, now))
        else:
            changed = self._file.change_rows(_PUT_OVER, (*row, now, expect))
        if not changed:
            raise Conflict
        if ttl is not None:
            self._lifetimes += 1
            if self._lifetimes >= SWEEP_EVERY:
                self._lifetimes = 0
                self._file.change_rows(_SWEEP, (self._clock(), SWEEP_BATCH))
        return version

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; `Conflict` when `expect` does not hold."""
        if expect is None:
            self._file.change_rows(_DELETE, encode_key(key))
        elif expect is ABSENT:
            if self.get(key) is not None:
                raise Conflict
        elif not self._file.change_rows(_DELETE_AT, (*encode_key(key), self._clock(), expect)):
            raise Conflict

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """Return at most `limit` live items in the order of their sort keys."""
        lowest = encode_text(prefix)
        above = lowest + b"\xff"  # no UTF-8 text holds this byte
        start = max(lowest, encode_text(after) + b"\0") if after else lowest
        rows = self._file.query_rows(
            _SCAN, (encode_text(partition), start, above, self._clock(), max(limit, 0))
        )
        try:
            return [(sort.decode(), Item(value, version)) for sort, value, version in rows]
        except (UnicodeDecodeError, AttributeError):
            raise self._file.make_damage_error() from None

    def list_partitions(self, prefix: str = "") -> Iterator[str]:
        """Yield the names of the partitions that begin with `prefix`."""
        lowest = encode_text(prefix)
        for (partition,) in self._file.query_rows(
            _PARTITIONS, (lowest, lowest + b"\xff", self._clock())
        ):
            yield partition.decode()

    def scan_everything(self) -> Iterator[ScannedItem]:
        """Yield every live item, all of them as they are at one moment."""
        for partition, sort, value, expires in self._file.stream_rows(
            _EVERYTHING, (self._clock(),)
        ):
            try:
                key = Key(partition.decode(), sort.decode())
            except (UnicodeDecodeError, AttributeError):
                raise self._file.make_damage_error() from None
            yield ScannedItem(key, value, expires)

    def sweep(self) -> int:
        """Drop the expired items, a batch at a time, and return their number."""
        swept = 0
        while batch := self._file.change_rows(_SWEEP, (self._clock(), SWEEP_BATCH)):
            swept += batch
        return swept

    def close(self) -> None:
        """Close every connection; each further verb raises `BackendError`."""
        self._file.close()
