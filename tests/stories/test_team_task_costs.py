"""One task of a team costs what its steps need: requests to the model, tokens of their prompts, and
operations of the store, each of which is a round trip on Redis and a bill on DynamoDB.

The task comes by `/tasks add`, an idle teammate claims it, writes a file, says that it is done, and
its chat reads the line of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

import pytest

from functions import wiring, worker
from functions.agent.team.leg import is_look
from functions.events import Event
from functions.scheduler import look_after_team
from functions.wiring import AgentRuntime
from sigil.catalog import health
from sigil.storage.kv import redis_client
from sigil.storage.stored import dumps
from sigil.wiring import Stores, open_stores
from tests.fakes.bot_api import BotApi
from tests.fakes.model import call, say
from tests.functions.agent.team.crew import Crew, TeamModel, contents, spawned
from tests.functions.chats import Chats
from tests.functions.people import platform
from tests.selection import thorough
from tests.servers.stores import empty_store
from tests.stories.test_store_operations import CountingKV

TASKS = 2
REQUESTS = 2
PROMPT_TOKENS = 6_400
"""Tokens of the prompts of a task's requests together, as a model that counts four letters each
says; those of a later task are no more.
"""
STEPS = [("put", 2), ("message", 21), ("look", 21), ("leg", 49), ("say", 11)]
"""The round trips of each event of a task: the message waits, it adds the task, the teammate
claims it, works on it in one leg, and the line is said. A second look follows only where there is
something to find.
"""
ITEMS = 240
"""The items that a task writes or asks for by their keys; one round trip may read many. Beside each
mark that stops a turn stands who looks at its chat on a page."""
IDLE_TICK = 4
"""Reads of a tick while a team has nothing to do, however many are in it."""
WAITING_TICK = 5
"""Reads of a tick while a task waits for somebody of another role, however many are idle."""
STORES = ("sqlite", *thorough("redis", "dynamodb"))
LOOKS = ("scan ready", "scan ready~work")
"""The looks of a worker that nobody woke."""


@dataclass
class Step:
    """What one event of a team's work cost the store."""

    event: str
    operations: list[str] = field(default_factory=list)

    @property
    def items(self) -> int:
        """The items that it wrote or asked for by their keys."""
        return sum(operation.count(" + ") + 1 for operation in self.operations)


@pytest.fixture
def model() -> Iterator[TeamModel]:
    with TeamModel() as server:
        yield server


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings of a store of the kind that the test names: SQLite has the library in it."""
    kind = getattr(request, "param", "sqlite")
    with empty_store(kind, request, tmp_path) as setting:
        yield {} if kind == "sqlite" else {"store": setting}


@pytest.fixture
def counted(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: TeamModel,
    store: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[Crew, CountingKV]:
    made: list[CountingKV] = []

    def counting(settings: object) -> Stores:
        stores = open_stores(settings)  # type: ignore[arg-type]
        made.append(CountingKV(stores.kv))
        return replace(stores, kv=made[-1])

    monkeypatch.setattr(wiring, "open_stores", counting)
    monkeypatch.setattr(health, "CACHED_SECONDS", inf)
    agent = runtime(llm_url=model.url, library="builtin", **store, **platform(bot))
    # a turn on a slow machine would look in between whether it is halted
    agent = replace(agent, app=replace(agent.app, look_seconds=inf))
    return Crew(Chats(agent, bot), model), made[-1]


def _name_step(event: Event) -> str:
    if is_look(event):
        return "look"
    return "leg" if event.kind == "task" else event.kind


def work_off(crew: Crew, kv: CountingKV) -> list[Step]:
    """Work on all that waits, and return what each event cost."""
    runtime = crew.runtime
    assert runtime.work
    steps: list[Step] = []
    while True:
        kv.operations.clear()
        side = runtime.queue
        delivery = side.take(0.0)
        if delivery is None:
            side = runtime.work
            delivery = side.take(0.0)
        if delivery is None:
            return steps
        worker.process(delivery, replace(runtime, queue=side))
        made = [each for each in kv.operations if each not in LOOKS]
        steps.append(Step(_name_step(delivery.event), made))


def do_task(crew: Crew, kv: CountingKV, number: int) -> list[Step]:
    """Let a person add a task, and return what came of it, event by event."""
    path = f"team/{number}.md"
    done = {"task_id": number, "status": "completed", "report": "12 ducks"}
    replies = iter(
        (
            call(("cap_write_file", {"path": path, "content": "12 ducks"})),
            call(("cap_update_task", done)),
        )
    )
    crew.model.plans["alice"] = lambda _: next(replies, None) or say("[SILENT]")
    crew.numbers.append(len(crew.numbers) + 1)
    kv.operations.clear()
    crew.chats.write(crew.numbers[-1], f"/tasks add count the ducks of pond {number} role:coder")
    put = Step("put", list(kv.operations))
    steps = [put, *work_off(crew, kv)]
    assert crew.chats.list_texts()[-1] == f"#{number} done by alice: 12 ducks\nFiles: {path}"
    return steps


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_a_task_costs_two_requests_and_the_round_trips_of_its_steps(
    counted: tuple[Crew, CountingKV], model: TeamModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew, kv = counted
    spawned(crew, "alice")
    sent: list[int] = []
    send_all = redis_client._SingleServer.send_all

    def count_sent(server: object, commands: list[object]) -> list[object]:
        sent.append(len(commands))
        return send_all(server, commands)  # type: ignore[arg-type]

    monkeypatch.setattr(redis_client._SingleServer, "send_all", count_sent)
    for number in range(1, TASKS + 1):
        before = len(model.of("alice"))
        sent.clear()
        steps = do_task(crew, kv, number)
        asked = model.of("alice")[before:]
        assert len(asked) == REQUESTS
        assert sum(len(dumps(body)) // 4 for body in asked) <= PROMPT_TOKENS
        # of the tasks before it needs nothing, nor twice what a briefing says
        assert all("\n".join(contents(body)).count("## on_task") == 1 for body in asked)

        counts = [(step.event, len(step.operations)) for step in steps]
        assert counts == STEPS, "\n".join(f"{step.event}: {step.operations}" for step in steps)
        assert sum(step.items for step in steps) == ITEMS
        # on Redis each of them is one round trip, beside the looks of workers without work
        trips = sum(count for _, count in counts)
        assert not sent or trips <= len(sent) <= trips + 2 * len(steps)


@pytest.mark.parametrize("names", [("alice",), ("alice", "bob", "carol", "dave")])
def test_a_tick_reads_no_more_for_a_larger_team(
    counted: tuple[Crew, CountingKV], names: tuple[str, ...]
) -> None:
    crew, kv = counted
    spawned(crew, *names)
    runtime = crew.runtime

    def tick() -> int:
        assert runtime.work
        kv.operations.clear()
        now = runtime.app.clock.now()
        assert look_after_team(runtime.stores, runtime.work, "main", now, 60.0) == 0
        return len(kv.operations)

    assert tick() == IDLE_TICK
    crew.add("paint the barn", role="painter")
    assert tick() == WAITING_TICK
