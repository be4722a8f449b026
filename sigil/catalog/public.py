"""Public capabilities: what every namespace may run by `namespace/name`, found behind one's own."""

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
"""Where the generation of all public capabilities stands: no namespace is called so."""


def full_name(record: Record) -> str:
    """Return what other namespaces call it."""
    return f"{record.namespace}/{record.name}"


def foreign_offer(record: Record) -> Offer:
    """Return what another namespace is offered."""
    return replace(record.offer, name=full_name(record))


def require_public_name(namespace: str, name: str) -> None:
    """`Refused` with ENAME when a capability that wants to be public would have a tool that is too
    long.
    """
    tool = tool_of(f"{namespace}/{name}")
    if is_name(namespace) and namespace != LIBRARY and len(tool) > TOOL_LIMIT:
        message = (
            f"it cannot be public: {tool} has {len(tool)} characters, and a tool at most"
            f" {TOOL_LIMIT}"
        )
        raise Refused(
            "ENAME", message, source=name, suggestion="choose a shorter name, or leave `public` out"
        )


def is_alive(record: Record, now: float) -> bool:
    """Return whether its time has not run out."""
    return record.expires_at is None or record.expires_at > now


def load_head(kv: KV, namespace: str, name: str, now: float) -> Head | None:
    """Return the head of a name as of `now`, None when there is none: see `resolve_head`."""
    item = kv.get(keys.capability(namespace, name))
    return resolve_head(kv, item, now) if item else None


def resolve_head(kv: KV, item: Item, now: float) -> Head:
    """A head as it stands at this moment: where the version that ran had an end, an older one that
    lasts takes its place by itself.
    """
    head = parse_head(item.value, item.version)
    return (
        head
        if is_alive(head.record, now)
        else parse_head(heads.resolve_expired(kv, item.value, now), item.version)
    )


class PublicCapabilities:
    """The public capabilities of a store."""

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def list_marks(self) -> Iterator[tuple[str, str, str]]:
        """(namespace, name, digest) of every mark."""
        return public_index.list_marks(self._kv)

    def find(self, namespace: str, name: str) -> Record | None:
        """The record that other namespaces run, when it is public and stands."""
        head = self.load_head(namespace, name)
        return head.record if head else None

    def load_head(self, namespace: str, name: str) -> Head | None:
        """The head of a public name that runs."""
        head = load_head(self._kv, namespace, name, self._clock())
        runs = (
            head and not head.removed and not head.yanked and is_alive(head.record, self._clock())
        )
        return head if head and runs and head.record.manifest.public else None

    def read_mark(self, namespace: str, name: str) -> str:
        """The digest that a name is public with, empty when it is not."""
        item = self._kv.get(keys.public(namespace, name))
        return item.value.decode("ascii", "replace") if item else ""

    def read_log(self) -> Item | None:
        """The log of what changed: its version is another one whenever a public capability is."""
        return self._kv.get(keys.generation(EVERYWHERE))
