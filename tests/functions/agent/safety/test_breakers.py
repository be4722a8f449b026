"""The breakers of a turn see what an owner did a quarter of a second ago, and ask the store once for
what they know.
"""

from __future__ import annotations

import pytest

from functions.agent.safety import locks
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.safety.budget import SafetyLimits
from functions.clock import Clock
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock as SetClock

SESSION = keys.session_of("main", "telegram:7")


class Turn:
    """The breakers of a running turn, and the clock that they look at."""

    def __init__(self) -> None:
        self.kv = MemoryKV()
        self.steady = SetClock(1_000.0)
        self.breakers = self.begin()

    def begin(self) -> Breakers:
        clock = Clock(monotonic=self.steady)
        return make_breakers(
            SESSION, self.kv, "main", SafetyLimits(), clock, fresh_seconds=0.25, defers=True
        )


@pytest.mark.parametrize("whom", ["main", SESSION])
def test_a_halt_is_seen_a_quarter_of_a_second_after_it_was_stored(whom: str) -> None:
    turn = Turn()
    assert not turn.breakers.is_halted()
    locks.halt(turn.kv, whom, "owner", 1.0)
    turn.steady.advance(0.25)
    assert turn.breakers.is_halted()


def test_a_stop_is_seen_a_quarter_of_a_second_after_it_was_stored() -> None:
    turn = Turn()
    assert not turn.breakers.is_told_to_stop("m1")
    turn.kv.put(keys.mark(SESSION), b'{"stop": "m1"}')
    turn.steady.advance(0.25)
    assert turn.breakers.is_told_to_stop("m1")


def test_a_clock_that_goes_back_makes_nothing_known_for_longer() -> None:
    turn = Turn()
    assert not turn.breakers.is_halted()
    locks.halt(turn.kv, "main", "owner", 1.0)
    turn.steady.advance(-60.0)
    assert turn.breakers.is_halted()
