"""A remembered thing as the model reads it: what it says, and where that is from."""

from __future__ import annotations

import time

from functions.agent.thing import WHEN, Thing
from sigil.protocol import Json


def moment(at: float) -> str:
    """`2026-11-22T01:30Z`."""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(min(max(at, 0.0), 253_402_300_799.0)))


def shown(thing: Thing, *, shared: bool, score: float | None = None) -> dict[str, Json]:
    """An item. `shared`: every chat recalls it, and none learns who wrote it. `score` in 0…1, None where nothing was ranked."""
    row = {name: value for name, value in thing.row().items() if value != "" and not (shared and name == "by")}
    more = {**({"shared": True} if shared else {}), **({} if score is None else {"score": score})}
    return {"id": thing.id, **row, WHEN[thing.kind]: moment(thing.at), **more}
