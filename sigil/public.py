"""Public capabilities: what every namespace may run by `namespace/name`, found behind one's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sigil import marks
from sigil.errors import Refused
from sigil.kv import KV, keys
from sigil.protocol import LIBRARY, TOOL_LIMIT, Offer, is_name, tool_of
from sigil.records import Head, Record, head_of

EVERYWHERE = keys.EVERYWHERE
"""Where the generation of all public capabilities stands: no namespace is called so."""


def full_name(record: Record) -> str:
    """What other namespaces call it."""
    return f"{record.namespace}/{record.name}"


def foreign(record: Record) -> Offer:
    """What another namespace is offered."""
    return replace(record.offer, name=full_name(record))


def demand_name(namespace: str, name: str) -> None:
    """`Refused` with ENAME when a capability that wants to be public would have a tool that is too long."""
    tool = tool_of(f"{namespace}/{name}")
    if is_name(namespace) and namespace != LIBRARY and len(tool) > TOOL_LIMIT:
        message = f"it cannot be public: {tool} has {len(tool)} characters, and a tool at most {TOOL_LIMIT}"
        raise Refused("ENAME", message, source=name, suggestion="choose a shorter name, or leave `public` out")


class Publics:
    """Which capabilities are public, as the store says."""

    def __init__(self, kv: KV) -> None:
        self._kv = kv

    def all(self) -> Iterator[tuple[str, str, str]]:
        """(namespace, name, digest) of every mark."""
        return marks.all_of(self._kv)

    def record(self, namespace: str, name: str) -> Record | None:
        """The record that other namespaces run, when it is public and stands."""
        head = self.head(namespace, name)
        return head.record if head else None

    def head(self, namespace: str, name: str) -> Head | None:
        """The head of a public name."""
        item = self._kv.get(keys.capability(namespace, name))
        head = head_of(item.value, item.version) if item else None
        return head if head and not head.removed and not head.yanked and head.record.manifest.public else None

    def generation(self) -> str:
        """A token that changes whenever a public capability does."""
        item = self._kv.get(keys.generation(EVERYWHERE))
        return item.version if item else ""
