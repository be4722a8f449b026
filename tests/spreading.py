"""Orders the tests for the workers of one run: each has its part of the slow files, between others.

A worker begins with a contiguous part of the tests, and one that has none left takes the last ones
of another. Were the slow ones at the end, everybody else would wait for those who run them; were
they all at the beginning, all would wait at once and the processors with them.
"""

from __future__ import annotations

from itertools import groupby, islice

import pytest

SLOW = (
    "tests/deploy/",
    "tests/functions/agent/safety/test_machine.py",
    "tests/functions/channels/sdks/",
    "tests/functions/cli/upgrade/",
    "tests/functions/queues/test_sqs.py",
    "tests/functions/test_local.py",
    "tests/project/",
    "tests/sigil/http/openapi/",
    "tests/sigil/sandbox/fuzz/",
    "tests/sigil/storage/kv/test_redis_faults.py",
    "tests/simulation/",
    "tests/stories/",
)
"""Where tests take seconds, most of which they wait."""
EARLY = 0.45
"""This share of a worker's quick tests stands between its slow files, and the rest behind them."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = spread_slow(items, workers)


def spread_slow(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the tests in as many parts as there are workers, the slow files of each in its first
    part, between quick ones; every second worker begins with a slow file.
    """
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    slow = [tests for tests in files if tests[0].nodeid.startswith(SLOW)]
    quick = (item for item in items if not item.nodeid.startswith(SLOW))
    least, more = divmod(len(items), workers)
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        own = slow[worker::workers]
        if worker % 2:
            own.reverse()  # files of one kind, which wait alike, are neighbours
        count = max(least + (worker < more) - sum(map(len, own)), 0)
        between = int(count * EARLY) // max(len(own), 1)
        part: list[pytest.Item] = []
        for tests in own:
            others = list(islice(quick, between))
            part += [*tests, *others] if worker % 2 == 0 else [*others, *tests]
        part += islice(quick, count - between * len(own))
        ordered += part
    return [*ordered, *quick]
