"""The scheduled function: each tick removes expired items from the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache

from functions import log
from functions.settings import Settings
from sigil.catalog.expiry import sweep
from sigil.storage.kv import KV
from sigil.wiring import open_stores


def tick(kv: KV, clock: Callable[[], float] = time.time) -> int:
    """Remove expired items and capabilities, and return how many those were."""
    gone = sweep(kv, clock)
    if gone:
        log.note("swept", **gone)
    return gone.get("items", 0) + gone.get("expired", 0)


@lru_cache(maxsize=1)
def _open_kv() -> KV:
    log.start()
    return open_stores(Settings.read()).kv


def handler(event: object, context: object) -> dict[str, int]:
    """Run one tick; AWS invokes this on a schedule."""
    return {"swept": tick(_open_kv())}
