"""From a cold start to the first answer: the packaged functions under Lambda's runtime interface,
beside a function that does nothing.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from scripts.benchmarks.rows import Row
from tests.deploy import requests
from tests.deploy.runtime import Deployment, cloud, stages
from tests.servers.lambda_runtime import LambdaFunction
from tests.servers.ministack import Ministack

RUNS: Final = 5
WARM: Final = 20
_NOTHING: Final = "def handler(event, context): return {}\n"


def run(data: Path | None) -> Iterator[Row]:
    """Milliseconds, medians. Every cold start has an empty folder for what it may keep; the store
    is an emulated AWS, and warm.
    """
    with Ministack() as server, ExitStack() as stack, tempfile.TemporaryDirectory() as place:
        os.environ.update(server.environment)
        store = cloud(server)
        floor = statistics.median(_nothing(Path(place)) for _ in range(RUNS))
        yield Row("a function that does nothing", floor, "ms")
        _deployed(stack, store).function("worker").invoke(
            requests.request("worker")
        )  # the library is deployed by the first of all starts
        for name in ("webhook", "worker", "scheduler", "registry"):
            taken = [
                _first_and_next(_deployed(stack, store), name, number) for number in range(RUNS)
            ]
            cold, cpu, warm = (statistics.median(each) for each in zip(*taken, strict=True))
            yield Row(f"{name}, cold start to first answer", cold, "ms", floor=floor)
            yield Row(f"{name}, CPU of the function until then", cpu, "ms")
            yield Row(f"{name}, warm", warm, "ms")


def _deployed(stack: ExitStack, store: dict[str, str]) -> Deployment:
    made = Deployment(
        Path(stack.enter_context(tempfile.TemporaryDirectory())), store, stages(), stack
    )
    stack.enter_context(made.platform)
    return made


def _first_and_next(deployed: Deployment, name: str, number: int) -> tuple[float, float, float]:
    """The first call of a function, the CPU that it took, and the median of the calls that follow;
    each has an event of its own.
    """
    function = deployed.function(name)
    first = function.invoke(_event(name, 1000 * number))
    cpu = _cpu(function.process())
    after = [function.invoke(_event(name, 1000 * number + turn)) for turn in range(1, WARM + 1)]
    function.stop()
    assert not [answer.payload for answer in (first, *after) if answer.failed]
    return first.seconds * 1e3, cpu, statistics.median(answer.seconds for answer in after) * 1e3


def _cpu(pid: int) -> float:
    """Return the seconds that a process has used so far, in user and kernel mode; proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") * 1e3


def _event(name: str, number: int) -> dict[str, Any]:
    match name:
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


def _nothing(folder: Path) -> float:
    (folder / "nothing.py").write_text(_NOTHING)
    with LambdaFunction("nothing.handler", {}, folder, sources=(folder,)) as function:
        return function.invoke({}).seconds * 1e3
