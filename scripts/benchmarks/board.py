"""Measures the board of tasks: who gets one when many want it, and what a claim costs on a full one.

The store of the race is memory, that of the full board SQLite. The floor is one write alone. The
read units are those of DynamoDB, counted from the bytes that a claim reads.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Final

from functions.agent.team.board import OPEN_MOST, Board, Claimer, NewTask
from scripts.benchmarks.measuring import median_call
from scripts.benchmarks.rows import Row
from sigil.errors import Refused, UsageError
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV

ROOT: Final = "main"
CLAIMS: Final = 20_000
MEMBERS: Final = 8
TIMED: Final = 100
DESCRIPTION: Final = "What is to be done, and how it will be seen that it is. " * 4
UNIT_BYTES: Final = 4_096
"""A strongly consistent read unit of DynamoDB is so many bytes, of all items of a query together."""
TARGET_MS: Final = 5.0
TARGET_UNITS: Final = 150.0


def run(data: Path | None) -> Iterator[Row]:
    """Yield the claims that had not exactly one winner, and the cost of one."""
    yield _race()
    with tempfile.TemporaryDirectory() as folder:
        kv = SqliteKV(Path(folder) / "store.db")
        board = _fill(kv, OPEN_MOST)
        items = kv.scan(keys.task(ROOT, 1).partition, limit=OPEN_MOST)
        units = sum(len(item.value) + len(sort) for sort, item in items) / UNIT_BYTES
        taken: list[float] = []
        for number in range(TIMED):
            began = time.perf_counter()
            task = board.claim_next(Claimer(member=f"m{number}", source="auto", key=str(number)))
            taken.append((time.perf_counter() - began) * 1e3)
            assert task is not None
        value = items[0][1].value
        floor = median_call(lambda: kv.put(Key("floor", "f"), value), TIMED)
        yield Row(f"a claim on a board of {OPEN_MOST}", median(taken), "ms", TARGET_MS, floor=floor)
        yield Row(f"read units of a claim of {OPEN_MOST}", units, "RCU", TARGET_UNITS)
        kv.close()


def _fill(kv: KV, tasks: int) -> Board:
    board = Board(kv, ROOT, time.time)
    for number in range(tasks):
        board.add(NewTask(subject=f"task {number}", description=DESCRIPTION))
    return board


def _race() -> Row:
    """Let members claim the same tasks, and return how many of them had no winner or several."""
    tasks = CLAIMS // MEMBERS
    numbers = range(1, tasks + 1)
    lost = 0
    with ThreadPoolExecutor(MEMBERS) as pool:
        for start in range(0, tasks, OPEN_MOST):
            board = _fill(MemoryKV(), min(OPEN_MOST, tasks - start))
            count = min(OPEN_MOST, tasks - start)

            def claim_all(member: int, board: Board = board, count: int = count) -> list[int]:
                return [number for number in numbers[:count] if _claim(board, number, f"m{member}")]

            wins = Counter(number for won in pool.map(claim_all, range(MEMBERS)) for number in won)
            lost += sum(wins[number] != 1 for number in numbers[:count])
    return Row(f"tasks of {CLAIMS:,} claims without one winner", float(lost), "", 0.0)


def _claim(board: Board, number: int, member: str) -> bool:
    try:
        board.claim(number, Claimer(member=member, key=member))
    except (Refused, UsageError):
        return False
    return True
