"""A restoration that is killed leaves the old store, or one that says so and is filled again."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions.backup import restoring
from functions.backup.archive import ArchiveReader
from functions.backup.restoring import NO_SECRETS, restore_backup, verify_backup
from functions.backup.saving import save_backup
from functions.settings import Settings
from functions.wiring import open_runtime
from sigil.errors import BackendError, Refused, UsageError
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import Key, keys
from sigil.storage.kv.dynamodb import DynamoKV
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from sigil.wiring import Stores
from tests.fakes.clock import Clock
from tests.functions.backup.places import (
    Items,
    fill,
    open_again,
    open_place,
    read_all,
    require_same,
)
from tests.machine import times
from tests.selection import sample, thorough

KINDS = {"sqlite": SqliteKV, "redis": RedisKV, "dynamodb": DynamoKV}
OTHERS = [Key(f"doc#{number}", "soul") for number in range(10)]


def ignore(text: str) -> None:
    """Nobody watches."""


def save(path: Path) -> Items:
    stores = Stores(MemoryKV(), MemoryArtifacts())
    expected = fill(stores)
    save_backup(Settings(data=str(path.parent)), stores, path, ignore)
    return expected


def restore(settings: Settings, path: Path, **options: Any) -> restoring.Restored:
    with ArchiveReader(path) as reader:
        verify_backup(reader, ignore)
        return restore_backup(settings, reader, NO_SECRETS, ignore, **options)


def in_a_child(work: Callable[[], object]) -> int:
    """Do the work in a process of its own, and return the signal that ended it, 0 for none."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def kill_at(kind: type[Any], count: int) -> None:
    """Let this process be killed at its `count`th write to a store of this kind."""
    made = [0]
    lock = threading.Lock()

    def counted(verb: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            with lock:
                made[0] += 1
                if made[0] == count:
                    os.kill(os.getpid(), signal.SIGKILL)
            return verb(*arguments, **named)

        return run

    for verb in ("put", "delete"):
        setattr(kind, verb, counted(getattr(kind, verb)))


@pytest.mark.parametrize("kind", ["sqlite", "redis", *thorough("dynamodb")])
def test_wherever_a_restoration_is_killed_the_next_one_ends_it(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "b.zip"
    expected = save(path)
    settings = open_place(kind, tmp_path, request)
    chance = random.Random(kind)
    counts = (1, 7, len(OTHERS) + 3, *(chance.randrange(2, 30) for _ in range(times(2))))
    for count in sample(counts, 3):
        kv = open_again(settings).kv
        for key in OTHERS:
            kv.put(key, b"before")
        before = read_all(kv)
        if isinstance(kv, SqliteKV):
            kv.close()

        def die(count: int = count) -> None:
            kill_at(KINDS[kind], count)
            restore(settings, path, replaces=True)

        assert in_a_child(die) == signal.SIGKILL, count
        kv = open_again(settings).kv
        if kind == "sqlite" or count == 1:
            require_same(read_all(kv), before)
        else:
            with pytest.raises(Refused, match="did not end"):
                open_runtime(settings)
        if isinstance(kv, SqliteKV):
            kv.close()
        # the mark says that it is the same restoration, so what is there is its own
        restore(settings, path, replaces=kind == "sqlite" or count == 1)
        require_same(read_all(open_again(settings).kv), expected)
        assert not list(Path(settings.data).glob(f"{restoring.UNFINISHED}*"))


def test_a_file_that_takes_another_ones_place_is_there_at_one_moment(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    expected = save(path)
    settings = Settings(data=str(tmp_path / "data"))
    chance = random.Random(5)
    ended = []
    for _ in range(times(4)):
        kv = open_again(settings).kv
        assert isinstance(kv, SqliteKV)
        for key in OTHERS:
            kv.put(key, bytes(300_000))
        before = read_all(kv)
        kv.close()
        seconds = chance.uniform(0.0, 0.01)

        def die(seconds: float = seconds) -> None:
            copy = restoring.restore_store
            killing = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))

            def copy_and_die(draft: Path, target: Path) -> None:
                killing.start()
                copy(draft, target)

            restoring.restore_store = copy_and_die
            restore(settings, path, replaces=True)
            killing.join()

        assert in_a_child(die) == signal.SIGKILL
        kv = open_again(settings).kv
        found = read_all(kv)
        assert isinstance(kv, SqliteKV)
        kv.close()
        ended.append(found.keys() == expected.keys())
        require_same(found, expected if ended[-1] else before)
    assert ended


def test_a_file_that_a_server_has_open_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    save(path)
    settings = Settings(data=str(tmp_path / "data"))
    kv = open_again(settings).kv
    kv.put(OTHERS[0], b"of the server")
    with pytest.raises(Refused, match="another process uses the store"):
        restore(settings, path, replaces=True)
    assert kv.get(OTHERS[0])


def test_what_has_ended_since_the_backup_stays_ended(tmp_path: Path, clock: Clock) -> None:
    stores = Stores(MemoryKV(clock), MemoryArtifacts())
    settings = Settings(data=str(tmp_path))
    stores.kv.put(Key("doc#a", "short"), b"", ttl=10.0)
    stores.kv.put(Key("doc#a", "long"), b"", ttl=100.0)
    stores.kv.put(Key("doc#a", "for good"), b"")
    path = tmp_path / "b.zip"
    save_backup(settings, stores, path, ignore, clock=clock)
    clock.now += 50.0
    restored = restore(settings, path, clock=clock)
    assert (restored.items, restored.ended) == (2, 1)


def test_a_body_that_the_store_has_lost_is_named_and_the_rest_is_saved(tmp_path: Path) -> None:
    stores = Stores(MemoryKV(), MemoryArtifacts())
    fill(stores)
    record = stores.kv.get(keys.version("main", "encode", 1))
    assert record
    stores.artifacts.delete(record.value.decode().split('"')[3])
    path = tmp_path / "b.zip"
    saved = save_backup(Settings(data=str(tmp_path)), stores, path, ignore)
    assert len(saved.manifest.missing) == 1
    restore(Settings(data=str(tmp_path / "other")), path)


def test_a_disk_that_is_too_small_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.zip"
    save(path)
    monkeypatch.setattr(restoring.shutil, "disk_usage", lambda folder: os.statvfs_result)
    monkeypatch.setattr(os, "statvfs_result", type("Usage", (), {"free": 1_000}))
    with pytest.raises(BackendError, match="are free"):
        restore(Settings(data=str(tmp_path / "other")), path)
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize("bound", ["dynamodb.ITEM_BYTES", "redis.VALUE_LIMIT"])
def test_an_item_that_the_store_cannot_take_is_told_before_anything_is_removed(
    bound: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = bound.partition(".")[0]
    monkeypatch.setattr(f"sigil.storage.kv.{bound}", 3_000)
    stores = Stores(MemoryKV(), MemoryArtifacts())
    stores.kv.put(Key("large", "x"), os.urandom(4_000))
    path = tmp_path / "b.zip"
    save_backup(Settings(data=str(tmp_path)), stores, path, ignore)
    settings = open_place(kind, tmp_path, request)
    kv = open_again(settings).kv
    kv.put(OTHERS[0], b"before")
    with pytest.raises(UsageError, match="bytes") as caught:
        restore(settings, path, replaces=True)
    assert caught.value.code == "ETOOBIG"
    assert kv.get(OTHERS[0])
    assert kv.get(keys.restoring()) is None
