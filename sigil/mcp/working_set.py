"""The working set of a session: the `cap_*` tools that were paged in, the latest ones, each with
the digest that was offered.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from sigil.protocol import Offer

MOST = 40
"""Clients show all tools to their model, and many refuse a request with more than 128 of them."""


class ResidentTools:
    """The tools of one session; what was loaded longest ago falls out first. Thread-safe."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._offers: dict[str, Offer] = {}
        self._loaded: dict[str, None] = {}
        self._lock = threading.Lock()

    def load(self, offers: Iterable[Offer]) -> tuple[bool, tuple[str, ...]]:
        """Page offers in: whether the tools are others now, and which fell out for them."""
        with self._lock:
            before = dict(self._offers)
            for offer in offers:
                self._offers[offer.tool] = offer
                self._loaded.pop(offer.tool, None)
                self._loaded[offer.tool] = None
            fallen = tuple(self._loaded)[: max(len(self._loaded) - self._most, 0)]
            for tool in fallen:
                del self._offers[tool], self._loaded[tool]
            return self._offers != before, tuple(tool for tool in fallen if tool in before)

    def get(self, tool: str) -> Offer | None:
        """What a tool runs, None when it is not resident."""
        return self._offers.get(tool)

    def offers(self) -> tuple[Offer, ...]:
        """All of them, in the order in which they came."""
        with self._lock:
            return tuple(self._offers.values())
