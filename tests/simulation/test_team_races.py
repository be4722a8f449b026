"""Many workers race for the tasks of a board: each claim has one winner, whatever else claims."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import time

from functions.agent.team.board import Board, Claimer, NewTask
from sigil.errors import Refused
from tests.machine import times
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]
PROCESSES = 4
THREADS = 8
TASKS = {"memory": 20, "sqlite": 20, "redis": 20, "dynamodb": 3}
"""So many tasks each of 32 workers claims: 2,016 claims in all, and ten times as many in a thorough
run.
"""


def claim_all(place: Place, process: int, tasks: int, results: Path) -> None:
    """Let threads claim every task, and write down which they got."""

    def claim(thread: int) -> list[int]:
        board = Board(place.open(), "main", time)
        name = f"w{process}-{thread}"
        won = []
        # each begins at another place, and half of them from the end
        order = [1 + (number + thread * 7) % tasks for number in range(tasks)]
        for number in order if thread % 2 else reversed(order):
            try:
                task = board.claim(number, Claimer(member=name, generation=1, key=name))
            except Refused:  # EBUSY, where another one has it
                continue
            assert task.owner == name
            won.append(number)
        return won

    with ThreadPoolExecutor(THREADS) as pool:
        won = [number for row in pool.map(claim, range(THREADS)) for number in row]
    results.joinpath(str(process)).write_text(" ".join(map(str, won)))


def test_each_task_that_32_workers_claim_has_one_winner(place: Place, tmp_path: Path) -> None:
    board = Board(place.open(), "main", time)
    kind = place.url.partition(":")[0] or "memory"
    tasks = times(TASKS[kind])
    for number in range(tasks):
        board.add(NewTask(subject=f"task {number}"))
    results = tmp_path / "won"
    results.mkdir()
    if kind == "memory":  # it is this process's own
        with ThreadPoolExecutor(PROCESSES) as pool:
            list(pool.map(lambda one: claim_all(place, one, tasks, results), range(PROCESSES)))
    else:
        fork = multiprocessing.get_context("fork")
        claimers = [
            fork.Process(target=claim_all, args=(place, one, tasks, results))
            for one in range(PROCESSES)
        ]
        for each in claimers:
            each.start()
        for each in claimers:
            each.join()
        assert [each.exitcode for each in claimers] == [0] * PROCESSES
    won = Counter(int(each) for file in results.iterdir() for each in file.read_text().split())
    assert won == Counter(range(1, tasks + 1))
    assert {(head.status, head.claim is not None) for head in board.list_heads()} == {
        ("in_progress", True)
    }
