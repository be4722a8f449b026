"""When it is enough: counters over a session's calls, and the step that they lead to. Pure; the
counters live in the session's document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.safety.facts import Fact
from sigil.storage.stored import Stored, later

REPEATED: Final = 3
"""Failures with one fingerprint, or calls with one result, from which on it is said."""
FRUSTRATED: Final = 5
"""Failures in a row that pause the session."""
WINDOW: Final = 10
CASCADE: Final = 8
"""Failures among the last `WINDOW` operations that halt it."""
ROUND_MOST: Final = 3
"""So many failures of one round take a place in the window; the model made all of them before it
read one.
"""
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
    """`window`: the last operations, oldest first. `consecutive`: failures since the last success.
    `failures`: their last facts.

    `beside`: for each operation of the window, or for its last ones, the fingerprints of the
    failures that followed it in its round and took no place of their own. They are there for as
    long as it is.
    """

    consecutive: Annotated[int, Meta(ge=0, lt=10**15)] = 0
    window: Annotated[tuple[Operation, ...], Meta(max_length=WINDOW)] = ()
    failures: Annotated[tuple[Fact, ...], Meta(max_length=REMEMBERED)] = ()
    beside: Annotated[tuple[tuple[str, ...], ...], Meta(max_length=WINDOW)] = later(())

    def after(self, fact: Fact, unread: Sequence[Fact] = ()) -> tuple[Counters, Step]:
        """The counters with one operation more, and the step that it leads to. All rules are looked
        at; the severest one acts.

        `unread`: what came before it in the same round. The model has read none of it, so it
        neither pauses nor halts anything yet.
        """
        if not fact.counts:
            return self, Step.NONE
        unread = [other for other in unread if other.counts]
        window, beside = self.window, self._aligned()
        if fact.failed and sum(other.failed for other in unread) >= ROUND_MOST:
            *others, last = beside
            beside = (*others, (*last, fact.fingerprint))
        else:
            window = (*window, Operation(fact.fingerprint, fact.result, fact.failed))[-WINDOW:]
            beside = (*beside, ())[-WINDOW:]
        failures = (*self.failures, fact)[-REMEMBERED:] if fact.failed else self.failures
        row = self.consecutive + 1 if fact.failed else 0
        counted = replace(
            self,
            consecutive=row,
            window=window,
            failures=failures,
            beside=beside if any(beside) else (),
        )
        return counted, max(
            _repeats(counted, fact), _alerts(counted, fact), _ends(counted, fact, unread)
        )

    def resumed(self) -> Counters:
        """A person said to go on after a pause: the row of failures is over, the window stays."""
        return replace(self, consecutive=0)

    def unlocked(self) -> Counters:
        """An owner unlocked it: the row and the window begin anew; what failed stays known."""
        return replace(self, consecutive=0, window=(), beside=())

    def repeated(self, fact: Fact) -> bool:
        """Whether this very call has failed three times or more since it last went well."""
        row = 0
        for one, beside in zip(reversed(self.window), reversed(self._aligned()), strict=True):
            row += beside.count(fact.fingerprint)
            if one.fingerprint == fact.fingerprint:
                if not one.failed:
                    break
                row += 1
        return row >= REPEATED

    @property
    def failed(self) -> int:
        """Failures in the window."""
        return sum(operation.failed for operation in self.window)

    def _aligned(self) -> tuple[tuple[str, ...], ...]:
        """`beside`, with one entry for each operation: what wrote the counters before may not have
        known of it.
        """
        missing = len(self.window) - len(self.beside)
        return (*[()] * missing, *self.beside[max(-missing, 0) :])


def _repeats(counters: Counters, fact: Fact) -> Step:
    if fact.failed:
        return Step.NONE
    same = sum(
        one.fingerprint == fact.fingerprint and one.result == fact.result for one in counters.window
    )
    return Step.REPEATS if same >= REPEATED else Step.NONE


def _alerts(counters: Counters, fact: Fact) -> Step:
    return Step.ALERT if fact.failed and counters.repeated(fact) else Step.NONE


def _ends(counters: Counters, fact: Fact, unread: Sequence[Fact]) -> Step:
    """The pause or the halt that a failure leads to. It counts with those that the model had read
    when it made the call, and with no other.

    A success ends nothing, even where eight others failed: the model has just mended it.
    """
    if not fact.failed:
        return Step.NONE
    if fact.kind == "fatal":
        return Step.HALT
    row = 0
    for other in reversed(unread):
        if not other.failed:
            break
        row += 1
    failed = sum(other.failed for other in unread)
    placed = len(unread) - failed + min(failed + 1, ROUND_MOST)
    read = counters.window[: max(len(counters.window) - placed, 0)]
    if sum(operation.failed for operation in read) + 1 >= CASCADE:
        return Step.HALT
    return Step.PAUSE if counters.consecutive - row >= FRUSTRATED else Step.NONE
