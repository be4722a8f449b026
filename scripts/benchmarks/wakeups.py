"""Measures schedules: what they cost while nothing is due, and what happens when all are due at once.

Ten thousand agents sleep, or wake in the same minute, or ten thousand people are reminded in it.
The workers are those of `uncaged serve` with its own numbers of them, the store is SQLite; the
model and the platform are processes of their own. How late a reminder is, and how long a run's
prompt, is seen from outside a server that somebody has started with `uncaged serve`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import httpx

from functions import scheduler
from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.conversation import tokens
from functions.agent.schedules.heartbeat import find_news, make_heartbeat
from functions.agent.schedules.schedule import DELAY_MOST, Schedule, Schedules
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from functions.events import Event
from functions.local import QueueWorkers
from functions.queues.store_queue import StoreQueue
from functions.settings import Settings
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime, open_runtime
from scripts.benchmarks.measuring import run_server
from scripts.benchmarks.rows import Row
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV
from sigil.wiring import Stores
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer, Recorded

AGENTS: Final = 10_000
PERIOD: Final = 3_600.0
MINUTES: Final = 30
READS_MOST: Final = 30.0
TICK_MS: Final = 5.0
LOOKS: Final = 2_000
PROBE_MS: Final = 1.0
FAR_SECONDS: Final = 0.005
"""What a request to a store or a queue of AWS takes, or a little more."""
MINUTE: Final = 60.0
LATER_MS: Final = 1_000.0
"""A chat's answer may come so much later than without a storm."""
STORM_SECONDS: Final = 10.0
"""So long people chat beside a storm."""
DRAIN_SECONDS: Final = 1_200.0
REMINDERS: Final = 48
LATE_SECONDS: Final = 1.0
PROMPT_TOKENS: Final = 5_000
PEOPLE: Final = 100_000
"""Telegram's ids of those who are reminded are higher."""
SECRET: Final = "a-secret-of-the-benchmark"
Ask = Callable[[AgentRuntime, str, float], list[float]]
"""Chats for so many seconds, and returns the milliseconds of the answers."""


def measure_sleepers() -> Iterator[Row]:
    """Measure a minute in which ten thousand agents sleep."""

    class CountingKV(SqliteKV):
        """Counts the requests that read."""

        reads = 0

        def get(self, key: Key) -> Item | None:
            self.reads += 1
            return super().get(key)

        def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
            self.reads += 1
            return super().get_many(keys)

        def scan(
            self, partition: str, prefix: str = "", after: str = "", limit: int = 100
        ) -> list[tuple[str, Item]]:
            self.reads += 1
            return super().scan(partition, prefix, after, limit)

    for kind in ("agents", "heartbeats"):
        with tempfile.TemporaryDirectory() as folder:
            kv = CountingKV(Path(folder) / "store.db")
            begin = time.time()
            for number in range(AGENTS):
                if kind == "agents":
                    _add_work(kv, f"main.a{number}", number, begin, begin + PERIOD)
                else:
                    # each looks once a day, as after a week without news
                    due = begin + (number + 0.5) * DELAY_MOST / AGENTS
                    _add_heartbeat(kv, f"main.a{number}", due)
            stores = Stores(kv, MemoryArtifacts())
            queue = StoreQueue(kv, "main")
            clock = _Steps(begin - 1.0)
            scheduler.tick(stores, queue, "main", clock)  # what is done once a day
            name = f"{AGENTS:,} sleeping {kind}"
            for where, seconds in (("server", scheduler.WAKE_SECONDS), ("AWS", MINUTE)):
                yield from _measure_minutes(kv, stores, queue, clock, f"{name}, {where}", seconds)
            kv.close()


def measure_probe() -> Iterator[Row]:
    """Measure a heartbeat's look that finds nothing new."""
    with tempfile.TemporaryDirectory() as folder:
        kv = SqliteKV(Path(folder) / "store.db")
        times = []
        for _ in range(LOOKS):
            began = time.perf_counter()
            found = find_news(kv, "main", {})
            times.append((time.perf_counter() - began) * 1e3)
            assert not found
        kv.close()
    cuts = statistics.quantiles(times, n=100)
    yield Row("a heartbeat finds nothing new, p50", cuts[49], "ms", PROBE_MS)
    yield Row("a heartbeat finds nothing new, p95", cuts[94], "ms", PROBE_MS)


def measure_far_storm() -> Iterator[Row]:
    """Measure how long it takes to queue ten thousand wakeups where each request to the store and
    the queue takes as long as in the cloud, beside the time that its client needs.
    """

    class FarKV(MemoryKV):
        """A store whose every request takes a while."""

        def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
            time.sleep(FAR_SECONDS)
            return [super(FarKV, self).get(key) for key in keys]

        def put(self, *given: Any, **options: Any) -> str:
            time.sleep(FAR_SECONDS)
            return super().put(*given, **options)

        def delete(self, *given: Any, **options: Any) -> None:
            time.sleep(FAR_SECONDS)
            super().delete(*given, **options)

    kv = FarKV()
    due = time.time() - 1.0
    queued: list[str] = []

    def put(event: Event) -> None:
        time.sleep(FAR_SECONDS)
        queued.append(event.id)

    with ThreadPoolExecutor(64) as pool:
        list(
            pool.map(
                lambda number: _add_work(kv, f"main.a{number}", number, due - PERIOD, due),
                range(AGENTS),
            )
        )
    began = time.monotonic()
    wake_agents(kv, put, "main", time.time(), hands=scheduler.HANDS)
    taken = time.monotonic() - began
    assert len(set(queued)) == AGENTS
    name = f"{AGENTS:,} wakeups at once, {FAR_SECONDS * 1e3:.0f} ms a request: all are queued"
    yield Row(name, taken, "s", MINUTE)


def _measure_minutes(
    kv: Any, stores: Stores, queue: StoreQueue, clock: _Steps, name: str, seconds: float
) -> Iterator[Row]:
    """Measure some minutes with a look each so many seconds, of which one a minute is a whole
    tick.
    """
    times: dict[bool, list[float]] = {True: [], False: []}
    queued = 0
    kv.reads = 0
    for number in range(round(MINUTES * MINUTE / seconds)):
        clock.now += seconds
        is_whole = not (number + 1) % round(MINUTE / seconds)
        look = scheduler.tick if is_whole else scheduler.wake
        began = time.process_time()
        queued += look(stores, queue, "main", clock).queued
        times[is_whole].append((time.process_time() - began) * 1e3)
    yield Row(f"{name}: reads a minute", kv.reads / MINUTES, "", READS_MOST)
    yield Row(f"{name}: requests to a model", queued, "", 0.0)
    if times[False]:
        yield Row(f"{name}: a look, CPU, p50", statistics.median(times[False]), "ms", TICK_MS)
    yield Row(f"{name}: a tick, CPU, p50", statistics.median(times[True]), "ms", TICK_MS)


@dataclass(slots=True)
class _Steps:
    """A clock that is moved."""

    now: float

    def __call__(self) -> float:
        return self.now


def measure_storms(model: str, ask: Ask) -> Iterator[Row]:
    """Measure chats while ten thousand agents are woken at once, and while as many people are
    reminded; the model at `model` tells how often it was asked.
    """
    with run_server("scripts.benchmarks.wakeups") as platform:
        for what in ("wakeups", "reminders"):
            yield from _measure_storm(what, model, platform, ask)


def _measure_storm(what: str, model: str, platform: str, ask: Ask) -> Iterator[Row]:
    with _open_runtime(model, platform) as runtime:
        kv = runtime.stores.kv
        due = time.time() + PERIOD
        if what == "wakeups":
            record = AgentRecord("agent", "enabled", 1.0, "bench")
            for number in range(AGENTS):
                add_agent(kv, "main", f"a{number}", record)
        workers = QueueWorkers(runtime)
        workers.start()
        ask(runtime, f"{what}-warm", 1.0)
        alone = ask(runtime, f"{what}-alone", STORM_SECONDS)
        asked = _count_asked(model)
        due = time.time() + 0.1
        for number in range(AGENTS):
            if what == "wakeups":
                _add_work(kv, f"main.a{number}", number, due - PERIOD, due)
            else:
                _add_reminder(kv, number, due)
        began = time.monotonic()
        queued: list[float] = []
        watcher = threading.Thread(target=_watch_marks, args=(runtime, due, began, queued))
        watcher.start()
        runtime.due.set()
        beside = ask(runtime, f"{what}-beside", STORM_SECONDS)
        left = sum(1 for _ in _scan_waiting(runtime, limit=1))
        ended_early = not left
        watcher.join()
        end = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < end and any(True for _ in _scan_waiting(runtime, limit=1)):
            time.sleep(0.5)
        drained = time.monotonic() - began
        time.sleep(1.0)
        workers.stop(10.0)
        if what == "wakeups":
            ended = sum(
                [run.outcome for run in Schedules(kv, f"main.a{number}").list_runs(_id(number))]
                == ["silent"]
                for number in range(AGENTS)
            )
            asked = _count_asked(model) - asked
        else:
            said = [message["chat_id"] for message in httpx.get(f"{platform}/messages").json()]
            ended = len(set(said))
            asked = len(said)
    note = "ended meanwhile" if ended_early else f"{drained:.0f} s until the last one"
    print(f"  {AGENTS:,} {what} at once: {note}, n = {len(beside)}", file=sys.stderr)
    name = f"{AGENTS:,} {what} at once"
    yield Row(f"{name}: all are queued", queued[0] if queued else float("inf"), "s", MINUTE)
    yield Row(f"{name}: came about", ended, "", AGENTS, at_least=True)
    yield Row(f"{name}: {'requests' if what == 'wakeups' else 'messages'}", asked, "", AGENTS)
    for cut_name, cut in (("p50", 49), ("p95", 94)):
        alone_ms, beside_ms = (statistics.quantiles(times, n=100)[cut] for times in (alone, beside))
        yield Row(f"{name}: chat alone, {cut_name}", alone_ms, "ms")
        yield Row(f"{name}: chat beside, {cut_name}", beside_ms, "ms")
        yield Row(f"{name}: later by, {cut_name}", beside_ms - alone_ms, "ms", LATER_MS)


@contextmanager
def _open_runtime(model: str, platform: str) -> Iterator[AgentRuntime]:
    """Open a runtime as `uncaged serve` does, with its own numbers of workers."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data=folder,
            library="none",
            runners=1,
            llm_url=model,
            llm_model="scripted",
            tokens_per_day=10**9,
            access="open",
            guest_turns=0,
            guest_tokens=0,
            member_turns=0,
            member_tokens=0,
            owners=("http:admin",),
            declared={
                "TELEGRAM_TOKEN": BotApi().token,
                "TELEGRAM_SECRET": SECRET,
                "TELEGRAM_API": platform,
            },
        )
        runtime = open_runtime(settings)
        try:
            yield runtime
        finally:
            runtime.close()


def _id(number: int) -> str:
    return f"{number:012x}"


def _add_work(kv: KV, agent: str, number: int, since: float, due: float) -> None:
    """Store what an agent does once an hour."""
    when = When(kind="every", every=PERIOD, zone="UTC")
    schedule = Schedule(
        id=_id(number),
        when=when,
        session="http:admin:storm",
        by="http:admin",
        since=since,
        due=due,
        text="[wakeup] look after things",
    )
    Schedules(kv, agent).write(None, schedule, moved=True)


def _add_heartbeat(kv: KV, agent: str, due: float) -> None:
    """Store a heartbeat that has found nothing for long."""
    beat = make_heartbeat(
        30 * MINUTE,
        session="http:admin:storm",
        by="http:admin",
        now=due - DELAY_MOST,
        zone="UTC",
        known={},
        texts=ENGLISH,
    )
    Schedules(kv, agent).write(None, replace(beat, delay=DELAY_MOST, due=due), moved=True)


def _add_reminder(kv: KV, number: int, due: float) -> None:
    """Store what somebody is reminded of once."""
    chat = f"telegram:{PEOPLE + number}"
    schedule = Schedule(
        id=_id(number),
        when=When(kind="at", at=due, zone="UTC"),
        session=chat,
        by=chat,
        since=due - PERIOD,
        due=due,
        say="drink water",
    )
    Schedules(kv, "main").write(None, schedule, moved=True)


def _watch_marks(runtime: AgentRuntime, due: float, began: float, queued: list[float]) -> None:
    """Note after how many seconds nothing is left in the index that was due."""
    partition = keys.due_wakeup("main", 0.0, "", "").partition
    last = keys.due_wakeup("main", due + 1.0, "", "").sort
    while time.monotonic() < began + DRAIN_SECONDS:
        found = runtime.stores.kv.scan(partition, limit=1)
        if not found or found[0][0] > last:
            queued.append(time.monotonic() - began)
            return
        time.sleep(0.05)


def _scan_waiting(runtime: AgentRuntime, limit: int) -> Iterator[str]:
    for index in (keys.READY, keys.READY_WORK):
        for name, _ in runtime.stores.kv.scan(index, limit=limit):
            yield name


def _count_asked(model: str) -> int:
    return int(httpx.get(f"{model}/count").json())


def measure_server() -> Iterator[Row]:
    """Measure how late the reminders of a running server are, and the prompt of its first run."""
    with (
        tempfile.TemporaryDirectory() as folder,
        _TimedBot() as bot,
        ScriptedModel([say("[SILENT]")]) as model,
        _serve(folder, bot, model) as url,
    ):
        with httpx.Client(
            base_url=url, headers={"x-telegram-bot-api-secret-token": SECRET}, timeout=60
        ) as client:
            for number in range(REMINDERS):
                words = f"/remind in {5 + number * 37 % 41} seconds water plant {number}"
                client.post("/webhook/telegram", json=_make_update(number, words))
                time.sleep(0.137)
        bot.wait_for_reminders()
        kv = SqliteKV(Path(folder) / "uncaged.db")
        late = sorted(
            bot.arrived[each.say] - each.last.due
            for each in Schedules(kv, "main").scan()
            if each.last and each.say in bot.arrived
        )
        print(
            f"  {len(late)} of {REMINDERS} reminders: late by {late[0]:.3f} to {late[-1]:.3f} s,"
            f" p50 {statistics.median(late):.3f}",
            file=sys.stderr,
        )
        yield Row("reminders of a server: said", len(late), "", REMINDERS, at_least=True)
        yield Row("reminders of a server: the latest", late[-1], "s", LATE_SECONDS)
        yield Row("reminders of a server: requests to the model", len(model.bodies), "", 0.0)
        when = When(kind="at", at=time.time() + 1.0, zone="UTC")
        asked = Schedule(
            id="",
            when=when,
            session=f"telegram:{PEOPLE}",
            by=f"telegram:{PEOPLE}",
            since=time.time(),
            text="look at the exchange rates and tell me what moved",
        )
        Schedules(kv, "main").add(asked)
        (body,) = (request.json() for request in model.wait_for(1, 60.0) if request.body)
        kv.close()
    characters = str([body["messages"], body.get("tools")])
    count = tokens.of_text(characters)
    yield Row("a run's prompt with an empty memory", count, "tok", PROMPT_TOKENS)


class _TimedBot(BotApi):
    """Notes when each reminder arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived: dict[str, float] = {}

    def answer(self, request: Recorded) -> Answer:
        now = time.time()
        answer = super().answer(request)
        if request.path.endswith("/sendMessage"):
            text = str(request.json()["text"])
            if text.startswith("water plant"):
                with self.changed:
                    self.arrived.setdefault(text, now)
                    self.changed.notify_all()
        return answer

    def wait_for_reminders(self) -> None:
        """Wait until all of them have arrived, or half a minute longer than they should take."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.arrived) >= REMINDERS, 90.0)


@contextmanager
def _serve(folder: str, bot: BotApi, model: ScriptedModel) -> Iterator[str]:
    """Run `uncaged serve` and yield its address."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": folder,
        "UNCAGED_DATA": folder,
        "UNCAGED_ACCESS": "open",
        "UNCAGED_LLM_URL": model.url,
        "UNCAGED_LLM_MODEL": "scripted",
        "TELEGRAM_TOKEN": bot.token,
        "TELEGRAM_SECRET": SECRET,
        "TELEGRAM_API": bot.url,
    }
    program = Path(sys.executable).with_name("uncaged")
    with subprocess.Popen(
        [program, "serve", "--port", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        url = f"http://127.0.0.1:{port}"
        try:
            end = time.monotonic() + 120.0
            while True:
                try:
                    httpx.get(f"{url}/health").raise_for_status()
                    break
                except httpx.HTTPError:
                    if server.poll() is not None or time.monotonic() > end:
                        raise RuntimeError("the server does not start") from None
                    time.sleep(0.2)
            yield url
        finally:
            server.terminate()


def _make_update(number: int, text: str) -> dict[str, object]:
    person = PEOPLE + number
    return {
        "update_id": number + 1,
        "message": {
            "message_id": number + 1,
            "date": int(time.time()),
            "from": {"id": person, "is_bot": False, "first_name": "Ada"},
            "chat": {"id": person, "type": "private"},
            "text": text,
        },
    }


def _serve_platform() -> None:
    from tests.fakes.server import json_answer

    class Platform(BotApi):
        """Tells what was sent."""

        def answer(self, request: Recorded) -> Answer:
            self.requests.clear()
            if request.path == "/messages":
                return json_answer(self.messages)
            return super().answer(request)

    with Platform() as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    _serve_platform()
