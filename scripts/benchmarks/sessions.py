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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from functions.agent.messages import Message
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.turn import run_turn
from functions.events import Event, Sender, order_of
from functions.local import QueueWorkers
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks.elsewhere import served
from scripts.benchmarks.rows import Row
from sigil.storage.kv import Key, keys
from sigil.storage.kv.sqlite import SqliteKV

SAID: Final = "A sentence or two of plain talk, as people write it. " * 3
LOOPS: Final = 300
LONG: Final = 4_000
CHATS: Final = 100
EACH: Final = 5
WAITING: Final = 10_000


def run(data: Path | None) -> Iterator[Row]:
    """Each number the median or the total of its kind."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _documents(Path(folder))
    with tempfile.TemporaryDirectory() as folder, served("scripts.benchmarks.sessions") as url:
        yield from _long_chat(_runtime(folder, url))
    with tempfile.TemporaryDirectory() as folder, served("scripts.benchmarks.sessions") as url:
        yield from _many_chats(_runtime(folder, url))
    with tempfile.TemporaryDirectory() as folder, served("scripts.benchmarks.sessions") as url:
        yield from _late_start(folder, url)


def _runtime(folder: str, url: str) -> AgentRuntime:
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


def _documents(folder: Path) -> Iterator[Row]:
    kv = SqliteKV(folder / "store.db")
    sessions, key = Sessions(kv), keys.session_of("main", "bench:1")
    document = Document().add(
        *[Message("user" if number % 2 == 0 else "assistant", SAID, at=1.0) for number in range(40)]
    )
    saved = sessions.save(sessions.open(key), document)
    bare = b"x" * saved.size

    def ours() -> None:
        opened = sessions.open(key)
        sessions.save(opened, opened.document)

    def floor() -> None:
        kv.get(Key("floor", "1"))
        kv.put(Key("floor", "1"), bare)

    yield Row("session open + close, 40 messages", _p50(ours), "ms", 0.3, floor=_p50(floor))
    kv.close()


def _p50(action: Callable[[], None]) -> float:
    spent = []
    for _ in range(LOOPS):
        started = time.perf_counter()
        action()
        spent.append((time.perf_counter() - started) * 1e3)
    return statistics.median(spent)


def _long_chat(runtime: AgentRuntime) -> Iterator[Row]:
    """Turns are compared over a whole swing of compaction, from 11 to 40 messages: the 2nd of a
    chat and its last.
    """
    costs: list[tuple[float, int]] = []
    for number in range(LONG // 2):
        started = time.process_time()
        opened = run_turn(_event("bench:long", number), runtime.app)
        costs.append(((time.process_time() - started) * 1e3, opened.size))
        runtime.app.sessions.clear_outbox(opened)
    runtime.close()
    early, late = costs[21:141], costs[-120:]
    for place, what, unit in ((0, "CPU a turn", "ms"), (1, "bytes a turn", "B")):
        yield Row(
            f"chat of 4,000 messages, {what}",
            statistics.median(cost[place] for cost in late),
            unit,
            floor=statistics.median(cost[place] for cost in early),
            ratio_target=1.2,
        )


def _many_chats(runtime: AgentRuntime) -> Iterator[Row]:
    for number in range(EACH):
        for chat in range(CHATS):
            runtime.queue.put(_event(f"bench:{chat}", chat * EACH + number))
    workers = QueueWorkers(runtime)
    started, cpu = time.perf_counter(), time.process_time()
    workers.start()
    while runtime.stores.kv.scan(keys.ready_session("").partition, limit=1):
        time.sleep(0.02)
    wall, spent = time.perf_counter() - started, time.process_time() - cpu
    workers.stop()
    runtime.close()
    turns = CHATS * EACH
    yield Row(
        "100 chats at once, turns a second of one core", turns / spent, "1/s", 60, at_least=True
    )
    yield Row("100 chats at once, turns a second", turns / wall, "1/s")


def _late_start(folder: str, url: str) -> Iterator[Row]:
    runtime = _runtime(folder, url)
    for number in range(WAITING):
        runtime.queue.put(_event(f"bench:{number}", number))
    runtime.close()
    started = time.perf_counter()
    again = _runtime(folder, url)
    workers = QueueWorkers(again)
    workers.start()
    while not any(_answered(again, number) for number in range(8)):
        time.sleep(0.005)
    yield Row(
        "restart with 10,000 waiting events, first answer", time.perf_counter() - started, "s", 2.0
    )
    workers.stop()
    again.close()


def _answered(runtime: AgentRuntime, number: int) -> bool:
    session = keys.session_of(runtime.app.name, f"bench:{number}")
    opened: SessionHandle = runtime.app.sessions.open(session)
    return bool(opened.document.seen)


def _event(session: str, number: int) -> Event:
    made = Event(
        f"{session}:{number}",
        "message",
        "main",
        session,
        Sender("terminal:local"),
        SAID,
        1.0,
        order_of(1.0, number),
    )
    return replace(made, private=True)


def _serve() -> None:
    from tests.fakes.model import ScriptedModel, say
    from tests.fakes.server import Answer, Recorded, json_answer

    class Same(ScriptedModel):
        """Keeps nothing."""

        def answer(self, request: Recorded) -> Answer:
            self.requests.clear()
            return json_answer(
                {
                    "usage": {"prompt_tokens": len(request.body) // 4, "completion_tokens": 50},
                    **say(SAID),
                }
            )

    with Same() as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve()
