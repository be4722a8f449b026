"""A breaker for each version: closed, open after five failures of its own in a row, half-open for one call at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Literal

import orjson

from sigil.errors import Conflict, Refused, SigilError, ToolError
from sigil.kv import ABSENT, KV, Key, keys
from sigil.records import Record

FAILURES = 5
REST_SECONDS = 30.0
TRIAL_SECONDS = 45.0
"""How long others wait for the one call that tries: longer than any call may take."""
FORGET_SECONDS = 600.0
"""Failures that lie further apart are no row."""
GLANCE_SECONDS = 1.0
"""How long a process believes what it read: a healthy call costs no read of its own."""
SEEN_MOST = 1_024
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


def own(problem: SigilError) -> bool:
    """Whether a failure is the capability's own: stopped, or an exception without a code. A code that its code chose is an answer."""
    return isinstance(problem, ToolError) and problem.code in _OWN and not problem.message.startswith(_INPUT_TOO_LARGE)


class Breaker:
    """Breakers that all processes over one store share. Nothing is written while all goes well. Thread-safe."""

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._seen: dict[Key, _Seen] = {}

    def admit(self, record: Record) -> None:
        """Let a call pass, or raise `Refused` EDEGRADED. The first call after the rest passes as a trial, the others wait for it."""
        health = self.health(record)
        if health.state(self._clock()) == "closed" or self._may_try(record):
            return
        wait = max(health.until - self._clock(), 1.0)
        message = f"it failed {health.failures} times in a row (the last time with {health.code}) and rests"
        others = f"try again in {wait:.0f} s, or run an older version: `sigil rollback {record.name}`"
        raise Refused("EDEGRADED", message, source=record.name, suggestion=others, retry_after=wait)

    def well(self, record: Record) -> bool:
        """A call went well; True when the version was degraded until now."""
        health = self.health(record)
        if health.failures:
            self._kv.delete(_key(record))
            self._seen[_key(record)] = _Seen(WELL, "", self._clock())
        return bool(health.until)

    def failed(self, record: Record, problem: SigilError) -> bool:
        """A call failed; True when the version is degraded by it. What is not its own failure leaves everything as it is."""
        if not own(problem):
            self._untried(record)
            return False
        for _ in range(5):
            with suppress(Conflict):
                return self._count(record, problem.code)
        return False  # many fail at once: the others count

    def health(self, record: Record) -> Health:
        """How a version does, as of the last second."""
        seen = self._seen.get(_key(record))
        if seen is None or not 0 <= self._clock() - seen.at < GLANCE_SECONDS:
            seen = self._read(_key(record))
        return seen.health

    def _count(self, record: Record, code: str) -> bool:
        now, seen = self._clock(), self._read(_key(record))
        before = seen.health if seen.health.until or now - seen.health.at < FORGET_SECONDS else WELL
        failures = before.failures + 1
        opens = failures >= FAILURES
        self._write(_key(record), Health(failures, now, now + REST_SECONDS if opens else 0.0, 0.0, code), seen)
        return opens and not before.until

    def _may_try(self, record: Record) -> bool:
        """Whether this call is the one that tries."""
        now, seen = self._clock(), self._read(_key(record))
        if seen.health.state(now) != "half-open":
            return seen.health.state(now) == "closed"
        try:
            self._write(_key(record), replace(seen.health, trial=now + TRIAL_SECONDS), seen)
        except Conflict:
            return False
        return True

    def _untried(self, record: Record) -> None:
        """A trial that told nothing of the capability leaves the place to the next call."""
        if self.health(record).trial:
            seen = self._read(_key(record))
            with suppress(Conflict):
                self._write(_key(record), replace(seen.health, trial=0.0), seen)

    def _read(self, key: Key) -> _Seen:
        item = self._kv.get(key)
        health = Health(**orjson.loads(item.value)) if item else WELL
        return self._keep(key, _Seen(health, item.version if item else "", self._clock()))

    def _write(self, key: Key, health: Health, over: _Seen) -> None:
        token = self._kv.put(key, orjson.dumps(asdict(health)), expect=over.token or ABSENT, ttl=86_400.0)
        self._keep(key, _Seen(health, token, self._clock()))

    def _keep(self, key: Key, seen: _Seen) -> _Seen:
        if len(self._seen) >= SEEN_MOST and key not in self._seen:
            self._seen.clear()  # all of it is read again when it is needed
        self._seen[key] = seen
        return seen


def _key(record: Record) -> Key:
    return keys.health(record.namespace, record.name, record.digest)
