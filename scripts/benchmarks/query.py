"""Measures the first `sigil_query` of a process, with a library and with a thousand capabilities,
and a deploy's share in that.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from scripts.benchmarks.rows import Row
from scripts.benchmarks.search import (
    LIBRARY_CALLER,
    MODEL_CALLER,
    make_documents,
    make_package,
    open_registry_store,
)
from sigil.settings import Settings
from sigil.wiring import local_registry

SIZE: Final = 1_000
TIMES: Final = 5
QUERY: Final = "encode hello world in base64"
CHILD: Final = """
import sys, time
from dataclasses import replace
from sigil.protocol import Caller
from sigil.settings import Settings
from sigil.wiring import local_registry, open_stores
settings = replace(Settings(), data=sys.argv[1], library=sys.argv[2])
registry = local_registry(settings, open_stores(settings))
began = time.process_time()
registry.query(sys.argv[3], Caller("main", session="s", author="model"))
print((time.process_time() - began) * 1e3)
registry.close()
"""


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds of CPU."""
    with open_registry_store() as (settings, stores):
        with closing(local_registry(replace(settings, library="builtin"), stores)):
            pass
        spent = _time_first_query(settings, "builtin")
        yield Row("first query over the library, nothing kept yet", spent, "ms")
        spent = statistics.median(_time_first_query(settings, "builtin") for _ in range(TIMES))
        yield Row("first query of a process, library", spent, "ms")
    with open_registry_store() as (settings, stores):
        documents, queries = zip(*make_documents(SIZE), strict=True)
        with closing(local_registry(settings, stores)) as registry:
            started = time.process_time()
            for document in documents:
                registry.deploy_package(make_package(document), LIBRARY_CALLER)
            spent = (time.process_time() - started) / SIZE * 1e3
            yield Row(f"deploy, {SIZE:,} capabilities, each", spent, "ms")
        spent = _time_first_query(settings, "none", queries[0])
        yield Row(f"first query over {SIZE:,}, nothing kept yet", spent, "ms")
        spent = statistics.median(
            _time_first_query(settings, "none", queries[0]) for _ in range(TIMES)
        )
        yield Row(f"first query of a process, {SIZE:,} capabilities", spent, "ms", 60.0)
        with closing(local_registry(settings, stores)) as registry:
            cpu_times, wall_times = [], []
            for text in queries[:300]:
                cpu = time.process_time()
                wall = time.perf_counter()
                registry.query(text, MODEL_CALLER)
                cpu_times.append((time.process_time() - cpu) * 1e3)
                wall_times.append((time.perf_counter() - wall) * 1e3)
    yield Row("query, CPU p50", statistics.median(cpu_times), "ms", 2.0)
    yield Row("query, wall p50", statistics.median(wall_times), "ms")


def _time_first_query(settings: Settings, library: str, text: str = QUERY) -> float:
    """Return the milliseconds of the first query of a new process, without the process's start."""
    command = [sys.executable, "-c", CHILD, settings.data, library, text]
    return float(
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    )
