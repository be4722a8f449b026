"""A namespace holds no more than its quotas allow, however many deploy at the same moment."""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from sigil.catalog.catalog import Catalog
from sigil.catalog.records import Head, Record
from sigil.errors import BackendError, Conflict, Refused
from sigil.protocol import LIBRARY
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.stored import Shape, Stored, dumps

SESSION_MARK = "~"
"""What the namespace of a single chat has in its name, see `Caller.own`."""
HOLD_SECONDS = 60.0
"""How long room stays taken for what is being stored. Whoever died in between gives it back by
that.
"""
RACES = 100
PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Quotas:
    """Of one namespace: live capabilities, bytes of their modules and sources, live ephemeral ones.
    `session`: capabilities of a chat.
    """

    capabilities: int = 500
    bytes: int = 50 << 20
    session: int = 20
    ephemeral: int = 20

    def max_capabilities(self, namespace: str) -> int:
        """Return how many capabilities a namespace may have."""
        return self.session if SESSION_MARK in namespace else self.capabilities


@dataclass(frozen=True, slots=True)
class NamespaceUsage:
    """The amount that a namespace holds."""

    capabilities: int = 0
    bytes: int = 0
    ephemeral: int = 0


@dataclass(frozen=True, slots=True)
class RoomClaim(Stored):
    """The room that one name takes, or will: the bytes of all its versions."""

    name: str
    size: int
    ephemeral: bool


@dataclass(frozen=True, slots=True)
class _HeldClaim(Stored):
    """A claim of somebody who is about to store it, known by `mark`, until `until`."""

    mark: str
    until: float
    claim: RoomClaim


@dataclass(frozen=True, slots=True)
class RoomCount:
    """The room that the names of a namespace took at a time (seconds since the epoch).

    `item` says who took room at that moment; it was read before the names were counted.
    """

    item: Item | None
    claims: Mapping[str, RoomClaim]
    at: float


_ROOM: Final = Shape[tuple[_HeldClaim, ...]](tuple[_HeldClaim, ...])


class RoomKeeper:
    """The room in the namespaces of a store.

    What a namespace holds is counted from its heads, so nothing can be miscounted for long. Whoever
    stores a head first writes into one item of the namespace what it will hold, over what it read
    there before it counted: of two that come at once the later counts again.
    """

    def __init__(
        self, kv: KV, catalog: Catalog, quotas: Quotas, clock: Callable[[], float] = time.time
    ) -> None:
        self._kv = kv
        self._catalog = catalog
        self._quotas = quotas
        self._clock = clock

    def require_room(self, namespace: str, claim: RoomClaim) -> RoomCount | None:
        """Return the count that there is room by, for `taken`; None for a namespace without bounds.

        `Refused` EQUOTA when there is no room for it as things stand.
        """
        if namespace == LIBRARY:
            return None
        now = self._clock()
        count = self._count(namespace, self._kv.get(keys.room(namespace)), now)
        self._require(namespace, claim, count)
        return count

    @contextmanager
    def hold_room(
        self, namespace: str, claim: RoomClaim, counted: RoomCount | None = None
    ) -> Iterator[None]:
        """Room for a name while its head is stored inside; `Refused` EQUOTA when there is none.

        `counted`: what `require` counted. It holds as long as nobody took or gave back room since,
        which the write of the namespace's item tells.
        """
        if namespace == LIBRARY:
            yield
            return
        held = _HeldClaim(secrets.token_hex(8), self._clock() + HOLD_SECONDS, claim)
        if counted and not 0 <= self._clock() - counted.at < HOLD_SECONDS:
            counted = None  # an item that was not there may have come and ended since

        def add(item: Item | None) -> list[_HeldClaim]:
            known = counted if counted and counted.item == item else None
            self._require(namespace, claim, known or self._count(namespace, item, self._clock()))
            return [*self._others(item, self._clock()), held]

        def remove(item: Item | None) -> list[_HeldClaim]:
            others = self._others(item, self._clock())
            return [other for other in others if other.mark != held.mark]

        first = counted.item if counted else self._kv.get(keys.room(namespace))
        taken = self._change(namespace, add, first)
        try:
            yield
        finally:
            with suppress(BackendError):  # it ends by itself
                self._change(namespace, remove, taken)

    def _count(self, namespace: str, item: Item | None, now: float) -> RoomCount:
        """Count what a namespace holds; `item` is read before, see the class."""
        claims: dict[str, RoomClaim] = {}
        for head in self._catalog.list_heads(namespace):
            if self._catalog.is_alive(head.record):
                claims[head.record.name] = _claim(head)
        return RoomCount(item, claims, now)

    def _require(self, namespace: str, claim: RoomClaim, count: RoomCount) -> None:
        claims = dict(count.claims)
        for other in self._others(count.item, count.at):
            claims[other.claim.name] = _both(claims.get(other.claim.name), other.claim)
        claims.pop(claim.name, None)
        _require_room(self._quotas, namespace, claims.values(), claim)

    def _others(self, item: Item | None, now: float) -> list[_HeldClaim]:
        """Return who takes room at the time `now`; those whose time is over died."""
        held: tuple[_HeldClaim, ...] = ()
        with suppress(
            ValueError
        ):  # damaged: it says who stores something within this minute, and is written anew
            held = _ROOM.read(item.value) if item else ()
        return [other for other in held if now < other.until <= now + 2 * HOLD_SECONDS]

    def _change(
        self, namespace: str, change: Callable[[Item | None], list[_HeldClaim]], item: Item | None
    ) -> Item:
        """Write what `change` makes of the namespace's item, first of `item`; what was written.

        The item is never deleted: whoever read that there is none must not find it so again when
        others have stored since.
        """
        key = keys.room(namespace)
        for attempt in range(RACES):
            body = dumps(change(item))
            try:
                version = self._kv.put(
                    key, body, expect=item.version if item else ABSENT, ttl=2 * HOLD_SECONDS
                )
            except Conflict:
                time.sleep(random.uniform(0, PAUSE_SECONDS) * min(attempt, 5))
                item = self._kv.get(key)
                continue
            return Item(body, version)
        raise Conflict(f"{namespace} is being deployed to by too many at this moment")


def usage_of(live: Iterable[Head]) -> NamespaceUsage:
    """Return what these heads, none removed or expired, amount to."""
    return _sum(map(_claim, live))


def claim_of(record: Record, head: Head | None) -> RoomClaim:
    """Return what a name will hold when this new version stands over `head`."""
    return RoomClaim(
        record.name,
        record.size + (head.state.size if head else 0),
        record.manifest.lifetime == "ephemeral",
    )


def _sum(given: Iterable[RoomClaim]) -> NamespaceUsage:
    claims = list(given)
    return NamespaceUsage(
        len(claims), sum(claim.size for claim in claims), sum(claim.ephemeral for claim in claims)
    )


def _claim(head: Head) -> RoomClaim:
    return RoomClaim(
        head.record.name, head.state.size, head.record.manifest.lifetime == "ephemeral"
    )


def _both(stands: RoomClaim | None, comes: RoomClaim) -> RoomClaim:
    """Return what a name holds at most while `comes` is being stored over what stands."""
    return (
        RoomClaim(comes.name, max(stands.size, comes.size), stands.ephemeral or comes.ephemeral)
        if stands
        else comes
    )


def _require_room(
    quotas: Quotas, namespace: str, others: Iterable[RoomClaim], claim: RoomClaim
) -> None:
    now = _sum(others)
    if now.capabilities >= quotas.max_capabilities(namespace):
        raise _full(
            f"{now.capabilities} capabilities, and at most"
            f" {quotas.max_capabilities(namespace)} are allowed"
        )
    if claim.ephemeral and now.ephemeral >= quotas.ephemeral:
        raise _full(
            f"{now.ephemeral} ephemeral capabilities, and at most {quotas.ephemeral} may live at a"
            " time"
        )
    if now.bytes + claim.size > quotas.bytes:
        raise _full(
            f"{now.bytes:,} bytes of code, and at most {quotas.bytes:,} with the {claim.size:,} new"
            " ones are allowed"
        )


def _full(what: str) -> Refused:
    return Refused(
        "EQUOTA",
        f"the namespace has {what}",
        source="registry",
        suggestion="remove what nobody needs: `sigil remove NAME`",
    )
