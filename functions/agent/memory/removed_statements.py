"""What left a chat's memory: the statements that a consolidation took out or wrote anew. Nobody
forgets them; they are searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import orjson

from sigil.storage.kv import KV, Item, keys


@dataclass(frozen=True, slots=True)
class Left:
    """The statements that left with the entry of HISTORY that begins with the message `first`, at
    `at` (seconds since 1970).
    """

    first: int
    at: float
    statements: tuple[str, ...]


class LeftStatements:
    """What left the memory of one session (S of the keys)."""

    def __init__(self, kv: KV, session: str) -> None:
        self._kv = kv
        self._session = session

    def keep(self, left: Left) -> None:
        """Write it down; writing the same again changes nothing."""
        if left.statements:
            body = orjson.dumps({"at": left.at, "statements": left.statements})
            self._kv.put(keys.left(self._session, left.first), body)

    def between(self, after: int, before: int, limit: int) -> Iterator[Left]:
        """What left with entries that begin beyond `after` and before `before`, the oldest first;
        damaged ones are left out.
        """
        start = keys.left(self._session, after)
        for sort, item in self._kv.scan(start.partition, after=start.sort, limit=limit):
            first = int(sort)
            if first >= before:
                return
            found = _decoded(first, item)
            if found:
                yield found


def _decoded(first: int, item: Item) -> Left | None:
    try:
        row = orjson.loads(item.value)
        statements = tuple(text for text in row["statements"] if isinstance(text, str))
        return Left(first, float(row["at"]), statements)
    except (ValueError, TypeError, KeyError):
        return None
