"""Every namespace may run a public capability by `namespace/name`, and finds it behind its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from sigil.catalog import heads, public_index
from sigil.catalog.records import Head, Record, parse_head
from sigil.errors import Refused
from sigil.protocol import LIBRARY, TOOL_LIMIT, Offer, is_name, tool_of
from sigil.storage.kv import KV, Item, keys

EVERYWHERE = keys.EVERYWHERE
"""The namespace of the log of all public capabilities: none is called so."""


def full_name(record: Record) -> str:
    """Return the name by which other namespaces call it."""
    return f"{record.namespace}/{record.name}"


def foreign_offer(record: Record) -> Offer:
    """Return what another namespace is offered."""
    return replace(record.offer, name=full_name(record))


def require_public_name(namespace: str, name: str) -> None:
    """Raise `Refused` ENAME when a capability would have too long a tool name as a public one."""
    tool = tool_of(f"{namespace}/{name}")
    if is_name(namespace) and namespace != LIBRARY and len(tool) > TOOL_LIMIT:
        raise Refused(
            "ENAME",
            f"it cannot be public: {tool} has {len(tool)} characters, and a tool at most"
            f" {TOOL_LIMIT}",
            source=name,
            suggestion="choose a shorter name, or leave `public` out",
        )


def is_alive(record: Record, now: float) -> bool:
    """Return whether its time has not run out."""
    return record.expires_at is None or record.expires_at > now


def load_head(kv: KV, namespace: str, name: str, now: float) -> Head | None:
    """Return the head of a name as of `now`, None when there is none."""
    item = kv.get(keys.capability(namespace, name))
    return resolve_head(kv, item, now) if item else None


def resolve_head(kv: KV, item: Item, now: float) -> Head:
    """Return a stored head as of `now`.

    Where the version that ran had an end, an older one that lasts takes its place by itself.
    """
    head = parse_head(item.value, item.version)
    if is_alive(head.record, now):
        return head
    return parse_head(heads.resolve_expired(kv, item.value, now), item.version)


class PublicCapabilities:
    """The public capabilities of a store."""

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def list_marks(self) -> Iterator[tuple[str, str, str]]:
        """Yield namespace, name and digest of every mark."""
        return public_index.list_marks(self._kv)

    def find(self, namespace: str, name: str) -> Record | None:
        """Return the record that other namespaces run, None unless it is public and runs."""
        head = self.load_head(namespace, name)
        return head.record if head else None

    def load_head(self, namespace: str, name: str) -> Head | None:
        """Return the head of a public name, None unless it is public and runs."""
        now = self._clock()
        head = load_head(self._kv, namespace, name, now)
        if head is None or head.removed or head.yanked or not is_alive(head.record, now):
            return None
        return head if head.record.manifest.public else None

    def read_mark(self, namespace: str, name: str) -> str:
        """Return the digest that a name is public with, empty when it is not."""
        item = self._kv.get(keys.public_mark(namespace, name))
        return item.value.decode("ascii", "replace") if item else ""

    def read_log(self) -> Item | None:
        """Return the log of changes: it has another version whenever a public capability has."""
        return self._kv.get(keys.generation(EVERYWHERE))
