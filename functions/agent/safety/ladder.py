"""The ladder counts a session's failures and says which step they lead to.

It is pure; the counters live in the session's document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.safety.call_facts import Fact
from sigil.storage.evolve import evolve
from sigil.storage.stored import Stored, WrittenOften, later

REPEATED: Final = 3
"""The model is told from so many failures with one fingerprint, or calls with one result, on."""
FRUSTRATED: Final = 5
"""Failures in a row that pause the session."""
WINDOW: Final = 10
CASCADE: Final = 8
"""Failures among the last `WINDOW` operations that halt it."""
ROUND_MOST: Final = 3
"""At most so many failures of one round take a place in the window.

The model made all calls of the round before it read any answer.
"""
REMEMBERED: Final = 10
"""The facts of so many last failures are kept."""


class Step(IntEnum):
    """The steps of the ladder; an operation leads to the highest that applies."""

    NONE = 0
    REPEATS = 1
    """A call succeeded again with the very same result."""
    ALERT = 2
    """The same failure for the third time."""
    PAUSE = 3
    """Five failures in a row."""
    HALT = 4
    """Eight failures among ten operations, or one that is fatal: EMERGENCY_HALT."""


@dataclass(frozen=True, slots=True)
class WindowOperation(WrittenOften):
    """One operation as the window keeps it: enough to see that it comes again."""

    fingerprint: str
    result: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Counters(Stored):
    """The counters of one session.

    `window` holds the last operations, oldest first; `consecutive` counts the failures since the
    last success; `failures` holds the last facts of failures.

    `beside` has for each operation of the window, or for its last ones, the fingerprints of the
    failures that followed it in its round and took no place of their own. They go when it goes.
    """

    consecutive: Annotated[int, Meta(ge=0, lt=10**15)] = 0
    window: Annotated[tuple[WindowOperation, ...], Meta(max_length=WINDOW)] = ()
    failures: Annotated[tuple[Fact, ...], Meta(max_length=REMEMBERED)] = ()
    beside: Annotated[tuple[tuple[str, ...], ...], Meta(max_length=WINDOW)] = later(())

    def after(self, fact: Fact, unread: Sequence[Fact] = ()) -> tuple[Counters, Step]:
        """Return the counters with one operation more, and the step that it leads to.

        All rules apply; the severest one decides. `unread` are the facts before this one in the
        same round: the model has read none of them, so they neither pause nor halt anything yet.
        """
        if not fact.counts:
            return self, Step.NONE
        unread = [other for other in unread if other.counts]
        window = self.window
        beside = self._align_beside()
        if fact.failed and sum(other.failed for other in unread) >= ROUND_MOST:
            *others, last = beside
            beside = (*others, (*last, fact.fingerprint))
        else:
            operation = WindowOperation(fact.fingerprint, fact.result, fact.failed)
            window = (*window, operation)[-WINDOW:]
            beside = (*beside, ())[-WINDOW:]
        failures = (*self.failures, fact)[-REMEMBERED:] if fact.failed else self.failures
        counted = evolve(
            self,
            consecutive=self.consecutive + 1 if fact.failed else 0,
            window=window,
            failures=failures,
            beside=beside if any(beside) else (),
        )
        if fact.failed:
            return counted, counted._find_failure_step(fact, unread)
        if counted.count_same(fact) >= REPEATED:
            return counted, Step.REPEATS
        return counted, Step.NONE

    def resume(self) -> Counters:
        """Return the counters after a person answered a pause: only `consecutive` begins anew."""
        return evolve(self, consecutive=0)

    def unlock(self) -> Counters:
        """Return the counters after an owner's unlock: only the last failures stay."""
        return evolve(self, consecutive=0, window=(), beside=())

    def is_repeated(self, fact: Fact) -> bool:
        """Return whether this call has failed `REPEATED` times or more since it last succeeded."""
        failures = 0
        for one, beside in zip(reversed(self.window), reversed(self._align_beside()), strict=True):
            failures += beside.count(fact.fingerprint)
            if one.fingerprint == fact.fingerprint:
                if not one.failed:
                    break
                failures += 1
        return failures >= REPEATED

    def count_same(self, fact: Fact) -> int:
        """Return how many operations of the window are this call with this result."""
        return sum(
            one.fingerprint == fact.fingerprint and one.result == fact.result for one in self.window
        )

    @property
    def failed(self) -> int:
        """Return the number of failures in the window."""
        return sum(operation.failed for operation in self.window)

    def _align_beside(self) -> tuple[tuple[str, ...], ...]:
        """Return `beside` with one entry for each operation.

        An older version, which does not know the field, may have written the counters.
        """
        missing = len(self.window) - len(self.beside)
        return (*[()] * missing, *self.beside[max(-missing, 0) :])

    def _find_failure_step(self, fact: Fact, unread: Sequence[Fact]) -> Step:
        """Return the step that a failure leads to, which these counters count already.

        It pauses or halts together with those that the model had read when it made the call, and
        with no other.
        """
        if fact.kind == "fatal":
            return Step.HALT
        failed = sum(other.failed for other in unread)
        placed = len(unread) - failed + min(failed + 1, ROUND_MOST)
        read = self.window[: max(len(self.window) - placed, 0)]
        if sum(operation.failed for operation in read) + 1 >= CASCADE:
            return Step.HALT
        unread_row = 0
        for other in reversed(unread):
            if not other.failed:
                break
            unread_row += 1
        if self.consecutive - unread_row >= FRUSTRATED:
            return Step.PAUSE
        return Step.ALERT if self.is_repeated(fact) else Step.NONE
