"""Measures what the benchmarks have in common: the time of a call, the memory of a process, a server
beside us.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

Work = Callable[[], object]
Clock = Callable[[], float]


def time_call(work: Work, clock: Clock = time.perf_counter) -> float:
    """Return the milliseconds of one call of `work`, by `clock` (wall time by default)."""
    started = clock()
    work()
    return (clock() - started) * 1e3


def median_call(work: Work, calls: int, clock: Clock = time.perf_counter) -> float:
    """Return the median of so many calls of `work`, in milliseconds."""
    return statistics.median(time_call(work, clock) for _ in range(calls))


def compare_calls(
    work: Work, floor: Work, rounds: int, calls: int, clock: Clock = time.perf_counter
) -> tuple[float, float]:
    """Return the microseconds of a call of `work` and of `floor`, which take turns: of each the
    median of its best round.
    """
    ours, least = [], []
    for _ in range(rounds):
        ours.append(median_call(work, calls, clock))
        least.append(median_call(floor, calls, clock))
    return min(ours) * 1e3, min(least) * 1e3


def read_resident_memory(pid: int) -> float:
    """Return the MiB of memory that a process has resident."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


@contextmanager
def run_server(module: str) -> Iterator[str]:
    """Run `module` as a program in a process of its own, whose work is not counted as ours; yield the
    address that it prints first.
    """
    with subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
