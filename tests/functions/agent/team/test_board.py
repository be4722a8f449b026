"""The board of a team: one winner for each task, in order, and whole after a crash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import orjson
import pytest

from functions.agent.team.board import (
    KEPT_SECONDS,
    OPEN_MOST,
    Board,
    Claimer,
    Edit,
    NewTask,
)
from functions.agent.team.task import (
    ATTEMPTS_MOST,
    TaskConflict,
    describe_task,
    format_line,
    list_open_ids,
)
from sigil.errors import Refused, SigilError, UsageError
from sigil.storage.kv import KV, Expect, Item, Key, keys
from sigil.storage.kv.dynamodb import DynamoKV
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import dumps
from tests.fakes.clock import Clock
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]
WORKERS = 32
COUNTS = {MemoryKV: 60, SqliteKV: 40, RedisKV: 60, DynamoKV: 12}
"""How many tasks they race for on each store."""
ALICE = Claimer(member="alice", role="coder", generation=1, source="auto")
BOB = Claimer(member="bob", role="writer", generation=1, source="auto")


class Killed(Exception):
    """The process ended before a write."""


class CrashingKV:
    """A store whose process ends before one of its writes."""

    def __init__(self, kv: KV, fatal: int) -> None:
        self.kv = kv
        self.left = fatal

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    def get(self, key: Key) -> Item | None:
        return self.kv.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        return [self.kv.get(key) for key in keys]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._count()
        return self.kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._count()
        self.kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self.kv.scan(partition, prefix, after, limit)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(clock: Clock) -> Board:
    return Board(MemoryKV(clock), "main", clock)


def add(board: Board, *subjects: str, **fields: object) -> list[int]:
    return [board.add(NewTask(subject=each, **fields)).id for each in subjects]  # type: ignore[arg-type]


def refuse(act: Callable[[], object]) -> SigilError:
    with pytest.raises(SigilError) as raised:
        act()
    return raised.value


def test_each_task_has_one_winner_among_many_workers(place: Place, clock: Clock) -> None:
    kv = place.open(clock)
    count = COUNTS[type(kv)]
    numbers = add(Board(kv, "main", clock), *(f"task {each}" for each in range(count)))
    stores = [place.open(clock) for _ in range(4)]

    def work(worker: int) -> list[int]:
        board = Board(stores[worker % len(stores)], "main", clock)
        won = []
        while task := board.claim_next(Claimer(member=f"w{worker}", generation=1)):
            won.append(task.id)
            if task.id % 2:
                board.complete(task.id, "done", owner=f"w{worker}")
        return won

    with ThreadPoolExecutor(WORKERS) as pool:
        won = list(pool.map(work, range(WORKERS)))
    assert Counter(number for each in won for number in each) == Counter(numbers)
    board = Board(kv, "main", clock)
    assert {task.owner for task in board.list_open()} == {
        f"w{worker}" for worker, each in enumerate(won) for number in each if not number % 2
    }
    assert sorted(task.id for task in board.list_ended(count)) == numbers[::2]


def test_one_task_that_all_want_has_one_winner(place: Place, clock: Clock) -> None:
    board = Board(place.open(clock), "main", clock)
    (number,) = add(board, "the only one")

    def claim(worker: int) -> str:
        try:
            return board.claim(number, Claimer(member=f"w{worker}")).owner
        except Refused as problem:
            return problem.code

    with ThreadPoolExecutor(WORKERS) as pool:
        answers = list(pool.map(claim, range(WORKERS)))
    winner = board.read(number).owner
    assert sorted(answers) == sorted([winner, *["EBUSY"] * (WORKERS - 1)])


def test_tasks_are_taken_by_priority_and_then_by_number_not_by_digits(board: Board) -> None:
    add(board, *(f"task {each}" for each in range(12)))
    board.edit(9, Edit(priority=3))
    taken = []
    while task := board.claim_next(ALICE):
        taken.append(task.id)
    assert taken == [9, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12]


def test_a_task_is_taken_only_by_who_has_its_role_or_was_named(board: Board) -> None:
    add(board, "write", role="Writer")
    add(board, "for alice", owner="alice")
    assert refuse(lambda: board.claim(1, ALICE)).code == "EPERM"
    assert refuse(lambda: board.claim(2, BOB)).message == "task 2 is assigned to alice"
    assert [head.id for head in board.list_claimable("alice", "coder")] == [2]
    assert [head.id for head in board.list_claimable()] == [1]
    bobs, alices = board.claim_next(BOB), board.claim_next(ALICE)
    assert bobs
    assert bobs.id == 1
    assert alices
    assert alices.id == 2
    assert alices.claim
    assert alices.claim.source == "assigned"


@pytest.mark.parametrize("fatal", range(1, 14))
def test_a_chain_of_three_is_in_order_whichever_write_is_the_last(fatal: int, clock: Clock) -> None:
    kv = MemoryKV(clock)
    board = Board(kv, "main", clock)
    add(board, "dig")
    add(board, "build", blocked_by=(1,))
    add(board, "paint", blocked_by=(2,))
    done = []

    def work(board: Board) -> None:
        while task := board.claim_next(ALICE):
            assert not set(task.blocked_by) - set(done)
            assert list_open_ids(board.list_heads()).isdisjoint(task.blocked_by)
            board.complete(task.id, "done")
            done.append(task.id)

    with suppress(Killed):
        work(Board(CrashingKV(kv, fatal), "main", clock))
    # whoever comes next releases what the dead one held
    for head in board.list_heads():
        if head.claim:
            board.release(head.id, "gone", claim=head.claim.number)
    done[:] = [task.id for task in board.list_ended()]
    work(board)
    assert [task.id for task in board.list_ended()] == [3, 2, 1]
    assert not list(scan_all(kv, "board#main"))


def test_ending_a_task_unblocks_the_next_with_one_write(board: Board) -> None:
    add(board, "one", "two")
    add(board, "three", blocked_by=(1, 2))
    assert refuse(lambda: board.claim(3, ALICE)).message == "task 3 is blocked by #1, #2"
    board.complete(1)
    board.drop(2, "not needed")
    # what was said is kept, what still blocks is computed
    assert board.read(3).blocked_by == (1, 2)
    assert describe_task(board.read(3), board.list_heads())["blockedBy"] == []
    assert board.claim(3, ALICE).owner == "alice"


def test_a_task_reads_as_the_list_and_the_model_show_it(board: Board) -> None:
    add(board, "dig", "build")
    board.edit(2, Edit(more_blockers=(1,)))
    board.claim(1, ALICE)
    heads = board.list_heads()
    assert describe_task(board.read(2), heads) == {
        "id": 2,
        "subject": "build",
        "description": "",
        "status": "pending",
        "owner": "",
        "blockedBy": [1],
        "blocks": [],
    }
    assert describe_task(board.read(1), heads)["blocks"] == [2]
    assert format_line(board.read(1)) == "[>] #1: dig @alice"
    assert format_line(board.read(2)) == "[ ] #2: build"


def test_the_same_call_makes_one_task(board: Board, clock: Clock) -> None:
    first = board.add(NewTask(subject="buy milk", key="event:1:0"))
    other = board.add(NewTask(subject="buy milk", key="event:1:1"))
    assert board.add(NewTask(subject="buy milk", key="event:1:0")) == first
    assert (first.id, other.id) == (1, 2)
    board.complete(1)
    assert board.add(NewTask(subject="buy milk", key="event:1:0")).status == "completed"


def test_a_call_that_crashed_after_its_number_goes_on_with_it(clock: Clock) -> None:
    kv = MemoryKV(clock)
    wanted = NewTask(subject="buy milk", key="event:1:0")
    with pytest.raises(Killed):
        Board(CrashingKV(kv, 2), "main", clock).add(wanted)
    board = Board(kv, "main", clock)
    add(board, "another")
    assert board.add(wanted).id == 1
    assert [task.id for task in board.list_open()] == [1, 2]


def test_a_task_never_waits_for_itself(board: Board) -> None:
    add(board, "one", "two", "three")
    board.edit(2, Edit(blocked_by=(1,)))
    board.edit(3, Edit(blocked_by=(2,)))
    problem = refuse(lambda: board.edit(1, Edit(more_blockers=(3,))))
    assert problem.code == "ECYCLE"
    assert problem.message == "#1 would wait for #3, which waits for #2, which waits for #1"
    assert refuse(lambda: board.edit(1, Edit(more_blockers=(1,)))).code == "ECYCLE"
    assert refuse(lambda: board.edit(1, Edit(more_blockers=(9,)))).message == "Task 9 not found"
    # one that ended does not block, but would when it is opened again
    board.complete(1)
    board.complete(2)
    board.edit(3, Edit(blocked_by=(1,)))
    board.reopen(1)
    assert refuse(lambda: board.edit(1, Edit(more_blockers=(3,)))).code == "ECYCLE"


def test_two_links_at_once_make_no_circle(clock: Clock) -> None:
    kv = MemoryKV(clock)
    board = Board(kv, "main", clock)
    add(board, "one", "two")
    # the first one is about to write that #1 waits for #2, and is slow
    with pytest.raises(Killed):
        Board(CrashingKV(kv, 2), "main", clock).edit(1, Edit(more_blockers=(2,)))
    assert refuse(lambda: board.edit(2, Edit(more_blockers=(1,)))).code == "ECYCLE"
    clock.advance(61)
    board.edit(2, Edit(more_blockers=(1,)))


def test_the_third_failure_is_the_last(board: Board) -> None:
    add(board, "hard")
    for attempt in range(1, ATTEMPTS_MOST + 1):
        claimed = board.claim(1, ALICE)
        assert claimed.claim
        assert claimed.claim.number == attempt
        failed = board.release(1, "the model is away", claim=attempt, failed=True)
    assert failed.task.status == "stuck"
    assert failed.task.why == "the model is away"
    assert [run.outcome for run in failed.task.runs] == ["failed", "failed", "stuck"]
    assert refuse(lambda: board.claim(1, ALICE)).message == "task 1 is stuck"
    assert board.claim_next(ALICE) is None
    assert board.reopen(1).task.attempts == 0
    assert board.claim(1, ALICE).owner == "alice"


def test_an_old_claim_ends_nothing(board: Board) -> None:
    add(board, "one")
    board.claim(1, ALICE)
    board.assign(1, "bob")
    board.claim(1, BOB)
    assert not board.release(1, "late", claim=1, failed=True).is_new
    assert not board.mark_stuck(1, "late", claim=1).is_new
    assert refuse(lambda: board.complete(1, "mine", owner="alice")).message == "task 1 is bob's"
    assert board.read(1).owner == "bob"
    assert [(run.owner, run.outcome) for run in board.read(1).runs] == [("alice", "released")]


def test_a_claim_that_runs_again_is_the_same_claim(board: Board) -> None:
    add(board, "one")
    first = board.claim(1, ALICE)
    assert board.claim(1, ALICE) == first
    reborn = Claimer(member="alice", generation=2)
    assert refuse(lambda: board.claim(1, reborn)).code == "EBUSY"


@pytest.mark.parametrize("fatal", [1, 2, 3])
def test_a_crash_while_a_task_ends_leaves_it_whole(place: Place, fatal: int, clock: Clock) -> None:
    kv = place.open(clock)
    board = Board(kv, "main", clock)
    add(board, "one")
    with pytest.raises(Killed):
        Board(CrashingKV(kv, fatal), "main", clock).complete(1)
    assert board.find(1)
    assert len(board.list_open()) + len(board.list_ended()) == 1
    ended = board.complete(1).task
    assert board.read(1) == ended
    assert board.list_ended() == [ended]
    assert not board.has_open()


@pytest.mark.parametrize("fatal", [1, 2, 3])
def test_a_crash_while_a_task_is_reopened_leaves_one_of_it(fatal: int, clock: Clock) -> None:
    kv = MemoryKV(clock)
    board = Board(kv, "main", clock)
    add(board, "one", "two")
    board.edit(2, Edit(more_blockers=(1,)))
    board.complete(2, "first report")
    with suppress(Killed):
        Board(CrashingKV(kv, fatal), "main", clock).reopen(2)
    assert len(board.list_open()) + len(board.list_ended()) == 2
    board.reopen(2)
    assert [task.status for task in board.list_open()] == ["pending", "pending"]
    assert board.list_ended() == []
    board.complete(2, "second report")
    assert [task.report for task in board.list_ended()] == ["second report"]


def test_what_crashed_while_it_moved_away_is_moved_by_the_next(clock: Clock) -> None:
    kv = MemoryKV(clock)
    board = Board(kv, "main", clock)
    add(board, "one")
    with pytest.raises(Killed):
        Board(CrashingKV(kv, 2), "main", clock).complete(1)
    assert board.list_heads() == []
    assert board.has_open()
    assert board.complete_moves() == 1
    assert not board.has_open()
    assert board.read(1).status == "completed"


def test_ended_tasks_go_after_half_a_year(board: Board, clock: Clock) -> None:
    add(board, "one", "two", "three")
    board.complete(1)
    board.drop(3)
    assert [task.id for task in board.list_ended()] == [3, 1]
    assert [task.id for task in board.list_ended(1)] == [3]
    clock.advance(KEPT_SECONDS + 1)
    assert board.list_ended() == []
    assert refuse(lambda: board.read(1)).message == "Task 1 not found"
    assert add(board, "four") == [4]


def test_a_full_board_takes_no_more_until_something_ends(clock: Clock) -> None:
    kv = MemoryKV(clock)
    board = Board(kv, "main", clock)
    task = board.add(NewTask(subject="again"))
    for number in range(2, OPEN_MOST + 1):
        kv.put(keys.task("main", number), dumps(replace(task, id=number)))
    assert refuse(lambda: add(board, "one more")).code == "EQUOTA"
    board.complete(7)
    assert add(board, "one more") == [OPEN_MOST + 1]


def test_a_change_of_what_was_changed_meanwhile_is_refused(board: Board) -> None:
    add(board, "one")
    read = board.read(1).revision
    board.edit(1, Edit(subject="newer"), revision=read)
    with pytest.raises(TaskConflict) as raised:
        board.edit(1, Edit(subject="older"), revision=read)
    assert raised.value.newer.subject == "newer"
    assert board.read(1).subject == "newer"


@pytest.mark.parametrize(
    "wanted",
    [
        NewTask(subject=" "),
        NewTask(subject="x" * 201),
        NewTask(subject="two\nlines"),
        NewTask(subject="x", description="x" * 4_001),
        NewTask(subject="x", priority=4),
        NewTask(subject="x", blocked_by=(1,)),
        NewTask(subject="x", blocked_by=(-1,)),
        NewTask(subject="x", blocked_by=tuple(range(1, 60))),
    ],
)
def test_what_cannot_be_a_task_is_refused(board: Board, wanted: NewTask) -> None:
    with pytest.raises(UsageError):
        board.add(wanted)
    assert board.list_open() == []


def test_a_task_that_cannot_be_read_hides_no_other(clock: Clock) -> None:
    kv = MemoryKV(clock)
    board = Board(kv, "main", clock)
    add(board, "one", "two")
    newer = orjson.dumps({"format": 9, "id": 1, "subject": {}})
    kv.put(keys.task("main", 1), newer)
    assert [task.id for task in board.list_open()] == [2]
    assert board.claim_next(ALICE) == board.read(2)
    assert refuse(lambda: board.claim(1, ALICE)).code == "EFORMAT"


def test_comments_are_kept_once_a_call(board: Board) -> None:
    add(board, "one")
    board.comment(1, "alice", "half of it", "event:1:0")
    board.comment(1, "alice", "half of it", "event:1:0")
    for number in range(30):
        board.comment(1, "bob", f"note {number}")
    texts = [comment.text for comment in board.read(1).comments]
    assert texts == [f"note {number}" for number in range(10, 30)]
