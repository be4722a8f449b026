"""The circuit breaker of each version and caller.

It is closed, open after five failures of the version's own in a row, and half-open for one call at
a time.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from sigil.errors import Conflict, Refused, SigilError, ToolError
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.update import DELETE, Change, update_item
from sigil.storage.stored import Shape, Stored, dumps

FAILURES = 5
REST_SECONDS = 30.0
TRIAL_SECONDS = 90.0
"""How long others wait for the one call that tries.

It is longer than any call may take, which waits 30 s for a runner, 10 s for its start and 10 s for
a compiler, and runs for 30 s.
"""
FORGET_SECONDS = 600.0
"""Failures that lie further apart are not in a row."""
CACHED_SECONDS = 1.0
"""How long a process believes what it read: a healthy call costs no read of its own."""
KEPT_SECONDS = 86_400.0
CACHED_MOST = 1_024
CALLERS_MOST = 50
"""Callers of one version that have a breaker at a time.

The one whose last failure is longest ago makes room, the version's own namespace never.
"""
RACES = 10
_OWN_CODES = frozenset(
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
    """The state of a version for one caller; times are seconds since 1970.

    It had `failures` in a row, the last with `code` at `at`, and rests until `until`. One call may
    try it until `trial`, and `mark` is the ticket of that call.
    """

    failures: int = 0
    at: float = 0.0
    until: float = 0.0
    trial: float = 0.0
    code: str = ""
    mark: str = ""

    def state_at(self, now: float) -> Literal["closed", "open", "half-open"]:
        """Return the breaker's state at a time."""
        if not self.until:
            return "closed"
        # what ends much later than any rest does was written by a clock that was ahead
        rests = 0 < self.until - now <= 2 * REST_SECONDS
        is_tried = 0 < self.trial - now <= 2 * TRIAL_SECONDS
        return "open" if rests or is_tried else "half-open"


WELL = Health()
Callers = Mapping[str, Health]
"""The health of a version for each of those for whom it failed."""
_CALLERS: Final = Shape[Callers](dict[str, Health])


@dataclass(frozen=True, slots=True)
class _CachedCallers:
    callers: Callers
    read_at: float


class HealthSubject(Protocol):
    """A version that a breaker belongs to: a record, or a part of a run."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...


def is_own_failure(problem: SigilError) -> bool:
    """Return whether a failure is the capability's own: it was stopped, or threw without a code.

    A code that its code chose is an answer.
    """
    return (
        isinstance(problem, ToolError)
        and problem.code in _OWN_CODES
        and not problem.message.startswith(_INPUT_TOO_LARGE)
    )


def owner_of(version: HealthSubject) -> str:
    """Return the caller that a version belongs to: the agent in whose namespace or chat it is."""
    return version.namespace.partition("~")[0]


class CircuitBreaker:
    """Breakers that all processes over one store share. Nothing is written while all goes well.

    `caller` says for whom a version runs, by default its owner. Whose calls fail five times in a
    row has it rest for himself alone: the inputs are his, and he closes it to nobody else. A call
    that succeeds for one ends the rows that all count, since the version is well then; it ends
    nobody's rest.

    Whoever is admitted holds a ticket and says with it how the call ended. While a version rests,
    only the ticket of the one call that tries it says anything, so a call that was admitted earlier
    and ends only now neither makes the version well nor makes room for a second trial.

    Thread-safe.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._cached: dict[Key, _CachedCallers] = {}

    def admit(self, version: HealthSubject, caller: str = "") -> str:
        """Let a call pass and return its ticket, which is empty when it is no trial.

        The first call after the rest passes as a trial, the others wait for it. Raises `Refused`
        EDEGRADED while the version rests or is being tried.
        """
        who = caller or owner_of(version)
        now = self._clock()
        if self.read_health(version, who).state_at(now) == "closed":
            return ""
        mark = secrets.token_hex(8)

        def begin_trial(callers: dict[str, Health]) -> None:
            health = callers.get(who, WELL)
            if health.state_at(now) == "half-open":
                callers[who] = replace(health, trial=now + TRIAL_SECONDS, mark=mark)

        if self._change(version, begin_trial) is not None:
            return mark
        health = self.read_health(version, who)
        if health.state_at(now) == "closed":
            return ""
        seconds = max(health.until - self._clock(), 1.0)
        suggestion = f"try again in {seconds:.0f} s"
        if who == owner_of(version):
            suggestion += f", or run an older version: `sigil rollback {version.name}`"
        raise Refused(
            "EDEGRADED",
            f"it failed {health.failures} times in a row (the last time with {health.code}) and"
            " rests",
            source=version.name,
            suggestion=suggestion,
            retry_after=seconds,
        )

    def record_success(self, version: HealthSubject, ticket: str = "", caller: str = "") -> bool:
        """Record that a call succeeded.

        Return whether the version was degraded for this caller until now.
        """
        who = caller or owner_of(version)
        if not ticket and all(health.until for health in self._read_callers(version).values()):
            return False  # no row, or rests that only a trial ends
        is_trial = False

        def end_rows(callers: dict[str, Health]) -> None:
            nonlocal is_trial
            is_trial = bool(ticket) and who in callers and callers[who].mark == ticket
            for name, health in list(callers.items()):
                if not health.until or (is_trial and name == who):
                    del callers[name]

        return self._change(version, end_rows) is not None and is_trial

    def record_failure(
        self, version: HealthSubject, problem: SigilError, ticket: str = "", caller: str = ""
    ) -> bool:
        """Record that a call failed; what is not the version's own failure changes nothing.

        Return whether the version became degraded by it.
        """
        who = caller or owner_of(version)
        now = self._clock()
        if not is_own_failure(problem):
            self.release_trial(version, ticket, who)
            return False

        def count_failure(callers: dict[str, Health]) -> None:
            before = callers.get(who, WELL)
            if ticket and before.mark == ticket:
                failures = before.failures + 1
                until = now + REST_SECONDS
            elif ticket or before.until:
                return  # it rests already, or is being tried: this call began before
            else:
                failures = before.failures + 1 if now - before.at < FORGET_SECONDS else 1
                until = now + REST_SECONDS if failures >= FAILURES else 0.0
                _drop_oldest_callers(callers, who, owner_of(version))
            callers[who] = replace(
                before,
                failures=failures,
                at=now,
                until=until,
                trial=0.0,
                code=problem.code,
                mark="",
            )

        # None as well when many fail at once: the others count
        after = self._change(version, count_failure)
        return bool(after and after[who].until) and not ticket

    def release_trial(self, version: HealthSubject, ticket: str, caller: str = "") -> None:
        """Let the next call try the version, when this one was a trial that showed nothing."""
        who = caller or owner_of(version)

        def end_trial(callers: dict[str, Health]) -> None:
            if who in callers and callers[who].mark == ticket:
                callers[who] = replace(callers[who], trial=0.0, mark="")

        if ticket:
            self._change(version, end_trial)

    def read_health(self, version: HealthSubject, caller: str = "") -> Health:
        """Return the health of a version for a caller, as of the last second."""
        return self._read_callers(version).get(caller or owner_of(version), WELL)

    def _change(
        self, version: HealthSubject, change: Callable[[dict[str, Health]], None]
    ) -> Callers | None:
        """Write what `change` makes of the callers, and return that.

        It is None when nothing changed, or when too many write at this moment.
        """
        key = keys.health(version.namespace, version.name, version.digest)

        def decide(item: Item | None) -> tuple[Change, Callers | None]:
            before = self._decode(key, item)
            callers = dict(before)
            change(callers)
            if callers == before:
                return None, None
            return (dumps(callers) if callers else DELETE), callers

        try:
            callers = update_item(self._kv, key, decide, KEPT_SECONDS, tries=RACES).answer
        except Conflict:
            return None
        if callers is not None:
            self._cache(key, callers)
        return callers

    def _read_callers(self, version: HealthSubject) -> Callers:
        """Return the callers for whom a version failed, as of the last second."""
        key = keys.health(version.namespace, version.name, version.digest)
        cached = self._cached.get(key)
        if cached is None or not 0 <= self._clock() - cached.read_at < CACHED_SECONDS:
            return self._decode(key, self._kv.get(key))
        return cached.callers

    def _decode(self, key: Key, item: Item | None) -> Callers:
        """Return the callers that an item holds, and remember them.

        Those that are damaged are none: they count as well, and the next failure writes them anew.
        """
        try:
            callers = _CALLERS.read(item.value) if item else {}
        except ValueError:
            callers = {}
        self._cache(key, callers)
        return callers

    def _cache(self, key: Key, callers: Callers) -> None:
        if len(self._cached) >= CACHED_MOST and key not in self._cached:
            self._cached.clear()  # all of it is read again when it is needed
        self._cached[key] = _CachedCallers(callers, self._clock())


def _drop_oldest_callers(callers: dict[str, Health], who: str, owner: str) -> None:
    """Drop the callers that failed longest ago, until one more fits in."""
    others = sorted(
        (health.at, name) for name, health in callers.items() if name not in (who, owner)
    )
    for _, name in others[: max(len(others) + 2 - CALLERS_MOST, 0)]:
        del callers[name]
