"""Stages each function of AWS Lambda in a folder of its own, and only when something changed
(`scripts/package --lambda [DIR]`).
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

from scripts.staging.contents import STAGES, Stage, StagingError
from scripts.staging.facts import Facts, StageMeasurer, digest_files
from scripts.staging.packages import Packages
from scripts.staging.stage import CompiledCode, list_inputs, make_stage

ROOT = Path(__file__).parents[2]
MOST = 60_000_000
"""The bytes, unzipped, that a function should stay below: a cold start reads them."""


def main() -> int:
    """Run the command; return 0, or 1 after an error and what to do."""
    parser = argparse.ArgumentParser(
        prog="scripts/package --lambda",
        description="Stage each function with what it needs and nothing else.",
    )
    parser.add_argument(
        "into",
        nargs="?",
        type=Path,
        default=ROOT / "build" / "lambda",
        help="the folder for the stages (default: build/lambda)",
    )
    parser.add_argument("--force", action="store_true", help="stage again what did not change, too")
    options = parser.parse_args()
    into = options.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    with (
        open(into.with_name(f"{into.name}.lock"), "w") as lock,
        tempfile.TemporaryDirectory() as temporary,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        inputs = digest_files(list_inputs(ROOT), ROOT)
        make = partial(
            make_stage,
            root=ROOT,
            packages=Packages(STAGES, ROOT, Path(temporary)),
            compiled=CompiledCode(Path(temporary)),
        )
        update = partial(_update_stage, into, inputs, StageMeasurer(), options.force, make)
        try:
            with ThreadPoolExecutor(2) as pool:  # most of the work is done by other processes
                facts = dict(zip(STAGES, pool.map(update, STAGES), strict=True))
        except StagingError as problem:
            print(f"error: {problem.args[0]}\nhelp: {problem.args[1]}", file=sys.stderr)
            return 1
    for stage, fact in facts.items():
        over = "" if fact.bytes <= MOST else f"   over {MOST / 1e6:.0f} MB"
        print(
            f"{stage.name:<10}{fact.bytes / 1e6:>7.1f} MB {fact.zipped / 1e6:>6.1f} MB zipped  "
            f" {fact.tree[:16]}{over}"
        )
    return 0


def _update_stage(
    into: Path,
    inputs: str,
    measurer: StageMeasurer,
    force: bool,
    make: Callable[..., None],
    stage: Stage,
) -> Facts:
    """Make a stage unless it is there and of the same `inputs`; return its facts."""
    folder = into / stage.name
    note = into / f"{stage.name}.json"
    if not force and folder.is_dir() and note.is_file():
        noted = json.loads(note.read_text(encoding="utf-8"))
        if noted.get("inputs") == inputs:
            return Facts(**noted)
    fresh = into / f".{stage.name}"
    shutil.rmtree(fresh, ignore_errors=True)
    make(stage=stage, folder=fresh)
    facts = measurer.measure(fresh, inputs)
    note.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    note.write_text(json.dumps(asdict(facts), indent=1) + "\n", encoding="utf-8")
    return facts


if __name__ == "__main__":
    sys.exit(main())
