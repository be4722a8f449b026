"""The scheduled function: each tick removes expired items from the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache

from functions import log
from functions.settings import Settings
from sigil.catalog.expiry import sweep
from sigil.wiring import Stores, open_stores


def tick(stores: Stores, clock: Callable[[], float] = time.time) -> int:
    """Remove expired items, files and capabilities, and return how many those were."""
    gone = sweep(stores.kv, clock, stores.artifacts)
    if gone:
        log.note("swept", **gone)
    return sum(gone.get(kind, 0) for kind in ("items", "files", "expired"))


@lru_cache(maxsize=1)
def _open_stores() -> Stores:
    log.start()
    return open_stores(Settings.read())


def handler(event: object, context: object) -> dict[str, int]:
    """Run one tick; AWS invokes this on a schedule."""
    return {"swept": tick(_open_stores())}
