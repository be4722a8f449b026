"""When it is enough: counters over a session's calls, and the step that they lead to. Pure; the counters live in the session's document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.safety.facts import Fact
from sigil.stored import Stored

REPEATED: Final = 3
"""Failures with one fingerprint, or calls with one result, from which on it is said."""
FRUSTRATED: Final = 5
"""Failures in a row that pause the session."""
WINDOW: Final = 10
CASCADE: Final = 8
"""Failures among the last `WINDOW` operations that halt it."""
REMEMBERED: Final = 10
"""Of so many failures, the last ones, the fact is kept."""


class Step(IntEnum):
    """How far up the ladder an operation led; the highest that applies."""

    NONE = 0
    REPEATS = 1
    """A call that went well again, with the very same result."""
    ALERT = 2
    """The same failure for the third time."""
    PAUSE = 3
    """Five failures in a row."""
    HALT = 4
    """Eight failures among ten operations, or one that is fatal: EMERGENCY_HALT."""


@dataclass(frozen=True, slots=True)
class Operation(Stored):
    """What is kept of an operation: enough to see that it comes again."""

    fingerprint: str
    result: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Counters(Stored):
    """`window`: the last operations, oldest first. `consecutive`: failures since the last success. `failures`: their last facts."""

    consecutive: Annotated[int, Meta(ge=0, lt=10**15)] = 0
    window: Annotated[tuple[Operation, ...], Meta(max_length=WINDOW)] = ()
    failures: Annotated[tuple[Fact, ...], Meta(max_length=REMEMBERED)] = ()

    def after(self, fact: Fact) -> tuple[Counters, Step]:
        """The counters with one operation more, and the step that it leads to. All rules are looked at; the severest one acts."""
        if not fact.counts:
            return self, Step.NONE
        window = (*self.window, Operation(fact.fingerprint, fact.result, fact.failed))[-WINDOW:]
        failures = (*self.failures, fact)[-REMEMBERED:] if fact.failed else self.failures
        row = self.consecutive + 1 if fact.failed else 0
        later = replace(self, consecutive=row, window=window, failures=failures)
        return later, max(rule(later, fact) for rule in _RULES)

    def resumed(self) -> Counters:
        """A person said to go on after a pause: the row of failures is over, the window stays."""
        return replace(self, consecutive=0)

    def unlocked(self) -> Counters:
        """An owner unlocked it: the row and the window begin anew; what failed stays known."""
        return replace(self, consecutive=0, window=())

    def repeated(self, fact: Fact) -> bool:
        """Whether this very call has failed three times or more since it last went well."""
        row = 0
        for one in reversed(self.window):
            if one.fingerprint == fact.fingerprint:
                if not one.failed:
                    break
                row += 1
        return row >= REPEATED

    @property
    def failed(self) -> int:
        """Failures in the window."""
        return sum(operation.failed for operation in self.window)


def _repeats(counters: Counters, fact: Fact) -> Step:
    if fact.failed:
        return Step.NONE
    same = sum(one.fingerprint == fact.fingerprint and one.result == fact.result for one in counters.window)
    return Step.REPEATS if same >= REPEATED else Step.NONE


def _alerts(counters: Counters, fact: Fact) -> Step:
    return Step.ALERT if fact.failed and counters.repeated(fact) else Step.NONE


def _pauses(counters: Counters, fact: Fact) -> Step:
    return Step.PAUSE if counters.consecutive >= FRUSTRATED else Step.NONE


def _halts(counters: Counters, fact: Fact) -> Step:
    fatal = fact.failed and fact.kind == "fatal"
    return Step.HALT if fatal or counters.failed >= CASCADE else Step.NONE


_RULES = (_repeats, _alerts, _pauses, _halts)
