"""The simulation: processes with their workers, the world around them, the people who write, and the
scheduler of it all.
"""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass, replace
from functools import partial
from math import inf

from functions.agent import context
from functions.agent.access.roles import Rules
from functions.agent.app import App
from functions.agent.context import count_overhead
from functions.agent.safety.budget import SafetyLimits
from functions.agent.session.store import Sessions
from functions.channels.replies.http_replies import HttpReplies
from functions.events import Event, Sender, order_of
from functions.queues.store_queue import StoreQueue
from functions.settings import Settings
from functions.wiring import AgentRuntime
from functions.worker import process
from sigil.errors import BackendError
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from sigil.wiring import Stores
from tests.simulation import accounts
from tests.simulation.promises import LEASE, Post, Promises
from tests.simulation.scheduler import Actor, Fate, Scheduler
from tests.simulation.world import InTurn, PlanningModel, Platform, ScriptedRegistry, Store

NAME = "main"
"""Seconds of a clock of which every look is one later."""
ROOM = 420.0
"""Estimated tokens of history that fit: a few turns."""
THREADS = {"one": 2, "two": 1, "late": 1}
"""Workers a process; `late` comes at the end, when all others may stall."""
WINDOW = int(
    (count_overhead(context.build_preamble(NAME)) + ROOM) * 1.15 / (1 - context.RESERVED_SHARE)
)
PATIENCE = 60
"""Steps after which nobody will stand where somebody was wanted."""
DRAIN_SECONDS = LEASE + 120.0 + 200.0
"""Steady seconds after which everything that waits must be done: one lease that a crash left, the
platform's own delays, and the longest pause before a model is asked again.
"""


class LogWatch(logging.Handler):
    """Adds warnings of the product's log to what happened, and reports errors as broken promises."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__(logging.WARNING)
        self._scheduler = scheduler

    def emit(self, record: logging.LogRecord) -> None:
        line = f"log: {record.getMessage()} {getattr(record, 'facts', {})}"
        if record.levelno >= logging.ERROR:
            self._scheduler.report_broken(
                f"{line} {record.exc_info[1]!r}" if record.exc_info else line
            )
        else:
            self._scheduler.record(line)


@dataclass
class Process:
    """A process: what its threads share."""

    inbox: StoreQueue
    runtime: AgentRuntime


class Simulation:
    """Two processes of workers on one store, and the webhooks that fill it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        kv = MemoryKV(lambda: self.scheduler.time.wall)
        self.kv = kv
        self.promises = Promises(self.scheduler, kv)
        self.store = Store(self.scheduler, kv, self.promises)
        self.platform = Platform(self.scheduler, self.promises)
        self.registry = ScriptedRegistry(self.scheduler, self.promises)
        self.model = PlanningModel(self.scheduler, self.promises, WINDOW)
        self.hurried: list[
            float
        ] = []  # what the next workers have left of their own time, in seconds
        self.moves = 0
        self.taken = 0
        self._numbers = 0
        self._alarm = LogWatch(self.scheduler)
        logging.getLogger("uncaged").addHandler(self._alarm)
        self.inboxes: dict[str, tuple[StoreQueue, ...]] = {}
        self._start("one")
        self._start("two")

    @property
    def undelivered(self) -> list[Post]:
        return [post for post in self.promises.posts.values() if post.kept is None]

    def write(self, session: str, text: str) -> Post:
        """Somebody writes; the platform has the message, nobody else."""
        self._numbers += 1
        number = self._numbers
        identity, at = f"m{number}", 1_800_000_000.0 + number
        text = f"{text} #{identity}" if text.startswith("plan=") else text
        order = order_of(at, number)
        event = Event(
            identity,
            "message",
            NAME,
            session,
            Sender("telegram:1"),
            text,
            at,
            order,
            reply_to=identity,
            private=True,
        )
        self.promises.posts[identity] = post = Post(event)
        self.scheduler.record(f"{identity} is written in {session}: {text}")
        return post

    def deliver(self, post: Post) -> None:
        """The platform calls the webhook, which may take its time, or die."""
        post.started = post.started or len(self.scheduler.events)

        def put() -> None:
            try:
                StoreQueue(self.store, clock=self.scheduler.clock, lease=LEASE).put(post.event)
            except BackendError:
                return self.scheduler.record(f"{post.event.id} is not kept: 503")
            if post.kept is None:
                post.kept = len(self.scheduler.events)
            return self.scheduler.record(f"{post.event.id} is kept: 200")

        web = self.scheduler.add_actor(
            f"web-{post.event.id}", f"web-{len(self.scheduler.events)}", put
        )
        web.point = "put"

    def go(self, chance: random.Random, steps: int) -> None:
        """So many steps, by whoever comes up."""
        for _ in range(steps):
            awake = [actor for actor in self.scheduler.actors if not actor.stalled]
            if not awake or self.scheduler.broken:
                return
            busy = [actor for actor in awake if not actor.idle]
            actor = chance.choice(busy if busy and chance.random() < 0.9 else awake)
            slow = actor.point.startswith("ask") and chance.random() < 0.3
            self._move(actor, "slow" if slow else "go")

    def go_until(self, chance: random.Random, point: str) -> Actor | None:
        """Go on, but not for long, until somebody stands before such a step: a worker rather than a
        webhook.
        """
        for _ in range(PATIENCE):
            there = [
                actor
                for actor in self.scheduler.actors
                if actor.point.startswith(point) and not (actor.idle or actor.stalled)
            ]
            if there:
                return chance.choice(
                    [actor for actor in there if not actor.name.startswith("web")] or there
                )
            self.go(chance, 1)
        return None

    def go_alone(self, actor: Actor, steps: int) -> None:
        """So many steps by one actor, until it has nothing to do."""
        for _ in range(steps):
            if actor.over or actor.idle or self.scheduler.broken:
                return
            self._move(actor, "go")

    def crash(self, actor: Actor, *, after: bool) -> None:
        """Kill the actor's process, before or after the step that it stands before; another process
        takes its place.
        """
        self._hurt(
            actor,
            "crash after" if after and not actor.point.startswith(("ask", "pause")) else "crash",
        )
        for other in [other for other in self.scheduler.actors if other.process == actor.process]:
            self._hurt(other, "crash")
        if actor.process in THREADS:
            self._start(actor.process)

    def lose_the_store(self, actor: Actor, *, after: bool) -> None:
        """The store is away for one step of the actor, which then does not know whether it
        counted.
        """
        if actor.point.partition(" ")[0] in ("get", "put", "delete", "scan"):
            self._hurt(actor, "fail after" if after else "fail")

    def stall(self, actor: Actor) -> None:
        """The actor takes no step until somebody wakes it."""
        self.scheduler.record(f"{actor.name} stalls at {actor.point}")
        self.promises.disturbed(actor)
        actor.stalled = True

    def wake(self, pick: int) -> Actor | None:
        """One of those who stall goes on as if nothing had been."""
        stalled = [actor for actor in self.scheduler.actors if actor.stalled]
        if not stalled:
            return None
        actor = stalled[pick % len(stalled)]
        self.scheduler.record(f"{actor.name} wakes at {actor.point}")
        actor.stalled = False
        return actor

    def hurry(self, seconds: list[float]) -> None:
        """The next workers have so little time."""
        self.scheduler.record(f"the next workers have {seconds} seconds")
        self.hurried = seconds

    def renew(self) -> None:
        """Both processes renew their leases, as their heartbeats do."""
        for name, inboxes in self.inboxes.items():
            heart = self.scheduler.add_actor(
                f"heart-{name}-{len(self.scheduler.events)}", name, partial(_beat, inboxes)
            )
            heart.point = "renew"

    def forward(self, seconds: float) -> None:
        self.scheduler.record(f"{seconds} seconds pass")
        self.scheduler.time.forward(seconds)

    def jump(self, seconds: float) -> None:
        self.scheduler.record(f"the wall clock jumps by {seconds} seconds")
        self.scheduler.time.jump(seconds)

    def judge(self) -> None:
        """Raise what is broken, with what happened before."""
        if self.scheduler.broken:
            raise AssertionError(
                "\n".join(["", *self.scheduler.events[-400:], "", *self.scheduler.broken])
            )

    def settle(self) -> None:
        """Let everything come to rest, first without those who stall, then with them; and see that
        nothing is missing.
        """
        self.judge()
        self.scheduler.record("— the end: what waits is worked off —")
        self.platform.moods.clear()
        self.hurried.clear()
        self.model.awake = True
        for post in self.undelivered:
            self.deliver(post)
        self._start("late")
        self._drain()
        for actor in self.scheduler.actors:
            actor.stalled = False
        self._drain()
        self.judge()
        for missing in accounts.missing(self.kv, self.promises):
            self.scheduler.report_broken(missing)
        self.judge()

    def close(self) -> None:
        logging.getLogger("uncaged").removeHandler(self._alarm)
        self.scheduler.clear()

    def _start(self, name: str) -> None:
        inbox = StoreQueue(self.store, clock=self.scheduler.clock, lease=LEASE)
        sessions = Sessions(self.store)
        app = App(
            NAME, self.store, sessions, self.model, self.registry, Rules(access="open", deploy="members", owners=("telegram:1",)),
            self.scheduler.clock, pool=InTurn(), limits=SafetyLimits(tokens=0), look_seconds=0.0,
        )  # fmt: skip
        control, work = (
            StoreQueue(self.store, clock=self.scheduler.clock, lease=LEASE, lane=lane)
            for lane in ("control", "work")
        )
        self.inboxes[name] = (inbox, control, work)
        stores = Stores(self.store, MemoryArtifacts())
        runtime = AgentRuntime(
            Settings(),
            stores,
            inbox,
            control,
            {"telegram": self.platform},
            HttpReplies(self.store),
            app,
            work=work,
        )
        for number in range(THREADS[name]):
            self.scheduler.add_actor(f"{name}-{number}", name, lambda: self._work(runtime))

    def _work(self, runtime: AgentRuntime) -> None:
        """A worker's loop, as `functions.local` has it."""
        while True:
            self.scheduler.await_fate("idle")
            try:
                for side in (runtime.control, runtime.queue, runtime.work):
                    hands = replace(runtime, queue=side)
                    delivery = hands.queue.take(0)
                    if delivery:
                        self.taken += 1
                        process(delivery, hands, self._until())
            except Exception as problem:  # entry point, as in the product
                self.scheduler.record(f"the queue cannot be read: {problem}")

    def _until(self) -> float:
        """When a worker's own time is up: mostly never, for the next few at once or after a
        round.
        """
        return self.scheduler.time.steady + self.hurried.pop() if self.hurried else inf

    def _move(self, actor: Actor, fate: Fate) -> None:
        self.moves += 1
        self.scheduler.move(actor, fate)

    def _hurt(self, actor: Actor, fate: Fate) -> None:
        self._move(actor, fate)
        self.promises.disturbed(actor)

    def _drain(self) -> None:
        """Everybody works until nothing waits; time passes only when nobody finds anything to
        do.
        """
        chance, end = random.Random(0), self.scheduler.time.steady + DRAIN_SECONDS
        while not self.scheduler.broken:
            taken = self.taken
            self._round(chance)
            if not any(self.kv.scan(index, limit=1) for index in ("ready", "ready!", "ready~work")):
                return
            if self.taken == taken:
                self.scheduler.time.forward(5.0)
            if self.scheduler.time.steady > end:
                self.scheduler.report_broken(
                    "still waiting after a lease and some:"
                    f" {self.kv.scan('ready') + self.kv.scan('claim')}"
                )

    def _round(self, chance: random.Random) -> None:
        """Everybody who is awake looks once and does what there is."""
        busy = [actor for actor in self.scheduler.actors if not actor.stalled]
        while busy and not self.scheduler.broken:
            actor = chance.choice(busy)
            self._move(actor, "go")
            if actor.over or actor.idle:
                busy.remove(actor)


def _beat(inboxes: tuple[StoreQueue, ...]) -> None:
    for inbox in inboxes:
        inbox.renew()
