"""The breaker: closed, open, half-open; counted for the capability's own failures alone, and shared
by all processes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest

from sigil.catalog.health import CALLERS_MOST, FAILURES, REST_SECONDS, TRIAL_SECONDS, CircuitBreaker
from sigil.errors import BackendError, Refused, SigilError, ToolError
from sigil.registry import LocalRegistry
from sigil.storage.kv import KV, keys
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.servers.valkey import shared
from tests.sigil.registries import PERSON, WAYS, Open, spec, text


@pytest.fixture
def ways(registry: LocalRegistry) -> LocalRegistry:
    registry.deploy(spec("ways", WAYS, limits={"timeout_ms": 60}), PERSON)
    return registry


def fails(registry: LocalRegistry, way: str, ref: str = "ways", times: int = 1) -> str:
    """The code of the last of these failures."""
    code = ""
    for _ in range(times):
        with pytest.raises(SigilError) as caught:
            registry.run(ref, {"way": way}, PERSON)
        code = caught.value.code
    return code


@pytest.mark.parametrize(
    ("way", "code"),
    [("throw", "ETHROWN"), ("type", "ETHROWN"), ("spin", "ETIMEDOUT"), ("deep", "ETHROWN")],
)
def test_five_failures_of_its_own_in_a_row_degrade_it(
    ways: LocalRegistry, way: str, code: str
) -> None:
    assert fails(ways, way, times=FAILURES).startswith(code[:4])

    with pytest.raises(Refused) as caught:
        text(ways, "ways")
    problem = caught.value
    assert (problem.code, problem.source) == ("EDEGRADED", "ways")
    assert 0 < problem.retry_after <= REST_SECONDS
    assert "sigil rollback ways" in problem.suggestion
    assert [row["state"] for row in ways.list(PERSON)] == ["degraded"]


@pytest.mark.parametrize("way", ["input", "own"])
def test_codes_that_its_code_chose_are_answers(ways: LocalRegistry, way: str) -> None:
    fails(ways, way, times=FAILURES + 2)
    assert text(ways, "ways") == "well"


def test_inputs_that_do_not_fit_count_for_nobody(registry: LocalRegistry) -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    registry.deploy({**spec("count"), "schema": schema}, PERSON)
    for _ in range(FAILURES + 1):
        with pytest.raises(SigilError, match="EINVAL"):
            registry.run("count", {"n": "many"}, PERSON)
    assert registry.run("count", {"n": 1}, PERSON).output == b'"one"'


def test_a_success_in_between_ends_the_row(ways: LocalRegistry) -> None:
    fails(ways, "throw", times=FAILURES - 1)
    text(ways, "ways")
    fails(ways, "throw", times=FAILURES - 1)
    assert text(ways, "ways") == "well"


def test_failures_far_apart_are_no_row(ways: LocalRegistry, clock: Clock) -> None:
    for _ in range(FAILURES + 1):
        fails(ways, "throw")
        clock.now += 601
    assert text(ways, "ways") == "well"


def test_after_its_rest_one_call_tries_and_a_success_mends_it(
    ways: LocalRegistry, clock: Clock
) -> None:
    fails(ways, "throw", times=FAILURES)
    clock.now += REST_SECONDS + 1

    assert text(ways, "ways") == "well"
    assert [text(ways, "ways") for _ in range(3)] == ["well"] * 3
    assert [row["state"] for row in ways.list(PERSON)] == ["ok"]


def test_a_rest_that_a_clock_began_which_was_a_year_ahead_is_over_when_it_is_set_right(
    ways: LocalRegistry, clock: Clock
) -> None:
    clock.now += 365 * 86_400
    fails(ways, "throw", times=FAILURES)
    clock.now -= 365 * 86_400
    assert text(ways, "ways") == "well"


def test_a_trial_that_fails_sends_it_back_to_rest(ways: LocalRegistry, clock: Clock) -> None:
    fails(ways, "throw", times=FAILURES)
    clock.now += REST_SECONDS + 1

    assert fails(ways, "throw") == "ETHROWN"
    assert fails(ways, "none") == "EDEGRADED"
    clock.now += REST_SECONDS - 1
    assert fails(ways, "none") == "EDEGRADED"
    clock.now += 2
    assert text(ways, "ways") == "well"


def test_a_trial_with_a_bad_input_leaves_the_place_to_the_next(
    ways: LocalRegistry, clock: Clock
) -> None:
    fails(ways, "throw", times=FAILURES)
    clock.now += REST_SECONDS + 1

    assert fails(ways, "input") == "EINVAL"
    assert text(ways, "ways") == "well"


def test_only_one_process_tries(ways: LocalRegistry, opened: Open, clock: Clock) -> None:
    from sigil.catalog.catalog import Catalog

    fails(ways, "throw", times=FAILURES)
    clock.now += REST_SECONDS + 1
    store = opened()._catalog._kv  # another process's own connection
    record = Catalog(store, clock).load_active("main", "ways")
    assert record is not None
    CircuitBreaker(store, clock).admit(record)  # it is trying at this moment

    assert fails(ways, "none") == "EDEGRADED"


class Version(NamedTuple):
    """What a breaker belongs to."""

    namespace: str = "main"
    name: str = "ways"
    digest: str = "sha256:0"


PROBLEM, ANSWER = ToolError("ETHROWN", "a mistake"), ToolError("EODD", "an answer")


@pytest.fixture(params=["sqlite", "redis"])
def breakers(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Clock
) -> Iterator[Callable[[], CircuitBreaker]]:
    """Makes breakers: each is another process's view of the same store."""
    shared().do("FLUSHALL")
    with ExitStack() as stack:

        def made() -> CircuitBreaker:
            store: KV = RedisKV(shared().url, clock)
            if request.param == "sqlite":
                store = stack.enter_context(closing(SqliteKV(tmp_path / "breakers.db", clock)))
            return CircuitBreaker(store, clock)

        yield made


def rested(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(FAILURES):
        breaker.record_failure(Version(), PROBLEM, breaker.admit(Version()))
    clock.now += REST_SECONDS + 1


def is_let_in(breaker: CircuitBreaker) -> bool:
    try:
        breaker.admit(Version())
    except Refused:
        return False
    return True


def test_of_many_that_come_at_once_one_tries(
    breakers: Callable[[], CircuitBreaker], clock: Clock
) -> None:
    rested(breakers(), clock)
    many = [breakers() for _ in range(8)]
    start = threading.Barrier(len(many))

    def come(breaker: CircuitBreaker) -> bool:
        start.wait()
        return is_let_in(breaker)

    with ThreadPoolExecutor(len(many)) as pool:
        assert sum(pool.map(come, many)) == 1


@pytest.mark.parametrize("end", ["well", "failed", "answered", "undecided"])
def test_what_began_before_it_opened_decides_nothing_when_it_ends(
    breakers: Callable[[], CircuitBreaker], clock: Clock, end: str
) -> None:
    one, other = breakers(), breakers()
    early = one.admit(Version())
    rested(other, clock)
    trial = other.admit(Version())

    ends: dict[str, Callable[[], object]] = {
        "well": lambda: one.record_success(Version(), early),
        "failed": lambda: one.record_failure(Version(), PROBLEM, early),
        "answered": lambda: one.record_failure(Version(), ANSWER, early),
        "undecided": lambda: one.release_trial(Version(), early),
    }
    ends[end]()

    assert not is_let_in(one)
    assert not is_let_in(breakers())
    assert other.record_success(Version(), trial)
    clock.now += 2
    assert is_let_in(one)


def test_a_trial_that_tells_nothing_leaves_its_place_and_only_its_own(
    breakers: Callable[[], CircuitBreaker], clock: Clock
) -> None:
    one, other = breakers(), breakers()
    rested(one, clock)
    first = one.admit(Version())
    clock.now += TRIAL_SECONDS + 1  # it was killed, or is stuck
    second = other.admit(Version())
    assert second != first

    for late in (one.release_trial, one.record_success):
        late(Version(), first)
        assert not is_let_in(one)
    assert one.record_failure(Version(), PROBLEM, first) is False
    assert not is_let_in(one)
    other.release_trial(Version(), second)
    assert is_let_in(one)


def test_a_success_ends_the_row_that_others_count(
    breakers: Callable[[], CircuitBreaker], clock: Clock
) -> None:
    one, other = breakers(), breakers()
    for _ in range(3):
        for _ in range(FAILURES - 1):
            one.record_failure(Version(), PROBLEM)
        clock.now += 2
        other.record_success(Version())
    assert is_let_in(other)


def test_a_store_that_is_away_in_a_trial_leaves_the_place_to_the_next(
    registry: LocalRegistry, clock: Clock
) -> None:
    registry.deploy(spec("ways", WAYS), PERSON)
    fails(registry, "throw", times=FAILURES)
    clock.now += REST_SECONDS + 1
    record = registry._catalog.load_active("main", "ways")
    assert record
    begun = registry._execution._recorder.record_start(
        registry._live_services.make_runnable(record), "main"
    )
    registry._execution._recorder.record_failure(
        begun, BackendError("EBUSY", "every runner is busy"), blamed=False
    )
    assert text(registry, "ways") == "well"


def shared_by_two(first: LocalRegistry, second: LocalRegistry, clock: Clock) -> None:
    fails(first, "throw", times=3)
    clock.now += 2
    fails(second, "throw", times=2)
    clock.now += 2
    assert fails(first, "none") == fails(second, "none") == "EDEGRADED"
    clock.now += REST_SECONDS
    assert text(first, "ways") == "well"
    clock.now += 2
    assert text(second, "ways") == "well"


def test_processes_count_together_and_a_cold_start_knows(
    ways: LocalRegistry, opened: Open, clock: Clock
) -> None:
    shared_by_two(ways, opened(), clock)
    fails(ways, "throw", times=FAILURES)
    assert fails(opened(), "none") == "EDEGRADED"


def test_processes_agree_on_redis_too(opened: Open, clock: Clock) -> None:
    server = shared()
    server.do("FLUSHALL")
    stores: list[KV] = [RedisKV(server.url, clock), RedisKV(server.url, clock)]
    first, second = (opened(store) for store in stores)
    first.deploy(spec("ways", WAYS), PERSON)
    shared_by_two(first, second, clock)
    assert second.inspect("ways", PERSON)["calls"] == 7


def test_another_version_is_not_degraded_with_it(ways: LocalRegistry) -> None:
    digest = ways.inspect("ways", PERSON)["digest"]
    fails(ways, "throw", times=FAILURES)
    ways.deploy(spec("ways", "return 'mended'"), PERSON)

    assert text(ways, "ways") == "mended"
    assert fails(ways, "none", f"ways@{digest}") == "EDEGRADED"


def test_it_falls_back_to_the_last_good_version_when_its_manifest_says_so(
    registry: LocalRegistry, kv: SqliteKV
) -> None:
    for execute in ("return 'first'", "return 'second'", WAYS):
        registry.deploy(spec("ways", execute, on_degraded="rollback"), PERSON)
    registry.yank("ways@2", PERSON)
    fails(registry, "throw", times=FAILURES)

    assert text(registry, "ways") == "first"
    last = registry.history("ways", PERSON)[-1]
    assert (last["version"], last["by"], last["action"]) == (1, "sigil", "degraded")
    assert fails(registry, "none", "ways@3") == "EDEGRADED"


def test_a_rollback_goes_further_back_when_the_older_one_fails_too(registry: LocalRegistry) -> None:
    for execute in ("return 'first'", WAYS, f"{WAYS} // again"):
        registry.deploy(spec("ways", execute), PERSON)
    fails(registry, "throw", times=FAILURES)
    assert registry.rollback("ways", PERSON)["version"] == 2
    assert registry.rollback("ways", PERSON)["changed"] is False
    fails(registry, "throw", times=FAILURES)
    assert registry.rollback("ways", PERSON)["version"] == 1
    assert text(registry, "ways") == "first"


def test_it_waits_when_there_is_nothing_to_fall_back_to(registry: LocalRegistry) -> None:
    registry.deploy(spec("ways", WAYS, on_degraded="rollback"), PERSON)
    assert fails(registry, "throw", times=FAILURES + 1) == "EDEGRADED"


def test_healthy_calls_write_nothing_for_it(ways: LocalRegistry, tmp_path: Path) -> None:
    for _ in range(5):
        text(ways, "ways")
    with sqlite3.connect(tmp_path / "store.db") as connection:
        tables = [
            row[0]
            for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = [
            str(row) for table in tables for row in connection.execute(f"SELECT * FROM {table}")
        ]
    connection.close()
    assert not [row for row in rows if "health#" in row]


@pytest.mark.parametrize("end", ["throw new Error('a mistake')", "for (;;);"])
def test_a_failed_run_keeps_what_it_said(registry: LocalRegistry, end: str) -> None:
    registry.deploy(
        spec(
            "talks",
            f"console.log('so far'); {end}",
            permissions={"log": True},
            limits={"timeout_ms": 60},
        ),
        PERSON,
    )
    with pytest.raises(SigilError) as caught:
        text(registry, "talks")
    assert [line for line in caught.value.logs if "so far" in line]
    assert "so far" not in str(caught.value.as_dict())


def test_who_fails_alone_rests_alone_and_a_success_of_anybody_ends_every_row(
    kv: SqliteKV, clock: Clock
) -> None:
    one, other = CircuitBreaker(kv, clock), CircuitBreaker(kv, clock)
    for _ in range(FAILURES - 1):
        one.record_failure(Version(), PROBLEM, caller="alice")
    clock.now += 2
    other.record_success(Version(), caller="bob")
    clock.now += 2
    for _ in range(FAILURES - 1):
        assert one.record_failure(Version(), PROBLEM, caller="alice") is False
    assert one.record_failure(Version(), PROBLEM, caller="alice") is True
    clock.now += 2
    other.record_success(Version(), caller="bob")
    assert other.admit(Version(), "bob") == ""
    with pytest.raises(Refused, match="EDEGRADED"):
        other.admit(Version(), "alice")
    clock.now += REST_SECONDS
    ticket = other.admit(Version(), "alice")
    one.record_failure(
        Version(), PROBLEM, caller="bob"
    )  # which writes to the same row while alice's call tries
    assert other.record_success(Version(), ticket, "alice") is True
    clock.now += 2
    assert kv.get(keys.health(*Version())) is None


def test_many_callers_push_out_each_other_and_never_the_owner(kv: SqliteKV, clock: Clock) -> None:
    breaker = CircuitBreaker(kv, clock)
    for _ in range(FAILURES):
        breaker.record_failure(Version(), PROBLEM)
    for number in range(CALLERS_MOST + 5):
        clock.now += 0.01
        breaker.record_failure(Version(), PROBLEM, caller=f"caller-{number}")
    assert len(breaker._read_callers(Version())) == CALLERS_MOST
    with pytest.raises(Refused):
        breaker.admit(Version())
    assert breaker.read_health(Version(), "caller-0").failures == 0


def test_a_row_of_an_older_release_is_no_obstacle(kv: SqliteKV, clock: Clock) -> None:
    kv.put(
        keys.health(*Version()), b'{"failures":5,"at":1.0,"until":9e12,"trial":0.0,"code":"EGUEST"}'
    )
    breaker = CircuitBreaker(kv, clock)
    assert breaker.admit(Version()) == ""
    breaker.record_failure(Version(), PROBLEM)
    assert breaker.read_health(Version()).failures == 1
