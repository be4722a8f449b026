"""Expired capabilities are invisible at once and swept later; unused ones become inactive.

Persistent ones stay.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from functions import scheduler
from functions.queues.store_queue import StoreQueue
from sigil.catalog import usage
from sigil.catalog.audit import Audit
from sigil.catalog.expiry import AGAIN_SECONDS, IDLE_SECONDS, Sweeper
from sigil.errors import BackendError, UsageError
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import KV, keys
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from sigil.wiring import Stores
from tests.fakes.clock import Clock
from tests.servers.valkey import shared
from tests.sigil.registries import GUEST, PERSON, Open, spec, text

DAY = 86_400.0


def shown(registry: LocalRegistry) -> list[str]:
    return [hit.offer.name for hit in registry.query("shout a text", PERSON).hits]


def state(registry: LocalRegistry, name: str = "shout") -> str:
    return str(registry.inspect(name, PERSON)["state"])


def actions(kv: KV, namespace: str = "main") -> list[str]:
    return [entry.fields["action"] for entry in Audit(kv).read_latest(namespace)]


def test_an_ephemeral_capability_lives_an_hour_unless_it_says_otherwise(
    registry: LocalRegistry, clock: Clock
) -> None:
    assert registry.deploy(spec(type="ephemeral"), PERSON).expires_at == clock.now + 3_600
    assert (
        registry.deploy(spec("other", type="ephemeral", ttl=86_400), PERSON).expires_at
        == clock.now + DAY
    )
    with pytest.raises(UsageError):
        registry.deploy(spec("third", type="ephemeral", ttl=86_401), PERSON)


def expires(registry: LocalRegistry, kv: KV, clock: Clock) -> None:
    digest = registry.deploy(spec(type="ephemeral", ttl=60), PERSON).offer.digest
    assert Sweeper(kv, clock).remove_expired() == 0
    clock.now += 60

    assert shown(registry) == []
    for ref in ("shout", "shout@1", f"shout@{digest}"):
        with pytest.raises(UsageError, match="ENOENT"):
            text(registry, ref)
    clock.now += 1
    assert scheduler.tick(Stores(kv, MemoryArtifacts()), StoreQueue(kv), "main", clock).swept >= 1
    assert actions(kv) == ["deploy", "expire"]
    assert kv.get(keys.capability("main", "shout")) is None
    assert Sweeper(kv, clock).remove_expired() == 0
    assert registry.deploy(spec(type="ephemeral", ttl=60), PERSON).created


def test_the_expired_is_invisible_at_once_and_swept_by_the_scheduler(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    expires(registry, kv, clock)


def test_expiry_works_on_redis_too(opened: Open, clock: Clock) -> None:
    shared().do("FLUSHALL")
    store = RedisKV(shared().url, clock)
    registry = opened(store)
    digest = registry.deploy(spec(type="ephemeral", ttl=60), PERSON).offer.digest
    clock.now += 61
    with pytest.raises(UsageError, match="ENOENT"):
        text(registry, f"shout@{digest}")
    assert Sweeper(store, clock).remove_expired() == 1
    assert actions(store)[-1] == "expire"


def test_what_was_deployed_again_in_the_meantime_is_not_swept(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(type="ephemeral", ttl=60), PERSON)
    registry.deploy(spec(execute="return 'lasting'"), PERSON)
    clock.now += 61
    assert Sweeper(kv, clock).remove_expired() == 0
    assert text(registry) == "lasting"
    assert [row["version"] for row in registry.versions("shout", PERSON)] == [2]


def test_a_lasting_version_under_an_expired_one_runs_again_by_itself(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    for execute in ("return 'old'", "return 'lasting'", "return 'withdrawn'"):
        registry.deploy(spec(execute=execute, public=True), PERSON)
    size = registry.status(PERSON)["bytes"]
    registry.yank("shout@3", PERSON)
    for execute in ("return 'brief'", "return 'briefer'"):
        registry.deploy(spec(execute=execute, type="ephemeral", ttl=60), PERSON)
    assert text(registry) == "briefer"
    ended = clock.now = clock.now + 60

    assert text(registry) == "lasting"
    clock.now += 1
    assert Sweeper(kv, clock).remove_expired() == 1
    assert (text(registry), shown(registry)) == ("lasting", ["shout"])
    assert registry.status(PERSON)["bytes"] == size
    assert actions(kv)[-1] == "expire"
    last = registry.history("shout", PERSON)[-1]
    assert last == {"version": 2, "at": ended, "by": "sigil", "action": "expire"}
    stranger = dataclasses.replace(PERSON, namespace="elsewhere")
    assert text(registry, "main/shout", stranger) == "lasting"
    assert registry.deploy(spec(execute="return 'next'"), PERSON).offer.version == 6


def test_what_ran_before_runs_again_and_not_what_was_rolled_away(
    registry: LocalRegistry, clock: Clock
) -> None:
    for execute in ("return 'good'", "return 'bad'"):
        registry.deploy(spec(execute=execute), PERSON)
    registry.rollback("shout", PERSON)
    registry.deploy(spec(execute="return 'brief'", type="ephemeral", ttl=60), PERSON)
    clock.now += 61
    assert text(registry) == "good"

    registry.deploy(spec(execute="return 'odd'"), PERSON)
    registry.yank("shout@4", PERSON)
    assert text(registry) == "good"


def test_what_an_ephemeral_version_writes_over_a_lasting_ones_keys_lasts(
    registry: LocalRegistry, clock: Clock
) -> None:
    keeps = "if (input.set) await env.KV.put('a', input.set); return await env.KV.get('a')"
    registry.deploy(spec(execute=keeps, permissions={"kv": True}), PERSON)
    text(registry, set="first")
    registry.deploy(
        spec(execute=keeps + " + '!'", permissions={"kv": True}, type="ephemeral", ttl=60), PERSON
    )
    assert text(registry, set="second") == "second!"
    clock.now += 100
    assert text(registry) == "second"


def test_what_is_written_over_an_expired_version_before_the_sweep_goes_on_from_the_lasting_one(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(execute="return 'lasting'"), PERSON)
    registry.deploy(spec(type="ephemeral", ttl=60), PERSON)
    clock.now += 61
    registry.yank("shout@1", PERSON)
    assert Sweeper(kv, clock).remove_expired() == 0
    with pytest.raises(UsageError, match="ENOENT"):
        text(registry)
    registry.yank("shout@1", PERSON, undo=True)
    assert text(registry) == "lasting"


def test_others_do_not_have_what_was_public_when_its_time_has_run_out(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    stranger = dataclasses.replace(PERSON, namespace="elsewhere")
    registry.deploy(spec(public=True), PERSON)
    registry.deploy(spec(execute="return 'private'"), PERSON)
    registry.deploy(spec(execute="return 'brief'", public=True, type="ephemeral", ttl=60), PERSON)
    assert text(registry, "main/shout", stranger) == "brief"
    clock.now += 61
    for ref in ("main/shout", "main/shout@1", "main/shout@3"):
        with pytest.raises(UsageError, match="ENOENT"):
            text(registry, ref, stranger)
    assert text(registry) == "private"


def test_the_same_deployed_again_lives_on_from_then(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    brief = spec(type="ephemeral", ttl=60)
    digest = registry.deploy(brief, PERSON).offer.digest
    clock.now += 50
    again = registry.deploy(brief, PERSON)
    assert (again.created, again.offer.version, again.expires_at) == (False, 1, clock.now + 60)
    clock.now += 50
    assert Sweeper(kv, clock).remove_expired() == 0
    assert [text(registry, ref) for ref in ("shout", "shout@1", f"shout@{digest}")] == ["one"] * 3
    registry.deploy(
        brief, dataclasses.replace(PERSON, owner=False, author="model", session="telegram:9")
    )  # not its to prolong
    clock.now += 11
    assert Sweeper(kv, clock).remove_expired() == 1
    assert list(registry.list(PERSON)) == []


@pytest.mark.parametrize("swept", [True, False])
@pytest.mark.parametrize("under", [True, False])
def test_what_was_granted_ends_with_the_version(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock, swept: bool, under: bool
) -> None:
    asks: dict[str, Any] = {"permissions": {"http": ["GET t.example/"]}}
    if under:
        registry.deploy(spec(execute="return 'lasting'", **asks), PERSON)
        registry.granting.grant("shout", PERSON)
    brief = spec(type="ephemeral", ttl=60, **asks)
    registry.deploy(brief, PERSON)
    assert registry.granting.grant("shout", PERSON)["new"] == []
    clock.now += 61
    if swept:
        assert Sweeper(kv, clock).remove_expired() == 1
        assert len(list(registry.granting.rows(PERSON))) == (1 if under else 0)
    if under:
        assert registry.inspect("shout", PERSON)["pending"] == []

    assert registry.deploy(brief, Caller("main", token="t")).pending == ("http:GET t.example/",)


def test_a_chats_ephemeral_capability_is_swept_from_its_own_namespace(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(type="ephemeral", ttl=60), GUEST)
    clock.now += 61
    assert Sweeper(kv, clock).remove_expired() == 1
    assert actions(kv, "main~telegram:9")[-1] == "expire"


@pytest.mark.parametrize(("lifetime", "ends"), [("normal", "inactive"), ("persistent", "ok")])
def test_what_is_unused_for_thirty_days_is_inactive_unless_it_is_persistent(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock, lifetime: str, ends: str
) -> None:
    registry.deploy(spec(type=lifetime), PERSON)
    clock.now += IDLE_SECONDS - DAY
    Sweeper(kv, clock).sweep()
    assert state(registry) == "ok"
    clock.now += DAY + 1
    Sweeper(kv, clock).sweep()

    assert state(registry) == ends
    assert shown(registry) == ([] if ends == "inactive" else ["shout"])
    assert [row["capability"] for row in registry.list(PERSON)] == ["shout"]


def test_a_call_wakes_it_by_name_and_by_digest(
    registry: LocalRegistry, opened: Open, kv: SqliteKV, clock: Clock
) -> None:
    digest = registry.deploy(spec(), PERSON).offer.digest
    for ref in ("shout", f"shout@{digest}"):
        clock.now += IDLE_SECONDS + 1
        Sweeper(kv, clock).sweep()
        assert shown(opened()) == []
        assert text(registry, ref) == "one"
        assert shown(opened()) == ["shout"]


def test_a_deploy_wakes_it_too(registry: LocalRegistry, kv: SqliteKV, clock: Clock) -> None:
    registry.deploy(spec(), PERSON)
    clock.now += IDLE_SECONDS + 1
    Sweeper(kv, clock).sweep()
    assert registry.deploy(spec(), PERSON).created is False
    assert shown(registry) == ["shout"]


def test_what_is_in_use_stays(registry: LocalRegistry, kv: SqliteKV, clock: Clock) -> None:
    registry.deploy(spec(), PERSON)
    clock.now += IDLE_SECONDS
    text(registry)
    clock.now += IDLE_SECONDS - DAY
    Sweeper(kv, clock).sweep()
    assert state(registry) == "ok"


def test_the_daily_part_runs_once_a_day(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec(), PERSON)
    Sweeper(kv, clock).sweep()
    clock.now += IDLE_SECONDS + 1
    assert Sweeper(kv, clock).sweep().inactive == 1
    registry.deploy(spec("other"), PERSON)
    assert Sweeper(kv, clock).sweep().inactive == 0


def test_what_is_public_is_hidden_from_others_too_and_found_again(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    stranger = dataclasses.replace(PERSON, namespace="elsewhere")
    registry.deploy(spec(public=True), PERSON)
    registry.deploy(spec("brief", public=True, type="ephemeral", ttl=60), PERSON)
    assert len(registry.query("shout a text", stranger, limit=9).hits) == 2
    clock.now += IDLE_SECONDS + 1
    Sweeper(kv, clock).sweep()

    assert registry.query("shout a text", stranger).hits == ()
    assert text(registry, "main/shout", stranger) == "one"
    assert [hit.offer.name for hit in registry.query("shout a text", stranger).hits] == [
        "main/shout"
    ]


def test_a_namespace_of_many_is_swept_whole(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    for number in range(12):
        registry.deploy(spec(f"n{number}", type="ephemeral", ttl=60 + number), PERSON)
    clock.now += 66
    assert Sweeper(kv, clock).remove_expired() == 6
    clock.now += 66
    assert Sweeper(kv, clock).remove_expired() == 6
    assert list(registry.list(PERSON)) == []


def test_daily_work_that_failed_is_told_and_done_by_the_next_sweep(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.deploy(spec(), PERSON)
    clock.now += IDLE_SECONDS + 1
    with monkeypatch.context() as patch:
        patch.setattr(usage, "fold_done_writers", lambda *_: 1 / 0)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                Sweeper(kv, clock).sweep()

    assert Sweeper(kv, clock).sweep().inactive == 1


def test_daily_work_in_which_a_process_died_is_begun_anew_minutes_later(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.deploy(spec(), PERSON)
    clock.now += IDLE_SECONDS + 1
    with monkeypatch.context() as patch:
        patch.setattr(
            kv, "delete", lambda *_, **__: None
        )  # a process that is killed takes nothing back
        patch.setattr(usage, "fold_done_writers", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Sweeper(kv, clock).sweep()

    clock.now += AGAIN_SECONDS - 1
    assert Sweeper(kv, clock).sweep().inactive == 0
    clock.now += 1
    assert Sweeper(kv, clock).sweep().inactive == 1


def test_a_damaged_record_keeps_nobody_elses_from_being_looked_at(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    for namespace in ("aaa", "main", "zzz"):
        registry.deploy(spec(), dataclasses.replace(PERSON, namespace=namespace))
    kv.put(keys.capability("main", "shout"), b"damaged")
    clock.now += IDLE_SECONDS + 1

    with pytest.raises(BackendError, match="EDAMAGED"):
        Sweeper(kv, clock).sweep()
    for namespace in ("aaa", "zzz"):
        assert (
            registry.inspect("shout", dataclasses.replace(PERSON, namespace=namespace))["state"]
            == "inactive"
        )
