"""The removed statements are those that a consolidation took out of a chat's memory or rewrote.

Nobody forgets them: they are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from sigil.storage.kv import KV, Item, keys


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

    def keep(self, removal: Removal) -> None:
        """Write it down; writing the same again changes nothing."""
        if removal.statements:
            body = orjson.dumps({"at": removal.at, "statements": removal.statements})
            self._kv.put(keys.left(self._session, removal.first), body)

    def between(self, after: int, before: int, limit: int) -> Iterator[Removal]:
        """Yield what was removed with the entries that begin after `after` and before `before`.

        The oldest comes first; at most `limit` are read, and damaged ones are left out.
        """
        start = keys.left(self._session, after)
        for sort, item in self._kv.scan(start.partition, after=start.sort, limit=limit):
            first = int(sort)
            if first >= before:
                return
            found = _decode(first, item)
            if found:
                yield found


def _decode(first: int, item: Item) -> Removal | None:
    try:
        row = orjson.loads(item.value)
        statements = tuple(text for text in row["statements"] if isinstance(text, str))
        return Removal(first, float(row["at"]), statements)
    except (ValueError, TypeError, KeyError):
        return None
