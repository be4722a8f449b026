"""The compare-and-set loop and the pager that everybody uses who changes or reads many items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sigil.errors import Conflict
from sigil.storage.kv.base import ABSENT, KV, Item, Key

TRIES = 32
PAGE = 200
_T = TypeVar("_T")


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
    for left in reversed(range(TRIES)):
        item = kv.get(key)
        value, answer = decide(item.value if item else None)
        if value is None:
            return answer
        try:
            kv.put(key, value, expect=item.version if item else ABSENT, ttl=ttl)
        except Conflict:
            if not left:
                raise
        else:
            return answer
    raise AssertionError("the last try returns or raises")


def delete_if(kv: KV, key: Key, condition: Callable[[bytes], bool]) -> bool:
    """Delete one item if its value meets `condition`, and look again when another writer came
    first.

    Returns whether it was deleted here. Raises `Conflict` after `TRIES` lost races in a row.
    """
    for left in reversed(range(TRIES)):
        item = kv.get(key)
        if item is None or not condition(item.value):
            return False
        try:
            kv.delete(key, expect=item.version)
        except Conflict:
            if not left:
                raise
        else:
            return True
    raise AssertionError("the last try returns or raises")


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
