"""Measures sessions and the queue: a document opened and closed, a long chat beside a short one,
many chats at once, a late start.

The store is SQLite. The long chat and the many chats talk to a scripted model in a process of its
own, without tools.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from functions.agent.session.store import Sessions
from functions.agent.turn.turn import run_turn
from functions.local import QueueWorkers
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks.chats import PLAIN_TALK, make_document, make_event
from scripts.benchmarks.measuring import median_call, run_server
from scripts.benchmarks.rows import Row
from sigil.storage.kv import Key, keys
from sigil.storage.kv.sqlite import SqliteKV

LOOPS: Final = 300
LONG: Final = 4_000
CHATS: Final = 100
EACH: Final = 5
WAITING: Final = 10_000


def run(data: Path | None) -> Iterator[Row]:
    """Measure medians and totals, in the unit of each row."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _measure_document(Path(folder))
    with tempfile.TemporaryDirectory() as folder, run_server("scripts.benchmarks.sessions") as url:
        yield from _measure_long_chat(_open_runtime(folder, url))
    with tempfile.TemporaryDirectory() as folder, run_server("scripts.benchmarks.sessions") as url:
        yield from _measure_many_chats(_open_runtime(folder, url))
    with tempfile.TemporaryDirectory() as folder, run_server("scripts.benchmarks.sessions") as url:
        yield from _measure_late_start(folder, url)


def _open_runtime(folder: str, url: str) -> AgentRuntime:
    return open_runtime(
        Settings(
            data=folder,
            library="none",
            runners=1,
            llm_url=url,
            llm_model="scripted",
            tokens_per_day=10**9,
        )
    )


def _measure_document(folder: Path) -> Iterator[Row]:
    """Measure opening and closing a session of 40 messages, beside reading and writing its bytes."""
    kv = SqliteKV(folder / "store.db")
    sessions = Sessions(kv)
    key = keys.session_of("main", "bench:1")
    document = make_document(40)
    saved = sessions.save(sessions.open(key), document)
    bare = b"x" * saved.size

    def open_and_close() -> None:
        opened = sessions.open(key)
        sessions.save(opened, opened.document)

    def read_and_write() -> None:
        kv.get(Key("floor", "1"))
        kv.put(Key("floor", "1"), bare)

    yield Row(
        "session open + close, 40 messages",
        median_call(open_and_close, LOOPS),
        "ms",
        0.3,
        floor=median_call(read_and_write, LOOPS),
    )
    kv.close()


def _measure_long_chat(runtime: AgentRuntime) -> Iterator[Row]:
    """Compare turns over a whole cycle of compaction, from 11 to 40 messages: the second cycle of a
    chat and its last.
    """
    costs: list[tuple[float, int]] = []
    for number in range(LONG // 2):
        started = time.process_time()
        opened = run_turn(make_event("bench:long", number), runtime.app)
        costs.append(((time.process_time() - started) * 1e3, opened.size))
        runtime.app.sessions.clear_outbox(opened)
    runtime.close()
    early, late = costs[21:141], costs[-120:]
    for column, what, unit in ((0, "CPU a turn", "ms"), (1, "bytes a turn", "B")):
        yield Row(
            f"chat of 4,000 messages, {what}",
            statistics.median(cost[column] for cost in late),
            unit,
            floor=statistics.median(cost[column] for cost in early),
            ratio_target=1.2,
        )


def _measure_many_chats(runtime: AgentRuntime) -> Iterator[Row]:
    """Measure the turns of a hundred chats that wait in the queue at once."""
    for number in range(EACH):
        for chat in range(CHATS):
            runtime.queue.put(make_event(f"bench:{chat}", chat * EACH + number))
    workers = QueueWorkers(runtime)
    started, cpu = time.perf_counter(), time.process_time()
    workers.start()
    while runtime.stores.kv.scan(keys.ready_session("").partition, limit=1):
        time.sleep(0.02)
    wall = time.perf_counter() - started
    spent = time.process_time() - cpu
    workers.stop()
    runtime.close()
    turns = CHATS * EACH
    yield Row(
        "100 chats at once, turns a second of one core", turns / spent, "1/s", 60, at_least=True
    )
    yield Row("100 chats at once, turns a second", turns / wall, "1/s")


def _measure_late_start(folder: str, url: str) -> Iterator[Row]:
    """Measure the time from a start with 10,000 waiting events to the first answer."""
    runtime = _open_runtime(folder, url)
    for number in range(WAITING):
        runtime.queue.put(make_event(f"bench:{number}", number))
    runtime.close()
    started = time.perf_counter()
    again = _open_runtime(folder, url)
    workers = QueueWorkers(again)
    workers.start()
    sessions = again.app.sessions
    chats = [keys.session_of(again.app.name, f"bench:{number}") for number in range(8)]
    while not any(sessions.open(chat).document.seen for chat in chats):
        time.sleep(0.005)
    yield Row(
        "restart with 10,000 waiting events, first answer", time.perf_counter() - started, "s", 2.0
    )
    workers.stop()
    again.close()


def _serve_model() -> None:
    from tests.fakes.model import ScriptedModel, say
    from tests.fakes.server import Answer, Recorded, json_answer

    class RepeatingModel(ScriptedModel):
        """Gives the same answer each time, and keeps no requests."""

        def answer(self, request: Recorded) -> Answer:
            self.requests.clear()
            usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 50}
            return json_answer({"usage": usage, **say(PLAIN_TALK)})

    with RepeatingModel() as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve_model()
