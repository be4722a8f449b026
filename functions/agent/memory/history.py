"""HISTORY tells what happened in a session, in an entry for each stretch of its messages.

Entries are added, and none is ever changed, except that a person's words are erased. Beside them
are kept the statements that each consolidation took out of the chat's memory or rewrote: nobody
forgets them, they are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import orjson

from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, later


@dataclass(frozen=True, slots=True)
class HistoryEntry(Stored):
    """One entry.

    `text` tells of the messages with the sequence numbers `first` to `last`; `at` is when it was
    written, in seconds since 1970. `raw` says that it has the messages themselves, because no
    model summed them up. While the chat's memory still has to follow the entry, `memory` is the
    text that it shall become and `base` the version that it was made from; None means that nothing
    is left to do. In the same way `preferences` is what the document `self` shall say of them, made
    from its version `self_base`.
    """

    first: int
    last: int
    at: float
    text: str
    raw: bool = False
    memory: str | None = None
    base: int = 0
    preferences: str | None = later(None)
    self_base: int = later(0)


_ENTRY: Final = Shape[HistoryEntry](HistoryEntry)


class History:
    """The entries of one session (S of the keys)."""

    def __init__(self, kv: KV, session: str) -> None:
        self._kv = kv
        self._session = session

    def get(self, first: int) -> HistoryEntry | None:
        """Return the entry that begins with this message; None without one that can be read."""
        item = self._kv.get(keys.history_entry(self._session, first))
        return _decode_entry(first, item.value) if item else None

    def add(self, entry: HistoryEntry) -> HistoryEntry:
        """Add an entry, and return the one that is stored where it begins.

        That is this one, or the one of somebody who was faster.
        """

        def decide(value: bytes | None) -> tuple[bytes | None, HistoryEntry]:
            found = _decode_entry(entry.first, value) if value is not None else None
            if found:
                return None, found
            return _encode_entry(entry), entry

        return update(self._kv, keys.history_entry(self._session, entry.first), decide)

    def mark_followed(self, entry: HistoryEntry) -> None:
        """Note that the memory has followed the entry, so that nothing is left to do."""

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            if value is None or _decode_entry(entry.first, value) != entry:
                return None, None
            return _encode_entry(replace(entry, memory=None, preferences=None)), None

        update(self._kv, keys.history_entry(self._session, entry.first), decide)

    def replace_text(self, entry: HistoryEntry, text: str) -> None:
        """Write another text into an entry, unless it was changed since it was read."""

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            if value is None or _decode_entry(entry.first, value) != entry:
                return None, None
            return _encode_entry(replace(entry, text=text)), None

        update(self._kv, keys.history_entry(self._session, entry.first), decide)

    def list_page(self, after: int = 0, limit: int = 100) -> list[HistoryEntry]:
        """Return at most `limit` entries that begin after the message `after`, the oldest first.

        Damaged ones are left out.
        """
        start = keys.history_entry(self._session, after)
        rows = self._kv.scan(start.partition, after=start.sort if after else "", limit=limit)
        found = [_decode_entry(int(sort), item.value) for sort, item in rows]
        return [entry for entry in found if entry]

    def scan(self) -> Iterator[HistoryEntry]:
        """Yield every entry that can be read, the oldest first."""
        for sort, item in scan_all(self._kv, keys.history_entry(self._session, 0).partition):
            entry = _decode_entry(int(sort), item.value)
            if entry:
                yield entry


@dataclass(frozen=True, slots=True)
class Removal:
    """The statements that were removed with one entry of HISTORY, at `at` (seconds since 1970).

    The entry begins with the message `first`.
    """

    first: int
    at: float
    statements: tuple[str, ...]


class RemovedStatements:
    """The statements removed from the memory of one session (S of the keys)."""

    def __init__(self, kv: KV, session: str) -> None:
        self._kv = kv
        self._session = session

    def save(self, removal: Removal) -> None:
        """Write the removal down; writing the same again changes nothing."""
        if removal.statements:
            body = orjson.dumps({"at": removal.at, "statements": removal.statements})
            self._kv.put(keys.forgotten_memory(self._session, removal.first), body)

    def list_between(self, after: int, before: int, limit: int) -> Iterator[Removal]:
        """Yield what was removed with the entries that begin after `after` and before `before`.

        The oldest comes first; at most `limit` are read, and damaged ones are left out.
        """
        start = keys.forgotten_memory(self._session, after)
        for sort, item in self._kv.scan(start.partition, after=start.sort, limit=limit):
            first = int(sort)
            if first >= before:
                return
            try:
                row = orjson.loads(item.value)
                statements = tuple(text for text in row["statements"] if isinstance(text, str))
                removal = Removal(first, float(row["at"]), statements)
            except (ValueError, TypeError, KeyError):
                continue
            yield removal


def _encode_entry(entry: HistoryEntry) -> bytes:
    body = {name: getattr(entry, name) for name in ("last", "at", "text", "raw", "memory", "base")}
    if entry.preferences is not None:
        body |= {"preferences": entry.preferences, "self_base": entry.self_base}
    return orjson.dumps({**body, **(entry._rest or {})})


def _decode_entry(first: int, value: bytes) -> HistoryEntry | None:
    try:
        entry = _ENTRY.convert({**orjson.loads(value), "first": first})
    except (ValueError, TypeError):
        return None
    return entry if entry.last >= first else None
