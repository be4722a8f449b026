"""A breaker for each version: closed, open after five failures of its own in a row, half-open for one call at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Literal, Protocol

import orjson

from sigil.errors import Conflict, Refused, SigilError, ToolError
from sigil.kv import ABSENT, KV, Key, keys

FAILURES = 5
REST_SECONDS = 30.0
TRIAL_SECONDS = 90.0
"""How long others wait for the one call that tries: longer than any call may take, which waits 30 s for a runner, 10 s for its start
and 10 s for a compiler, and runs for 30 s."""
FORGET_SECONDS = 600.0
"""Failures that lie further apart are no row."""
GLANCE_SECONDS = 1.0
"""How long a process believes what it read: a healthy call costs no read of its own."""
KEPT_SECONDS = 86_400.0
SEEN_MOST = 1_024
RACES = 5
_OWN = frozenset(("EGUEST", "ETHROWN", "EPENDING", "ESYNTAX", "ETRAP", "ENOMEM", "ESTACK", "ETIMEDOUT", "ELIMIT", "EOUTPUT", "EMODULE"))
_INPUT_TOO_LARGE = "the input is larger"


@dataclass(frozen=True, slots=True)
class Health:
    """How a version does. `failures` in a row, the last at `at`; it rests until `until`; one call tries it until `trial`."""

    failures: int = 0
    at: float = 0.0
    until: float = 0.0
    trial: float = 0.0
    code: str = ""

    def state(self, now: float) -> Literal["closed", "open", "half-open"]:
        if not self.until:
            return "closed"
        return "open" if self.until > now or self.trial > now else "half-open"


@dataclass(frozen=True, slots=True)
class _Seen:
    health: Health
    token: str
    at: float


WELL = Health()


class Version(Protocol):
    """What a breaker belongs to: a record, or a part of a run."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...


def own(problem: SigilError) -> bool:
    """Whether a failure is the capability's own: stopped, or an exception without a code. A code that its code chose is an answer."""
    return isinstance(problem, ToolError) and problem.code in _OWN and not problem.message.startswith(_INPUT_TOO_LARGE)


class Breaker:
    """Breakers that all processes over one store share. Nothing is written while all goes well. Thread-safe.

    Whoever is admitted holds a ticket and says with it how the call ended. The ticket of the one call that tries a version after its
    rest is the store's token of what it wrote; while the breaker is open nobody else writes there, so a call that was admitted earlier
    and ends only now neither mends the version nor makes room for a second trial.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._seen: dict[Key, _Seen] = {}

    def admit(self, version: Version) -> str:
        """Let a call pass, or raise `Refused` EDEGRADED. The first call after the rest passes as a trial, the others wait for it.

        The ticket of the call; an empty one when it is no trial.
        """
        seen, now = self._glance(version), self._clock()
        if seen.health.state(now) != "closed":
            seen = self._read(_key(version))
        state = seen.health.state(now)
        if state == "closed":
            return ""
        if state == "half-open":
            with suppress(Conflict):  # somebody else tries
                return self._write(_key(version), replace(seen.health, trial=now + TRIAL_SECONDS), seen)
        raise self._degraded(version, seen.health)

    def well(self, version: Version, ticket: str = "") -> bool:
        """A call went well; True when the version was degraded until now."""
        if ticket:
            return self._forget(version, ticket)
        seen = self._glance(version)
        for _ in range(RACES):
            if not seen.token or seen.health.until or self._forget(version, seen.token):
                break  # no row, or one that only a trial ends
            seen = self._read(_key(version))
        return False

    def failed(self, version: Version, problem: SigilError, ticket: str = "") -> bool:
        """A call failed; True when the version is degraded by it. What is not its own failure leaves everything as it is."""
        if not own(problem):
            self.undecided(version, ticket)
            return False
        if ticket:
            self._fail_trial(version, problem.code, ticket)
            return False
        for _ in range(RACES):
            with suppress(Conflict):
                return self._count(version, problem.code)
        return False  # many fail at once: the others count

    def undecided(self, version: Version, ticket: str) -> None:
        """A call told nothing of the capability: if it was a trial, the next call may try."""
        seen = self._tried(version, ticket)
        if seen:
            with suppress(Conflict):
                self._write(_key(version), replace(seen.health, trial=0.0), seen)

    def health(self, version: Version) -> Health:
        """How a version does, as of the last second."""
        return self._glance(version).health

    def _forget(self, version: Version, token: str) -> bool:
        """Whether what stood there under `token` is gone by this."""
        try:
            self._kv.delete(_key(version), expect=token)
        except Conflict:
            return False
        self._keep(_key(version), _Seen(WELL, "", self._clock()))
        return True

    def _fail_trial(self, version: Version, code: str, ticket: str) -> None:
        seen, now = self._tried(version, ticket), self._clock()
        if seen:
            with suppress(Conflict):
                self._write(_key(version), Health(seen.health.failures + 1, now, now + REST_SECONDS, 0.0, code), seen)

    def _tried(self, version: Version, ticket: str) -> _Seen | None:
        """What stands, as long as this ticket's trial is the one that goes on."""
        seen = self._read(_key(version)) if ticket else None
        return seen if seen and seen.token == ticket else None

    def _count(self, version: Version, code: str) -> bool:
        now, seen = self._clock(), self._read(_key(version))
        if seen.health.until:
            return False  # it rests already, or is being tried: this call began before
        failures = seen.health.failures + 1 if now - seen.health.at < FORGET_SECONDS else 1
        opens = failures >= FAILURES
        self._write(_key(version), Health(failures, now, now + REST_SECONDS if opens else 0.0, 0.0, code), seen)
        return opens

    def _degraded(self, version: Version, health: Health) -> Refused:
        wait = max(health.until - self._clock(), 1.0)
        message = f"it failed {health.failures} times in a row (the last time with {health.code}) and rests"
        others = f"try again in {wait:.0f} s, or run an older version: `sigil rollback {version.name}`"
        return Refused("EDEGRADED", message, source=version.name, suggestion=others, retry_after=wait)

    def _glance(self, version: Version) -> _Seen:
        seen = self._seen.get(_key(version))
        if seen is None or not 0 <= self._clock() - seen.at < GLANCE_SECONDS:
            seen = self._read(_key(version))
        return seen

    def _read(self, key: Key) -> _Seen:
        item = self._kv.get(key)
        health = Health(**orjson.loads(item.value)) if item else WELL
        return self._keep(key, _Seen(health, item.version if item else "", self._clock()))

    def _write(self, key: Key, health: Health, over: _Seen) -> str:
        token = self._kv.put(key, orjson.dumps(asdict(health)), expect=over.token or ABSENT, ttl=KEPT_SECONDS)
        self._keep(key, _Seen(health, token, self._clock()))
        return token

    def _keep(self, key: Key, seen: _Seen) -> _Seen:
        if len(self._seen) >= SEEN_MOST and key not in self._seen:
            self._seen.clear()  # all of it is read again when it is needed
        self._seen[key] = seen
        return seen


def _key(version: Version) -> Key:
    return keys.health(version.namespace, version.name, version.digest)
