"""Room for so many at once, of which nobody takes all."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

Claims = tuple[str, ...]


class FairShares:
    """`most` may be taken in all, and of it `each[n]` for the same n-th claim: so many to a host,
    so many for a namespace.

    An empty claim is nobody's: it is not counted.
    """

    def __init__(self, most: int, *each: int) -> None:
        self._limits = (most, *each)
        self._taken: Counter[tuple[int, str]] = Counter()
        self._given = threading.Condition()

    def take(self, claims: Claims, seconds: float) -> bool:
        """Whether there was room within `seconds`; what was taken is given back with `give`."""
        keys = _keys(claims)
        with self._given:
            free = self._given.wait_for(
                lambda: all(self._taken[key] < self._limits[key[0]] for key in keys), seconds
            )
            if free:
                self._taken.update(keys)
            return free

    def give(self, claims: Claims) -> None:
        """Room for others."""
        with self._given:
            self._taken.subtract(_keys(claims))
            self._taken = +self._taken
            self._given.notify_all()

    @contextmanager
    def taken(self, claims: Claims, seconds: float) -> Iterator[bool]:
        """Like `take`, until the end of the block."""
        free = self.take(claims, seconds)
        try:
            yield free
        finally:
            if free:
                self.give(claims)


def _keys(claims: Claims) -> list[tuple[int, str]]:
    return [(0, "all"), *((number, claim) for number, claim in enumerate(claims, 1) if claim)]
