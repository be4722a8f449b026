"""The door for time: expired things are swept out of the store."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, runtime_checkable

from functions import log
from functions.settings import Settings
from sigil.kv import KV
from sigil.wiring import open_stores


@runtime_checkable
class Sweeps(Protocol):
    """A store that does not forget expired items by itself."""

    def sweep(self) -> int:
        """Remove what has expired; how many items that were."""


def tick(kv: KV) -> int:
    """One tick of the clock: how many expired items were swept."""
    swept = kv.sweep() if isinstance(kv, Sweeps) else 0
    if swept:
        log.note("swept", items=swept)
    return swept


@lru_cache(maxsize=1)
def _kv() -> KV:
    log.start()
    return open_stores(Settings.read()).kv


def handler(event: object, context: object) -> dict[str, int]:
    """A scheduled invocation."""
    return {"swept": tick(_kv())}
