"""Other people's capabilities, inputs and tokens reach nothing of mine that I did not give them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sigil.catalog.health import FAILURES, REST_SECONDS
from sigil.errors import SigilError
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from tests.fakes.clock import Clock
from tests.sigil.conftest import kv, opened, registry
from tests.sigil.registries import GUEST, PERSON, WAYS, spec, text

__all__ = ["kv", "opened", "registry"]

BOB = Caller("bob", owner=True)
LIBRARIAN = Caller(LIBRARY, author="library")
STRANGER = Caller("stranger", token="t1")
NOTES = (
    "console.log('seen', input.set); if (input.set) await env.KV.put('n', input.set); return await"
    " env.KV.get('n')"
)
GRAB = (
    "return await (await fetch('https://api.example.com/', {headers: {authorization: 'Bearer"
    " {{KEY}}'}})).text()"
)


@pytest.fixture
def library(registry: LocalRegistry) -> LocalRegistry:
    """`notes` keeps a note, `grab` uses a secret, and `main` has both in use."""
    registry.deploy(spec("notes", NOTES, permissions={"kv": True, "log": True}), LIBRARIAN)
    registry.deploy(
        spec(
            "grab",
            GRAB,
            permissions={"http": ["GET api.example.com/"], "secrets": ["KEY@api.example.com"]},
        ),
        LIBRARIAN,
    )
    registry.granting.grant("grab", PERSON)
    registry.secrets.set("KEY", "a secret of main", PERSON)
    text(registry, "notes", set="dear diary")
    return registry


def fails(
    registry: LocalRegistry, ref: str, caller: Caller, times: int = 1, **arguments: Any
) -> SigilError:
    for _ in range(times):
        with pytest.raises(SigilError) as caught:
            registry.run(ref, arguments, caller)
    return caught.value


def test_a_strangers_public_capability_has_the_librarys_with_its_own_grants_and_store(
    library: LocalRegistry,
) -> None:
    tries = "let told; try { told = await env.call('grab', {}) } catch (e) { told = e.message }"
    execute = f"{tries} return [await env.call('notes', input), told]"
    library.deploy(
        spec("thief", execute, public=True, permissions={"call": ["notes", "grab"]}), BOB
    )

    ran = library.run("bob/thief", {}, PERSON)
    note, told = json.loads(ran.output)

    assert note is None
    assert "waits for an owner's grant" in told
    assert ran.logs == ()  # what the library's own says there is bob's
    library.run("bob/thief", {"set": "bob was here"}, PERSON)
    assert (text(library, "notes"), text(library, "notes", BOB)) == ("dear diary", "bob was here")
    assert library.run("thief", {}, BOB).logs == ("notes: seen undefined",)


def test_the_way_back_through_a_stranger_is_a_strangers_too(library: LocalRegistry) -> None:
    library.deploy(
        spec("mine", "return await env.call('notes', {})", public=True, requires=["notes"]), PERSON
    )
    library.deploy(
        spec(
            "asks",
            "return await env.call('main/mine', {})",
            public=True,
            permissions={"call": ["main/mine"]},
        ),
        BOB,
    )
    library.granting.grant("asks", BOB)
    assert (
        text(library, "bob/asks", STRANGER) == "dear diary"
    )  # what main makes public is main's to give


def test_a_chats_own_capability_has_the_librarys_as_its_agent_has_it(
    library: LocalRegistry,
) -> None:
    library.deploy(spec("mine", "return await env.call('notes', {})", requires=["notes"]), GUEST)
    assert text(library, "mine", GUEST) == "dear diary"


def test_a_strangers_inputs_close_a_capability_to_nobody_else(
    registry: LocalRegistry, clock: Clock
) -> None:
    for namespace, caller in (("bob", BOB), ("library", LIBRARIAN)):
        ref = "ways" if namespace == "library" else "bob/ways"
        registry.deploy(spec("ways", "return 'first'", public=True, on_degraded="rollback"), caller)
        registry.deploy(spec("ways", WAYS, public=True, on_degraded="rollback"), caller)
        fails(registry, ref, STRANGER, times=FAILURES, way="throw")

        refused = fails(registry, ref, STRANGER)
        assert refused.code == "EDEGRADED"
        assert "rollback" not in refused.suggestion
        for other, name in ((PERSON, ref), (BOB, "ways")):
            assert text(registry, name, other) == "well"
            assert registry.inspect(name, other)["state"] == "ok"
        clock.now += REST_SECONDS + 1
        fails(registry, ref, STRANGER, way="throw")
        assert text(registry, ref, PERSON) == "well"
        clock.now += REST_SECONDS + 1
        assert text(registry, ref, STRANGER) == "well"
    rows = [(row["action"], row.get("on_behalf_of")) for row in registry.log.rows(BOB)]
    assert rows[-2:] == [("degraded", "stranger"), ("recovered", "stranger")]


def test_a_guests_inputs_in_a_chat_close_nothing_to_the_agents_owner(
    registry: LocalRegistry,
) -> None:
    for execute in ("return 'first'", WAYS):
        registry.deploy(spec("ways", execute, on_degraded="rollback"), PERSON)
    assert fails(registry, "ways", GUEST, times=FAILURES, way="throw").code == "ETHROWN"
    assert fails(registry, "ways", GUEST).code == "EDEGRADED"
    assert text(registry, "ways") == "well"
    assert registry.inspect("ways", PERSON)["version"] == 2

    registry.deploy(spec("own", WAYS), GUEST)
    fails(registry, "own", GUEST, times=FAILURES, way="throw")
    assert fails(registry, "own", GUEST).code == "EDEGRADED"
    assert registry.inspect("own", GUEST)["state"] == "degraded"


def test_a_strangers_inputs_that_are_passed_on_are_the_strangers(registry: LocalRegistry) -> None:
    registry.deploy(spec("leaf", "return 'first'"), BOB)
    registry.deploy(spec("leaf", WAYS, on_degraded="rollback"), BOB)
    registry.deploy(spec("ways", WAYS), LIBRARIAN)
    passes = "return await env.call(input.to, input)"
    registry.deploy(spec("outer", passes, public=True, permissions={"call": ["leaf", "ways"]}), BOB)
    for name in ("leaf", "ways"):
        fails(registry, "bob/outer", STRANGER, times=FAILURES, to=name, way="throw")
        assert fails(registry, "bob/outer", STRANGER, to=name).code == "EDEGRADED"
        assert text(registry, "outer", BOB, to=name) == "well"
        assert text(registry, "bob/outer", PERSON, to=name) == "well"
    assert (
        text(registry, "ways", STRANGER) == "well"
    )  # and what bob does to it for them is not theirs


def test_what_was_public_is_not_called_any_more_when_its_name_is_not(
    registry: LocalRegistry,
) -> None:
    first = registry.deploy(spec("leaf", "return 'public'", public=True), BOB).offer.digest
    registry.deploy(
        spec(
            "calls",
            "return await env.call(input.to, {})",
            permissions={"call": [f"bob/leaf@{first}"]},
        ),
        PERSON,
    )
    registry.granting.grant("calls", PERSON)
    name = "bob/leaf"
    assert text(registry, "calls", to=name) == "public"

    registry.deploy(spec("leaf", "return 'private'"), BOB)
    assert f"there is no {name}" in fails(registry, "calls", PERSON, to=name).message
    registry.rollback("leaf", BOB)
    assert text(registry, "calls", to=name) == "public"
    registry.yank("leaf@2", BOB)
    registry.yank("leaf@1", BOB)
    assert f"there is no {name}" in fails(registry, "calls", PERSON, to=name).message
