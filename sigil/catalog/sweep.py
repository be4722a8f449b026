"""Expired things are swept out of a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

from sigil.catalog.expiry import Sweeper
from sigil.storage.kv import KV


@runtime_checkable
class SweepableStore(Protocol):
    """A store that does not forget expired items by itself."""

    def sweep(self) -> int:
        """Remove what has expired; how many items that were."""


def sweep(kv: KV, clock: Callable[[], float] = time.time) -> Mapping[str, int]:
    """Sweep once: how many `items` went, and capabilities that `expired` or became `inactive`; what
    is 0 is left out.
    """
    items = kv.sweep() if isinstance(kv, SweepableStore) else 0
    aged = Sweeper(kv, clock).sweep()
    counts = {"items": items, "expired": aged.expired, "inactive": aged.inactive}
    return {name: count for name, count in counts.items() if count}
