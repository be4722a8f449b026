"""Measures the CPU of importing the entry points in fresh interpreters, beside the frameworks that
they are built on.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scripts.benchmarks.rows import Row

RUNS: Final = 7
_TIMED: Final = (
    "import time; started = time.process_time(); import {}; print(time.process_time() - started)"
)
_HELP: Final = (
    "import sys, time; sys.argv = ['{0}', '--help']; from {1} import main\ntry: main()\nexcept"
    " SystemExit: pass\nprint(time.process_time())"
)


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds of CPU, the median of seven runs, with ours and the floor in turns."""
    ours, floor = [], []
    for turn in range(RUNS + 1):
        webhook = _run_program(_TIMED.format("functions.webhook"))
        framework = _run_program(_TIMED.format("starlette.applications"))
        if turn:  # the first one writes the byte code
            ours.append(webhook)
            floor.append(framework)
    yield Row(
        "import functions.webhook (floor: starlette.applications)",
        statistics.median(ours),
        "ms",
        floor=statistics.median(floor),
        ratio_target=1.3,
    )
    bare = statistics.median(
        _run_program("import time, typer; print(time.process_time())") for _ in range(RUNS)
    )
    for command, module, most in (
        ("sigil", "sigil.cli", 150.0),
        ("uncaged", "functions.cli", None),
    ):
        program = _HELP.format(command, module)
        spent = statistics.median(_run_program(program) for _ in range(RUNS))
        yield Row(f"{command} --help (floor: import typer)", spent, "ms", most, floor=bare)


def _run_program(program: str) -> float:
    """Run a program in a fresh interpreter; return the milliseconds of CPU that it reports."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1]) * 1e3
