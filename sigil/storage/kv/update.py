"""Read, decide, write: by compare-and-set, and anew when somebody else wrote in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, KV, Key

TRIES = 32
_T = TypeVar("_T")


def swapped(
    kv: KV,
    key: Key,
    decide: Callable[[bytes | None], tuple[bytes | None, _T]],
    ttl: float | None = None,
) -> _T:
    """The answer of `decide`, which is given the item's value and says what to write instead (None:
    nothing) and what to answer.

    `Conflict` when others write all the time.
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
