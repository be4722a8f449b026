"""Each process keeps its counts of calls, errors and durations; nobody counts anything twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sigil.catalog.expiry import Sweeper
from sigil.catalog.usage import (
    DONE_SECONDS,
    EPOCH_SECONDS,
    FLUSH_SECONDS,
    UsageStatistics,
    fold_done_writers,
    forget_counts,
)
from sigil.errors import BackendError, SigilError
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.selection import thorough
from tests.servers.valkey import shared
from tests.sigil.registries import GUEST, PERSON, WAYS, Open, spec, text
from tests.sigil.storage.kv.processes import finish, start
from tests.sigil.stores import SHARED, Place, place, pytest_generate_tests
from tests.threads import in_parallel

__all__ = ["place", "pytest_generate_tests"]


class Counting(MemoryKV):
    """A store that counts its writes, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.writes, self.away = 0, False

    def put(self, *given: object, **more: object) -> str:
        if self.away:
            raise BackendError("EUNAVAILABLE", "the store is away")
        self.writes += 1
        return super().put(*given, **more)  # type: ignore[arg-type]


def note(
    statistics: UsageStatistics, times: int = 1, ms: float = 1.0, failed: bool = False
) -> None:
    for _ in range(times):
        statistics.record_call("main", "shout", ms, failed=failed)


def test_an_inspection_tells_how_it_was_used(registry: LocalRegistry, clock: Clock) -> None:
    registry.deploy(spec("ways", WAYS), PERSON)
    never = registry.inspect("ways", PERSON)
    assert (never["calls"], never["errors"], never["mean_ms"], never["p95_ms"], never["last"]) == (
        0,
        0,
        None,
        None,
        None,
    )

    text(registry, "ways")
    for way in ("throw", "input"):
        with pytest.raises(SigilError):
            registry.run("ways", {"way": way}, PERSON)

    told = registry.inspect("ways", PERSON)
    assert (told["calls"], told["errors"], told["last"]) == (3, 2, clock.now)
    assert 0 < told["mean_ms"] <= told["p95_ms"] * 3
    (row,) = registry.list(PERSON)
    assert (row["calls"], row["errors"]) == (3, 2)
    (item,) = registry.status(PERSON)["items"]
    assert (item["capability"], item["state"], item["calls"]) == ("ways", "ok", 3)


def test_processes_are_summed_up_and_their_ends_lose_nothing(
    registry: LocalRegistry, opened: Open
) -> None:
    registry.deploy(spec(), PERSON)
    others = [opened(), opened()]
    for one in (registry, *others):
        for _ in range(3):
            text(one)
    assert (
        opened().inspect("shout", PERSON)["calls"] == 3
    )  # what each wrote at once; the rest follows within ten seconds
    for other in (registry, *others):
        other._statistics.flush()  # as `close` does; the sandbox is shared here
    assert registry.inspect("shout", PERSON)["calls"] == 9
    assert opened().inspect("shout", PERSON)["calls"] == 9


def test_there_is_one_write_in_ten_seconds(clock: Clock) -> None:
    kv = Counting()
    statistics = UsageStatistics(kv, clock)
    note(statistics, 1_000)
    assert kv.writes == 1
    clock.now += FLUSH_SECONDS
    note(statistics, 1_000)
    assert kv.writes == 2
    assert statistics.read_counts("main", "shout").calls == 2_000
    assert kv.writes == 2
    statistics.flush()
    statistics.flush()
    assert kv.writes == 3
    assert UsageStatistics(kv, clock).read_counts("main", "shout").calls == 2_000


def test_a_store_that_is_away_fails_no_call_and_loses_no_count(clock: Clock) -> None:
    kv = Counting()
    statistics = UsageStatistics(kv, clock)
    kv.away = True
    note(statistics, 5)
    kv.away = False
    clock.now += FLUSH_SECONDS
    note(statistics)
    assert UsageStatistics(kv, clock).read_counts("main", "shout").calls == 6


def test_the_percentile_is_at_most_twice_too_large(clock: Clock) -> None:
    statistics = UsageStatistics(MemoryKV(), clock)
    note(statistics, 90, 1.0)
    note(statistics, 10, 100.0)
    use = statistics.read_counts("main", "shout")
    assert use.mean_ms == pytest.approx(10.9)
    assert use.p95_ms is not None
    assert 100 <= use.p95_ms <= 200


def test_processes_that_are_done_are_folded_once(place: Place, clock: Clock) -> None:
    store = place.open(clock)
    for _ in range(3):
        note(UsageStatistics(store, clock), 2, failed=True)  # killed: only what was written stands
        one = UsageStatistics(store, clock)
        note(one, 2)
        one.flush()
    whole = UsageStatistics(store, clock).read_counts("main", "shout")
    assert (whole.calls, whole.errors) == (9, 3)

    clock.now += DONE_SECONDS + 1
    assert fold_done_writers(store, "main", clock.now) == 6
    assert fold_done_writers(store, "main", clock.now) == 0
    assert UsageStatistics(store, clock).read_counts("main", "shout") == whole


def test_two_who_fold_at_once_count_nothing_twice(place: Place, clock: Clock) -> None:
    stores = [place.open(clock) for _ in range(2)]
    for _ in range(12):
        note(UsageStatistics(stores[0], clock), 1, failed=True)
    clock.now += DONE_SECONDS + 1
    folded = in_parallel(2, lambda number: fold_done_writers(stores[number], "main", clock.now))
    assert set(folded) <= {0, 12}
    assert max(folded) == 12
    for store in stores:
        use = UsageStatistics(store, clock).read_counts("main", "shout")
        assert (use.calls, use.errors) == (12, 12)
    fold_done_writers(stores[0], "main", clock.now)
    assert [sort for sort, _ in stores[1].scan(keys.call_counts("main", "", "").partition)] == [
        "shout#all"
    ]


COUNTS = """
from sigil.settings import Settings
from sigil.catalog.usage import UsageStatistics
from sigil.wiring import open_stores
url, = sys.argv[1:]
statistics = UsageStatistics(open_stores(Settings(store=url)).kv)
for _ in range(200):
    statistics.record_call("main", "shout", 2.0, failed=False)
statistics.record_call("main", "other", 2.0, failed=True)
statistics.flush()
"""


@pytest.mark.usefixtures("fork_commands")
@pytest.mark.parametrize("place", SHARED, indirect=True)
def test_what_several_processes_count_is_the_sum(place: Place) -> None:
    finish([start(COUNTS, place.url) for _ in range(3)])
    uses = UsageStatistics(place.open()).read_all_counts("main")
    assert {name: (use.calls, use.errors) for name, use in uses.items()} == {
        "shout": (600, 0),
        "other": (3, 3),
    }


def test_a_fold_that_was_interrupted_counts_nothing_twice(place: Place, clock: Clock) -> None:
    kv = place.open(clock)
    for _ in range(3):
        note(UsageStatistics(kv, clock))
    clock.now += DONE_SECONDS + 1
    before = kv.scan(keys.call_counts("main", "", "").partition)
    fold_done_writers(kv, "main", clock.now)
    for sort, item in before:  # killed before it deleted them
        kv.put(keys.call_counts("main", *sort.split("#")), item.value)

    assert UsageStatistics(kv, clock).read_counts("main", "shout").calls == 3
    assert fold_done_writers(kv, "main", clock.now) == 0
    assert len(kv.scan(keys.call_counts("main", "", "").partition)) == 1
    assert UsageStatistics(kv, clock).read_counts("main", "shout").calls == 3


def test_a_process_that_slept_for_long_goes_on_under_another_name(
    place: Place, clock: Clock
) -> None:
    kv = place.open(clock)
    statistics = UsageStatistics(kv, clock)
    note(statistics, 2)
    statistics.flush()
    clock.now += max(EPOCH_SECONDS, DONE_SECONDS) + 1
    assert fold_done_writers(kv, "main", clock.now) == 1
    note(statistics)
    assert statistics.read_counts("main", "shout").calls == 3


def test_a_process_counts_so_many_at_a_time_and_loses_none(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.catalog.usage.COUNTED_MOST", 5)
    kv = MemoryKV()
    statistics = UsageStatistics(kv, clock)
    for number in range(40):
        statistics.record_call("main", f"n{number % 8}", 1.0, failed=False)
    assert len(statistics._counted) <= 5
    assert {use.calls for use in statistics.read_all_counts("main").values()} == {5}


def count_calls(registry: LocalRegistry, caller: Caller = PERSON, name: str = "shout") -> int:
    return int(registry.inspect(name, caller)["calls"])


def stored_counts(kv: KV, namespace: str = "main") -> list[str]:
    return [sort for sort, _ in kv.scan(keys.call_counts(namespace, "", "").partition)]


@pytest.mark.parametrize("where", ["sqlite", *thorough("redis")])
def test_counts_go_with_what_is_removed_in_every_process(
    where: str, opened: Open, kv: SqliteKV, clock: Clock
) -> None:
    stores: list[Any] = [None, None]
    if where == "redis":
        shared().do("FLUSHALL")
        stores = [RedisKV(shared().url, clock) for _ in range(2)]
    one, other = (opened(store) for store in stores)
    one.deploy(spec(), PERSON)
    for registry in (one, other):
        for _ in range(5):
            text(registry)
    assert count_calls(other) == 6  # its own, and what the other one wrote at once
    one.remove("shout", PERSON)
    one.deploy(spec(), PERSON)

    assert count_calls(one) == count_calls(other) == 0
    clock.now += FLUSH_SECONDS + 1
    text(other)
    for registry in (one, other):
        registry._statistics.flush()
    assert count_calls(one) == count_calls(other) == count_calls(opened(stores[0])) == 1


def test_what_was_counted_under_other_versions_goes_too(
    registry: LocalRegistry, kv: SqliteKV
) -> None:
    registry.deploy(spec(), PERSON)
    text(registry)
    registry.deploy(spec(execute="return 'two'"), PERSON)
    for _ in range(3):
        text(registry)
    assert count_calls(registry) == 4
    registry.remove("shout", PERSON)
    registry._statistics.flush()
    assert stored_counts(kv) == []


def test_counts_of_a_longer_name_stay(registry: LocalRegistry) -> None:
    for name in ("shout", "shout-more"):
        registry.deploy(spec(name), PERSON)
        text(registry, name)
    registry.remove("shout", PERSON)
    assert count_calls(registry, name="shout-more") == 1


def test_counts_go_with_what_has_expired(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(type="ephemeral", ttl=60), PERSON)
    text(registry)
    assert len(stored_counts(kv)) == 1
    clock.now += 62
    Sweeper(kv, clock).remove_expired()
    assert stored_counts(kv) == []


def test_a_sum_that_is_written_while_it_is_removed_does_not_stay(
    kv: SqliteKV, tmp_path: Path, clock: Clock
) -> None:
    class Removing(SqliteKV):
        """Somebody who has listed the counts removes them right before the sum is written."""

        def put(self, key: Key, value: bytes, **more: Any) -> str:
            forget_counts(kv, "main", "shout")
            return super().put(key, value, **more)

    statistics = UsageStatistics(kv, clock)
    statistics.record_call("main", "shout", 1.0, failed=False)
    clock.now += DONE_SECONDS + 1
    store = Removing(tmp_path / "store.db", clock)
    fold_done_writers(store, "main", clock.now)
    store.close()
    assert stored_counts(kv) == []


def test_forgetting_twice_is_harmless(kv: SqliteKV, clock: Clock) -> None:
    UsageStatistics(kv, clock).record_call("main", "shout", 1.0, failed=False)
    for _ in range(2):
        forget_counts(kv, "main", "shout")
    assert stored_counts(kv) == []


def test_a_chats_counts_stay_behind_when_it_is_published(
    registry: LocalRegistry, kv: SqliteKV
) -> None:
    registry.deploy(spec(), GUEST)
    text(registry, caller=GUEST)
    registry.publish("shout", PERSON)
    registry._statistics.flush()
    assert stored_counts(kv, GUEST.own) == []
    assert count_calls(registry) == 0
