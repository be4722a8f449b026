"""The tests are spread over the workers of a run, and none is lost."""

from __future__ import annotations

from itertools import groupby
from types import SimpleNamespace
from typing import Any

import pytest

from tests.spreading import spread_slow


@pytest.mark.parametrize("workers", [2, 3, 4, 50])
def test_each_worker_has_slow_files_early_between_others_and_no_test_is_lost(workers: int) -> None:
    names = [f"tests/{kind}/test_{file}.py" for kind in ("a", "stories", "z") for file in range(12)]
    items: list[Any] = [
        SimpleNamespace(path=name, nodeid=f"{name}::test_{number}")
        for name in names
        for number in range(7)
    ]
    ordered = spread_slow(items, workers)

    assert sorted(item.nodeid for item in ordered) == sorted(item.nodeid for item in items)
    files = [path for path, _ in groupby(ordered, lambda item: item.path)]
    slow = [path for path in files if "stories" in str(path)]
    assert len(slow) == len(set(slow)), "a slow file stays with one worker"
    if workers == 4:
        parts = [ordered[part * len(items) // workers :] for part in range(workers)]
        starts = ["stories" in str(part[0].path) for part in parts]
        assert starts == [True, False, True, False]
        last = max(place for place, item in enumerate(parts[0][:63]) if "stories" in item.nodeid)
        assert last < 0.95 * 63, "nobody waits at the end for a slow file"
