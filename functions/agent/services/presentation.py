"""A remembered thing as the model reads it: what it says, and where that is from."""

from __future__ import annotations

from datetime import datetime, timedelta

from functions.agent.memory.thing import WHEN, Thing
from sigil.protocol import Json

FIRST, LAST = -62_135_596_800.0, 253_402_300_799.0
"""The first and the last second that a calendar has, since 1970."""


def moment(at: float) -> str:
    """`2026-11-22T01:30Z`."""
    within = min(max(at, FIRST), LAST)
    return (datetime(1970, 1, 1) + timedelta(seconds=within)).isoformat(timespec="minutes") + "Z"


def shown(thing: Thing, *, shared: bool, score: float | None = None) -> dict[str, Json]:
    """An item. `shared`: every chat recalls it, and none learns who wrote it. `score` in 0…1, None
    where nothing was ranked.

    `disputed` stands at a value where a surer one says something else.
    """
    row = {
        name: value
        for name, value in thing.row().items()
        if value != "" and not (shared and name == "by")
    }
    more: dict[str, Json] = {"shared": True} if shared else {}
    if thing.disputed:
        more["disputed"] = True
    if score is not None:
        more["score"] = score
    return {"id": thing.id, **row, WHEN[thing.kind]: moment(thing.at), **more}
