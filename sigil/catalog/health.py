"""A breaker for each version and caller: closed, open after five failures of its own in a row,
half-open for one call at a time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from sigil.errors import Conflict, Refused, SigilError, ToolError
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.stored import Shape, Stored, dumps

FAILURES = 5
REST_SECONDS = 30.0
TRIAL_SECONDS = 90.0
"""How long others wait for the one call that tries: longer than any call may take, which waits 30 s
for a runner, 10 s for its start and 10 s for a compiler, and runs for 30 s.
"""
FORGET_SECONDS = 600.0
"""Failures that lie further apart are no row."""
GLANCE_SECONDS = 1.0
"""How long a process believes what it read: a healthy call costs no read of its own."""
KEPT_SECONDS = 86_400.0
SEEN_MOST = 1_024
CALLERS_MOST = 50
"""Of one version at a time. Whoever's last failure is longest ago makes room, the version's own
namespace never.
"""
RACES = 10
_OWN = frozenset(
    (
        "EGUEST",
        "ETHROWN",
        "EPENDING",
        "ESYNTAX",
        "ETRAP",
        "ENOMEM",
        "ESTACK",
        "ETIMEDOUT",
        "ELIMIT",
        "EOUTPUT",
        "EMODULE",
    )
)
_INPUT_TOO_LARGE = "the input is larger"


@dataclass(frozen=True, slots=True)
class Health(Stored):
    """How a version does for one caller. `failures` in a row, the last at `at`; it rests until
    `until`; one call tries it until `trial`.

    `mark`: the ticket of that call.
    """

    failures: int = 0
    at: float = 0.0
    until: float = 0.0
    trial: float = 0.0
    code: str = ""
    mark: str = ""

    def state_at(self, now: float) -> Literal["closed", "open", "half-open"]:
        if not self.until:
            return "closed"
        return "open" if self.until > now or self.trial > now else "half-open"


WELL = Health()
Callers = Mapping[str, Health]
"""How a version does for each of those for whom it failed."""
_CALLERS: Final = Shape[Callers](dict[str, Health])


@dataclass(frozen=True, slots=True)
class _CachedHealth:
    callers: Callers
    token: str
    at: float


class HealthSubject(Protocol):
    """A version that a breaker belongs to: a record, or a part of a run."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...


def is_own_failure(problem: SigilError) -> bool:
    """Return whether a failure is the capability's own: stopped, or an exception without a code. A
    code that its code chose is an answer.
    """
    return (
        isinstance(problem, ToolError)
        and problem.code in _OWN
        and not problem.message.startswith(_INPUT_TOO_LARGE)
    )


def owner_of(version: HealthSubject) -> str:
    """The caller whose own the version is: the agent whose namespace, or whose chat, it stands
    in.
    """
    return version.namespace.partition("~")[0]


class CircuitBreaker:
    """Breakers that all processes over one store share. Nothing is written while all goes well.
    Thread-safe.

    `caller`: for whom a version runs, by default its owner. Whose calls fail five times in a row
    has it rest for himself alone: the inputs are his, and he closes it to nobody else. What goes
    well for one ends the rows that all count, since it is well then; it ends nobody's rest.

    Whoever is admitted holds a ticket and says with it how the call ended. While a version rests,
    only the ticket of the one call that tries it says anything, so a call that was admitted earlier
    and ends only now neither mends the version nor makes room for a second trial.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._seen: dict[Key, _CachedHealth] = {}

    def admit(self, version: HealthSubject, caller: str = "") -> str:
        """Let a call pass, or raise `Refused` EDEGRADED. The first call after the rest passes as a
        trial, the others wait for it.

        The ticket of the call; an empty one when it is no trial.
        """
        who, now = caller or owner_of(version), self._clock()
        if self.read_health(version, who).state_at(now) == "closed":
            return ""
        mark = secrets.token_hex(8)

        def tries(callers: dict[str, Health]) -> None:
            health = callers.get(who, WELL)
            if health.state_at(now) == "half-open":
                callers[who] = replace(health, trial=now + TRIAL_SECONDS, mark=mark)

        if self._change(version, tries) is not None:
            return mark
        health = self.read_health(version, who)
        if health.state_at(now) == "closed":
            return ""
        raise self._degraded(version, health, who)

    def record_success(self, version: HealthSubject, ticket: str = "", caller: str = "") -> bool:
        """A call went well; True when the version was degraded for this caller until now."""
        who = caller or owner_of(version)
        if not ticket and all(health.until for health in self._glance(version).callers.values()):
            return False  # no row, or rests that only a trial ends
        ended: list[str] = []

        def ends(callers: dict[str, Health]) -> None:
            ended[:] = [
                name for name in callers if ticket and name == who and callers[name].mark == ticket
            ]
            for name in [name for name, health in callers.items() if not health.until] + ended:
                del callers[name]

        return self._change(version, ends) is not None and bool(ended)

    def record_failure(
        self, version: HealthSubject, problem: SigilError, ticket: str = "", caller: str = ""
    ) -> bool:
        """A call failed; True when the version is degraded by it. What is not its own failure
        leaves everything as it is.
        """
        who, now = caller or owner_of(version), self._clock()
        if not is_own_failure(problem):
            self.release_trial(version, ticket, who)
            return False

        def counts(callers: dict[str, Health]) -> None:
            before = callers.get(who, WELL)
            if ticket and before.mark == ticket:
                callers[who] = replace(
                    before,
                    failures=before.failures + 1,
                    at=now,
                    until=now + REST_SECONDS,
                    trial=0.0,
                    code=problem.code,
                    mark="",
                )
            if ticket or before.until:
                return  # it rests already, or is being tried: this call began before
            failures = before.failures + 1 if now - before.at < FORGET_SECONDS else 1
            _make_room(callers, who, owner_of(version))
            until = now + REST_SECONDS if failures >= FAILURES else 0.0
            callers[who] = replace(
                before,
                failures=failures,
                at=now,
                until=until,
                trial=0.0,
                code=problem.code,
                mark="",
            )

        after = self._change(
            version, counts
        )  # None as well when many fail at once: the others count
        return bool(after and after[who].until) and not ticket

    def release_trial(self, version: HealthSubject, ticket: str, caller: str = "") -> None:
        """A call told nothing of the capability: if it was a trial, the next call may try."""
        who = caller or owner_of(version)

        def leaves(callers: dict[str, Health]) -> None:
            if who in callers and callers[who].mark == ticket:
                callers[who] = replace(callers[who], trial=0.0, mark="")

        if ticket:
            self._change(version, leaves)

    def read_health(self, version: HealthSubject, caller: str = "") -> Health:
        """Return how a version does for a caller, as of the last second."""
        return self._glance(version).callers.get(caller or owner_of(version), WELL)

    def _degraded(self, version: HealthSubject, health: Health, who: str) -> Refused:
        wait = max(health.until - self._clock(), 1.0)
        message = (
            f"it failed {health.failures} times in a row (the last time with {health.code}) and"
            " rests"
        )
        older = (
            f", or run an older version: `sigil rollback {version.name}`"
            if who == owner_of(version)
            else ""
        )
        return Refused(
            "EDEGRADED",
            message,
            source=version.name,
            suggestion=f"try again in {wait:.0f} s{older}",
            retry_after=wait,
        )

    def _change(
        self, version: HealthSubject, change: Callable[[dict[str, Health]], None]
    ) -> Callers | None:
        """Write what `change` makes of the callers that stand at that moment; None when that is
        nothing new, or too many write.
        """
        key = _key(version)
        for _ in range(RACES):
            seen = self._read(key)
            callers = dict(seen.callers)
            change(callers)
            if callers == seen.callers:
                return None
            with suppress(Conflict):
                self._write(key, callers, seen)
                return callers
        return None

    def _glance(self, version: HealthSubject) -> _CachedHealth:
        seen = self._seen.get(_key(version))
        if seen is None or not 0 <= self._clock() - seen.at < GLANCE_SECONDS:
            seen = self._read(_key(version))
        return seen

    def _read(self, key: Key) -> _CachedHealth:
        item = self._kv.get(key)
        callers: Callers = {}
        with suppress(
            ValueError
        ):  # damaged: it counts as well, and the next failure writes it anew
            callers = _CALLERS.read(item.value) if item else {}
        return self._keep(key, _CachedHealth(callers, item.version if item else "", self._clock()))

    def _write(self, key: Key, callers: Callers, over: _CachedHealth) -> None:
        if callers:
            body = dumps(callers)
            token = self._kv.put(key, body, expect=over.token or ABSENT, ttl=KEPT_SECONDS)
        else:
            self._kv.delete(key, expect=over.token)
            token = ""
        self._keep(key, _CachedHealth(callers, token, self._clock()))

    def _keep(self, key: Key, seen: _CachedHealth) -> _CachedHealth:
        if len(self._seen) >= SEEN_MOST and key not in self._seen:
            self._seen.clear()  # all of it is read again when it is needed
        self._seen[key] = seen
        return seen


def _make_room(callers: dict[str, Health], who: str, kept: str) -> None:
    others = sorted(
        (health.at, name) for name, health in callers.items() if name not in (who, kept)
    )
    for _, name in others[: max(len(others) + 2 - CALLERS_MOST, 0)]:
        del callers[name]


def _key(version: HealthSubject) -> Key:
    return keys.health(version.namespace, version.name, version.digest)
