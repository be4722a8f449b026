"""Who works on a session: a lease in the store that a worker takes, renews while it lives, gives back, or loses when it stalls or dies."""

from __future__ import annotations

import threading
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field

import orjson

from functions.clock import Clock
from sigil.errors import BackendError, Conflict
from sigil.kv import ABSENT, KV, Item, keys


@dataclass(frozen=True, slots=True)
class Claim:
    """A session held by this worker since the write `version`. `lost`: how many workers in a row lost it before without giving it back."""

    session: str
    version: str
    lost: int = 0


@dataclass(slots=True)
class _Hold:
    """A claim of this process: the version of its latest renewal, and when it was taken (monotonic). The lock keeps its writes apart."""

    claim: Claim
    version: str
    since: float
    lock: threading.Lock = field(default_factory=threading.Lock)


class Claims:
    """The leases of one process. A lease ends `seconds` after it was taken or renewed, by the wall clock that its holder wrote down, or by
    this process's own monotonic clock since it first saw that lease: so neither a clock that jumps back nor one that is wrong blocks a
    session. No lease is renewed beyond `hold` seconds after its session was taken: what takes longer hangs.
    A lease only saves work; what fences a worker that lost it is the version of the session's document.
    """

    def __init__(self, kv: KV, clock: Clock, seconds: float, hold: float) -> None:
        self._kv = kv
        self._clock = clock
        self._seconds = seconds
        self._hold = hold
        self._lock = threading.Lock()
        self._mine: dict[str, _Hold] = {}
        self._seen: dict[str, tuple[str, float]] = {}

    def take(self, session: str) -> Claim | None:
        """Claim the session; None while somebody else has it."""
        with suppress(Conflict):
            return self._took(Claim(session, self._kv.put(keys.claim(session), self._lease(0), expect=ABSENT)))
        item = self._kv.get(keys.claim(session))
        if item is None or not self._ended(session, item):
            return None
        lost = int(orjson.loads(item.value)["lost"]) + 1
        with suppress(Conflict):
            return self._took(Claim(session, self._kv.put(keys.claim(session), self._lease(lost), expect=item.version), lost))
        return None

    def renew(self) -> list[str]:
        """Renew the leases of this process; the sessions that it still has. A store that is away for a moment changes nothing."""
        with self._lock:
            holds = list(self._mine.values())
        kept = []
        for hold in holds:
            with suppress(BackendError):
                if self._renewed(hold):
                    kept.append(hold.claim.session)
        return kept

    def holds(self, claim: Claim) -> bool:
        """Whether nobody else has taken the session since."""
        with self._lock:
            hold = self._mine.get(claim.version)
        if hold is None:
            return self._stands(claim, claim.version)
        with hold.lock:
            return self._stands(claim, hold.version)

    def give_back(self, claim: Claim) -> None:
        """Let others have the session; one that was lost meanwhile stays with whoever has it now."""
        with self._lock:
            hold = self._mine.pop(claim.version, None)
        with hold.lock if hold else nullcontext(), suppress(Conflict):
            self._kv.delete(keys.claim(claim.session), expect=hold.version if hold else claim.version)

    def _took(self, claim: Claim) -> Claim:
        with self._lock:
            self._mine[claim.version] = _Hold(claim, claim.version, self._clock.monotonic())
        return claim

    def _renewed(self, hold: _Hold) -> bool:
        with hold.lock:
            with self._lock:
                given_back = hold.claim.version not in self._mine
            if given_back or self._clock.monotonic() - hold.since >= self._hold:
                return False
            try:
                hold.version = self._kv.put(keys.claim(hold.claim.session), self._lease(hold.claim.lost), expect=hold.version)
            except Conflict:
                with self._lock:
                    self._mine.pop(hold.claim.version, None)
                return False
        return True

    def _stands(self, claim: Claim, version: str) -> bool:
        item = self._kv.get(keys.claim(claim.session))
        return item is not None and item.version == version

    def _lease(self, lost: int) -> bytes:
        return orjson.dumps({"until": self._clock.now() + self._seconds, "lost": lost})

    def _ended(self, session: str, item: Item) -> bool:
        now = self._clock.monotonic()
        with self._lock:
            version, since = self._seen.get(session, ("", now))
            if version != item.version:
                since = now
            self._seen[session] = (item.version, since)
            ended = orjson.loads(item.value)["until"] <= self._clock.now() or now - since >= self._seconds
            if ended:
                del self._seen[session]
            return bool(ended)
