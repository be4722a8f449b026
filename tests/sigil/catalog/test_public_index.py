"""The marks of public capabilities agree with their heads, and so does what other namespaces find."""

from __future__ import annotations

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
from sigil.errors import Conflict
from sigil.manifest.package import parse_flat
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.servers.valkey import shared
from tests.sigil.registries import GUEST, PERSON, Open, spec

BOB = Caller("bob", owner=True)


def marks_agree(kv: KV, now: float = 0.0) -> bool:
    """Whether the mark says what the head says."""
    head, mark = kv.get(keys.capability("main", "shout")), kv.get(keys.public_mark("main", "shout"))
    wanted = mark_for(*decode_head(head.value), now) if head else None
    return wanted == (mark.value if mark else None)


def toggle(kv: KV, dice: random.Random) -> None:
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
                    lambda store, seed=seed: toggle(store, random.Random(f"{seed} {id(store)}")),
                    stores,
                )
            )
            assert marks_agree(stores[0])


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


def found_by_bob(registry: LocalRegistry) -> list[str]:
    return [hit.offer.name for hit in registry.query("shout a text", BOB).hits]


def test_others_see_what_was_deployed_last(
    opened: Open, kv: SqliteKV, tmp_path: Path, clock: Clock
) -> None:
    racing, other = Racing(tmp_path / "store.db", clock), opened(kv)
    registry = opened(racing)
    racing.before = lambda: other.deploy(spec(execute="return 'mine'"), PERSON)
    registry.deploy(spec(public=True), PERSON)
    assert (found_by_bob(registry), found_by_bob(other), marks_agree(kv, clock.now)) == (
        [],
        [],
        True,
    )

    racing.before = lambda: other.deploy(spec(execute="return 'theirs'", public=True), PERSON)
    registry.deploy(spec(public=True, execute="return 'again'"), PERSON)
    assert (found_by_bob(registry), found_by_bob(other), marks_agree(kv, clock.now)) == (
        ["main/shout"],
        ["main/shout"],
        True,
    )
    racing.before = lambda: other.deploy(spec(execute="return 'once more'", public=True), PERSON)
    registry.remove("shout", PERSON)
    assert (found_by_bob(registry), found_by_bob(other), marks_agree(kv, clock.now)) == (
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
    assert not marks_agree(kv, clock.now)

    Sweeper(kv, clock).mark_idle()

    assert marks_agree(kv, clock.now)
    assert kv.get(keys.public_mark("main", "gone")) is None
    assert found_by_bob(registry) == ["main/shout"]


def test_what_is_no_longer_public_leaves_the_index_before_its_mark_goes(
    registry: LocalRegistry, kv: SqliteKV
) -> None:
    registry.deploy(spec(public=True), PERSON)
    assert found_by_bob(registry) == ["main/shout"]
    head = registry._catalog.load_head("main", "shout")
    assert head
    mark = kv.get(keys.public_mark("main", "shout"))
    assert mark
    registry.remove("shout", PERSON)
    kv.put(keys.public_mark("main", "shout"), b"sha256:other")
    kv.put(keys.generation(keys.EVERYWHERE), b"")
    assert found_by_bob(registry) == []


def test_chats_and_the_library_have_no_marks(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(), GUEST)
    update_mark(kv, "library", "shout", clock.now)
    assert kv.scan("public") == []
    assert mark_for(HeadState(1), {"version": 1, "digest": "sha256:1", "manifest": {}}, 0.0) is None
