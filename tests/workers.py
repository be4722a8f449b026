"""What the workers of one run share out, and what each tells the process that shows the results."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from tests.cpu_seconds import SHARED
from tests.servers.programs import ProgramForker

ROOT = Path(__file__).parents[1]
LONG_SECONDS = 0.5
"""What takes longer may be among the slowest that scripts/test names."""


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(_Worker(config), "worker")
    elif (
        config.args == ["tests"]
        and config.getoption("numprocesses", 0)
        and not config.getoption("record_cpu")  # what a file's commands cost is the file's
    ):
        config.pluginmanager.register(_Controller(config), "controller")


class _Controller:
    """Holds what all workers of a whole run use."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._forker: ProgramForker | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        self._forker = ProgramForker()
        self._forker.share()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._forker:
            before = sum(os.times()[2:4])
            self._forker.close()
            self._config.stash[SHARED] = sum(os.times()[2:4]) - before


class _Worker:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_collection(self) -> None:
        """Import the tests from another place on than the other workers do: in a fresh checkout,
        each compiles its part for all, where otherwise everybody would compile everything.
        """
        if self._config.args != ["tests"]:
            return
        files = sorted((ROOT / "tests").rglob("test_*.py"))
        number = int(self._config.workerinput["workerid"].removeprefix("gw"))
        first = len(files) * number // self._config.workerinput["workercount"]
        for file in files[first:] + files[:first]:
            with suppress(Exception):  # the collection tells what is wrong with it
                import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Send the reports that somebody reads: a test has three, and to send one costs as much as
        many a test. Of a test that passes, nothing is shown but that it did, and what took long.
        """
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if report.when == "call" or not report.passed or report.duration > LONG_SECONDS:
                item.ihook.pytest_runtest_logreport(report=report)
        return True
