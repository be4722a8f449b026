"""The store in a SQLite file: the contract, several processes, and files that cannot be used."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from sigil.errors import BackendError
from sigil.storage.kv import KV, Key
from sigil.storage.kv.sqlite import SqliteKV
from tests.sigil.storage.kv.contract import KVContract
from tests.sigil.storage.kv.model import Clock
from tests.sigil.storage.kv.processes import (
    expect_all_counted,
    expect_one_creator_each,
    finish,
    start,
)
from tests.threads import in_parallel

KEY = Key("p", "s")
OPENING = "kv = SqliteKV(sys.argv[1])"


class TestSqliteKV(KVContract):
    @pytest.fixture
    def kv(self, clock: Clock, tmp_path: Path) -> Iterator[KV]:
        with closing(SqliteKV(tmp_path / "store.db", clock)) as kv:
            yield kv


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "deep" / "store.db"


def test_what_is_written_stays_when_the_store_is_opened_again(path: Path) -> None:
    with closing(SqliteKV(path)) as kv:
        version = kv.put(KEY, b"value")
    with closing(SqliteKV(path)) as kv:
        item = kv.get(KEY)
    assert item is not None
    assert item.version == version


def test_the_file_and_its_folders_are_for_their_owner_alone(path: Path) -> None:
    with closing(SqliteKV(path)) as kv:
        kv.put(KEY, b"secret")
        modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}
        assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert [
        stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)
    ] == [0o700, 0o700]


@pytest.mark.usefixtures("fork_commands")
def test_processes_that_open_a_new_file_together_all_can(path: Path) -> None:
    processes = [
        start("SqliteKV(sys.argv[1]).put(Key('p', sys.argv[2]), b'')", path, number)
        for number in range(3)
    ]
    finish(processes)
    with closing(SqliteKV(path)) as kv:
        assert [sort for sort, _ in kv.scan("p")] == ["0", "1", "2"]


def open_new(path: Path, _: int) -> SqliteKV:
    return SqliteKV(path)


def test_threads_that_open_a_new_file_together_all_can(tmp_path: Path) -> None:
    for attempt in range(10):
        stores = in_parallel(6, partial(open_new, tmp_path / str(attempt)))
        for store in stores:
            assert isinstance(store, SqliteKV), store
            store.close()


@pytest.mark.usefixtures("fork_commands")
def test_of_several_processes_that_create_one_item_one_wins(path: Path) -> None:
    with closing(SqliteKV(path)) as kv:
        expect_one_creator_each(kv, OPENING, path)


@pytest.mark.usefixtures("fork_commands")
def test_counting_from_several_processes_loses_nothing(path: Path) -> None:
    with closing(SqliteKV(path)) as kv:
        expect_all_counted(kv, OPENING, path)


def test_a_write_that_returned_survives_kill_9(path: Path) -> None:
    code = """
kv = SqliteKV(sys.argv[1])
for number in range(10**6):
    kv.put(Key('p', f'{number:07d}'), b'x' * 500)
    print(number, flush=True)
"""
    process = start(code, path)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write("\n")
        process.stdin.flush()
        for _ in range(300):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        last = max([last, *(int(line) for line in process.stdout if line.endswith("\n"))])
    with closing(SqliteKV(path)) as kv:
        written = [sort for sort, _ in kv.scan("p", limit=10**6)]
    assert written[: last + 1] == [f"{number:07d}" for number in range(last + 1)]
    assert len(written) <= last + 2


def test_a_store_carried_over_a_fork_says_so_instead_of_harming_the_file(path: Path) -> None:
    code = """
kv = SqliteKV(sys.argv[1])
kv.put(Key('p', 's'), b'parent')
child = os.fork()
if child == 0:
    try:
        kv.get(Key('p', 's'))
    except BackendError as problem:
        os._exit(7 if 'fork' in problem.message else 1)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), kv.get(Key('p', 's')).value.decode())
"""
    assert finish([start(code, path)]) == ["7 parent\n"]


def descriptors(path: Path) -> int:
    """How many open files of this process are the one at `path`."""
    links = (os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd"))
    return list(links).count(str(path))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_connections_are_kept_for_the_next_and_no_more_than_worked_at_once(path: Path) -> None:
    with closing(SqliteKV(path)) as kv:
        for _ in range(5):
            in_parallel(4, lambda number: kv.put(Key("p", str(number)), b""))
        assert 1 <= descriptors(path) <= 5
    assert descriptors(path) == 0


def test_a_closed_store_says_so(path: Path) -> None:
    kv = SqliteKV(path)
    kv.close()
    kv.close()
    with pytest.raises(BackendError, match="closed"):
        kv.get(KEY)


def test_a_sweep_drops_what_has_expired_and_nothing_else(path: Path) -> None:
    clock = Clock()
    with closing(SqliteKV(path, clock)) as kv:
        for number in range(400):
            kv.put(Key("p", f"{number}"), b"", ttl=float(number % 2 + 1))
        kv.put(KEY, b"")
        clock.advance(1.0)
        assert kv.sweep() == 200
        assert kv.sweep() == 0
        assert len(kv.scan("p", limit=1000)) == 201
