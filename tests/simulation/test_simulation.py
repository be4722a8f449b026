"""Everything at once: messages, crashes, stalls, clocks and a moody platform, over the real worker,
turn, session and inbox.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from functions.agent.turn import closing, turn
from functions.texts.en import TEXTS as ENGLISH
from tests.machine import times
from tests.selection import in_full
from tests.simulation.simulation import Simulation

SESSIONS = ("telegram:1", "telegram:2", "telegram:3")
FINDS = (
    "find alpha beta",
    "find alpha",
    "find gamma delta",
    "find nothing",
    "make gamma1",
    "make gamma2",
    "make delta1",
    "make delta2",
)
USES = ("use alpha", "use beta", "use gamma", "use delta", "use nothing")
ODD = ("long", "fall silent")


def rounds(*acts: str) -> st.SearchStrategy[list[list[str]]]:
    return st.lists(st.lists(st.sampled_from(acts), min_size=1, max_size=3), max_size=3)


PLANS = st.tuples(rounds(*FINDS), rounds(*USES), rounds(*FINDS, *USES, *ODD)).map(
    lambda parts: f"plan={json.dumps([*parts[0], *parts[1], *parts[2]])}"
)
TEXTS = st.one_of(
    PLANS, PLANS, PLANS, PLANS, st.sampled_from(["/new", "/tools", "/mem", "/mem words"])
)
SEEDS = st.integers(0, 2**16)
PICK = st.integers(0, 7)
STEPS = st.integers(0, 50)
PASSES = st.sampled_from([0.0, 10.0, 60.0, 200.0, 200.0, 700.0])
POINTS = st.sampled_from(["", "", "run", "send", "ask", "put session", "delete", "put"])
"""Where an actor stands when something happens to it; anywhere."""
COUNTS: Counter[str] = Counter()
"""What happened in all examples together: a simulation in which nothing happens proves nothing."""


class SimulationMachine(RuleBasedStateMachine):
    """Rules choose what happens; `go` lets the actors take steps in an order that its seed
    decides.
    """

    def __init__(self) -> None:
        super().__init__()
        self.simulation = Simulation()

    @rule(
        session=st.sampled_from(SESSIONS),
        texts=st.lists(TEXTS, min_size=1, max_size=3),
        seed=SEEDS,
        steps=STEPS,
    )
    def deliver(self, session: str, texts: list[str], seed: int, steps: int) -> None:
        for text in texts:
            self.simulation.deliver(self.simulation.write(session, text))
        self.go(seed, steps)

    @rule(session=st.sampled_from(SESSIONS), text=TEXTS)
    def write_without_delivery(self, session: str, text: str) -> None:
        self.simulation.write(session, text)

    @precondition(lambda self: self.simulation.undelivered)
    @rule(pick=PICK)
    def deliver_late(self, pick: int) -> None:
        late = self.simulation.undelivered
        self.simulation.deliver(late[pick % len(late)])

    @precondition(lambda self: self.simulation.promises.posts)
    @rule(pick=SEEDS)
    def redeliver(self, pick: int) -> None:
        posts = list(self.simulation.promises.posts.values())
        self.simulation.deliver(posts[-1 - pick % len(posts)])

    @rule(session=st.sampled_from(SESSIONS), seed=SEEDS, steps=STEPS)
    def say_stop(self, session: str, seed: int, steps: int) -> None:
        self.simulation.deliver(self.simulation.write(session, "/stop"))
        self.go(seed, steps)

    @rule(
        session=st.sampled_from(SESSIONS),
        word=st.sampled_from(["/halt", "/halt here"]),
        seed=SEEDS,
        steps=st.integers(0, 20),
    )
    def say_halt_and_unlock(self, session: str, word: str, seed: int, steps: int) -> None:
        for text in (word, "/unlock"):
            self.simulation.deliver(self.simulation.write(session, text))
            self.go(seed, steps)

    @rule(seed=SEEDS, steps=STEPS)
    def go(self, seed: int, steps: int) -> None:
        self.simulation.go(random.Random(seed), steps)

    @rule(seed=SEEDS, steps=STEPS)
    def go_alone(self, seed: int, steps: int) -> None:
        if actor := self.simulation.go_until(random.Random(seed), ""):
            self.simulation.go_alone(actor, steps)

    @rule(seed=SEEDS, point=POINTS, after=st.booleans(), seconds=PASSES)
    def crash(self, seed: int, point: str, after: bool, seconds: float) -> None:
        if actor := self.simulation.go_until(random.Random(seed), point):
            self.simulation.crash(actor, after=after)
            self.simulation.forward(seconds)

    @rule(
        seed=SEEDS,
        point=st.sampled_from(["run", "query", "deploy", "ask"]),
        times=st.integers(2, 4),
    )
    def crash_again_and_again(self, seed: int, point: str, times: int) -> None:
        for time in range(times):
            self.crash(seed + time, point, after=False, seconds=200.0)

    @rule(seed=SEEDS, point=POINTS, after=st.booleans())
    def lose_the_store(self, seed: int, point: str, after: bool) -> None:
        if actor := self.simulation.go_until(random.Random(seed), point):
            self.simulation.lose_the_store(actor, after=after)

    @rule(seed=SEEDS, point=POINTS, seconds=PASSES, steps=STEPS)
    def stall(self, seed: int, point: str, seconds: float, steps: int) -> None:
        if actor := self.simulation.go_until(random.Random(seed), point):
            self.simulation.stall(actor)
            self.simulation.forward(seconds)
            self.go(seed, steps)

    @rule(pick=PICK, steps=STEPS)
    def wake(self, pick: int, steps: int) -> None:
        if actor := self.simulation.wake(pick):
            self.simulation.go_alone(actor, steps)

    @rule(name=st.sampled_from(["alpha", "beta", "gamma", "delta"]))
    def vanish(self, name: str) -> None:
        self.simulation.registry.vanish(name)

    @rule(
        session=st.sampled_from(SESSIONS),
        moods=st.lists(
            st.sampled_from(["busy", "away", "well", "blocked"]), min_size=1, max_size=3
        ),
    )
    def platform(self, session: str, moods: list[str]) -> None:
        self.simulation.platform.moods[session] = moods

    @rule(
        seconds=st.lists(st.sampled_from([5.0, 21.0, 60.0]), min_size=1, max_size=8),
        seed=SEEDS,
        steps=STEPS,
    )
    def hurry(self, seconds: list[float], seed: int, steps: int) -> None:
        self.simulation.hurry(seconds)
        self.go(seed, steps)

    @rule(seed=SEEDS, steps=STEPS)
    def renew(self, seed: int, steps: int) -> None:
        self.simulation.renew()
        self.go(seed, steps)

    @rule(seconds=PASSES)
    def clock_forward(self, seconds: float) -> None:
        self.simulation.forward(seconds)

    @rule(seconds=st.sampled_from([-86_400.0, -30.0, 86_400.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.simulation.jump(seconds)

    def check_invariants(self, *given: Any, **more: Any) -> None:
        super().check_invariants(*given, **more)
        COUNTS["steps"] += 1
        self.simulation.judge()

    def teardown(self) -> None:
        try:
            self.simulation.settle()
        finally:
            COUNTS.update(self.simulation.promises.seen)
            COUNTS["moves"] += self.simulation.moves
            self.simulation.close()


@pytest.fixture(autouse=True)
def _within_reach(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Ids leave a document early enough for a run to see it, and the log tells what nobody
    expected.
    """
    monkeypatch.setattr(closing, "SEEN_MOST", 6)
    logger = logging.getLogger("uncaged")
    monkeypatch.setattr(logger, "propagate", False)
    yield
    logger.handlers.clear()


WANTED = (
    "turns closed",
    "compacted",
    "claims lost",
    "claims renewed",
    "handed on",
    "runs",
    "given up",
    "gathered",
    "remembered",
    "told of halted",
)
IS_LONG = in_full() or times(1) > 1
EXAMPLES = 12 if IS_LONG else 5
"""Of one run, in which later examples are often changes of earlier ones."""
RUNS = 3 if IS_LONG else 1
RUNS_MOST = 20


def test_the_promises_hold_whatever_happens_in_whatever_order() -> None:
    """Play examples from several beginnings, and go on until everything has happened."""
    COUNTS.clear()
    runs = 0
    while runs < RUNS or (missing() and runs < RUNS_MOST):
        play_examples(runs)
        runs += 1

    print(runs, dict(COUNTS))
    assert COUNTS["steps"] >= 70 * runs * times(EXAMPLES)
    assert missing() == []


def test_a_turn_that_is_given_up_tells_of_missed_messages_and_gives_back_what_it_gathered() -> None:
    simulation = Simulation()
    chance = random.Random(0)

    def deliver(*texts: str) -> None:
        for text in texts:
            simulation.deliver(simulation.write(SESSIONS[0], text))
            simulation.go_alone(simulation.scheduler.actors[-1], 9)

    try:
        deliver("/halt here")
        simulation.go(chance, 150)
        deliver("plan=[]", "plan=[]")
        for _ in range(150):
            simulation.go(chance, not simulation.promises.seen["missed"])
        for actor in list(simulation.scheduler.actors):  # the second would tell of the first
            if actor.name.endswith("-0"):
                simulation.crash(actor, after=False)
        deliver("plan=[]", "/unlock")
        simulation.go(chance, 150)
        simulation.forward(200.0)
        for _ in range(turn.ATTEMPTS):
            actor = simulation.go_until(chance, "ask")
            assert actor is not None
            simulation.crash(actor, after=False)
            simulation.forward(200.0)
        simulation.settle()
    finally:
        simulation.close()

    seen = simulation.promises.seen
    apology = simulation.promises.sends[-2].text
    assert (seen["given up"], seen["given back"], seen["missed"]) == (1, 1, 1)
    assert apology.startswith("I did not work on ")
    assert apology.endswith(ENGLISH.gave_up)


def missing() -> list[str]:
    """Return what has not happened in any example."""
    return [happened for happened in WANTED if not COUNTS[happened]]


def play_examples(number: int) -> None:
    """Play one run. A change is judged by the same run twice; a long one at home is another each
    time.
    """
    machine = type("SimulationMachine", (SimulationMachine,), {})
    if "CI" in os.environ or not IS_LONG:
        seed(number)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=times(EXAMPLES),
            stateful_step_count=100,
            deadline=None,
            print_blob=True,
            phases=[
                Phase.reuse,
                Phase.generate,
            ],  # no shrinking: it takes minutes, and the story tells what happened
            suppress_health_check=list(HealthCheck),
        ),
    )
