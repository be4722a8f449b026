"""Actors are threads of which one runs at a time: the scheduler decides every step of what
happens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from functions.time.clock import Clock
from sigil.errors import BackendError

T = TypeVar("T")
Fate = Literal["go", "slow", "crash", "crash after", "fail", "fail after"]
"""What becomes of the step that an actor is about to take. The two "after" take effect in the world
before they hurt the actor.
"""
PATIENCE = 30.0
"""Real seconds after which a thread that should have moved counts as stuck: the simulation itself
is broken then.
"""


class Crashed(BaseException):
    """Raised in an actor whose process is killed at this step."""


class Time:
    """A wall clock that people set, and a monotonic one. Both move only when told."""

    def __init__(self) -> None:
        self.wall = 1_800_000_000.0
        self.steady = 5_000.0

    def forward(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def jump(self, seconds: float) -> None:
        self.wall += seconds


@dataclass(eq=False)
class Actor:
    """A thread of a process. `point`: the step it is about to take. `stalled`: it is not
    scheduled.
    """

    name: str
    process: str
    turn: threading.Lock = field(default_factory=threading.Lock)
    fate: Fate = "go"
    point: str = "idle"
    stalled: bool = False
    dead: bool = False
    over: bool = False

    @property
    def idle(self) -> bool:
        return self.point == "idle"


class Scheduler:
    """Lets one actor move at a time, from one step to the next, and only when `move` says so."""

    def __init__(self) -> None:
        self.time = Time()
        self.actors: list[Actor] = []
        self.events: list[str] = []
        self.broken: list[str] = []
        self._moving: Actor | None = None
        self._returned = threading.Lock()
        self._returned.acquire()

    @property
    def moving(self) -> Actor:
        assert self._moving, "no actor is moving"
        return self._moving

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.time.wall, lambda: self.time.steady, self._pause)

    def record(self, line: str) -> None:
        """Add a line to what has happened."""
        who = self._moving.name if self._moving else "·"
        self.events.append(f"{len(self.events):5d} {who:9} {line}")

    def report_broken(self, broken: str) -> None:
        """Note a broken promise. Nothing is raised here: the product could catch it."""
        self.record(f"BROKEN: {broken}")
        self.broken.append(broken)

    def add_actor(self, name: str, process: str, work: Callable[[], None]) -> Actor:
        """Add an actor that will do `work`."""
        actor = Actor(name, process)
        actor.turn.acquire()
        self.actors.append(actor)
        threading.Thread(target=self._play, args=(actor, work), name=name, daemon=True).start()
        return actor

    def move(self, actor: Actor, fate: Fate = "go") -> None:
        """Let an actor take the step before it, with that fate, and return when it stands before
        the next one.
        """
        if fate != "go":
            self.record(f"{actor.name}: {fate} at {actor.point}")
        self._moving, actor.fate = actor, fate
        actor.turn.release()
        assert self._returned.acquire(timeout=PATIENCE), (
            f"{actor.name} never came back from {actor.point}"
        )
        self._moving = None
        if actor.over:
            self.actors.remove(actor)

    def step(self, point: str, act: Callable[[], T]) -> T:
        """Take a step that changes the world: the actor stands before it until it is moved."""
        fate = self.await_fate(point)
        if fate == "fail":
            raise BackendError("EUNAVAILABLE", "it is away for a moment")
        self.record(point)
        try:
            done = act()
        finally:
            if fate == "crash after":
                self._die()
        if fate == "fail after":
            raise BackendError("EUNAVAILABLE", "its answer was lost")
        return done

    def await_fate(self, point: str) -> Fate:
        """Let others move, and return the fate that was decided for this actor. A dead actor touches nothing
        any more.
        """
        me = self.moving
        if me.dead:
            raise Crashed
        me.point = point
        self._returned.release()
        me.turn.acquire()
        if me.fate == "crash":
            self._die()
        return me.fate

    def clear(self) -> None:
        """End all actors."""
        while self.actors:
            self.move(self.actors[-1], "crash")

    def _die(self) -> None:
        self.moving.dead = True
        raise Crashed

    def _play(self, actor: Actor, work: Callable[[], None]) -> None:
        actor.turn.acquire()
        try:
            if actor.fate != "crash":
                work()
        except Crashed:
            pass
        except BaseException as problem:  # a door: what escapes a worker's own loop ends the run, told by the scheduler's thread
            self.report_broken(f"{actor.name} died of {type(problem).__name__}: {problem}")
        finally:
            actor.over = True
            self._returned.release()

    def _pause(self, seconds: float) -> None:
        self.await_fate(f"pause {seconds}")
        self.time.forward(seconds)
