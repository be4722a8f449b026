"""The mark of a store that is being filled from a backup: while it stands, no server starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sigil.errors import Refused
from sigil.storage.kv import keys
from sigil.storage.kv.base import KV
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps


@dataclass(frozen=True, slots=True)
class Restoration(Stored):
    """A restoration that has begun: the digest and the name of its file, and when (since 1970)."""

    digest: str
    file: str
    at: float


_SHAPE: Final = Shape[Restoration](Restoration)
UNKNOWN: Final = Restoration(digest="", file="FILE", at=0.0)


def find_restoration(kv: KV) -> Restoration | None:
    """Return the restoration that has begun and not ended; None when there is none."""
    item = kv.get(keys.restoring())
    try:
        return _SHAPE.read(item.value) if item else None
    except (ValueError, NewerFormat):
        return UNKNOWN


def begin_restoration(kv: KV, restoration: Restoration) -> None:
    """Mark a store: it is not whole until `end_restoration`."""
    kv.put(keys.restoring(), dumps(restoration))


def end_restoration(kv: KV) -> None:
    """Remove the mark: the store is whole."""
    kv.delete(keys.restoring())


def require_restored(kv: KV) -> None:
    """Raise `Refused` EDEGRADED for a store that is only filled in part."""
    begun = find_restoration(kv)
    if begun:
        raise Refused(
            "EDEGRADED",
            "a backup was being restored into this store, and that did not end",
            suggestion=f"uncaged restore {begun.file} begins it again",
        )
