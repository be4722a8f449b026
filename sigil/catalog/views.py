"""What the registry tells of a capability: rows of plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sigil.catalog.health import Health
from sigil.catalog.quotas import Quotas, used
from sigil.catalog.records import Head, Record
from sigil.catalog.usage import Use
from sigil.manifest.permissions import ungranted_permissions
from sigil.protocol import Json

NEVER = Use()
_SHOWN = (
    "lang",
    "aliases",
    "examples",
    "requires",
    "public",
    "idempotent",
    "permissions",
    "limits",
    "tests",
)
State = Literal["ok", "degraded", "inactive", "yanked"]


def row(record: Record) -> dict[str, Json]:
    """What a list shows of a version."""
    manifest = record.manifest
    return {
        "capability": record.name,
        "tool": record.offer.tool,
        "version": record.version,
        "digest": record.digest,
        "description": manifest.description,
        "kind": manifest.kind,
        "namespace": record.namespace,
        "lifetime": manifest.lifetime,
        "tags": list(manifest.tags),
        "author": record.author,
        "at": record.at,
        "expires_at": record.expires_at,
    }


def detail(record: Record) -> dict[str, Json]:
    """What an inspection shows beside the row."""
    manifest = record.manifest.model_dump(mode="json")
    return {
        "schema": manifest["input"],
        "pure": record.manifest.pure,
        "pending": list(ungranted_permissions(record.manifest)),
        **{name: manifest[name] for name in _SHOWN},
        "on_degraded": record.manifest.on_degraded,
        "session": record.session,
        "wasm": f"sha256:{record.wasm}",
    }


def standing(head: Head | None, record: Record, health: Health, now: float) -> dict[str, Json]:
    """Whether the version is the active one, and its state."""
    active = head is not None and not head.removed and head.record.version == record.version
    return {"active": active, "state": state(head, record, health, now)}


def state(head: Head | None, record: Record, health: Health, now: float) -> State:
    """`yanked`, `degraded` (it rests, or is being tried), `inactive` (unused for long), or `ok`."""
    if head and record.version in head.standing.yanked:
        return "yanked"
    if health.state(now) != "closed":
        return "degraded"
    return "inactive" if head and head.standing.inactive else "ok"


def use(use: Use | None) -> dict[str, Json]:
    """How often and how well it was called, by all processes as far as they have written it."""
    counts = use or NEVER
    return {
        "calls": counts.calls,
        "errors": counts.errors,
        "mean_ms": counts.mean_ms,
        "p95_ms": counts.p95_ms,
        "last": counts.last or None,
    }


def brief(head: Head, health: Health, counts: Use | None, now: float) -> dict[str, Json]:
    """One line of the status."""
    record = head.record
    told = {
        "capability": record.name,
        "namespace": record.namespace,
        "version": record.version,
        "lifetime": record.manifest.lifetime,
    }
    return {**told, "state": state(head, record, health, now), **use(counts)}


def usage(heads: Sequence[Head], namespace: str, room: Quotas) -> dict[str, Json]:
    """What a namespace holds, and its limits."""
    now = used(heads)
    limits = {
        "capabilities": room.most(namespace),
        "bytes": room.bytes,
        "ephemeral": room.ephemeral,
    }
    return {
        "namespace": namespace,
        "capabilities": now.capabilities,
        "bytes": now.bytes,
        "ephemeral": now.ephemeral,
        "limits": limits,
    }


_INTERFACE = (
    *(
        "capability",
        "tool",
        "version",
        "digest",
        "description",
        "kind",
        "namespace",
        "lifetime",
        "tags",
        "author",
        "at",
        "expires_at",
    ),
    *(
        "state",
        "schema",
        "pure",
        "aliases",
        "examples",
        "requires",
        "public",
        "idempotent",
        "permissions",
        "limits",
    ),
)


def interface(row: Mapping[str, Json]) -> dict[str, Json]:
    """Of everything about a capability what those may see who may only run it: not its source, its
    tests, or how it is used.
    """
    return {name: row[name] for name in _INTERFACE if name in row}
