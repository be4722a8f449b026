"""Measures the time from a cold start to the first answer of the packaged functions under Lambda's
runtime interface, beside a function that does nothing, and how soon a teammate that is idle is at
work.

Lambda's runtime interface is AWS's own emulator, DynamoDB and SQS are ministack, and a loop stands
for the poller of the queue: what AWS adds on the way from SQS to a function is not in it.
"""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from functions.agent.team.board import Board
from scripts.benchmarks.rows import Row
from scripts.benchmarks.team import TimedModel, add_member, add_tasks
from tests.deploy import requests
from tests.deploy.runtime import Deployment, Packages, cloud
from tests.deploy.template import template
from tests.functions.queues.invoked import Source
from tests.servers.lambda_runtime import LambdaFunction
from tests.servers.ministack import Ministack

RUNS: Final = 5
WARM: Final = 20
AT_WORK_MS: Final = 3_000.0
ANSWER_MS: Final = 2_000.0
"""LINE waits so long for an answer, the shortest time of all platforms."""
PROCESSOR_MB: Final = 1_769
"""Lambda gives a function of so many MB a whole processor, and a smaller one its part of it."""
PERIOD_SECONDS: Final = 0.02
_EMPTY_FUNCTION: Final = "def handler(event, context): return {}\n"


def run(data: Path | None) -> Iterator[Row]:
    """Measure medians in milliseconds. Every cold start has an empty folder for its cache; the store is
    an emulated AWS, and warm.
    """
    with Ministack() as server, ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        os.environ.update(server.environment)
        os.environ["CHECK_ALL"] = "1"  # AWS's own emulator and the packages as they are deployed
        store = cloud(server)
        (Path(folder) / "nothing.py").write_text(_EMPTY_FUNCTION)
        floors = []
        for _ in range(RUNS):
            with LambdaFunction(
                "nothing.handler", {}, Path(folder), sources=(Path(folder),)
            ) as function:
                floors.append(function.invoke({}).seconds * 1e3)
        floor = statistics.median(floors)
        yield Row("a function that does nothing", floor, "ms")
        # The very first start deploys the library, so it is not measured.
        _deploy(stack, store).function("worker").invoke(requests.request("worker"))
        for name in ("webhook", "worker", "scheduler", "admin", "registry"):
            starts = [_time_start(_deploy(stack, store), name, number) for number in range(RUNS)]
            cold, cpu, warm = (statistics.median(each) for each in zip(*starts, strict=True))
            yield Row(f"{name}, cold start to first answer", cold, "ms", floor=floor)
            yield Row(f"{name}, CPU of the function until then", cpu, "ms")
            yield Row(f"{name}, warm", warm, "ms")
        share = template()["Parameters"]["WebhookMemory"]["Default"] / PROCESSOR_MB
        shared = [_time_share(_deploy(stack, store), number, share) for number in range(RUNS)]
        label = f"webhook, cold start to first answer, {share:.0%} of a processor"
        yield Row(label, statistics.median(shared), "ms", ANSWER_MS)
        yield from _time_team(stack, store)


def _deploy(stack: ExitStack, store: dict[str, str]) -> Deployment:
    """Deploy the functions with an empty cache folder, until `stack` ends."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    deployment = Deployment(folder, store, Packages(folder, folder / "compiled"), stack)
    stack.enter_context(deployment.platform)
    return deployment


def _time_start(deployment: Deployment, name: str, number: int) -> tuple[float, float, float]:
    """Return the milliseconds of a function's first call, the CPU until then, and the median of the
    calls that follow; each has an event of its own.
    """
    function = deployment.function(name)
    first = function.invoke(_make_event(name, 1000 * number))
    fields = Path(f"/proc/{function.process()}/stat").read_text().rpartition(")")[2].split()
    # in user and in kernel mode, see proc(5)
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e3
    after = []
    for turn in range(1, WARM + 1):
        after.append(function.invoke(_make_event(name, 1000 * number + turn)))
    function.stop()
    assert not [answer.payload for answer in (first, *after) if answer.failed]
    return first.seconds * 1e3, cpu, statistics.median(answer.seconds for answer in after) * 1e3


def _time_share(deployment: Deployment, number: int, share: float) -> float:
    """Return the milliseconds of the webhook's first call with a part of a processor, from the
    start of its process on. Lambda itself lets a function start with more.
    """
    function = deployment.function("webhook")
    with _hold_to_share(function, share):
        answer = function.invoke(_make_event("webhook", 1000 * number))
    function.stop()
    assert not answer.failed, answer.payload
    return answer.seconds * 1e3


@contextmanager
def _hold_to_share(function: LambdaFunction, share: float) -> Iterator[None]:
    """Let a function run for its part of each period only."""
    ended = threading.Event()

    def hold() -> None:
        while not ended.wait(PERIOD_SECONDS * share):
            process = function.process()
            if not process:
                continue
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGSTOP)
                ended.wait(PERIOD_SECONDS * (1 - share))
                os.kill(process, signal.SIGCONT)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        yield
    finally:
        ended.set()
        holder.join()


def _time_team(stack: ExitStack, store: dict[str, str]) -> Iterator[Row]:
    """Measure from a task that is put on the board to the first request to the model: the first
    one finds no worker that runs, those that follow a warm one.

    On the way there are two events and two calls of the worker: one claims, one works.
    """
    model = stack.enter_context(TimedModel())
    deployment = _deploy(stack, store)
    runtime = deployment.runtime()
    add_member(runtime, "alice")
    board = Board(runtime.stores.kv, runtime.app.root, time.time)
    address = store["UNCAGED_WORK_QUEUE"].removeprefix("sqs://")
    source = Source(address, store["AWS_ENDPOINT_URL"])
    worker = deployment.function(
        "worker", UNCAGED_LLM_URL=model.url, UNCAGED_LIBRARY="none", UNCAGED_HP="0"
    )
    taken = []
    for number in range(1 + WARM):
        began = time.perf_counter()
        add_tasks(runtime, board, f"task {number}", 1)
        while board.has_open():
            event = source.receive()
            if event["Records"]:
                answer = worker.invoke(event)
                assert not answer.failed, answer.payload
                source.delete(event)
        taken.append((model.asked.get(timeout=20) - began) * 1e3)
    cold, *warm = taken
    yield Row("idle until at work, cold worker", cold, "ms", AT_WORK_MS)
    yield Row("idle until at work, warm worker", statistics.median(warm), "ms", AT_WORK_MS)
    worker.stop()


def _make_event(name: str, number: int) -> dict[str, object]:
    match name:
        case "admin":
            return requests.request("admin_status")
        case "webhook":
            return requests.webhook(requests.update(number, "hello", chat=number))
        case "worker":
            return requests.batch(
                requests.happened(number, "encode hello world in base64", chat=number)
            )
        case "scheduler":
            return requests.request("scheduler")
        case _:
            return requests.request("registry_run")
