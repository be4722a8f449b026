"""Store files that cannot be used, and what is said about them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from sigil.errors import BackendError
from sigil.storage.kv import Key
from sigil.storage.kv.sqlite import SqliteKV
from tests.machine import within
from tests.sigil.storage.kv.processes import IMPORTS, ROOT, finish, start
from tests.threads import in_parallel

KEY = Key("p", "s")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def refused(path: Path, verb: str = "put") -> BackendError:
    """How the store at `path` says that it cannot be used; always with the file's name and what
    helps.
    """

    def use() -> None:
        with closing(SqliteKV(path, timeout=0.1)) as kv:
            kv.put(KEY, b"x" * 100_000) if verb == "put" else kv.get(KEY)

    with pytest.raises(BackendError) as caught:
        use()
    assert caught.value.code == "EUNAVAILABLE"
    assert str(path) in caught.value.message
    assert caught.value.suggestion
    return caught.value


def test_what_was_deleted_or_replaced_is_not_in_the_file_any_more(path: Path) -> None:
    word = b"walrus"
    with closing(SqliteKV(path)) as kv:
        for number in range(200):
            kv.put(Key("p", f"{number:03}"), word * 1_000)
            kv.put(Key("q", f"{number:03}"), word * 10)
        for number in range(200):
            kv.delete(Key("p", f"{number:03}"))
            kv.put(Key("q", f"{number:03}"), b"nothing of it")
    (left,) = path.parent.glob("store.db*")
    assert word not in left.read_bytes()


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear reader, " * 500)
    assert "not a SQLite database" in refused(path).message
    assert path.read_bytes() == b"Dear reader, " * 500


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE item (name TEXT)")
        other.execute("PRAGMA user_version = 1")
        other.commit()
    assert "another program" in refused(path).message


@pytest.mark.parametrize(
    "statement",
    [
        (
            "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
            " SELECT x FROM c"
        ),
        "CREATE TRIGGER grows AFTER INSERT ON item BEGIN SELECT 1; END",
    ],
)
def test_a_file_that_brings_a_program_along_is_another_ones(path: Path, statement: str) -> None:
    SqliteKV(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute(statement)
        other.commit()
    assert "another program" in refused(path).message


def test_a_key_that_is_no_text_is_damage(path: Path) -> None:
    store = SqliteKV(path)
    store.put(Key("p", "s"), b"1")
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE item SET sort = x'73ff'")
        other.commit()
    with pytest.raises(BackendError, match="it is damaged"):
        store.scan("p")
    store.close()


def test_a_newer_schema_is_left_alone(path: Path) -> None:
    SqliteKV(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 99")
    refusal = refused(path)
    assert "newer version" in refusal.message
    assert "update" in refusal.suggestion


def test_a_damaged_file_says_so(path: Path) -> None:
    with closing(SqliteKV(path)) as kv:
        for number in range(50):
            kv.put(Key("p", str(number)), b"x" * 2000)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    assert "damaged" in refused(path, "get").message


def test_a_folder_in_the_files_place_says_so(tmp_path: Path) -> None:
    assert "cannot be opened" in refused(tmp_path).message


def test_a_place_where_nothing_can_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot be created" in refused(tmp_path / "file" / "store.db").message


def test_a_lock_that_is_held_too_long_says_so(path: Path) -> None:
    SqliteKV(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "locked" in refused(path).message
    with closing(SqliteKV(path)) as kv:
        kv.put(KEY, b"")


def test_a_lock_that_is_let_go_in_time_is_waited_for(path: Path) -> None:
    with (
        closing(SqliteKV(path)) as kv,
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        results = in_parallel(
            2, lambda number: kv.put(KEY, b"") if number else other.execute("COMMIT")
        )
        assert isinstance(results[1], str)


def test_a_read_only_file_says_so_and_can_still_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with closing(SqliteKV(path)) as kv:
            kv.put(KEY, b"value")
        os.chmod(folder, 0o777)
        os.chmod(path, 0o444)
        code = """
if os.geteuid() == 0:
    os.setuid(65534)
kv = SqliteKV(sys.argv[1])
print(kv.get(Key('p', 's')).value.decode())
try:
    kv.put(Key('p', 's'), b'changed')
except BackendError as problem:
    print(problem.code, problem.message, problem.suggestion)
"""
        output = finish([start(code, path)])[0]
        assert output.startswith(
            f"value\nEUNAVAILABLE the store {path}: it cannot be written check"
        )


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode
    != 0,
    reason="needs a mount of its own",
)
def test_a_full_disk_says_so_and_loses_nothing(tmp_path: Path) -> None:
    code = """
kv = SqliteKV(sys.argv[1] + '/store.db')
kv.put(Key('p', 's'), b'kept')
try:
    for number in range(100):
        kv.put(Key('p', str(number)), b'x' * 100_000)
except BackendError as problem:
    print(problem.code, problem.message, '|', problem.suggestion)
print(kv.get(Key('p', 's')).value.decode())
"""
    shell = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -c "$3" "$1"'
    command = [
        "unshare",
        "-Urm",
        "sh",
        "-c",
        shell,
        "sh",
        str(tmp_path),
        sys.executable,
        IMPORTS + code,
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=within(30)
    )
    assert (
        done.stdout
        == f"EUNAVAILABLE the store {tmp_path}/store.db: the disk is full | free some space and try"
        " again\nkept\n"
    )
