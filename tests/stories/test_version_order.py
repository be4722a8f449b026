"""In whatever order owners act on a name, its numbers grow and what is removed never runs.

What is yanked runs by its digest alone.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.errors import UsageError
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.selection import examples
from tests.sigil.registries import PERSON, spec, text

WORDS = ("a", "b", "c")
ACTS = st.one_of(
    st.tuples(st.just("deploy"), st.sampled_from(WORDS)),
    st.tuples(st.just("rollback"), st.one_of(st.none(), st.integers(1, 6))),
    st.tuples(st.sampled_from(("yank", "undo")), st.integers(1, 6)),
    st.tuples(st.just("remove"), st.none()),
)


@dataclass(slots=True)
class Expected:
    """What should stand. `words`: what each version answers; `dead`: digests that were removed."""

    words: dict[int, str] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    yanked: set[int] = field(default_factory=set)
    dead: set[str] = field(default_factory=set)
    latest: int = 0


def act(registry: LocalRegistry, expected: Expected, what: str, of: object) -> None:
    match what:
        case "deploy":
            offer = registry.deploy(spec(execute=f"return '{of}'"), PERSON).offer
            assert offer.version in expected.words or offer.version == expected.latest + 1
            expected.words[offer.version], expected.digests[offer.version] = str(of), offer.digest
            expected.latest = max(expected.latest, offer.version)
            expected.yanked.discard(offer.version)
            expected.dead.discard(offer.digest)
        case "rollback":
            row = registry.rollback("shout", PERSON, of)  # type: ignore[arg-type]
            expected.yanked.discard(row["version"])
        case "yank" | "undo":
            registry.yank(f"shout@{of}", PERSON, undo=what == "undo")
            (expected.yanked.discard if what == "undo" else expected.yanked.add)(of)  # type: ignore[arg-type]
        case "remove":
            registry.remove("shout", PERSON)
            expected.dead |= set(expected.digests.values())
            expected.words, expected.digests, expected.yanked = {}, {}, set()


def holds(registry: LocalRegistry, expected: Expected) -> None:
    for number, word in expected.words.items():
        assert text(registry, f"shout@{expected.digests[number]}") == word
    for digest in expected.dead:
        with pytest.raises(UsageError, match="ENOENT"):
            text(registry, f"shout@{digest}")
    rows = registry.versions("shout", PERSON) if expected.words else []
    assert [row["version"] for row in rows] == sorted(expected.words, reverse=True)
    assert {row["version"] for row in rows if row["yanked"]} == expected.yanked
    runs = [row["version"] for row in rows if row["active"]]
    assert len(runs) == (1 if set(expected.words) - expected.yanked else 0)
    found = registry.query("shout a text", PERSON).hits
    assert [hit.offer.version for hit in found] == runs
    if runs:
        assert text(registry) == expected.words[runs[0]]
    assert registry.status(PERSON)["bytes"] == sum(row["bytes"] for row in rows)


@settings(max_examples=examples(25), deadline=None)
@given(acts=st.lists(ACTS, min_size=3, max_size=14))
def test_whatever_owners_do_the_rules_hold(
    sandbox: Sandbox, acts: list[tuple[str, object]]
) -> None:
    registry, expected = LocalRegistry(MemoryKV(), MemoryArtifacts(), sandbox), Expected()
    for what, of in [("deploy", "a"), *acts]:
        with suppress(UsageError):  # there is no such version, or nothing left to change
            act(registry, expected, what, of)
        holds(registry, expected)
