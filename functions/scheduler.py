"""The door for time: expired things are swept out of the store."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol, runtime_checkable

from functions import log
from functions.settings import Settings
from sigil.kv import KV
from sigil.lifetimes import Lifetimes
from sigil.wiring import open_stores


@runtime_checkable
class Sweeps(Protocol):
    """A store that does not forget expired items by itself."""

    def sweep(self) -> int:
        """Remove what has expired; how many items that were."""


def tick(kv: KV, clock: Callable[[], float] = time.time) -> int:
    """One tick of the clock: how many expired items and capabilities were swept."""
    swept = kv.sweep() if isinstance(kv, Sweeps) else 0
    aged = Lifetimes(kv, clock).sweep()
    if swept or aged.expired or aged.inactive:
        log.note("swept", items=swept, expired=aged.expired, inactive=aged.inactive)
    return swept + aged.expired


@lru_cache(maxsize=1)
def _kv() -> KV:
    log.start()
    return open_stores(Settings.read()).kv


def handler(event: object, context: object) -> dict[str, int]:
    """A scheduled invocation."""
    return {"swept": tick(_kv())}
