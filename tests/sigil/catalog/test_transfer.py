"""Publishing brings along what a capability has, and removing takes it away.

The other namespaces see one or the other meanwhile.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sigil.catalog.catalog import Catalog
from sigil.catalog.expiry import Sweeper
from sigil.catalog.heads import Activation, HeadState, decode_head
from sigil.catalog.public_index import mark_for, update_mark
from sigil.catalog.records import Record
from sigil.catalog.usage import (
    DONE_SECONDS,
    FLUSH_SECONDS,
    UsageStatistics,
    fold_done_writers,
    forget_counts,
)
from sigil.errors import Conflict
from sigil.manifest.package import parse_flat
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.servers.valkey import shared
from tests.sigil.catalog.conftest import GUEST, MODEL, PERSON, Clock, Open, spec, text

BOB = Caller("bob", owner=True)
KEEPS = "const n = 1 + Number(await env.KV.get('n') ?? 0); await env.KV.put('n', `${n}`); return n"
KV_SPEC = {"permissions": {"kv": True}}


def keeps(name: str = "notes", more: str = "", **fields: Any) -> dict[str, Any]:
    """A capability that counts its own calls in its own store."""
    return spec(name, f"{KEEPS};{more}", **KV_SPEC, **fields)


def count(registry: LocalRegistry, caller: Caller = PERSON, name: str = "notes") -> int:
    return int(json.loads(registry.run(name, {}, caller).output))


def calls(registry: LocalRegistry, caller: Caller = PERSON, name: str = "shout") -> int:
    return int(registry.inspect(name, caller)["calls"])


def written(kv: KV, namespace: str = "main") -> list[str]:
    return [sort for sort, _ in kv.scan(keys.call_counts(namespace, "", "").partition)]


# -- what goes
# ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["sqlite", "redis"])
def test_counts_go_with_what_is_removed_in_every_process(
    where: str, opened: Open, kv: SqliteKV, clock: Clock
) -> None:
    shared().do("FLUSHALL")
    stores: list[Any] = (
        [RedisKV(shared().url, clock) for _ in range(2)] if where == "redis" else [None, None]
    )
    one, other = (opened(store) for store in stores)
    one.deploy(spec(), PERSON)
    for registry in (one, other):
        for _ in range(5):
            text(registry)
    assert calls(other) == 6  # its own, and what the other one wrote at once
    one.remove("shout", PERSON)
    one.deploy(spec(), PERSON)

    assert calls(one) == calls(other) == 0
    clock.now += FLUSH_SECONDS + 1
    text(other)
    for registry in (one, other):
        registry._statistics.flush()
    assert calls(one) == calls(other) == calls(opened(stores[0])) == 1


def test_what_was_counted_under_other_versions_goes_too(
    registry: LocalRegistry, kv: SqliteKV
) -> None:
    registry.deploy(spec(), PERSON)
    text(registry)
    registry.deploy(spec(execute="return 'two'"), PERSON)
    for _ in range(3):
        text(registry)
    assert calls(registry) == 4
    registry.remove("shout", PERSON)
    registry._statistics.flush()
    assert written(kv) == []


def test_counts_of_a_longer_name_stay(registry: LocalRegistry) -> None:
    for name in ("shout", "shout-more"):
        registry.deploy(spec(name), PERSON)
        text(registry, name)
    registry.remove("shout", PERSON)
    assert calls(registry, name="shout-more") == 1


def test_counts_go_with_what_has_expired(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(type="ephemeral", ttl=60), PERSON)
    text(registry)
    assert len(written(kv)) == 1
    clock.now += 62
    Sweeper(kv, clock).remove_expired()
    assert written(kv) == []


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
    assert written(kv) == []


def test_forgetting_twice_is_harmless(kv: SqliteKV, clock: Clock) -> None:
    UsageStatistics(kv, clock).record_call("main", "shout", 1.0, failed=False)
    for _ in range(2):
        forget_counts(kv, "main", "shout")
    assert written(kv) == []


# -- what comes along
# -----------------------------------------------------------------------------------------------------------


def test_what_it_kept_comes_along_when_it_is_published(registry: LocalRegistry) -> None:
    registry.deploy(keeps(), GUEST)
    assert [count(registry, GUEST) for _ in range(3)] == [1, 2, 3]
    registry.publish("notes", PERSON)

    assert [count(registry, caller) for caller in (PERSON, GUEST, MODEL)] == [4, 5, 6]
    registry.deploy(keeps(more=" // the next one"), PERSON)
    assert count(registry) == 7
    registry.rollback("notes", PERSON)
    assert count(registry) == 8


def test_values_keep_their_end_when_it_is_published(registry: LocalRegistry, clock: Clock) -> None:
    ends = (
        "if (input.put) await env.KV.put('k', 'v', { expirationTtl: 100 }); return await"
        " env.KV.get('k')"
    )
    registry.deploy(spec("ends", ends, **KV_SPEC), GUEST)
    registry.run("ends", {"put": True}, GUEST)
    registry.publish("ends", PERSON)
    assert text(registry, "ends") == "v"
    clock.now += 101
    assert text(registry, "ends") == "null"


def test_a_crash_between_does_not_separate_it_from_what_it_kept(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.deploy(keeps(), GUEST)
    count(registry, GUEST)
    with monkeypatch.context() as patch:
        patch.setattr(
            registry._transfer._catalog,
            "remove",
            lambda source: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            registry.publish("notes", PERSON)
    assert (count(registry), count(registry, GUEST)) == (2, 3)
    assert registry.publish("notes", PERSON).created is False
    assert (count(registry), count(registry, GUEST)) == (4, 5)


def test_what_it_took_the_place_of_keeps_its_own_until_it_comes_back(
    registry: LocalRegistry,
) -> None:
    registry.deploy(keeps(), GUEST)  # first, for later the name is taken
    registry.deploy(keeps(more=" // another"), PERSON)
    assert [count(registry) for _ in range(2)] == [1, 2]
    count(registry, GUEST)
    registry.publish("notes", PERSON, replace=True)
    assert count(registry) == 2
    registry.rollback("notes", PERSON)
    assert count(registry) == 3


def test_what_it_kept_goes_when_it_is_removed_after_it_was_published(
    registry: LocalRegistry,
) -> None:
    registry.deploy(keeps(), GUEST)
    registry.deploy(keeps(more=" // another"), PERSON)
    for caller in (PERSON, GUEST):
        count(registry, caller)
    registry.publish("notes", PERSON, replace=True)
    registry.remove("notes", PERSON)

    registry.deploy(keeps(), PERSON)
    assert count(registry) == 1
    registry.remove("notes", PERSON)
    registry.deploy(keeps(), GUEST)
    assert count(registry, GUEST) == 1


def test_a_chats_counts_stay_behind_when_it_is_published(
    registry: LocalRegistry, kv: SqliteKV
) -> None:
    registry.deploy(keeps(), GUEST)
    count(registry, GUEST)
    registry.publish("notes", PERSON)
    registry._statistics.flush()
    assert written(kv, GUEST.own) == []
    assert calls(registry, name="notes") == 0


# -- whom the others see
# --------------------------------------------------------------------------------------------------------


def agree(kv: KV, now: float = 0.0) -> bool:
    """Whether the mark says what the head says."""
    head, mark = kv.get(keys.capability("main", "shout")), kv.get(keys.public_mark("main", "shout"))
    wanted = mark_for(*decode_head(head.value), now) if head else None
    return wanted == (mark.value if mark else None)


def toggled(kv: KV, dice: random.Random) -> None:
    """Deploy it, public or not, or remove it, unless somebody else is quicker."""
    catalog, package = Catalog(kv), parse_flat(spec(public=dice.random() < 0.5))
    head = catalog.load_head("main", "shout")
    number = (head.latest if head else 0) + 1
    made = Record(
        "main", "shout", number, package.digest, "js", "w", "s", package.manifest, "person", "", 0.0
    )
    with suppress(Conflict):
        if head and not head.removed and dice.random() < 0.2:
            catalog.remove(head)
        else:
            catalog.save_version(made, head, Activation(number, 0.0, "person", "deploy"))


@pytest.mark.parametrize("where", ["sqlite", "redis"])
def test_a_mark_says_what_the_head_says_whoever_wrote_last(where: str, tmp_path: Path) -> None:
    shared().do("FLUSHALL")
    stores: list[Any] = [
        SqliteKV(tmp_path / "store.db") if where == "sqlite" else RedisKV(shared().url)
        for _ in range(4)
    ]
    with ThreadPoolExecutor(len(stores)) as pool:
        for seed in range(40):
            list(
                pool.map(
                    lambda store, seed=seed: toggled(store, random.Random(f"{seed} {id(store)}")),
                    stores,
                )
            )
            assert agree(stores[0])


class Racing(SqliteKV):
    """Somebody else does something right before a mark is written."""

    before: Callable[[], object] | None = None

    def _race(self, key: Key) -> None:
        if key.partition == "public" and self.before:
            before, self.before = self.before, None
            before()

    def put(self, key: Key, value: bytes, **more: Any) -> str:
        self._race(key)
        return super().put(key, value, **more)

    def delete(self, key: Key, **more: Any) -> None:
        self._race(key)
        super().delete(key, **more)


def found(registry: LocalRegistry) -> list[str]:
    return [hit.offer.name for hit in registry.query("shout a text", BOB).hits]


def test_others_see_what_was_deployed_last(
    opened: Open, kv: SqliteKV, tmp_path: Path, clock: Clock
) -> None:
    racing, other = Racing(tmp_path / "store.db", clock), opened(kv)
    registry = opened(racing)
    racing.before = lambda: other.deploy(spec(execute="return 'mine'"), PERSON)
    registry.deploy(spec(public=True), PERSON)
    assert (found(registry), found(other), agree(kv, clock.now)) == ([], [], True)

    racing.before = lambda: other.deploy(spec(execute="return 'theirs'", public=True), PERSON)
    registry.deploy(spec(public=True, execute="return 'again'"), PERSON)
    assert (found(registry), found(other), agree(kv, clock.now)) == (
        ["main/shout"],
        ["main/shout"],
        True,
    )
    racing.before = lambda: other.deploy(spec(execute="return 'once more'", public=True), PERSON)
    registry.remove("shout", PERSON)
    assert (found(registry), found(other), agree(kv, clock.now)) == (
        ["main/shout"],
        ["main/shout"],
        True,
    )
    racing.close()


def test_a_mark_that_a_dead_process_left_is_set_right_within_a_day(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(public=True), PERSON)
    kv.delete(keys.public_mark("main", "shout"))
    kv.put(keys.public_mark("main", "gone"), b"sha256:0")
    assert not agree(kv, clock.now)

    Sweeper(kv, clock).mark_idle()

    assert agree(kv, clock.now)
    assert kv.get(keys.public_mark("main", "gone")) is None
    assert found(registry) == ["main/shout"]


def test_what_is_no_longer_public_leaves_the_index_before_its_mark_goes(
    registry: LocalRegistry, kv: SqliteKV
) -> None:
    registry.deploy(spec(public=True), PERSON)
    assert found(registry) == ["main/shout"]
    head = registry._catalog.load_head("main", "shout")
    assert head
    mark = kv.get(keys.public_mark("main", "shout"))
    assert mark
    registry.remove("shout", PERSON)
    kv.put(keys.public_mark("main", "shout"), b"sha256:other")
    kv.put(keys.generation(keys.EVERYWHERE), b"")
    assert found(registry) == []


def test_chats_and_the_library_have_no_marks(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(), GUEST)
    update_mark(kv, "library", "shout", clock.now)
    assert kv.scan("public") == []
    assert mark_for(HeadState(1), {"version": 1, "digest": "sha256:1", "manifest": {}}, 0.0) is None
