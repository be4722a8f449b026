"""Measures what importing the entry points costs: CPU in fresh interpreters, beside the frameworks
that they stand on.
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
    """Milliseconds of CPU, the median of seven, ours and the floor in turns."""
    ours, floor = [], []
    for turn in range(RUNS + 1):
        pair = (
            _milliseconds(_TIMED.format("functions.webhook")),
            _milliseconds(_TIMED.format("fastapi, mangum")),
        )
        if turn:  # the first one writes the byte code
            ours.append(pair[0])
            floor.append(pair[1])
    yield Row(
        "import functions.webhook",
        statistics.median(ours),
        "ms",
        floor=statistics.median(floor),
        ratio_target=1.15,
    )
    bare = statistics.median(
        _milliseconds("import time, typer; print(time.process_time())") for _ in range(RUNS)
    )
    for command, module, most in (
        ("sigil", "sigil.cli", 150.0),
        ("uncaged", "functions.cli", None),
    ):
        shown = statistics.median(_milliseconds(_HELP.format(command, module)) for _ in range(RUNS))
        yield Row(f"{command} --help (floor: import typer)", shown, "ms", most, floor=bare)


def _milliseconds(program: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1]) * 1e3
