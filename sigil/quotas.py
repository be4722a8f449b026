"""How much a namespace may hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sigil.errors import Refused
from sigil.protocol import LIBRARY
from sigil.records import Head

SESSION_MARK = "~"
"""What the namespace of a single chat has in its name, see `Caller.own`."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """Of one namespace: live capabilities, bytes of their modules and sources, live ephemeral ones. `session`: capabilities of a chat."""

    capabilities: int = 500
    bytes: int = 50 << 20
    session: int = 20
    ephemeral: int = 20

    def most(self, namespace: str) -> int:
        """How many capabilities a namespace may have."""
        return self.session if SESSION_MARK in namespace else self.capabilities


@dataclass(frozen=True, slots=True)
class Used:
    """What a namespace holds."""

    capabilities: int = 0
    bytes: int = 0
    ephemeral: int = 0


def used(live: Iterable[Head]) -> Used:
    """What these heads, none removed or expired, amount to."""
    heads = list(live)
    ephemeral = sum(head.record.manifest.lifetime == "ephemeral" for head in heads)
    return Used(len(heads), sum(head.standing.size for head in heads), ephemeral)


def demand(quotas: Quotas, namespace: str, others: Iterable[Head], size: int, *, ephemeral: bool) -> None:
    """`Refused` EQUOTA when a namespace has no room for one more of `size` bytes. `others`: its live heads but the one to be replaced."""
    if namespace == LIBRARY:
        return
    now = used(others)
    if now.capabilities >= quotas.most(namespace):
        raise _full(f"{now.capabilities} capabilities, and at most {quotas.most(namespace)} are allowed")
    if ephemeral and now.ephemeral >= quotas.ephemeral:
        raise _full(f"{now.ephemeral} ephemeral capabilities, and at most {quotas.ephemeral} may live at a time")
    if now.bytes + size > quotas.bytes:
        raise _full(f"{now.bytes:,} bytes of code, and at most {quotas.bytes:,} with the {size:,} new ones are allowed")


def _full(what: str) -> Refused:
    return Refused("EQUOTA", f"the namespace has {what}", source="registry", suggestion="remove what nobody needs: `sigil remove NAME`")
