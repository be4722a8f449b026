"""Measures a team: how soon who is idle is at work, and what a chain of tasks uses.

The workers are those of `uncaged serve`, the store is SQLite. The model answers at once, and its
usage is honest: a token for each four characters. A teammate is at work when its first request for
a task arrives at the model.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.runs.event_chain import find_largest
from functions.agent.team.board import Board, NewTask
from functions.agent.team.member import Member, Members
from functions.agent.team.waking import make_events, wake_members
from functions.local import QueueWorkers
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks.rows import Row
from tests.fakes.model import ScriptedModel
from tests.fakes.server import Answer, Recorded

TASKS: Final = 60
CHAINED: Final = 6
WAKE_MS: Final = 500.0
CHAIN_TOKENS: Final = 500_000.0
HOME: Final = "terminal:main"
BY: Final = "terminal:local"
TASK: Final = b"<<TASK>>"


class TimedModel(ScriptedModel):
    """A model that tells when it is asked for a task."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: SimpleQueue[float] = SimpleQueue()

    def answer(self, request: Recorded) -> Answer:
        if TASK in request.body:
            self.asked.put(time.perf_counter())
        return super().answer(request)


def run(data: Path | None) -> Iterator[Row]:
    """Yield how long it takes until who is idle works, and the tokens of six tasks in a chain."""
    with tempfile.TemporaryDirectory() as folder, TimedModel() as model:
        runtime = open_runtime(
            Settings(data=folder, library="builtin", runners=1, llm_url=model.url, hp=0)
        )
        add_member(runtime, "alice")
        board = Board(runtime.stores.kv, "main", time.time)
        workers = QueueWorkers(runtime)
        workers.start()
        taken = []
        for number in range(TASKS):
            began = time.perf_counter()
            add_tasks(runtime, board, f"one-{number}", 1)
            taken.append((model.asked.get(timeout=20) - began) * 1e3)
            wait_until_idle(runtime, board)
        taken = taken[TASKS // 10 :]
        cuts = statistics.quantiles(taken, n=20)
        yield Row("idle until at work, median", statistics.median(taken), "ms", WAKE_MS)
        yield Row("idle until at work, of twenty the slowest", cuts[-1], "ms", WAKE_MS)
        add_tasks(runtime, board, "chain", CHAINED)
        wait_until_idle(runtime, board)
        chains = find_largest(runtime.stores.kv, "main", 0.0, 1)
        tokens = float(chains[0][1].tokens)
        yield Row(f"tokens of {CHAINED} tasks in a chain", tokens, "", CHAIN_TOKENS)
        workers.stop()
        runtime.close()


def add_member(runtime: AgentRuntime, name: str) -> None:
    """Let a teammate be there that waits for work."""
    now = time.time()
    record = AgentRecord("teammate", "enabled", now, BY, role="coder", home=HOME)
    add_agent(runtime.stores.kv, "main", name, record)
    idle = Member("idle", now, stay=True, role="coder", call="bench")
    Members(runtime.stores.kv, "main").change(name, lambda _: (idle, None))


def add_tasks(runtime: AgentRuntime, board: Board, cause: str, count: int) -> None:
    """Put tasks on the board, and wake whoever may do them."""
    for number in range(count):
        board.add(NewTask(subject=f"{cause} {number}", by=BY))
    now = time.time()
    posts = wake_members(runtime.stores.kv, "main", now, 60.0).posts
    for event in make_events(posts, BY, now, cause):
        runtime.queue.put(event)


def wait_until_idle(runtime: AgentRuntime, board: Board) -> None:
    """Wait until all tasks are done, and whoever did them looks for nothing any more."""
    members = Members(runtime.stores.kv, "main")
    partition = "ready~work"
    while (
        board.has_open()
        or any(member.status != "idle" for _, member in members.scan())
        or runtime.stores.kv.scan(partition, limit=1)
    ):
        time.sleep(0.02)
