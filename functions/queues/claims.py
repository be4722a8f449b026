"""Who works on a session: a lease in the store that a worker takes, gives back, or loses when it stalls or dies."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass

import orjson

from functions.clock import Clock
from sigil.errors import Conflict
from sigil.kv import ABSENT, KV, Item, keys


@dataclass(frozen=True, slots=True)
class Claim:
    """A session held by this worker. `lost`: how many workers in a row lost it before without giving it back."""

    session: str
    version: str
    lost: int = 0


class Claims:
    """The leases of one process. A lease ends `seconds` after it was taken, by the wall clock that its taker wrote down, or by this
    process's own monotonic clock since it first saw that lease: so neither a clock that jumps back nor one that is wrong blocks a session.
    A lease only saves work; what fences a worker that lost it is the version of the session's document.
    """

    def __init__(self, kv: KV, clock: Clock, seconds: float) -> None:
        self._kv = kv
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, float]] = {}

    def take(self, session: str) -> Claim | None:
        """Claim the session; None while somebody else has it."""
        with suppress(Conflict):
            return Claim(session, self._kv.put(keys.claim(session), self._lease(0), expect=ABSENT))
        item = self._kv.get(keys.claim(session))
        if item is None or not self._ended(session, item):
            return None
        lost = int(orjson.loads(item.value)["lost"]) + 1
        with suppress(Conflict):
            return Claim(session, self._kv.put(keys.claim(session), self._lease(lost), expect=item.version), lost)
        return None

    def holds(self, claim: Claim) -> bool:
        """Whether nobody else has taken the session since."""
        item = self._kv.get(keys.claim(claim.session))
        return item is not None and item.version == claim.version

    def give_back(self, claim: Claim) -> None:
        """Let others have the session; one that was lost meanwhile stays with whoever has it now."""
        with suppress(Conflict):
            self._kv.delete(keys.claim(claim.session), expect=claim.version)

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
