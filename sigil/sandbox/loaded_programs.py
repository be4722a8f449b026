"""What one runner holds, as the server knows it, and what it lets go of when something new comes.

Order of leaving: ephemeral programs whose time is over, other ephemeral ones, normal ones,
persistent ones; among equals the one that was used longest ago.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

PROGRAMS = 256
PROGRAM_BYTES = 64 << 20


class Rank(IntEnum):
    """How long a program is kept: the lowest goes first."""

    EXPIRED = 0
    EPHEMERAL = 1
    NORMAL = 2
    PERSISTENT = 3


class Held(NamedTuple):
    """`weight`: bytes in the runner; `expires`: seconds since 1970, for ephemeral programs."""

    weight: int
    rank: Rank = Rank.NORMAL
    expires: float | None = None

    def standing(self, now: float) -> Rank:
        over = self.rank is Rank.EPHEMERAL and self.expires is not None and self.expires <= now
        return Rank.EXPIRED if over else self.rank


class Shelf:
    """At most so many programs and bytes; the last one that came stays even when it is too large
    alone.
    """

    def __init__(
        self,
        programs: int = PROGRAMS,
        size: int = PROGRAM_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._programs = programs
        self._size = size
        self._clock = clock
        self._held: OrderedDict[str, Held] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, name: str) -> bool:
        return name in self._held

    @property
    def weight(self) -> int:
        return sum(held.weight for held in self._held.values())

    def use(self, name: str) -> None:
        """`name` is run now."""
        if name in self._held:
            self._held.move_to_end(name)

    def add(self, name: str, held: Held) -> tuple[str, ...]:
        """Put `name` there: the names of those that leave for it."""
        self._held.pop(name, None)
        over = self.weight + held.weight - self._size
        now = self._clock()
        gone = []
        for old in sorted(
            self._held, key=lambda each: self._held[each].standing(now)
        ):  # stable: oldest use first
            if over <= 0 and len(self._held) < self._programs:
                break
            over -= self._held.pop(old).weight
            gone.append(old)
        self._held[name] = held
        return tuple(gone)
