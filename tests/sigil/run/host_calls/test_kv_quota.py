"""What a capability's store holds is counted right, whoever writes at once, dies in between or
comes late.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sigil.errors import BackendError, Refused
from sigil.run.host_calls import kv_service
from sigil.run.host_calls.kv_quota import HOLD_SECONDS, QuotaChange, _QuotaUsage
from sigil.run.host_calls.kv_service import KvService
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.selection import in_full, thorough
from tests.servers.valkey import shared
from tests.sigil.storage.kv.processes import finish, start

OWNER = ("main", "main", "notes")
MOST = 8
WRITER = f"""
import random, time
from sigil.storage.kv.redis import RedisKV
from sigil.run.host_calls import kv_service
from sigil.run.host_calls.kv_service import KvService
from sigil.errors import Refused
kv_service.KEYS_MOST = {MOST}
where, seed, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
begun = float(sys.argv[4])
clock = lambda: begun + (time.time() - begun) * 20  # so that values end while it runs
kv = RedisKV(where, clock) if "://" in where else SqliteKV(where, clock)
store, dice, most, refused = KvService(kv, {OWNER!r}, clock=clock), random.Random(seed), 0, 0
while rounds:
    rounds -= 1
    key, chance = str(dice.randrange(2 * {MOST})), dice.random()
    try:
        if chance < 0.3:
            store.answer("kv.delete", {{"key": key}})
        else:
            store.answer("kv.put", {{"key": key, "value": "x" * dice.randrange(40), "ttl": 1 if chance < 0.6 else None}})
    except Refused:
        refused += 1
    most = max(most, len(kv.scan(keys, limit=1000)))
    if rounds < 0:
        print("goes on", flush=True)
print(most, refused)
""".replace("kv.scan(keys,", f"kv.scan({keys.stored_value(*OWNER, '').partition!r},")


def ask(store: KvService, operation: str, **argument: Any) -> Any:
    return store.answer(f"kv.{operation}", argument)


@pytest.fixture(params=["sqlite", *thorough("redis")])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that processes share, as a writer is told of it."""
    if request.param == "sqlite":
        return str(tmp_path / "store.db")
    shared().do("FLUSHALL")
    return shared().url


def opened(where: str, clock: Callable[[], float] = time.time) -> KV:
    return RedisKV(where, clock) if "://" in where else SqliteKV(where, clock)


def fill_and_count_keys(store: KvService) -> int:
    """How many keys it holds once it is full."""
    for number in range(3 * MOST):
        try:
            ask(store, "put", key=f"more {number}", value="x")
        except Refused:
            return len(ask(store, "list")["keys"])
    return -1


@pytest.mark.usefixtures("fork_commands")
def test_two_processes_never_store_too_much_and_never_lose_room(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_service, "KEYS_MOST", MOST)
    begun = time.time()
    outputs = finish(
        [start(WRITER, where, seed, 400 if in_full() else 150, begun) for seed in (1, 2)]
    )

    most, refused = zip(*(map(int, output.split()) for output in outputs), strict=True)
    assert max(most) == MOST
    assert min(refused) > 0

    def later() -> float:
        return begun + (time.time() - begun) * 20 + 3600

    store = KvService(opened(where, later), OWNER, clock=later)
    used = read_usage(store)
    stored = store._usage.count_stored()
    assert (used.marks, used.keys >= stored.keys, used.size >= stored.size) == ((), True, True)
    assert fill_and_count_keys(store) == MOST
    used = read_usage(store)
    assert (used.keys, used.size) == store._usage.count_stored()


def test_a_process_that_was_killed_takes_no_room_for_long(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kv_service, "KEYS_MOST", MOST)
    writer = start(WRITER, where, 3, -1, time.time())
    assert writer.stdin is not None
    assert writer.stdout is not None
    writer.stdin.write("\n")
    writer.stdin.flush()
    for _ in range(50):
        assert writer.stdout.readline() == "goes on\n"
    writer.kill()
    writer.communicate()

    def later() -> float:
        return time.time() * 1.0 + 86_400 * 365

    assert fill_and_count_keys(KvService(opened(where, later), OWNER, clock=later)) == MOST


class Stumbling(MemoryKV):
    """Does something else right before, or instead of, the next write of a value."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.before: Callable[[], None] | None = None

    def put(self, key: Key, value: bytes, **more: Any) -> str:
        before, self.before = (
            (self.before, None)
            if key.partition == keys.stored_value(*OWNER, "").partition
            else (None, self.before)
        )
        if before:
            before()
        return super().put(key, value, **more)

    def delete(self, key: Key, **more: Any) -> None:
        before, self.before = (
            (self.before, None)
            if key.partition == keys.stored_value(*OWNER, "").partition
            else (None, self.before)
        )
        if before:
            before()
        super().delete(key, **more)


@pytest.fixture
def now() -> list[float]:
    return [1_000.0]


@pytest.fixture
def kv(now: list[float], monkeypatch: pytest.MonkeyPatch) -> Stumbling:
    monkeypatch.setattr(kv_service, "KEYS_MOST", 3)
    return Stumbling(lambda: now[0])


@pytest.fixture
def store(kv: Stumbling, now: list[float]) -> KvService:
    return KvService(kv, OWNER, clock=lambda: now[0])


def fill(store: KvService, name: str) -> None:
    """What somebody else writes as long as there is room: at the end the store is full."""
    for number in range(4):
        try:
            ask(store, "put", key=f"{name}{number}", value="1")
        except Refused:
            return


def read_usage(store: KvService) -> _QuotaUsage:
    """Return the usage as it is stored, without the marks of writes that come no more."""
    usage = store._usage
    return usage._parse(store._kv.get(usage._key))


def count_keys(kv: KV) -> int:
    return len(kv.scan(keys.stored_value(*OWNER, "").partition))


def test_what_is_on_its_way_is_counted_by_somebody_who_counts_anew(
    kv: Stumbling, store: KvService, now: list[float]
) -> None:
    ask(store, "put", key="a", value="1", ttl=1)
    now[0] += 2  # so the count is too high, and whoever fills the store counts anew

    kv.before = lambda: fill(store, "other")
    ask(store, "put", key="mine", value="1")

    assert count_keys(kv) == 3
    assert ask(store, "get", key="mine")["value"] == "1"


def test_what_is_being_deleted_is_given_back_once(
    kv: Stumbling, store: KvService, now: list[float]
) -> None:
    ask(store, "put", key="a", value="1", ttl=1)
    ask(store, "put", key="b", value="1")
    ask(store, "put", key="c", value="1")
    now[0] += 2

    def count() -> None:
        fill(store, "other")

    kv.before = count
    ask(store, "delete", key="b")
    fill(store, "last")
    assert count_keys(kv) == 3


def test_a_write_that_came_to_nothing_gives_its_room_back(
    kv: Stumbling, store: KvService, now: list[float]
) -> None:
    def away() -> None:
        raise BackendError("EUNAVAILABLE", "the store is away")

    for _ in range(3):
        kv.before = away
        with pytest.raises(BackendError):
            ask(store, "put", key="a", value="1")
    with pytest.raises(Refused):  # nobody knows yet whether it came to something
        ask(store, "put", key="b", value="1")
    now[0] += HOLD_SECONDS
    fill(store, "b")
    assert count_keys(kv) == 3


def test_a_writer_that_comes_too_late_is_counted_after_all(
    kv: Stumbling, store: KvService, now: list[float]
) -> None:
    def stall() -> None:
        now[0] += HOLD_SECONDS + 1
        ask(store, "put", key="x", value="1", ttl=1)
        now[0] += 2
        ask(store, "put", key="y", value="1")
        ask(store, "put", key="z", value="1")

    kv.before = stall
    ask(store, "put", key="late", value="1")
    used = read_usage(store)
    assert (used.keys, used.size) == store._usage.count_stored()


def test_a_race_for_one_key_is_counted_once(kv: Stumbling, store: KvService) -> None:
    kv.before = lambda: ask(store, "put", key="a", value="12345")
    ask(store, "put", key="a", value="1")
    used = read_usage(store)
    assert (used.keys, used.size, used.marks) == (1, 2, ())


def test_a_store_that_was_emptied_meanwhile_is_counted_anew(
    kv: Stumbling, store: KvService
) -> None:
    fill(store, "a")
    kv.before = store.clear
    ask(store, "put", key="a0", value="12")
    store._usage.reserve(QuotaChange(2, 0), QuotaChange(3, 100))
    assert read_usage(store).keys == 3


def test_a_count_that_was_written_before_there_were_marks_is_read(
    kv: Stumbling, store: KvService
) -> None:
    ask(store, "put", key="a", value="1")
    kv.put(keys.stored_usage(*OWNER), b"[1,2]")
    ask(store, "put", key="b", value="1")
    item: Item | None = kv.get(keys.stored_usage(*OWNER))
    assert item is not None
    assert item.value == b'[2,4,"",[]]'
