"""What the suite costs in CPU seconds: the test processes, the commands and the servers that they start.

Each run of all tests ends with its sum. `scripts/test --record` keeps what each file costs in
tests/data/cpu_seconds.json, and tests/project/test_suite.py compares the sum with the budget, so
that a change which makes the suite dearer shows in its diff. What all files of a process share, as the
stocked store or the program that forks commands, is no file's cost: it would be that of whichever
file comes first, and of each file that is recorded alone.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("data") / "cpu_seconds.json"
BUDGET = 561.0
"""CPU seconds of all files on an idle machine: with what the run itself costs, and with waiting, two
cores finish in about six minutes.
"""
SHARED = pytest.StashKey[float]()
"""What the programs took that all workers use."""
_TICKS = os.sysconf("SC_CLK_TCK")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-cpu",
        action="store_true",
        help="keep the CPU seconds of each file that runs in tests/data/cpu_seconds.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Costs(config), "cpu-seconds")


class _Costs:
    """The CPU seconds of this process's tests by file, and in the controller those of all."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._records = bool(config.getoption("--record-cpu"))
        self._by_file: Counter[str] = Counter()
        self._before: float | None = None
        self._sharing = False
        self._shared = 0.0
        self._total = 0.0
        self._total_of_workers = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        if not self._records:
            return (yield)
        if self._before is None:
            self._before = spent_seconds() - self._shared
        result = yield
        # to look at all processes takes longer than many a test, so it is done once a row of tests
        if nextitem is None or nextitem.path != item.path:
            after = spent_seconds() - self._shared
            self._by_file[item.nodeid.partition("::")[0]] += after - self._before
            self._before = None
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object]
    ) -> Generator[None, object, object]:
        """Count what fixtures cost that every test may use, and that are set up once a process."""
        is_shared = fixturedef.scope == "session" and fixturedef.baseid == "tests"
        if not self._records or not is_shared or self._sharing:
            return (yield)
        self._sharing = True
        before = spent_seconds()
        try:
            return (yield)
        finally:
            self._shared += spent_seconds() - before
            self._sharing = False

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        # the controller's children are the workers, which say themselves what they spent
        own = os.times()
        self._total += own.user + own.system
        if not self._total_of_workers:
            self._total += own.children_user + own.children_system
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["cpu_seconds"] = self._total
            self._config.workeroutput["cpu_by_file"] = dict(self._by_file)
        elif self._records:
            write_record(self._by_file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        output = getattr(node, "workeroutput", {})
        self._total_of_workers += output.get("cpu_seconds", 0.0)
        self._by_file.update(output.get("cpu_by_file", {}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if hasattr(self._config, "workerinput"):
            return
        if self._records:
            terminalreporter.write_line(
                f"recorded for {len(self._by_file)} files: {sum(self._by_file.values()):.0f} CPU"
                f" seconds; all files together: {sum(read_record().values()):.0f} of {BUDGET:.0f}"
            )
        if self._config.args == ["tests"] and not self._config.getoption("keyword"):
            spent = self._total + self._total_of_workers + self._config.stash.get(SHARED, 0.0)
            terminalreporter.write_line(
                f"the suite cost {spent:.0f} CPU seconds; the files may cost {BUDGET:.0f} on an idle"
                " machine, which finds and starts them for some more"
            )


def spent_seconds() -> float:
    """Return the CPU seconds of this process, of its children that ended, and of all processes
    below it that run.
    """
    return sum(os.times()[:4]) + sum(_running_below(os.getpid()))


def _running_below(pid: int) -> Generator[float]:
    """Yield the CPU seconds of every process below one, with their own children that ended."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:  # the thread has ended
            continue
        for child in children:
            try:
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended; its time is in its parent's sum
                continue
            yield sum(map(int, fields[11:15])) / _TICKS
            yield from _running_below(int(child))


def read_record() -> dict[str, float]:
    """Return the CPU seconds of each file of tests, as they were recorded."""
    found: dict[str, float] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def write_record(by_file: Counter[str]) -> None:
    """Keep what the files cost that ran; the others keep their figures, those that are gone lose
    theirs.
    """
    known = read_record() if RECORD.is_file() else {}
    costs = {**known, **{name: round(seconds, 1) for name, seconds in by_file.items()}}
    there = {name: costs[name] for name in sorted(costs) if (ROOT / name).is_file()}
    RECORD.write_text(json.dumps(there, indent=1) + "\n", encoding="utf-8")
