"""A lease in the store lets one worker at a time work on a session.

The worker takes it, renews it while it lives, and releases it, or loses it when it stalls or dies.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from functions.time.clock import Clock
from sigil.errors import BackendError, Conflict
from sigil.storage.kv import ABSENT, KV, Expect, Item, keys
from sigil.storage.kv.update import DELETE, Change, update_item
from sigil.storage.stored import Shape, dumps


@dataclass(frozen=True, slots=True)
class Lease:
    """A session that a worker may work on.

    `owner` names this lease alone. `lost`: how many workers in a row lost the session before
    without releasing it.
    """

    session: str
    owner: str
    lost: int = 0


@dataclass(frozen=True, slots=True)
class _LeaseRecord:
    """A lease as it is stored. `until`: when it ends, in seconds since the epoch."""

    until: float
    lost: int
    owner: str


_RECORD: Final = Shape[_LeaseRecord](_LeaseRecord)


def is_never_gone(lease: Lease) -> bool:
    """Return False: nothing but time tells whether the holder of a lease is alive."""
    return False


@dataclass(slots=True)
class _HeldLease:
    """A lease of this process: the version of its last write, and when it was taken (monotonic)."""

    lease: Lease
    version: str
    since: float


class Leases:
    """The leases of one process.

    A lease ends `seconds` after it was taken or renewed, by the wall clock that its holder wrote
    down, or by this process's own monotonic clock since it first saw that lease: so neither a clock
    that jumps back nor one that is wrong blocks a session. No lease is renewed beyond `hold`
    seconds after its session was taken: what takes longer hangs.

    `name` begins the owners of its leases. `is_gone` says whether the holder of another's lease is
    known to be dead; that lease is taken over at once.

    A lease only saves work; what fences a worker that lost it is the version of the session's
    document.
    """

    def __init__(
        self,
        kv: KV,
        clock: Clock,
        seconds: float,
        hold: float,
        *,
        name: str = "",
        is_gone: Callable[[Lease], bool] = is_never_gone,
    ) -> None:
        self._name = name
        self._is_gone = is_gone
        self._kv = kv
        self._clock = clock
        self._seconds = seconds
        self._hold = hold
        self._lock = threading.Lock()  # of the two below; never held during a request to the store
        self._held: dict[str, _HeldLease] = {}
        # by session: the version of another's lease, and when this process first saw it (monotonic)
        self._seen: dict[str, tuple[str, float]] = {}

    def take(self, session: str) -> Lease | None:
        """Take the lease of the session, and return None while another worker has it."""
        lease = Lease(session, f"{self._name}{uuid.uuid4().hex}")
        with suppress(Conflict):
            return self._take_over(lease, ABSENT)
        item = self._kv.get(keys.session_claim(session))
        if item is None:
            return None
        other = _RECORD.read(item.value)
        is_gone = self._is_gone(Lease(session, other.owner))
        if not is_gone and not self._has_ended(session, item.version, other.until):
            return None
        with suppress(Conflict):
            return self._take_over(replace(lease, lost=other.lost + 1), item.version)
        return None

    def renew(self) -> list[str]:
        """Renew the leases of this process, and return the sessions that it still has.

        A store that is away for a moment changes nothing.
        """
        with self._lock:
            held_leases = list(self._held.values())
        renewed = []
        for held in held_leases:
            with suppress(BackendError):
                if self._renew_lease(held):
                    renewed.append(held.lease.session)
        return renewed

    def reset_lost(self, lease: Lease) -> None:
        """Count no lost workers any more: from now on the event's own `tries` count them.

        Otherwise a crash before the release would count them twice.
        """
        with self._lock:
            held = self._held.get(lease.owner)
        if held and held.lease.lost:
            held.lease = replace(held.lease, lost=0)
            self._renew_lease(held)

    def holds(self, lease: Lease) -> bool:
        """Return whether no other worker has taken the session since."""
        item = self._kv.get(keys.session_claim(lease.session))
        return item is not None and _is_owned_by(lease, item.value)

    def release(self, lease: Lease) -> None:
        """Let others have the session; one that was lost stays with the worker that has it now."""
        key = keys.session_claim(lease.session)
        with self._lock:
            held = self._held.pop(lease.owner, None)
        if held:
            with suppress(Conflict):  # lost, or renewed this very moment
                self._kv.delete(key, expect=held.version)
                return

        def delete_if_owned(item: Item | None) -> tuple[Change, None]:
            is_owned = item is not None and _is_owned_by(lease, item.value)
            return (DELETE if is_owned else None), None

        update_item(self._kv, key, delete_if_owned)

    def _take_over(self, lease: Lease, expect: Expect) -> Lease:
        version = self._write(lease, expect)
        with self._lock:
            self._held[lease.owner] = _HeldLease(lease, version, self._clock.monotonic())
        return lease

    def _renew_lease(self, held: _HeldLease) -> bool:
        """Renew one lease; False when it was held for too long or is not ours any more."""
        if self._clock.monotonic() - held.since >= self._hold:
            return False
        try:
            held.version = self._write(held.lease, held.version)
        except Conflict:  # lost, or released
            with self._lock:
                self._held.pop(held.lease.owner, None)
            return False
        return True

    def _write(self, lease: Lease, expect: Expect) -> str:
        until = self._clock.now() + self._seconds
        record = _LeaseRecord(until, lease.lost, lease.owner)
        return self._kv.put(keys.session_claim(lease.session), dumps(record), expect=expect)

    def _has_ended(self, session: str, version: str, until: float) -> bool:
        """Return whether another worker's lease has ended, by its wall clock or by our own time."""
        now = self._clock.monotonic()
        with self._lock:
            seen_version, since = self._seen.get(session, ("", now))
            if seen_version != version:
                since = now
            ended = until <= self._clock.now() or now - since >= self._seconds
            if ended:
                self._seen.pop(session, None)
            else:
                self._seen[session] = (version, since)
            return ended


def is_leased(kv: KV, session: str, now: float) -> bool:
    """Return whether some process has the lease of a session, by the wall clock."""
    item = kv.get(keys.session_claim(session))
    return item is not None and read_end(item) > now


def read_end(item: Item) -> float:
    """Return when the lease in an item ends, in seconds since 1970."""
    return _RECORD.read(item.value).until


def _is_owned_by(lease: Lease, value: bytes) -> bool:
    return _RECORD.read(value).owner == lease.owner
