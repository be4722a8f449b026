"""Limit how many requests are under way at once, so that no caller takes every slot."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

Claims = tuple[str, ...]


class FairShares:
    """Slots for `most` requests at once, and of those `each[n]` with the same n-th claim.

    A claim is, for example, a host or a namespace. An empty claim is not counted.
    """

    def __init__(self, most: int, *each: int) -> None:
        self._limits = (most, *each)
        self._taken: Counter[tuple[int, str]] = Counter()
        self._changed = threading.Condition()

    def take(self, claims: Claims, seconds: float) -> bool:
        """Take a slot within `seconds`; return whether there was one. `release` gives it back."""
        keys = _counter_keys(claims)
        with self._changed:
            free = self._changed.wait_for(
                lambda: all(self._taken[key] < self._limits[key[0]] for key in keys), seconds
            )
            if free:
                self._taken.update(keys)
            return free

    def release(self, claims: Claims) -> None:
        """Give a slot back."""
        with self._changed:
            self._taken.subtract(_counter_keys(claims))
            self._taken = +self._taken
            self._changed.notify_all()

    @contextmanager
    def taken(self, claims: Claims, seconds: float) -> Iterator[bool]:
        """Take a slot as `take` does, and give it back at the end of the block."""
        free = self.take(claims, seconds)
        try:
            yield free
        finally:
            if free:
                self.release(claims)


def _counter_keys(claims: Claims) -> list[tuple[int, str]]:
    return [(0, "all"), *((number, claim) for number, claim in enumerate(claims, 1) if claim)]
