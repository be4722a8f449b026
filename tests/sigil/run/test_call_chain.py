"""A call within a call counts like any other; a failure counts for the one whose code failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sigil.catalog.expiry import IDLE_SECONDS, Sweeper
from sigil.catalog.health import FAILURES, REST_SECONDS
from sigil.errors import BackendError, Refused, SigilError, ToolError
from sigil.manifest.package import parse_flat
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.run.call_chain import CallLink, NestedFailure
from sigil.run.host_calls.context import Runnable
from sigil.sandbox.program import Program
from sigil.storage.kv import Key
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.machine import within
from tests.sigil.registries import GUEST, PERSON, WAYS, Open, spec, text

BOB = Caller("bob", owner=True)
SHELF = Caller(LIBRARY, author="library")
THROUGH = "return await env.call('leaf', {way: input.way})"
CATCHES = f"try {{ {THROUGH} }} catch (e) {{ return [e.code, e.message] }}"


@pytest.fixture
def tree(registry: LocalRegistry) -> LocalRegistry:
    """`outer` lets through what `leaf` fails with, `catches` does not."""
    registry.deploy(spec("leaf", WAYS, limits={"timeout_ms": 100}), PERSON)
    registry.deploy(spec("outer", THROUGH, requires=["leaf"]), PERSON)
    registry.deploy(spec("catches", CATCHES, requires=["leaf"]), PERSON)
    return registry


def fails(
    registry: LocalRegistry,
    ref: str = "outer",
    caller: Caller = PERSON,
    times: int = 1,
    **arguments: Any,
) -> SigilError:
    """The last of these failures."""
    for _ in range(times):
        with pytest.raises(SigilError) as caught:
            registry.run(ref, arguments, caller)
    return caught.value


def state(registry: LocalRegistry, name: str, caller: Caller = PERSON) -> str:
    return str(registry.inspect(name, caller)["state"])


@pytest.mark.parametrize("way", ["throw", "type", "spin", "deep"])
def test_failures_within_degrade_the_callee_and_not_the_caller_that_lets_them_through(
    tree: LocalRegistry, way: str
) -> None:
    fails(tree, way=way, times=FAILURES)

    assert (state(tree, "leaf"), state(tree, "outer")) == ("degraded", "ok")
    with pytest.raises(Refused, match="EDEGRADED"):
        text(tree, "leaf")


def test_a_call_within_is_refused_as_a_direct_one_is(tree: LocalRegistry) -> None:
    fails(tree, "leaf", way="throw", times=FAILURES)
    direct = fails(tree, "leaf")

    code, message = json.loads(tree.run("catches", {}, PERSON).output)
    assert (code, message) == (direct.code, f"leaf: {direct.message}")
    through = fails(tree)
    assert isinstance(through, Refused)
    assert (through.code, through.source, through.suggestion) == (
        "EDEGRADED",
        "outer",
        direct.suggestion,
    )
    assert 0 < through.retry_after <= REST_SECONDS
    assert state(tree, "outer") == "ok"


def test_a_call_within_is_the_trial_after_the_rest(tree: LocalRegistry, clock: Clock) -> None:
    fails(tree, way="throw", times=FAILURES)
    clock.now += REST_SECONDS + 1
    assert fails(tree, way="throw").code == "ETHROWN"
    assert fails(tree).code == "EDEGRADED"
    clock.now += REST_SECONDS + 1

    assert text(tree, "outer") == "well"
    assert state(tree, "leaf") == "ok"
    actions = [row["action"] for row in tree.log.rows(PERSON) if row["name"] == "leaf"]
    assert actions == ["deploy", "degraded", "recovered"]


def test_failures_within_and_direct_ones_are_one_row(tree: LocalRegistry) -> None:
    fails(tree, "leaf", way="throw", times=2)
    fails(tree, way="throw", times=2)
    tree.run("catches", {"way": "throw"}, PERSON)
    assert state(tree, "leaf") == "degraded"


def test_a_success_within_ends_the_row(tree: LocalRegistry) -> None:
    fails(tree, "leaf", way="throw", times=FAILURES - 1)
    text(tree, "outer")
    fails(tree, "leaf", way="throw", times=FAILURES - 1)
    assert text(tree, "leaf") == "well"


def test_a_caller_that_fails_in_its_own_way_is_blamed(registry: LocalRegistry) -> None:
    registry.deploy(spec("leaf", WAYS), PERSON)
    own = f"try {{ {THROUGH} }} catch (e) {{ throw new Error('I cannot go on') }}"
    registry.deploy(spec("outer", own, requires=["leaf"]), PERSON)
    fails(registry, way="input", times=FAILURES)
    assert (state(registry, "leaf"), state(registry, "outer")) == ("ok", "degraded")


def test_codes_that_the_callee_chose_degrade_nobody(tree: LocalRegistry) -> None:
    assert fails(tree, way="own", times=FAILURES + 1).code == "ECLOSED"
    assert (state(tree, "leaf"), state(tree, "outer")) == ("ok", "ok")


def test_the_blame_goes_down_a_chain(tree: LocalRegistry) -> None:
    tree.deploy(spec("top", "return await env.call('outer', input)", requires=["outer"]), PERSON)
    late = fails(tree, "top", way="spin")
    assert late.code == "ETIMEDOUT"
    assert late.message.startswith("outer: leaf: timed out after")
    fails(tree, "top", way="throw", times=FAILURES - 1)
    assert [state(tree, name) for name in ("top", "outer", "leaf")] == ["ok", "ok", "degraded"]


def test_a_callee_is_not_blamed_for_a_caller_that_gave_it_no_time(registry: LocalRegistry) -> None:
    registry.deploy(spec("leaf", WAYS, limits={"timeout_ms": 2_000}), PERSON)
    registry.deploy(spec("outer", THROUGH, requires=["leaf"], limits={"timeout_ms": 60}), PERSON)
    assert fails(registry, way="spin", times=FAILURES).code in ("ETIMEDOUT", "EGUEST")
    assert (state(registry, "leaf"), state(registry, "outer")) == ("ok", "degraded")


LATE = ToolError("ETIMEDOUT", "timed out after 100 ms")


def part(name: str, milliseconds: int) -> Runnable:
    manifest = parse_flat(spec(name, limits={"timeout_ms": milliseconds})).manifest
    return Runnable("main", manifest, f"sha256:{name}", Program(name, "js", lambda: b""))


def blamed(link: CallLink, problem: SigilError) -> str:
    """Who is blamed for a failure of a link's run."""
    link.judge(problem)
    return link.blame.name if link.blame else ""


def test_when_time_runs_out_the_one_that_took_it_is_blamed() -> None:
    outer, leaf = part("outer", 1_000), part("leaf", 1_000)
    root = CallLink(outer, 1_000, outer)
    assert blamed(root.link_callee(leaf, 900), LATE) == "leaf"
    assert blamed(root.link_callee(leaf, 499), LATE) == "outer"
    assert (
        blamed(root.link_callee(leaf, 499).link_callee(part("last", 1_000), 400), LATE) == "outer"
    )
    assert blamed(root.link_callee(leaf, 499), ToolError("ETHROWN", "a mistake")) == "leaf"

    root.take_time(400, leaf)
    assert blamed(root, LATE) == "outer"
    root.take_time(101, leaf)
    assert blamed(root, LATE) == "leaf"
    assert blamed(root, ToolError("EGUEST", "no time is left for kv.get")) == "leaf"
    assert blamed(root, ToolError("ETHROWN", "a mistake")) == "outer"


def test_a_caller_whose_time_went_into_its_own_mistakes_is_blamed() -> None:
    outer = part("outer", 1_000)
    for to_blame in (None, outer):
        root = CallLink(outer, 1_000, outer)
        root.take_time(900, to_blame)
        assert blamed(root, LATE) == "outer"


def test_a_failure_is_let_through_when_it_is_told_as_it_was_heard() -> None:
    outer, leaf = part("outer", 1_000), part("leaf", 1_000)
    root = CallLink(outer, 1_000, outer)
    root.failures.append(NestedFailure(ToolError("EODD", "no"), "leaf: no", leaf))
    assert blamed(root, ToolError("EGUEST", "leaf: no")) == "leaf"
    assert blamed(root, ToolError("ETHROWN", "leaf: no")) == "outer"
    assert blamed(root, ToolError("EGUEST", "sadly, leaf: no")) == "outer"


@pytest.mark.parametrize("trouble", [BackendError("EBUSY", "every runner is busy"), LATE])
def test_nobody_is_blamed_for_what_the_machinery_did_however_it_is_told_on(
    trouble: SigilError,
) -> None:
    outer, leaf = part("outer", 1_000), part("leaf", 1_000)
    root, top = CallLink(outer, 1_000, outer), CallLink(part("top", 1_000), 1_000, outer)
    root.failures.append(
        NestedFailure(
            trouble, f"leaf: {trouble.message}", None if isinstance(trouble, BackendError) else leaf
        )
    )
    assert blamed(root, ToolError("ETHROWN", "I cannot go on")) == ""
    top.failures.append(
        NestedFailure(
            ToolError("ETHROWN", "I cannot go on"),
            "outer: I cannot go on",
            root.blame,
            host=root.has_foreign_failure,
        )
    )
    assert blamed(top, ToolError("ETHROWN", "sadly, neither can I")) == ""
    mine = CallLink(outer, 1_000, outer)
    mine.failures.append(
        NestedFailure(LATE, f"leaf: {LATE.message}", outer)
    )  # it had given the other one no time
    assert blamed(mine, ToolError("ETHROWN", "I cannot go on")) == "outer"


def test_whoever_begins_a_tree_that_is_too_large_is_blamed_for_it(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sigil.run.executor.CALLS_MOST", 5
    )  # the sixth is a call of the middle one's
    registry.deploy(spec("leaf", "return 1"), PERSON)
    registry.deploy(spec("middle", "return await env.call('leaf', {})", requires=["leaf"]), PERSON)
    many = "for (let i = 0; i < 4; i++) await env.call('middle', {})"
    registry.deploy(spec("outer", many, requires=["middle"]), PERSON)
    fails(registry)
    records = [registry._catalog.load_active("main", name) for name in ("outer", "middle", "leaf")]
    assert [registry._breaker.read_health(record).failures for record in records if record] == [
        1,
        0,
        0,
    ]


class Away(SqliteKV):
    """A store that does not answer for what capabilities keep, when it is told so."""

    away = False

    def get(self, key: Key) -> Any:
        if self.away and key.partition.startswith("stored"):
            raise BackendError("EUNAVAILABLE", "the store is away")
        return super().get(key)


def test_nobody_is_blamed_for_a_store_that_is_away(
    opened: Open, kv: SqliteKV, tmp_path: Any, clock: Clock
) -> None:
    store = Away(tmp_path / "store.db", clock)
    registry = opened(store)
    registry.deploy(spec("leaf", "return await env.KV.get('k')", permissions={"kv": True}), PERSON)
    registry.deploy(spec("outer", THROUGH, requires=["leaf"]), PERSON)
    sulks = f"try {{ {THROUGH} }} catch (e) {{ throw new Error('I cannot go on') }}"
    registry.deploy(spec("sulks", sulks, requires=["leaf"]), PERSON)
    store.away = True
    through = fails(registry, times=FAILURES + 1)
    assert (type(through), through.code, through.message) == (
        BackendError,
        "EUNAVAILABLE",
        "leaf: the store is away",
    )
    assert fails(registry, "leaf").code == "EUNAVAILABLE"
    assert fails(registry, "sulks", times=FAILURES).code == "ETHROWN"
    assert {state(registry, name) for name in ("leaf", "outer", "sulks")} == {"ok"}
    store.close()


def test_calls_within_are_counted_and_remembered(
    tree: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    text(tree, "outer")
    fails(tree, way="throw")
    tree.run("catches", {"way": "throw"}, PERSON)

    counts = {name: tree.inspect(name, PERSON) for name in ("leaf", "outer", "catches")}
    assert {name: (row["calls"], row["errors"]) for name, row in counts.items()} == {
        "leaf": (3, 2),
        "outer": (2, 1),
        "catches": (1, 0),
    }
    assert counts["leaf"]["last"] == clock.now
    tree._statistics.flush()
    clock.now += IDLE_SECONDS - 1
    text(tree, "outer")
    clock.now += 2
    Sweeper(kv, clock).mark_idle()
    assert {row["capability"]: row["state"] for row in tree.list(PERSON)} == {
        "leaf": "ok",
        "outer": "ok",
        "catches": "inactive",
    }


def test_a_call_within_wakes_what_was_unused_for_long(
    tree: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    clock.now += IDLE_SECONDS + 1
    Sweeper(kv, clock).mark_idle()
    assert state(tree, "leaf") == "inactive"
    text(tree, "outer")
    assert state(tree, "leaf") == "ok"


def test_golden_tests_count_for_nobody(tree: LocalRegistry) -> None:
    with pytest.raises(Refused, match="ETESTS"):
        tree.deploy(
            spec(
                "tested",
                THROUGH,
                requires=["leaf"],
                tests=[{"input": {"way": "throw"}, "output": 1}] * FAILURES,
            ),
            PERSON,
        )
    assert (state(tree, "leaf"), tree.inspect("leaf", PERSON)["calls"]) == ("ok", 0)


def test_it_falls_back_when_it_fails_within_and_its_caller_stays_with_what_it_was_deployed_with(
    registry: LocalRegistry,
) -> None:
    for execute in ("return 'first'", WAYS):
        registry.deploy(spec("leaf", execute, on_degraded="rollback"), PERSON)
    registry.deploy(spec("outer", THROUGH, requires=["leaf"]), PERSON)
    fails(registry, way="throw", times=FAILURES)
    assert text(registry, "leaf") == "first"
    assert fails(registry).code == "EDEGRADED"
    registry.deploy(spec("outer", THROUGH, requires=["leaf"]), PERSON)
    assert text(registry, "outer") == "first"


SAYS = "console.log('so far', input.way); "


def test_what_a_failing_callee_said_is_in_the_callers_log_under_its_name(
    registry: LocalRegistry,
) -> None:
    milliseconds = round(within(200))  # enough to say something before it spins
    registry.deploy(
        spec("leaf", SAYS + WAYS, permissions={"log": True}, limits={"timeout_ms": milliseconds}),
        PERSON,
    )
    registry.deploy(
        spec("outer", SAYS + THROUGH, requires=["leaf"], permissions={"log": True}), PERSON
    )
    registry.deploy(spec("catches", CATCHES, requires=["leaf"]), PERSON)

    assert fails(registry, way="throw").logs == ("leaf: so far throw", "so far throw")
    assert registry.run("catches", {"way": "spin"}, PERSON).logs == ("leaf: so far spin",)
    assert registry.run("outer", {"way": "none"}, PERSON).logs == (
        "leaf: so far none",
        "so far none",
    )


def test_what_another_namespaces_capability_says_is_not_the_callers_to_read(
    registry: LocalRegistry,
) -> None:
    registry.deploy(spec("leaf", SAYS + WAYS, permissions={"log": True}, public=True), BOB)
    registry.deploy(
        spec(
            "outer",
            "return await env.call('bob/leaf', {way: input.way})",
            permissions={"call": ["bob/leaf"]},
        ),
        PERSON,
    )
    registry.granting.grant("outer", PERSON)

    assert registry.run("outer", {}, PERSON).logs == ()
    assert fails(registry, way="throw").logs == ()
    fails(registry, way="throw", times=FAILURES - 1)
    assert (
        state(registry, "bob/leaf"),
        state(registry, "leaf", BOB),
        state(registry, "outer"),
    ) == ("degraded", "ok", "ok")


def test_a_chats_capability_cannot_degrade_the_library_by_its_own_limits(
    registry: LocalRegistry,
) -> None:
    registry.deploy(
        spec(
            "leaf",
            "let n = 0; while (n < 3e6) n++; return await env.KV.get('k')",
            permissions={"kv": True},
        ),
        SHELF,
    )
    registry.deploy(spec("hurries", THROUGH, requires=["leaf"], limits={"timeout_ms": 10}), GUEST)
    for _ in range(FAILURES * 2):
        try:
            registry.run("hurries", {}, GUEST)
        except SigilError:
            continue
    assert state(registry, "leaf") == "ok"
