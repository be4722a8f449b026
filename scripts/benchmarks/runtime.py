"""Measures agents that work by themselves: what they cost while they sleep, how late they are, and a
chat's answer while they work, beside the same answer alone.

What concerns schedules is measured by wakeups.py. Beside that, two hundred turns of background work wait, each of an agent of its own, with a scripted model whose
requests take five seconds. Meanwhile people chat: four at once, in chats of their own. The workers
are those of `uncaged serve`; the store is SQLite, the queue the store itself or SQS (an emulated
one). The model is a process of its own.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from functions.agent.agents.record import AgentRecord, add_agent
from functions.events import Event, Sender, order_of
from functions.local import QueueWorkers
from functions.settings import Settings
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks import wakeups
from scripts.benchmarks.measuring import run_server
from scripts.benchmarks.rows import Row
from sigil.storage.kv import keys
from tests.functions.queues.invoked import make_queue
from tests.servers.ministack import Ministack

TURNS: Final = 200
TURN_SECONDS: Final = 5.0
CHAT_SECONDS: Final = 0.05
"""What the model takes for a chat's answer."""
PEOPLE: Final = 4
WARM_SECONDS: Final = 1.0
ALONE_SECONDS: Final = 5.0
BESIDE_SECONDS: Final = 11.0
"""So long people chat: beside background work for more than two of its turns."""
THINKING_SECONDS: Final = 0.15
LATER_MS: Final = 1_000.0
"""A chat's answer may come so much later than alone."""
BACKGROUND: Final = "[background]"
WAKEUP: Final = "[wakeup]"


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds from a message's way into the queue to its answer."""
    with ExitStack() as stack:
        url = stack.enter_context(run_server("scripts.benchmarks.runtime"))
        yield from wakeups.measure_sleepers()
        yield from wakeups.measure_probe()
        yield from wakeups.measure_far_storm()
        yield from wakeups.measure_server()
        yield from wakeups.measure_storms(url, _ask_all)
        server = stack.enter_context(Ministack())
        os.environ.update(server.environment)
        for where in ("the store", "SQS"):
            for workers in (4, TURNS):
                queues: dict[str, str] = {}
                if where == "SQS":
                    names = ("queue", "work_queue")
                    queues = {name: f"sqs://{make_queue(server, 60)}" for name in names}
                yield from _measure_chats(url, where, workers, queues)


def _measure_chats(url: str, where: str, workers: int, queues: dict[str, str]) -> Iterator[Row]:
    with _open_agents(url, workers, queues) as runtime:
        crew = QueueWorkers(runtime)
        crew.start()
        _ask_all(runtime, "warm", WARM_SECONDS)
        alone = _ask_all(runtime, "alone", ALONE_SECONDS)
        for number in range(TURNS):
            runtime.queue.put(_make_work(number))
        _wait_for_work(runtime)
        beside = _ask_all(runtime, "beside", BESIDE_SECONDS)
        done = sum(_is_done(runtime, number) for number in range(TURNS))
        crew.stop(2 * TURN_SECONDS)
    what = f"{where}, {TURNS} background turns, {workers} workers for them"
    print(f"  {what}: {done} of them ended meanwhile, n = {len(beside)}", file=sys.stderr)
    for name, cut in (("p50", 49), ("p95", 94)):
        alone_ms, beside_ms = (statistics.quantiles(times, n=100)[cut] for times in (alone, beside))
        yield Row(f"{where}, {workers} workers: chat alone, {name}", alone_ms, "ms")
        yield Row(f"{where}, {workers} workers: chat beside, {name}", beside_ms, "ms")
        yield Row(
            f"{where}, {workers} workers: later by, {name}", beside_ms - alone_ms, "ms", LATER_MS
        )


@contextmanager
def _open_agents(url: str, workers: int, queues: dict[str, str]) -> Iterator[AgentRuntime]:
    """Open a runtime with as many agents as there is background work."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data=folder,
            library="none",
            runners=1,
            llm_url=url,
            llm_model="scripted",
            tokens_per_day=10**9,
            access="open",
            guest_turns=0,
            guest_tokens=0,
            background_workers=workers,
            **queues,  # type: ignore[arg-type]
        )
        runtime = open_runtime(settings)
        record = AgentRecord("agent", "enabled", 1.0, "bench")
        for number in range(TURNS):
            add_agent(runtime.stores.kv, settings.agent, f"a{number}", record)
        try:
            yield runtime
        finally:
            runtime.close()


def _make_work(number: int) -> Event:
    """Return a wakeup of an agent of its own."""
    return Event(
        f"wakeup:bench:{number}",
        "wakeup",
        f"main.a{number}",
        "own:main",
        Sender("terminal:local"),
        f"{BACKGROUND} look after things",
        time.time(),
        order_of(time.time(), number),
        private=True,
        by="terminal:local",
    )


def _wait_for_work(runtime: AgentRuntime) -> None:
    """Wait until the workers for it all have background work."""
    claims = keys.session_claim("").partition
    most = min(runtime.settings.background_workers, TURNS)
    end = time.monotonic() + 60.0
    while not runtime.settings.queue and len(runtime.stores.kv.scan(claims, limit=most)) < most:
        if time.monotonic() > end:
            raise RuntimeError("the background workers do not begin")
        time.sleep(0.05)
    if runtime.settings.queue:
        time.sleep(TURN_SECONDS / 2)


def _is_done(runtime: AgentRuntime, number: int) -> bool:
    key = keys.session_of(f"main.a{number}", "own:main")
    return bool(runtime.app.sessions.open(key).document.seen)


def _ask_all(runtime: AgentRuntime, name: str, seconds: float) -> list[float]:
    """Return the milliseconds of the answers to people who chat at once, for so long."""
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(PEOPLE) as people:
        asking = [
            people.submit(_ask, runtime, f"{name}-{person}", until) for person in range(PEOPLE)
        ]
        return [taken for asked in asking for taken in asked.result()]


def _ask(runtime: AgentRuntime, chat: str, until: float) -> list[float]:
    session = f"http:admin:{chat}"
    key = keys.session_of(runtime.settings.agent, session)
    taken: list[float] = []
    while time.monotonic() < until:
        number = len(taken)
        event = Event(
            f"http:{chat}:{number}",
            "message",
            runtime.settings.agent,
            session,
            Sender("http:admin", "admin"),
            "hello",
            time.time(),
            order_of(time.time(), number),
            private=True,
        )
        began = time.perf_counter()
        runtime.replies.expect(key, event.id)
        runtime.queue.put(event)
        reply = runtime.replies.wait(key, event.id, 60.0)
        if not reply or "reply" not in reply:
            raise RuntimeError(f"no answer in {chat}: {reply}")
        taken.append((time.perf_counter() - began) * 1e3)
        time.sleep(THINKING_SECONDS)
    return taken


def _serve_model() -> None:
    from tests.fakes.model import ScriptedModel, say
    from tests.fakes.server import Answer, Recorded, json_answer

    class SlowModel(ScriptedModel):
        """Takes its time for background work, and keeps no requests; it counts those of wakeups."""

        woken = 0

        def answer(self, request: Recorded) -> Answer:
            self.requests.clear()
            if request.path == "/count":
                return json_answer(self.woken)
            if WAKEUP.encode() in request.body:
                with self.changed:
                    self.woken += 1
                time.sleep(CHAT_SECONDS)
                usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 5}
                return json_answer({"usage": usage, **say("[SILENT]")})
            time.sleep(TURN_SECONDS if BACKGROUND.encode() in request.body else CHAT_SECONDS)
            usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 5}
            return json_answer({"usage": usage, **say("done")})

    with SlowModel() as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve_model()
