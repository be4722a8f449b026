"""HISTORY: what happened in a session, an entry for each stretch of its messages; entries are
added, and none is ever changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import orjson

from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.stored import Shape, Stored

PAGE = 100


@dataclass(frozen=True, slots=True)
class Entry(Stored):
    """`first` and `last`: the sequence numbers of the messages that `text` tells of; `at`: when it
    was written, seconds since 1970.

    `raw`: the messages themselves, because no model summed them up. While the chat's memory still
    has to follow the entry, `memory` is what it shall be and `base` the version that it was made
    from; None: nothing is left to do.
    """

    first: int
    last: int
    at: float
    text: str
    raw: bool = False
    memory: str | None = None
    base: int = 0


_ENTRY: Final = Shape[Entry](Entry)


class History:
    """The entries of one session (S of the keys)."""

    def __init__(self, kv: KV, session: str) -> None:
        self._kv = kv
        self._session = session

    def get(self, first: int) -> Entry | None:
        """The entry that begins with this message; None when there is none, or none that can be
        read.
        """
        item = self._kv.get(keys.entry(self._session, first))
        return _decoded(first, item) if item else None

    def add(self, entry: Entry) -> Entry:
        """The entry that stands where this one begins: this one, or that of somebody who was
        faster.
        """
        key = keys.entry(self._session, entry.first)
        try:
            self._kv.put(key, _encoded(entry), expect=ABSENT)
        except Conflict:
            item = self._kv.get(key)
            found = _decoded(entry.first, item) if item else None
            if found:
                return found
            self._kv.put(
                key, _encoded(entry), expect=item.version if item else ABSENT
            )  # over what is damaged
        return entry

    def settle(self, entry: Entry) -> None:
        """The memory has followed the entry: nothing is left to do."""
        key = keys.entry(self._session, entry.first)
        item = self._kv.get(key)
        if item and _decoded(entry.first, item) == entry:
            try:
                self._kv.put(key, _encoded(replace(entry, memory=None)), expect=item.version)
            except Conflict:
                return  # somebody else did

    def page(self, after: int = 0, limit: int = 100) -> list[Entry]:
        """At most `limit` entries that begin after the message `after`, oldest first; damaged ones
        are left out.
        """
        start = keys.entry(self._session, after)
        rows = self._kv.scan(start.partition, after=start.sort if after else "", limit=limit)
        found = (_decoded(int(sort), item) for sort, item in rows)
        return [entry for entry in found if entry]

    def all(self) -> Iterator[Entry]:
        """Every entry that can be read, oldest first."""
        partition, after = keys.entry(self._session, 0).partition, ""
        while rows := self._kv.scan(partition, after=after, limit=PAGE):
            yield from filter(None, (_decoded(int(sort), item) for sort, item in rows))
            after = rows[-1][0]


def _encoded(entry: Entry) -> bytes:
    body = {name: getattr(entry, name) for name in ("last", "at", "text", "raw", "memory", "base")}
    return orjson.dumps({**body, **(entry._rest or {})})


def _decoded(first: int, item: Item) -> Entry | None:
    try:
        entry = _ENTRY.convert({**orjson.loads(item.value), "first": first})
    except (ValueError, TypeError):
        return None
    return entry if entry.last >= first else None
