"""`scripts/bench`: runs the benchmarks of this folder, one table each.

A benchmark is a file with `run(data: Path | None) -> Iterable[Row]`; `data` is a file or a folder
of evaluation sets, for those that want one.
"""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from scripts.benchmarks.rows import HEAD, Row
from sigil.errors import UsageError

HELPERS = ("rows", "elsewhere", "evidence", "talks", "year", "__main__")
ON_DEMAND = ("peers",)
"""Run only when they are named: they fetch what they compare with."""


def names() -> list[str]:
    """The benchmarks there are."""
    return sorted(
        found.name
        for found in pkgutil.iter_modules([str(Path(__file__).parent)])
        if found.name not in HELPERS
    )


def usual() -> list[str]:
    """Those that `all` means."""
    return [name for name in names() if name not in ON_DEMAND]


def measure(name: str, data: Path | None) -> Iterable[Row]:
    """The rows of one benchmark, each as soon as it is known."""
    rows: Iterable[Row] = import_module(f"scripts.benchmarks.{name}").run(data)
    return rows


def main() -> int:
    """1 when a target is missed."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measure, each number beside the floor of the same run."
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=[*names(), "all"],
        default="all",
        help="which benchmark (default: all of them)",
    )
    parser.add_argument(
        "path", nargs="?", type=Path, help="evaluation sets: a folder for search, a file for memory"
    )
    parser.add_argument("--data", type=Path, metavar="PATH", help="another way to give path")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    given = parser.parse_args()
    path = given.data or given.path
    try:
        results = {
            name: _shown(name, path, not given.json)
            for name in (usual() if given.name == "all" else [given.name])
        }
    except UsageError as problem:
        parser.error(". ".join(filter(None, (problem.message, problem.suggestion))))
    if given.json:
        json.dump(
            {
                name: [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in rows]
                for name, rows in results.items()
            },
            sys.stdout,
        )
        print()
    return 0 if all(row.met for rows in results.values() for row in rows) else 1


def _shown(name: str, data: Path | None, aloud: bool) -> list[Row]:
    rows = []
    if aloud:
        print(f"{name}\n{HEAD}", flush=True)
    for row in measure(name, data):
        rows.append(row)
        if aloud:
            print(row, flush=True)
    if aloud:
        print(flush=True)
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
