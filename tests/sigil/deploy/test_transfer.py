"""Publishing brings along what a capability has stored, and removing takes it away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from tests.fakes.clock import Clock
from tests.sigil.registries import GUEST, MODEL, PERSON, spec, text

KEEPS = "const n = 1 + Number(await env.KV.get('n') ?? 0); await env.KV.put('n', `${n}`); return n"
KV_SPEC = {"permissions": {"kv": True}}


def keeps(name: str = "notes", more: str = "", **fields: Any) -> dict[str, Any]:
    """A capability that counts its own calls in its own store."""
    return spec(name, f"{KEEPS};{more}", **KV_SPEC, **fields)


def count(registry: LocalRegistry, caller: Caller = PERSON, name: str = "notes") -> int:
    return int(json.loads(registry.run(name, {}, caller).output))


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
