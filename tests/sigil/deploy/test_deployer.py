"""Deploys keep to their token's scopes and follow each other slowly; a refused one costs little."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from sigil.access.tokens import TokenHolder
from sigil.deploy.deployer import MODEL_AT_ONCE
from sigil.errors import Refused, SigilError, UsageError
from sigil.manifest.package import parse_flat
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.sandbox.program import Outcome, Program, Rank
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.sigil.registries import GUEST, MODEL, OTHER, PERSON, Open, spec, text

KEY = dataclasses.replace(PERSON, token="k1")


def scoped(*scopes: str) -> Caller:
    """Who shows a deploy token of `main` with these scopes."""
    return TokenHolder("t1", "deploy", "main", scopes=scopes).to_caller()


@pytest.mark.parametrize("way", ["call", "requires"])
def test_a_scoped_token_deploys_no_call_of_what_it_does_not_reach(
    opened: Open, kv: SqliteKV, way: str
) -> None:
    registry = opened(kv, pause=0)
    for name in ("mailer", "shelved"):
        registry.deploy(spec(name), PERSON)
    registry.deploy(spec("standard"), Caller(LIBRARY, author="library"))
    registry.deploy(spec("shelved"), Caller(LIBRARY, author="library"))

    def deploys(name: str, *scopes: str) -> bool:
        calls = {"requires": [name]} if way == "requires" else {"permissions": {"call": [name]}}
        made, caller = (
            spec("hello", f"return await env.call('{name}', {{}})", **calls),
            scoped("deploy:main/hello", *scopes),
        )
        try:
            return registry.deploy(made, caller).created
        except Refused as problem:
            return (problem.code, problem.source) != ("EPERM", "hello")

    assert not deploys("mailer")
    assert not deploys("missing")  # which may come
    assert deploys("mailer", "run:main/mailer")
    assert not deploys("standard")
    assert deploys("standard", "run:library/*")
    assert not deploys("shelved", "run:library/*")  # the nearer one is meant
    if way == "call":
        assert not deploys("bob/mailer")
        assert deploys("bob/mailer", "run:*")
        assert deploys("later", "run:main/later")
    registry.yank("shelved@1", PERSON)
    assert not deploys("shelved", "run:library/*")  # it may come back


BAD: tuple[tuple[str, Callable[[], dict[str, Any]]], ...] = (
    ("ETESTS", lambda: spec("bad", tests=[{"input": {}, "output": "other"}])),
    ("EMODULE", lambda: spec("bad", "return (")),
    ("EMODULE", lambda: {"name": "bad", "description": "Bad.", "code": "(module", "lang": "wat"}),
    ("EMANIFEST", lambda: spec("bad", limits={"timeout_ms": 0})),
    ("EMANIFEST", lambda: {"name": "bad", "description": "Bad."}),
    ("EMANIFEST", lambda: spec("bad", permissions={"http": ["no rule"]})),
    ("EREQUIRES", lambda: spec("bad", requires=["missing"])),
)


@pytest.mark.parametrize(("code", "bad"), BAD)
def test_a_refused_deploy_uses_no_turn_up_and_says_what_it_is_about(
    opened: Open, kv: SqliteKV, code: str, bad: Callable[[], dict[str, Any]]
) -> None:
    registry = opened(kv, pause=5.0)
    for _ in range(2):
        with pytest.raises(SigilError) as caught:
            registry.deploy(bad(), KEY)
        assert (caught.value.code, caught.value.source) == (code, "bad")
    assert registry.deploy(spec(), KEY).created
    with pytest.raises(Refused) as early:
        registry.deploy(spec("next"), KEY)
    assert (early.value.code, early.value.source) == ("ERATE", "next")


def test_a_code_that_is_none_names_a_source_without_a_name(registry: LocalRegistry) -> None:
    with pytest.raises(UsageError) as caught:
        registry.deploy({"execute": 1}, PERSON)
    assert (caught.value.code, caught.value.source) == ("EMANIFEST", "deploy")


def test_a_model_deploys_a_few_at_once_in_a_chat_and_then_slowly(
    opened: Open, kv: SqliteKV, clock: Clock
) -> None:
    registry = opened(kv, pause=5.0)
    for number in range(MODEL_AT_ONCE):
        with pytest.raises(Refused, match="ETESTS"):
            registry.deploy(spec("bad", tests=[{"input": {}, "output": "other"}]), MODEL)
        registry.deploy(spec(f"made-{number}"), MODEL)
    with pytest.raises(Refused) as caught:
        registry.deploy(spec("made-last"), MODEL)
    assert (caught.value.code, caught.value.retry_after) == ("ERATE", 5)
    assert registry.deploy(spec("made-0"), MODEL).created is False
    for caller in (GUEST, OTHER, PERSON, dataclasses.replace(PERSON, token="admin")):
        assert registry.deploy(
            spec(f"by-{caller.token or caller.session.replace(':', '-') or 'hand'}"), caller
        ).created
    with pytest.raises(Refused, match="ERATE"):
        registry.deploy(spec("made-last"), dataclasses.replace(MODEL, token="admin"))
    clock.now += 5
    assert registry.deploy(spec("made-last"), MODEL).created
    clock.now += 5 * MODEL_AT_ONCE
    for number in range(MODEL_AT_ONCE):
        registry.deploy(spec(f"more-{number}"), MODEL)


def test_a_model_makes_nothing_public(registry: LocalRegistry) -> None:
    with pytest.raises(Refused, match="EPERM: an agent may not make a capability public"):
        registry.deploy(spec(public=True), MODEL)
    assert list(registry.list(MODEL)) == []


def test_an_end_is_for_what_is_ephemeral(registry: LocalRegistry) -> None:
    for more in ({}, {"type": "normal"}, {"lifetime": "persistent"}):
        for caller in (PERSON, MODEL):
            with pytest.raises(UsageError) as caught:
                registry.deploy(spec(ttl=60, **more), caller)
            problem = caught.value
            assert (problem.code, problem.source) == ("EMANIFEST", "shout")
            assert (
                problem.message == "ttl: it does nothing here: only an ephemeral capability expires"
            )
    assert registry.deploy(spec(ttl=60, type="ephemeral"), PERSON).expires_at


def test_what_calls_others_does_not_run_twice() -> None:
    assert parse_flat(spec()).manifest.pure
    for more in ({"requires": ["other"]}, {"permissions": {"call": ["other"]}}):
        assert not parse_flat(spec(**more)).manifest.pure
        assert parse_flat(spec(idempotent=True, **more)).manifest.pure


def test_what_was_just_deployed_is_kept_as_long_as_its_lifetime_says(
    registry: LocalRegistry, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Program] = []
    run = registry._sandbox.run

    def watched(program: Program, *rest: Any, **more: Any) -> Outcome:
        ran.append(program)
        return run(program, *rest, **more)

    monkeypatch.setattr(registry._sandbox, "run", watched)
    for lifetime, more in (("ephemeral", {"ttl": 60}), ("normal", {}), ("persistent", {})):
        ran.clear()
        test = [{"input": {}, "output": lifetime}]
        registry.deploy(
            spec(lifetime, f"return '{lifetime}'", type=lifetime, tests=test, **more), PERSON
        )
        text(registry, lifetime)
        ends = clock.now + 60 if lifetime == "ephemeral" else None
        assert {(program.rank, program.expires) for program in ran} == {
            (Rank[lifetime.upper()], ends)
        }
        assert len(ran) > 1
