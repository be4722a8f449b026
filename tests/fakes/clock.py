"""A clock that stands until it is told to move."""

from __future__ import annotations


class Clock:
    """Wall time in seconds. It begins ahead of every real clock: a store that ends items by its own
    must not end ours.
    """

    def __init__(self, now: float = 4_000_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
