"""The compare-and-set loop that changes one item, and the pager that reads many."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, Literal, TypeVar

from sigil.errors import Conflict
from sigil.storage.backoff import jitter
from sigil.storage.kv.base import ABSENT, KV, Item, Key, Read

TRIES = 32
PAGE = 200
PAUSE_SECONDS = 0.02
"""How much longer each further lost race makes the longest pause after it."""
PAUSES_MOST = 5
_T = TypeVar("_T")


class _Delete(Enum):
    DELETE = "delete"


DELETE: Final = _Delete.DELETE
"""As the value to write: the item is deleted."""

Change = bytes | Literal[_Delete.DELETE] | None
"""What becomes of an item: a new value, its deletion, or nothing."""


@dataclass(frozen=True, slots=True)
class Updated(Generic[_T]):
    """The end of an update: the item as it is stored now, the answer, and how many races it lost.

    `item` is None when there is none, after its deletion too.
    """

    item: Item | None
    answer: _T
    lost: int


def update(
    kv: KV,
    key: Key,
    decide: Callable[[bytes | None], tuple[bytes | None, _T]],
    ttl: float | None = None,
) -> _T:
    """Change one item by compare-and-set, and decide anew whenever another writer came first.

    `decide` gets the item's value, None when there is none, and returns the value to write, None
    to write nothing, and the answer that `update` returns. It runs again after a lost race, so it
    must not have effects. Raises `Conflict` after `TRIES` lost races in a row.
    """
    return update_item(kv, key, lambda item: decide(item.value if item else None), ttl).answer


def update_item(
    kv: KV,
    key: Key,
    decide: Callable[[Item | None], tuple[Change, _T]],
    ttl: float | None = None,
    *,
    known: Read | None = None,
    tries: int = TRIES,
) -> Updated[_T]:
    """Change one item as `update` does, where `decide` gets the item itself and may `DELETE` it.

    `known` is the item as the caller has read it, which saves the first read. Raises `Conflict`
    after `tries` lost races in a row.
    """
    item = None if known is ABSENT else known or kv.get(key)
    for lost in range(tries):
        if lost:
            item = kv.get(key)
        value, answer = decide(item)
        if value is None:
            return Updated(item, answer, lost)
        try:
            if value is DELETE:
                if item:
                    kv.delete(key, expect=item.version)
                return Updated(None, answer, lost)
            version = kv.put(key, value, expect=item.version if item else ABSENT, ttl=ttl)
            return Updated(Item(value, version), answer, lost)
        except Conflict:
            if lost + 1 == tries:
                raise
            pause_after_race(lost)
    raise ValueError("an update needs one try at least")


def pause_after_race(lost: int) -> None:
    """Sleep a while after a lost race, so that those who met do not meet again.

    The pause is random and at most 0.1 s; after the first race (`lost` is 0) there is none.
    """
    if lost:
        longest = PAUSE_SECONDS * min(lost, PAUSES_MOST)
        time.sleep(jitter(longest / 2, spread=1.0))


def retry_conflicts(attempt: Callable[[], _T], tries: int = TRIES) -> _T:
    """Return the answer of `attempt`, which is made again while it raises `Conflict`.

    It is for a change of several items; one item is changed by `update`. The `Conflict` of the
    last of `tries` attempts is raised.
    """
    for lost in range(tries - 1):
        try:
            return attempt()
        except Conflict:
            pause_after_race(lost)
    return attempt()


def scan_all(
    kv: KV, partition: str, prefix: str = "", after: str = "", page: int = PAGE
) -> Iterator[tuple[str, Item]]:
    """Yield every item of a partition in the order of its sort key, a page of the store at a time.

    Items that are written or removed meanwhile may be missed or seen; none is seen twice.
    """
    while rows := kv.scan(partition, prefix, after, page):
        yield from rows
        if len(rows) < page:
            return
        after = rows[-1][0]
