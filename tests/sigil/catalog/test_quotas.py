"""A namespace holds no more than its quotas, and is filled no faster than its pauses allow."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress

import pytest

from sigil.deploy.cooldown import Cooldown
from sigil.errors import Refused, UsageError
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.servers.valkey import shared
from tests.sigil.registries import GUEST, MODEL, PERSON, Open, small, spec, text

KEY = dataclasses.replace(PERSON, token="k1")


def test_a_namespace_has_room_for_so_many(opened: Open, kv: SqliteKV) -> None:
    registry = opened(kv, quotas=small(capabilities=2))
    for name in ("one", "two"):
        registry.deploy(spec(name), PERSON)
    with pytest.raises(Refused, match="EQUOTA") as caught:
        registry.deploy(spec("three"), MODEL)
    assert "2 capabilities" in caught.value.message
    assert "sigil remove" in caught.value.suggestion
    assert registry.deploy(spec("two", "return 'newer'"), PERSON).offer.version == 2
    registry.remove("one", PERSON)
    assert registry.deploy(spec("three"), PERSON).created


def test_a_chat_has_a_small_room_of_its_own(opened: Open, kv: SqliteKV) -> None:
    registry = opened(kv, quotas=small(session=1))
    registry.deploy(spec("one"), GUEST)
    with pytest.raises(Refused, match="EQUOTA"):
        registry.deploy(spec("two"), GUEST)
    assert registry.deploy(spec("two"), PERSON).created


def test_only_so_many_ephemeral_ones_live_at_a_time(
    opened: Open, kv: SqliteKV, clock: Clock
) -> None:
    registry = opened(kv, quotas=small(ephemeral=2))
    for name in ("one", "two"):
        registry.deploy(spec(name, type="ephemeral", ttl=60), PERSON)
    with pytest.raises(Refused, match="EQUOTA"):
        registry.deploy(spec("three", type="ephemeral"), PERSON)
    assert registry.deploy(spec("lasting"), PERSON).created
    clock.now += 61
    assert registry.deploy(spec("three", type="ephemeral"), PERSON).created


def test_the_code_of_all_versions_counts(opened: Open, kv: SqliteKV) -> None:
    registry = opened(kv, quotas=small(bytes=100_000))
    body = "return '" + "x" * 30_000
    registry.deploy(spec(execute=f"{body}1'"), PERSON)
    with pytest.raises(Refused, match="EQUOTA") as caught:
        registry.deploy(spec(execute=f"{body}{'x' * 10_000}2'"), PERSON)
    assert "100,000" in caught.value.message
    held = registry.status(PERSON)
    assert 0 < held["bytes"] <= 100_000
    assert held["limits"]["bytes"] == 100_000
    assert text(registry).endswith(str(len(registry.versions("shout", PERSON))))
    registry.remove("shout", PERSON)
    assert registry.status(PERSON)["bytes"] == 0
    assert registry.deploy(spec(execute=f"{body}9'"), PERSON).created


def test_each_version_of_an_ephemeral_one_counts_once(opened: Open, kv: SqliteKV) -> None:
    registry = opened(kv)
    registry.deploy(spec(type="ephemeral", ttl=60), PERSON)
    first = registry.status(PERSON)["bytes"]
    registry.deploy(spec(execute="return 'loud'", type="ephemeral", ttl=60), PERSON)
    second = registry.status(PERSON)["bytes"] - first
    assert 0 < second < 1.5 * first


def test_a_publication_needs_room_too(opened: Open, kv: SqliteKV) -> None:
    registry = opened(kv, quotas=small(capabilities=1))
    registry.deploy(spec("one"), PERSON)
    registry.deploy(spec("two"), GUEST)
    with pytest.raises(Refused, match="EQUOTA"):
        registry.publish("two", PERSON)
    assert text(registry, "two", GUEST) == "one"


@pytest.mark.parametrize("where", ["sqlite", "redis"])
def test_a_token_deploys_once_in_five_seconds(where: str, kv: SqliteKV, clock: Clock) -> None:
    shared().do("FLUSHALL")
    store = kv if where == "sqlite" else RedisKV(shared().url, clock)

    def deploys(who: str) -> AbstractContextManager[None]:
        return Cooldown(store, clock).take_turn(who, "shout")

    with deploys("k1"):
        clock.now += 2
        with pytest.raises(Refused) as caught, deploys("k1"):
            pass
    assert (caught.value.code, caught.value.source, caught.value.retry_after) == (
        "ERATE",
        "shout",
        3,
    )
    with deploys("k2"):
        clock.now += 3
    with deploys("k1"):
        clock.now -= 1_000  # somebody set the clock
    with deploys("k1"):
        pass


def test_a_turn_is_given_back_and_nobody_elses(kv: SqliteKV, clock: Clock) -> None:
    cooldown = Cooldown(kv, clock)
    with pytest.raises(UsageError), cooldown.take_turn("k1", "shout"):
        raise UsageError("EINVAL", "no")
    with suppress(UsageError), cooldown.take_turn("k1", "shout"):
        clock.now += 6
        with cooldown.take_turn("k1", "shout"):  # another one, while the first takes long
            pass
        raise UsageError("EINVAL", "no")
    with pytest.raises(Refused, match="ERATE"), cooldown.take_turn("k1", "shout"):
        pass


@pytest.mark.parametrize("where", ["sqlite", "redis"])
def test_of_many_turns_at_once_so_many_are_given(where: str, kv: SqliteKV, clock: Clock) -> None:
    shared().do("FLUSHALL")
    store = kv if where == "sqlite" else RedisKV(shared().url, clock)

    def taken(number: int) -> bool:
        try:
            with Cooldown(store, clock).take_turn("k1", "shout", 3):
                return True
        except Refused:
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(taken, range(6))) == 3


def test_a_deploy_under_a_token_waits_but_for_an_identical_digest(
    opened: Open, kv: SqliteKV, clock: Clock
) -> None:
    registry = opened(kv, pause=5.0)
    registry.deploy(spec(), KEY)
    assert registry.deploy(spec(), KEY).created is False
    with pytest.raises(Refused, match="ERATE"):
        registry.deploy(spec(execute="return 'two'"), KEY)
    for caller in (
        PERSON,
        dataclasses.replace(PERSON, token="admin"),
        dataclasses.replace(PERSON, token="k2"),
    ):
        assert registry.deploy(spec(f"by-{caller.token or 'hand'}"), caller).created
    clock.now += 5
    assert registry.deploy(spec(execute="return 'two'"), KEY).created
