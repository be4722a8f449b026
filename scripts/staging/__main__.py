"""`scripts/package --lambda [DIR]`: a folder for each function in DIR (build/lambda), made again
only when something changed.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from scripts.staging.contents import STAGES, Stage
from scripts.staging.facts import Facts, Scales, digest
from scripts.staging.stage import inputs, make
from scripts.staging.trouble import StagingError

ROOT = Path(__file__).parents[2]
MOST = 60_000_000
"""Bytes, unzipped, that a function should stay below: a cold start reads them."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/package --lambda",
        description="Stage what each function needs and nothing else.",
    )
    parser.add_argument(
        "into",
        nargs="?",
        type=Path,
        default=ROOT / "build" / "lambda",
        help="the folder (default: build/lambda)",
    )
    parser.add_argument("--force", action="store_true", help="make everything again")
    given = parser.parse_args()
    into = given.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    with _alone(into):
        wanted, scales = digest(inputs(ROOT), ROOT), Scales()
        try:
            with ThreadPoolExecutor(2) as pool:  # most of the work is done by other processes
                made = pool.map(
                    lambda stage: _made(stage, into, wanted, scales, force=given.force), STAGES
                )
                facts = {stage.name: fact for stage, fact in zip(STAGES, made, strict=True)}
        except StagingError as problem:
            print(f"error: {problem.args[0]}\nhelp: {problem.args[1]}", file=sys.stderr)
            return 1
    for name, fact in facts.items():
        over = "" if fact.bytes <= MOST else f"   over {MOST / 1e6:.0f} MB"
        print(
            f"{name:<10}{fact.bytes / 1e6:>7.1f} MB {fact.zipped / 1e6:>6.1f} MB zipped  "
            f" {fact.tree[:16]}{over}"
        )
    return 0


def _made(stage: Stage, into: Path, wanted: str, scales: Scales, *, force: bool) -> Facts:
    """The facts about a stage, which is made when it is not what its inputs make."""
    folder, note = into / stage.name, into / f"{stage.name}.json"
    if not force and folder.is_dir() and note.is_file():
        told = json.loads(note.read_text(encoding="utf-8"))
        if told.get("inputs") == wanted:
            return Facts(**told)
    fresh = into / f".{stage.name}"
    shutil.rmtree(fresh, ignore_errors=True)
    make(stage, ROOT, fresh)
    facts = scales.weigh(fresh, wanted)
    note.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    note.write_text(json.dumps(asdict(facts), indent=1) + "\n", encoding="utf-8")
    return facts


@contextmanager
def _alone(into: Path) -> Iterator[None]:
    with open(into.with_name(f"{into.name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
