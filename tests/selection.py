"""Which tests run: the suite, or with `CHECK_ALL` in the environment (scripts/check-all) everything.

What is dear and seldom proves anything new stands behind one of these, so that the suite keeps to
six minutes: a test, a file or a row with `@pytest.mark.thorough` runs in scripts/check-all alone,
and a test that walks many points, kills or inputs walks a `sample` of them in the suite. Of random
inputs, the suite tries half of the `examples`, the same in each run: a change is not red for what
it does not touch. scripts/fuzz --rules tries others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

from tests.machine import times

T = TypeVar("T")
UI = "ui"
"""The mark of tests in a browser."""


def in_full() -> bool:
    """Return whether everything runs, as in scripts/check-all."""
    return "CHECK_ALL" in os.environ


def sample(rows: Sequence[T], count: int) -> list[T]:
    """Return `count` of the rows, spread evenly from the first to the last; all of them when
    everything runs.
    """
    if in_full() or len(rows) <= count:
        return list(rows)
    return [rows[number * (len(rows) - 1) // max(count - 1, 1)] for number in range(count)]


def examples(count: int) -> int:
    """Return how many random inputs a test tries: `count` when everything runs, else half of them;
    `THOROUGH` in the environment multiplies both.
    """
    return times(count if in_full() else (count + 1) // 2)


def thorough(*values: object) -> list[ParameterSet]:
    """Return the values as rows of a table that scripts/check-all alone runs:
    `parametrize("store", ["sqlite", *thorough("redis", "dynamodb")])`.
    """
    return [pytest.param(value, marks=pytest.mark.thorough) for value in values]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: scripts/check-all alone runs it")
    is_fixed = "CI" in os.environ or not in_full()
    settings.register_profile(
        "suite",
        settings.default,
        deadline=None,  # how long an example takes depends on what else this machine does
        max_examples=examples(50),
        derandomize=is_fixed,
        database=None if is_fixed else settings.default.database,
    )
    settings.load_profile("suite")
    config.addinivalue_line("markers", f"{UI}: needs Chromium; scripts/test ui alone runs it")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not _is_chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_chosen(item)]


def _is_chosen(item: pytest.Item) -> bool:
    """Return whether a test runs: those in a browser by themselves alone, those of a thorough check
    only with all others.
    """
    if item.get_closest_marker(UI):
        return "UI" in os.environ
    return in_full() or not item.get_closest_marker("thorough")
