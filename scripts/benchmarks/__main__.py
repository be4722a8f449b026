"""Runs the benchmarks of this folder and prints one table each (`scripts/bench`).

A benchmark is a file with `run(data: Path | None) -> Iterable[Row]`; `data` is a file or a folder
of evaluation sets, for those that need one.
"""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from scripts.benchmarks.rows import HEAD, Row
from sigil.errors import UsageError

HELPERS = (
    "rows",
    "chats",
    "measuring",
    "evidence",
    "conversations",
    "year",
    "wakeups",
    "page_paint",
    "page_runs",
    "page_streams",
    "__main__",
)
ON_DEMAND = ("peers",)
"""Benchmarks that run only when they are named: they download what they compare with."""


def list_benchmarks() -> list[str]:
    """Return the names of all benchmarks."""
    return sorted(
        found.name
        for found in pkgutil.iter_modules([str(Path(__file__).parent)])
        if found.name not in HELPERS
    )


def main() -> int:
    """Run the command; return 1 when a target is missed."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=(
            "Run benchmarks. Each number is printed beside its floor: the cost of the same work"
            " without us, measured in the same run."
        ),
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=[*list_benchmarks(), "all"],
        default="all",
        help="the benchmark to run (default: all that download nothing)",
    )
    parser.add_argument(
        "path",
        nargs="?",
        type=Path,
        help="evaluation sets: a folder for the search, a file for the memory benchmark",
    )
    parser.add_argument("--data", type=Path, metavar="PATH", help="the same as the argument PATH")
    parser.add_argument("--json", action="store_true", help="print one JSON document, no tables")
    options = parser.parse_args()
    names = [options.name]
    if options.name == "all":
        names = [name for name in list_benchmarks() if name not in ON_DEMAND]
    results: dict[str, list[Row]] = {}
    try:
        for name in names:
            results[name] = []
            if not options.json:
                print(f"{name}\n{HEAD}", flush=True)
            module = import_module(f"scripts.benchmarks.{name}")
            for row in module.run(options.data or options.path):
                results[name].append(row)
                if not options.json:
                    print(row, flush=True)
            if not options.json:
                print(flush=True)
    except UsageError as problem:
        parser.error(". ".join(filter(None, (problem.message, problem.suggestion))))
    if options.json:
        document = {}
        for name, rows in results.items():
            document[name] = [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in rows]
        json.dump(document, sys.stdout)
        print()
    return 0 if all(row.met for rows in results.values() for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
