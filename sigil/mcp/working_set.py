"""Keep the working set of a session: its latest `cap_*` tools, each with the digest that was
offered.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from sigil.protocol import Offer

MOST = 40
"""Clients show all tools to their model, and many refuse a request with more than 128 of them."""


class ResidentTools:
    """The tools of one session; the one that was loaded first is evicted first. Thread-safe."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._offers: dict[str, Offer] = {}
        self._loaded: dict[str, None] = {}
        self._lock = threading.Lock()

    def load(self, offers: Iterable[Offer]) -> tuple[bool, tuple[str, ...]]:
        """Page offers in; return if the tools have changed, and which ones were evicted."""
        with self._lock:
            before = dict(self._offers)
            for offer in offers:
                self._offers[offer.tool] = offer
                self._loaded.pop(offer.tool, None)
                self._loaded[offer.tool] = None
            evicted = tuple(self._loaded)[: max(len(self._loaded) - self._most, 0)]
            for tool in evicted:
                del self._offers[tool]
                del self._loaded[tool]
            known = tuple(tool for tool in evicted if tool in before)
            return self._offers != before, known

    def get(self, tool: str) -> Offer | None:
        """Return what a tool runs, None when it is not resident."""
        return self._offers.get(tool)

    def offers(self) -> tuple[Offer, ...]:
        """Return all offers, in the order in which they came."""
        with self._lock:
            return tuple(self._offers.values())
