"""Measures the memory of an idle `uncaged serve`, beside the bare web framework, and the cost of an
agent's own memory after a year.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import httpx

from functions.settings import Settings
from functions.wiring import open_runtime
from scripts.benchmarks import evidence, year
from scripts.benchmarks.measuring import read_resident_memory
from scripts.benchmarks.rows import Row

_BARE: Final = "import fastapi, uvicorn; fastapi.FastAPI(); print('ready', flush=True); input()"
_SERVE: Final = "from functions.cli import main; main()"
_LISTENS: Final = re.compile(r"listens on (http://\S+)")


def run(data: Path | None) -> Iterator[Row]:
    """Measure in MiB resident: the server's own process after one /health, without its runners, at
    the first start and at the second. Then measure the last week of a year of chat, 10,000 messages,
    and turn by turn beside it the only week of another chat.

    `data`: conversations for `evidence`.
    """
    if data:
        yield from evidence.run(data)
    with subprocess.Popen(
        [sys.executable, "-c", _BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as framework:
        assert framework.stdout is not None
        framework.stdout.readline()
        floor = read_resident_memory(framework.pid)
        framework.kill()
    with tempfile.TemporaryDirectory() as folder:
        yield Row(
            "uncaged serve, first start (fills the registry)",
            _measure_server(folder),
            "MiB",
            120.0,
            floor=floor,
        )
        yield Row("uncaged serve, later starts", _measure_server(folder), "MiB", 120.0, floor=floor)
    model = year.YearModel()
    with tempfile.TemporaryDirectory() as folder:
        runtime = open_runtime(Settings(data=folder, library="none", runners=1))
        old = year.chat(runtime.app, year.MESSAGES // 2, model)
        deque(islice(old, year.MESSAGES // 2 - year.WEEK), maxlen=0)
        young = year.chat(runtime.app, year.WEEK, year.YearModel(), "terminal:week")
        first, last = map(year.summarize_week, zip(*zip(young, old, strict=True), strict=True))
        runtime.close()
    yield Row(
        "prompt, last week of a year beside a first week",
        last.prompt,
        "tok",
        floor=first.prompt,
        ratio_target=1.3,
    )
    yield Row("turn, CPU", last.cpu, "ms", floor=first.cpu, ratio_target=1.3)
    yield Row(
        "session document", last.size / 1024, "KiB", floor=first.size / 1024, ratio_target=1.3
    )
    yield Row(
        "a fact of the first day is known",
        float(year.FIRST in model.system),
        "",
        1.0,
        at_least=True,
    )


def _measure_server(folder: str) -> float:
    """Start `uncaged serve` and ask it once; return the MiB that it has resident then."""
    command = [sys.executable, "-c", _SERVE, "serve", "--port", "0"]
    environment = {
        **os.environ,
        "UNCAGED_DATA": folder,
        "UNCAGED_STORE": "",
        "UNCAGED_LIBRARY": "builtin",
    }
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        url = next(found[1] for line in process.stderr if (found := _LISTENS.search(line)))
        httpx.get(f"{url}/health").raise_for_status()
        resident = read_resident_memory(process.pid)
        process.terminate()
        process.stderr.read()
    return resident
