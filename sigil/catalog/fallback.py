"""What is left of a name whose active version has run out: the one that ran before it takes its
place. Reads no manifest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sigil.catalog import heads
from sigil.catalog.heads import Activation, HeadState
from sigil.storage.kv import KV, keys

PAGE = 500
ENDED = "expire"
"""The action under which the older version runs again."""


def at(kv: KV, data: bytes, now: float) -> bytes:
    """A stored head as it stands at this moment: `data` itself, unless its version ran out and an
    older one lasts.
    """
    standing, record = heads.split(data)
    return (succeeded(kv, standing, record, now) if heads.expired(record, now) else None) or data


def succeeded(kv: KV, standing: HeadState, record: dict[str, Any], now: float) -> bytes | None:
    """The head with a version that is neither withdrawn nor at its end in the place of `record`:
    the last that ran; None without one.
    """
    if standing.removed or standing.latest <= standing.floor:
        return None
    alive = [
        row
        for row in _rows(kv, record["namespace"], record["name"], standing.floor)
        if not heads.expired(row[0], now)
    ]
    good = [row for row in alive if row[0]["version"] not in standing.yanked]
    if not good:
        return None
    found = {int(fields["version"]): (fields, body) for fields, body in good}
    older, body = found[standing.before(int(record["version"]), found.keys()) or max(found)]
    step = Activation(older["version"], float(record["expires_at"]), "sigil", ENDED)
    size = sum(fields.get("size", 0) for fields, _ in alive)
    return heads.join(replace(standing.active(step), size=size), body)


def _rows(kv: KV, namespace: str, name: str, floor: int) -> list[tuple[dict[str, Any], bytes]]:
    """The fields of every version from `floor` on, with the record as it is stored."""
    rows: list[tuple[dict[str, Any], bytes]] = []
    partition, after = keys.version(namespace, name, 0).partition, ""
    while page := kv.scan(partition, f"{name}#", after=after, limit=PAGE):
        rows += [(heads.fields(item.value), item.value) for _, item in page]
        after = page[-1][0]
    return [row for row in rows if row[0]["version"] >= floor]
