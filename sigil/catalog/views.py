"""The rows that the registry answers about a capability are made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, cast

from sigil.catalog.health import Health
from sigil.catalog.quotas import Quotas
from sigil.catalog.records import Head, Record
from sigil.catalog.usage import RunNote, UsageCounts

if TYPE_CHECKING:
    from sigil.protocol import Caller
    from sigil.rows import (
        Author,
        CapabilityStatusRow,
        DetailRow,
        InterfaceRow,
        ListRow,
        PinRow,
        QuotaRow,
        RunRow,
        UsageRow,
    )

NEVER = UsageCounts()
State = Literal["ok", "degraded", "inactive", "yanked"]


def list_row(
    head: Head | None, record: Record, health: Health, use: UsageCounts | None, now: float
) -> ListRow:
    """Return the line of a version in the list. `now` is in seconds since 1970."""
    manifest = record.manifest
    active = head is not None and not head.removed and head.record.version == record.version
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
        "author": cast("Author", record.author),
        "at": record.at,
        "expires_at": record.expires_at,
        "active": active,
        "state": version_state(head, record, health, now),
        **usage_row(use),
    }


def detail_row(
    listed: ListRow,
    record: Record,
    pending: Sequence[str],
    pins: list[PinRow],
    source: str | None,
    *,
    runs: list[RunRow] | None,
) -> DetailRow:
    """Return everything about a version: its line in the list and what an inspection adds."""
    manifest = record.manifest.model_dump(mode="json")
    row: DetailRow = {
        **listed,
        "schema": manifest["input"],
        "pure": record.manifest.pure,
        "pending": list(pending),
        "lang": manifest["lang"],
        "aliases": manifest["aliases"],
        "examples": manifest["examples"],
        "requires": manifest["requires"],
        "public": manifest["public"],
        "idempotent": manifest["idempotent"],
        "permissions": manifest["permissions"],
        "limits": manifest["limits"],
        "output_schema": manifest["output"] or {},
        "tests": manifest["tests"],
        "on_degraded": record.manifest.on_degraded,
        "session": record.session,
        "wasm": f"sha256:{record.wasm}",
        "pins": pins,
        "source": source,
        "runs": runs,
        "members": list(record.manifest.members),
    }
    if not record.manifest.members:
        del row["members"]
    if record.manifest.output is None:
        del row["output_schema"]
    return row


def run_rows(runs: Iterable[RunNote], record: Record, caller: Caller) -> list[RunRow]:
    """Return the last runs of a capability, newest last: of one that is the caller's all, and of
    the library's those on the caller's behalf.
    """
    is_own = record.namespace.partition("~")[0] == caller.namespace
    return [
        {
            "at": run.at,
            "version": run.version,
            "input_bytes": run.input_bytes,
            "code": run.code,
            "ms": run.milliseconds,
            "chat": run.chat,
            "lines": run.lines,
            "logs": list(run.logs),
        }
        for run in runs
        if is_own or run.home == caller.namespace
    ]


def interface_row(row: InterfaceRow) -> InterfaceRow:
    """Return the part of a capability's row that callers see who may only run it.

    Its source, its tests and its use are not among that.
    """
    return {
        "capability": row["capability"],
        "tool": row["tool"],
        "version": row["version"],
        "digest": row["digest"],
        "description": row["description"],
        "kind": row["kind"],
        "namespace": row["namespace"],
        "lifetime": row["lifetime"],
        "tags": row["tags"],
        "author": row["author"],
        "at": row["at"],
        "expires_at": row["expires_at"],
        "state": row["state"],
        "schema": row["schema"],
        "pure": row["pure"],
        "aliases": row["aliases"],
        "examples": row["examples"],
        "requires": row["requires"],
        "public": row["public"],
        "idempotent": row["idempotent"],
        "permissions": row["permissions"],
        "limits": row["limits"],
    }


def version_state(head: Head | None, record: Record, health: Health, now: float) -> State:
    """Return the state of a version at `now` (seconds since 1970).

    It is `yanked`, `degraded` (it rests, or is being tried), `inactive` (unused for long) or `ok`.
    """
    if head and record.version in head.state.yanked:
        return "yanked"
    if health.state_at(now) != "closed":
        return "degraded"
    return "inactive" if head and head.state.inactive else "ok"


def usage_row(use: UsageCounts | None) -> UsageRow:
    """Return how often and how well a capability was called; None means never.

    Counts that a process has not written yet are not in it.
    """
    counts = use or NEVER
    return {
        "calls": counts.calls,
        "errors": counts.errors,
        "mean_ms": counts.mean_ms,
        "p95_ms": counts.p95_ms,
        "last": counts.last or None,
    }


def status_row(
    head: Head, health: Health, use: UsageCounts | None, now: float
) -> CapabilityStatusRow:
    """Return one line of the status. `now` is in seconds since 1970."""
    record = head.record
    return {
        "capability": record.name,
        "namespace": record.namespace,
        "version": record.version,
        "lifetime": record.manifest.lifetime,
        "state": version_state(head, record, health, now),
        **usage_row(use),
    }


def quota_row(quotas: Quotas, namespace: str) -> QuotaRow:
    """Return how much a namespace may hold."""
    return {
        "capabilities": quotas.max_capabilities(namespace),
        "bytes": quotas.bytes,
        "ephemeral": quotas.ephemeral,
    }
