"""A namespace holds no more than its quotas allow, however many deploy at the same moment."""

from __future__ import annotations

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
from sigil.storage.kv.update import Change, update_item
from sigil.storage.stored import Shape, Stored, dumps

SESSION_MARK = "~"
"""What the namespace of a single chat has in its name, see `Caller.own`."""
HOLD_SECONDS = 60.0
"""How long a claim is held for what is being stored; that of a process that died ends so."""
RACES = 100


@dataclass(frozen=True, slots=True)
class Quotas:
    """A namespace holds at most so many live capabilities, bytes and live ephemeral capabilities.

    `bytes` counts modules and sources; `session` is the number of capabilities of a single chat.
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
    """The amounts that a namespace holds, counted as its quotas are."""

    capabilities: int = 0
    bytes: int = 0
    ephemeral: int = 0


@dataclass(frozen=True, slots=True)
class QuotaClaim(Stored):
    """The share of a quota that one name takes, or will take; `size`: bytes of all versions."""

    name: str
    size: int
    ephemeral: bool


@dataclass(frozen=True, slots=True)
class _HeldClaim(Stored):
    """A claim of somebody who is about to store it, known by `mark`; it ends at `until`."""

    mark: str
    until: float
    claim: QuotaClaim


@dataclass(frozen=True, slots=True)
class CountedClaims:
    """The shares of its quota that the names of a namespace took at a time (seconds since 1970).

    `item` has the claims that were held at that moment; it was read before the names were counted.
    """

    item: Item | None
    claims: Mapping[str, QuotaClaim]
    at: float


_HELD_CLAIMS: Final = Shape[tuple[_HeldClaim, ...]](tuple[_HeldClaim, ...])


class QuotaReservations:
    """The quotas of a store's namespaces, and what is reserved of them.

    What a namespace holds is counted from its heads, so nothing can be miscounted for long. To
    store a head, first write into one item of the namespace what it will hold, over what was read
    there before the count: of two that come at once the later counts again.
    """

    def __init__(
        self, kv: KV, catalog: Catalog, quotas: Quotas, clock: Callable[[], float] = time.time
    ) -> None:
        self._kv = kv
        self._catalog = catalog
        self._quotas = quotas
        self._clock = clock

    def require_quota(self, namespace: str, claim: QuotaClaim) -> CountedClaims | None:
        """Return the count by which the claim fits, for `reserve`; None where nothing is bounded.

        Raises `Refused` EQUOTA when the claim does not fit at this moment.
        """
        if namespace == LIBRARY:
            return None
        now = self._clock()
        count = self._count(namespace, self._kv.get(keys.quota_claims(namespace)), now)
        self._require_within(namespace, claim, count)
        return count

    @contextmanager
    def reserve(
        self, namespace: str, claim: QuotaClaim, counted: CountedClaims | None = None
    ) -> Iterator[None]:
        """Reserve what a name will take while its head is stored inside.

        `counted` is what `require_quota` counted. It counts as long as nobody reserved or gave back
        anything since, which the version of the namespace's item shows. Raises `Refused` EQUOTA
        when the claim does not fit, `Conflict` after too many lost races.
        """
        if namespace == LIBRARY:
            yield
            return
        held = _HeldClaim(secrets.token_hex(8), self._clock() + HOLD_SECONDS, claim)
        if counted and not 0 <= self._clock() - counted.at < HOLD_SECONDS:
            counted = None  # an item that was not there may have come and ended since

        def add(item: Item | None) -> tuple[Change, None]:
            now = self._clock()
            count = counted
            if count is None or count.item != item:
                count = self._count(namespace, item, now)
            self._require_within(namespace, claim, count)
            return dumps([*self._held_claims(item, now), held]), None

        def remove(item: Item | None) -> tuple[Change, None]:
            claims = self._held_claims(item, self._clock())
            return dumps([other for other in claims if other.mark != held.mark]), None

        # the item is never deleted: a process that read that there is none must not find it so
        # again when others have stored since
        key = keys.quota_claims(namespace)
        ttl = 2 * HOLD_SECONDS
        known = (counted.item or ABSENT) if counted else None
        try:
            added = update_item(self._kv, key, add, ttl, known=known, tries=RACES)
        except Conflict:
            message = f"{namespace} is being deployed to by too many at this moment"
            raise Conflict(message) from None
        try:
            yield
        finally:
            with suppress(BackendError):  # it ends by itself
                update_item(self._kv, key, remove, ttl, known=added.item, tries=RACES)

    def _count(self, namespace: str, item: Item | None, now: float) -> CountedClaims:
        """Count what a namespace holds; `item` is read before, see the class."""
        claims: dict[str, QuotaClaim] = {}
        for head in self._catalog.list_heads(namespace):
            if self._catalog.is_alive(head.record):
                claims[head.record.name] = _claim_of_head(head)
        return CountedClaims(item, claims, now)

    def _require_within(self, namespace: str, claim: QuotaClaim, count: CountedClaims) -> None:
        """Raise `Refused` EQUOTA unless the claim fits beside what was counted and what is held."""
        claims = dict(count.claims)
        for held in self._held_claims(count.item, count.at):
            # while it is stored, a name takes at most what it had or what it will have
            name = held.claim.name
            before = claims.get(name, held.claim)
            size = max(before.size, held.claim.size)
            claims[name] = QuotaClaim(name, size, before.ephemeral or held.claim.ephemeral)
        claims.pop(claim.name, None)
        usage = _sum_claims(claims.values())
        most = self._quotas.max_capabilities(namespace)
        if usage.capabilities >= most:
            raise _over_quota(f"{usage.capabilities} capabilities, and at most {most} are allowed")
        if claim.ephemeral and usage.ephemeral >= self._quotas.ephemeral:
            raise _over_quota(
                f"{usage.ephemeral} ephemeral capabilities, and at most {self._quotas.ephemeral}"
                " may live at a time"
            )
        if usage.bytes + claim.size > self._quotas.bytes:
            raise _over_quota(
                f"{usage.bytes:,} bytes of code, and at most {self._quotas.bytes:,} with the"
                f" {claim.size:,} new ones are allowed"
            )

    def _held_claims(self, item: Item | None, now: float) -> list[_HeldClaim]:
        """Return the claims that are held at the time `now`; those who made the others died."""
        if item is None:
            return []
        try:
            claims = _HELD_CLAIMS.read(item.value)
        except ValueError:
            return []  # damaged: it speaks of this minute alone, and is written anew
        return [claim for claim in claims if now < claim.until <= now + 2 * HOLD_SECONDS]


def usage_of(live: Iterable[Head]) -> NamespaceUsage:
    """Return what these heads, none of them removed or expired, amount to."""
    return _sum_claims(map(_claim_of_head, live))


def claim_of(record: Record, head: Head | None) -> QuotaClaim:
    """Return the claim of a name for the time when this new version is stored over `head`."""
    size = record.size + (head.state.size if head else 0)
    return QuotaClaim(record.name, size, record.manifest.lifetime == "ephemeral")


def _claim_of_head(head: Head) -> QuotaClaim:
    is_ephemeral = head.record.manifest.lifetime == "ephemeral"
    return QuotaClaim(head.record.name, head.state.size, is_ephemeral)


def _sum_claims(claims: Iterable[QuotaClaim]) -> NamespaceUsage:
    listed = list(claims)
    return NamespaceUsage(
        capabilities=len(listed),
        bytes=sum(claim.size for claim in listed),
        ephemeral=sum(claim.ephemeral for claim in listed),
    )


def _over_quota(amount: str) -> Refused:
    return Refused(
        "EQUOTA",
        f"the namespace has {amount}",
        source="registry",
        suggestion="remove what nobody needs: `sigil remove NAME`",
    )
