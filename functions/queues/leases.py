"""Who works on a session: a lease in the store that a worker takes, renews while it lives, gives
back, or loses when it stalls or dies.
"""

from __future__ import annotations

import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass, replace

import orjson

from functions.clock import Clock
from sigil.errors import BackendError, Conflict
from sigil.storage.kv import ABSENT, KV, Expect, Item, keys


@dataclass(frozen=True, slots=True)
class Claim:
    """A session held by this worker: `owner` names this holding alone. `lost`: how many workers in
    a row lost it before without giving it back.
    """

    session: str
    owner: str
    lost: int = 0


@dataclass(slots=True)
class _Hold:
    """A claim of this process: the version of its last write, and when it was taken (monotonic)."""

    claim: Claim
    version: str
    since: float


class Claims:
    """The leases of one process. A lease ends `seconds` after it was taken or renewed, by the wall
    clock that its holder wrote down, or by this process's own monotonic clock since it first saw
    that lease: so neither a clock that jumps back nor one that is wrong blocks a session. No lease
    is renewed beyond `hold` seconds after its session was taken: what takes longer hangs. A lease
    only saves work; what fences a worker that lost it is the version of the session's document.
    """

    def __init__(self, kv: KV, clock: Clock, seconds: float, hold: float) -> None:
        self._kv = kv
        self._clock = clock
        self._seconds = seconds
        self._hold = hold
        self._lock = threading.Lock()  # of the two below; never held while the store is asked
        self._mine: dict[str, _Hold] = {}
        self._seen: dict[str, tuple[str, float]] = {}

    def take(self, session: str) -> Claim | None:
        """Claim the session; None while somebody else has it."""
        claim = Claim(session, uuid.uuid4().hex)
        with suppress(Conflict):
            return self._write(claim, ABSENT)
        item = self._kv.get(keys.claim(session))
        if item is None or not self._ended(session, item):
            return None
        with suppress(Conflict):
            return self._write(
                replace(claim, lost=int(orjson.loads(item.value)["lost"]) + 1), item.version
            )
        return None

    def renew(self) -> list[str]:
        """Renew the leases of this process; the sessions that it still has. A store that is away
        for a moment changes nothing.
        """
        with self._lock:
            holds = list(self._mine.values())
        kept = []
        for hold in holds:
            with suppress(BackendError):
                if self._renewed(hold):
                    kept.append(hold.claim.session)
        return kept

    def settle(self, claim: Claim) -> None:
        """Whoever lost it before is counted elsewhere from now on: a crash before it is given back
        must not count them twice.
        """
        with self._lock:
            hold = self._mine.get(claim.owner)
        if hold and hold.claim.lost:
            hold.claim = replace(hold.claim, lost=0)
            self._renewed(hold)

    def holds(self, claim: Claim) -> bool:
        """Whether nobody else has taken the session since."""
        return self._standing(claim) is not None

    def give_back(self, claim: Claim) -> None:
        """Let others have the session; one that was lost meanwhile stays with whoever has it
        now.
        """
        with self._lock:
            hold = self._mine.pop(claim.owner, None)
        version = hold.version if hold else None
        while version := version or self._standing(claim):
            try:
                return self._kv.delete(keys.claim(claim.session), expect=version)
            except Conflict:  # lost, or renewed this very moment
                version = None
        return None

    def _write(self, claim: Claim, expect: Expect) -> Claim:
        version = self._put(claim, expect)
        with self._lock:
            self._mine[claim.owner] = _Hold(claim, version, self._clock.monotonic())
        return claim

    def _renewed(self, hold: _Hold) -> bool:
        if self._clock.monotonic() - hold.since >= self._hold:
            return False
        try:
            hold.version = self._put(hold.claim, hold.version)
        except Conflict:  # lost, or given back
            with self._lock:
                self._mine.pop(hold.claim.owner, None)
            return False
        return True

    def _put(self, claim: Claim, expect: Expect) -> str:
        lease = {
            "until": self._clock.now() + self._seconds,
            "lost": claim.lost,
            "owner": claim.owner,
        }
        return self._kv.put(keys.claim(claim.session), orjson.dumps(lease), expect=expect)

    def _standing(self, claim: Claim) -> str | None:
        """The version of the claim in the store while it is this one."""
        item = self._kv.get(keys.claim(claim.session))
        return (
            item.version if item and orjson.loads(item.value).get("owner") == claim.owner else None
        )

    def _ended(self, session: str, item: Item) -> bool:
        now = self._clock.monotonic()
        with self._lock:
            version, since = self._seen.get(session, ("", now))
            if version != item.version:
                since = now
            self._seen[session] = (item.version, since)
            ended = (
                orjson.loads(item.value)["until"] <= self._clock.now()
                or now - since >= self._seconds
            )
            if ended:
                del self._seen[session]
            return bool(ended)
