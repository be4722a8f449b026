"""Orders the tests for the workers of one run: each begins with its part of the slow files.

A worker begins with a contiguous part of the tests, and one that has none left takes the last ones
of another. Were the slow ones at the end, everybody else would wait for those who run them.
"""

from __future__ import annotations

from itertools import chain, groupby

import pytest

SLOW = (
    "tests/deploy/",
    "tests/functions/agent/safety/test_machine.py",
    "tests/functions/channels/sdks/",
    "tests/functions/cli/upgrade/",
    "tests/project/",
    "tests/sigil/http/openapi/",
    "tests/sigil/sandbox/fuzz/",
    "tests/simulation/",
    "tests/stories/",
)
"""Where tests take seconds, most of which they wait."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = spread_slow(items, workers)


def spread_slow(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the tests in as many parts as there are workers, the slow files of each first."""
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    slow = [tests for tests in files if tests[0].nodeid.startswith(SLOW)]
    quick = (item for item in items if not item.nodeid.startswith(SLOW))
    least, more = divmod(len(items), workers)
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        part = list(chain.from_iterable(slow[worker::workers]))
        while len(part) < least + (worker < more) and (item := next(quick, None)):
            part.append(item)
        ordered.extend(part)
    return [*ordered, *quick]
