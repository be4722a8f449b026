"""Threads that tests start together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def in_parallel(count: int, work: Callable[[int], Any]) -> list[Any]:
    """What `work(0)` … `work(count - 1)` return or raise, started together."""
    start, results = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = work(number)
        except BaseException as problem:  # handed to the test
            results[number] = problem  # type: ignore[call-overload]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
