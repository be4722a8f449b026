"""Quotas hold whoever deploys at the same moment, and what a process reserved comes back when it dies."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sigil.catalog.catalog import Catalog
from sigil.catalog.heads import Activation
from sigil.catalog.quotas import HOLD_SECONDS, QuotaClaim, usage_of
from sigil.catalog.records import Head
from sigil.errors import BackendError, Refused
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.selection import thorough
from tests.servers.valkey import shared
from tests.sigil.catalog.reserving import open_reservations, record
from tests.sigil.registries import GUEST, OTHER, PERSON, Open, small, spec
from tests.sigil.storage.kv.processes import finish, start

DEPLOYER = """
from sigil.errors import Refused
from sigil.catalog.heads import Activation
from sigil.storage.kv.redis import RedisKV
from sigil.catalog.quotas import Quotas, claim_of
from tests.sigil.catalog.reserving import open_reservations, record
where, which, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
kv = RedisKV(where) if "://" in where else SqliteKV(where)
catalog, reservations = open_reservations(kv, Quotas(capabilities=count, bytes=count * 100 + 50, ephemeral=count // 2))
stood = 0
for number in range(count):
    made = record(f"{which}-{number}", "ephemeral" if number % 2 else "normal")
    try:
        with reservations.reserve("main", claim_of(made, None)):
            catalog.save_version(made, None, Activation(1, 0.0, "person", "deploy"))
            stood += 1
    except Refused:
        pass
print(stood)
"""


@pytest.mark.usefixtures("fork_commands")
@pytest.mark.parametrize("where", ["sqlite", *thorough("redis")])
def test_two_processes_fill_a_namespace_and_not_more(where: str, tmp_path: Path) -> None:
    place, kv = _open(where, tmp_path / "store.db")
    count = 12

    stood = finish([start(DEPLOYER, place, which, count) for which in ("one", "two")])

    held = usage_of(Catalog(kv).list_heads("main"))
    assert held.capabilities == count == sum(map(int, stood))
    assert held.bytes <= count * 100 + 50
    assert held.ephemeral <= count // 2
    left = kv.get(keys.quota_claims("main"))
    assert left is not None
    assert left.value == b"[]"  # and goes by itself


def _open(where: str, file: Path) -> tuple[str, KV]:
    """A store, and where other processes find it."""
    if where == "sqlite":
        return str(file), SqliteKV(file)
    shared().do("FLUSHALL")
    return shared().url, RedisKV(shared().url)


def test_deploys_at_one_moment_do_not_pass_the_limit(opened: Open, kv: SqliteKV) -> None:
    registries = [opened(quotas=small(capabilities=3, session=2)) for _ in range(6)]
    together = threading.Barrier(len(registries))

    def deploys(number: int) -> bool:
        together.wait()
        try:
            return registries[number].deploy(spec(f"n{number}"), PERSON).created
        except Refused:
            return False

    with ThreadPoolExecutor(len(registries)) as pool:
        assert sum(pool.map(deploys, range(len(registries)))) == 3
    assert registries[0].status(PERSON)["capabilities"] == 3


def test_publications_at_one_moment_do_not_pass_the_limit(opened: Open, kv: SqliteKV) -> None:
    registries = [opened(quotas=small(capabilities=1)) for _ in range(2)]
    registries[0].deploy(spec("one"), GUEST)
    registries[0].deploy(spec("two"), OTHER)
    together = threading.Barrier(2)

    def publishes(number: int) -> bool:
        together.wait()
        try:
            return registries[number].publish(("one", "two")[number], PERSON).created
        except Refused:
            return False

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(publishes, range(2))) == [False, True]


def test_room_that_somebody_took_is_not_given_twice(kv: SqliteKV, clock: Clock) -> None:
    catalog, held = open_reservations(kv, small(capabilities=1), clock)
    with held.reserve("main", QuotaClaim("one", 10, False)):
        with pytest.raises(Refused, match="EQUOTA"):
            held.require_quota("main", QuotaClaim("two", 10, False))
        held.require_quota("main", QuotaClaim("one", 20, False))  # another version of the same name
        held.require_quota("other", QuotaClaim("two", 10, False))
    held.require_quota("main", QuotaClaim("two", 10, False))
    assert list(catalog.list_heads("main")) == []


def test_who_counted_before_somebody_else_came_and_went_counts_again(
    kv: SqliteKV, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, held = open_reservations(kv, small(capabilities=1), clock)
    others, other = open_reservations(kv, small(capabilities=1), clock)
    counted: list[list[Head]] = []
    count = catalog.list_heads

    def meanwhile(namespace: str) -> list[Head]:
        found = list(count(namespace))
        if not counted:
            counted.append(found)
            with other.reserve("main", QuotaClaim("two", 10, False)):
                others.save_version(record("two"), None, Activation(1, 0.0, "person", "deploy"))
        return found

    monkeypatch.setattr(catalog, "list_heads", meanwhile)
    with (
        pytest.raises(Refused, match="EQUOTA"),
        held.reserve("main", QuotaClaim("one", 10, False)),
    ):
        pass
    assert counted == [[]]


def test_a_deploy_in_progress_counts_what_its_name_will_hold_once(
    kv: SqliteKV, clock: Clock
) -> None:
    catalog, held = open_reservations(kv, small(bytes=250), clock)
    with held.reserve("main", QuotaClaim("one", 100, False)):
        catalog.save_version(record("one"), None, Activation(1, 0.0, "person", "deploy"))
        held.require_quota("main", QuotaClaim("two", 150, False))
        with pytest.raises(Refused, match="151 new ones"):
            held.require_quota("main", QuotaClaim("two", 151, False))


DYING = """
from sigil.catalog.quotas import QuotaClaim
from tests.sigil.catalog.reserving import open_reservations
from tests.sigil.registries import small
catalog, reservations = open_reservations(SqliteKV(sys.argv[1]), small(capabilities=1))
with reservations.reserve("main", QuotaClaim("one", 10, False)):
    print("taken", flush=True)
    sys.stdin.readline()
"""


def test_room_comes_back_when_a_process_was_killed_on_the_way(
    tmp_path: Path, kv: SqliteKV, clock: Clock
) -> None:
    # a forked one goes on for a moment when its launcher is killed
    dying = start(DYING, tmp_path / "store.db")
    assert dying.stdin is not None
    assert dying.stdout is not None
    dying.stdin.write("\n")
    dying.stdin.flush()
    assert dying.stdout.readline() == "taken\n"
    dying.kill()
    dying.communicate()

    clock.now = time.time()
    _, held = open_reservations(kv, small(capabilities=1), clock)
    with pytest.raises(Refused, match="EQUOTA"):
        held.require_quota("main", QuotaClaim("two", 10, False))
    clock.now += HOLD_SECONDS
    with held.reserve("main", QuotaClaim("two", 10, False)):
        pass


def test_a_deploy_that_stands_does_not_fail_because_its_room_is_given_back_later(
    tmp_path: Path, clock: Clock
) -> None:
    class Away(SqliteKV):
        away = False

        def get(self, key: Key) -> Item | None:
            if self.away:
                raise BackendError("EUNAVAILABLE", "the store is away")
            return super().get(key)

    store = Away(tmp_path / "store.db", clock)
    _, held = open_reservations(store, small(capabilities=1), clock)
    with held.reserve("main", QuotaClaim("one", 10, False)):
        store.away = True
    store.close()


def test_a_count_that_was_overtaken_is_made_again(kv: SqliteKV, clock: Clock) -> None:
    catalog, held = open_reservations(kv, small(capabilities=1), clock)
    counted = held.require_quota("main", QuotaClaim("one", 10, False))
    with held.reserve("main", QuotaClaim("two", 10, False)):
        catalog.save_version(record("two"), None, Activation(1, 0.0, "person", "deploy"))
    with (
        pytest.raises(Refused, match="EQUOTA"),
        held.reserve("main", QuotaClaim("one", 10, False), counted),
    ):
        pass


def test_a_count_that_is_too_old_is_made_again(kv: SqliteKV, clock: Clock) -> None:
    catalog, held = open_reservations(kv, small(capabilities=1), clock)
    counted = held.require_quota("main", QuotaClaim("one", 10, False))
    with held.reserve("main", QuotaClaim("two", 10, False)):
        catalog.save_version(record("two"), None, Activation(1, 0.0, "person", "deploy"))
    clock.now += 3 * HOLD_SECONDS  # nothing tells any more that somebody reserved anything
    with (
        pytest.raises(Refused, match="EQUOTA"),
        held.reserve("main", QuotaClaim("one", 10, False), counted),
    ):
        pass
