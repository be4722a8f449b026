"""Versions of a name: which there are, how they differ, which one runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sigil.catalog import catalog
from sigil.catalog.catalog import Catalog
from sigil.errors import Conflict, Refused, SigilError, UsageError
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import FolderArtifacts
from sigil.storage.kv import KV, keys
from tests.fakes.clock import Clock
from tests.sigil.registries import GUEST, MODEL, OTHER, PERSON, Open, spec, text
from tests.sigil.stores import Place, place, pytest_generate_tests
from tests.threads import in_parallel

__all__ = ["place", "pytest_generate_tests"]

in_a_file = pytest.mark.parametrize("place", ["sqlite"], indirect=True)
"""For what takes long and stands on the same verbs of a store as the rest."""


@pytest.fixture
def kv(place: Place, clock: Clock) -> KV:
    return place.open(clock)


@pytest.fixture
def opened(place: Place, tmp_path: Path, sandbox: Sandbox, clock: Clock) -> Open:
    """Opens registries: each call is another process's view of the same store."""

    def made(store: KV | None = None, **rules: Any) -> LocalRegistry:
        artifacts = FolderArtifacts(tmp_path / "artifacts")
        return LocalRegistry(
            store or place.open(clock), artifacts, sandbox, clock, rules=RegistryRules(**rules)
        )

    return made


@pytest.fixture
def three(registry: LocalRegistry) -> list[str]:
    """Three versions of `shout`; their digests."""
    return [
        registry.deploy(spec(execute=f"return '{word}'"), PERSON).offer.digest
        for word in ("one", "two", "three")
    ]


def active(registry: LocalRegistry) -> list[int]:
    return [row["version"] for row in registry.versions("shout", PERSON) if row["active"]]


def test_versions_are_listed_newest_first_with_who_made_them_and_when(
    registry: LocalRegistry, clock: Clock
) -> None:
    registry.deploy(spec(), MODEL)
    clock.now += 60
    registry.deploy(spec(execute="return 'two'"), PERSON)

    newer, older = registry.versions("shout", PERSON)

    assert (newer["version"], newer["author"], newer["active"], newer["at"]) == (
        2,
        "person",
        True,
        clock.now,
    )
    assert (older["version"], older["author"], older["session"], older["active"]) == (
        1,
        "model",
        "telegram:1",
        False,
    )
    assert older["digest"] != newer["digest"]
    assert older["bytes"] > 0
    assert [step["action"] for step in registry.history("shout", PERSON)] == ["deploy", "deploy"]


def test_a_rollback_lets_the_one_before_run_again_and_the_history_shows_it(
    registry: LocalRegistry, three: list[str]
) -> None:
    row = registry.rollback("shout", PERSON)

    assert (row["version"], row["changed"], text(registry)) == (2, True, "two")
    assert [(step["version"], step["action"]) for step in registry.history("shout", PERSON)][
        -1
    ] == (2, "rollback")
    assert text(registry, f"shout@{three[2]}") == "three"


@pytest.mark.parametrize("version", [None, 1, 2])
def test_the_same_rollback_again_changes_nothing(
    registry: LocalRegistry, three: list[str], version: int | None
) -> None:
    first = registry.rollback("shout", PERSON, version)
    again = registry.rollback("shout", PERSON, version)

    assert (first["changed"], again["changed"], again["version"]) == (True, False, first["version"])
    assert len(registry.history("shout", PERSON)) == 4


def test_a_new_deploy_after_a_rollback_has_the_next_number(
    registry: LocalRegistry, three: list[str]
) -> None:
    registry.rollback("shout", PERSON, 1)
    assert registry.deploy(spec(execute="return 'four'"), PERSON).offer.version == 4
    assert registry.rollback("shout", PERSON)["version"] == 3


def test_a_digest_of_before_is_deployed_again_under_its_own_number(
    registry: LocalRegistry, three: list[str]
) -> None:
    done = registry.deploy(spec(execute="return 'one'"), PERSON)

    assert (done.offer.version, done.offer.digest, text(registry)) == (1, three[0], "one")
    assert len(registry.versions("shout", PERSON)) == 3


def test_what_is_not_there_cannot_be_rolled_back_to(registry: LocalRegistry) -> None:
    registry.deploy(spec(), PERSON)
    for version in (None, 2, 99):
        with pytest.raises(UsageError, match="ENOENT"):
            registry.rollback("shout", PERSON, version)
    with pytest.raises(UsageError, match="ENOENT"):
        registry.rollback("other", PERSON)


def test_only_owners_change_which_version_runs(registry: LocalRegistry, three: list[str]) -> None:
    for caller in (MODEL, GUEST):
        for act in (
            lambda who: registry.rollback("shout", who),
            lambda who: registry.yank("shout@3", who),
        ):
            with pytest.raises(Refused, match="EPERM"):
                act(caller)
        with pytest.raises(Refused, match="EPERM"):
            registry.publish("shout", caller)
        with pytest.raises(Refused, match="EPERM"):
            registry.import_bundle(registry.export(["shout"], PERSON), caller)
    assert text(registry) == "three"


def test_a_yanked_version_gives_way_to_the_one_before_and_runs_by_its_digest(
    registry: LocalRegistry, three: list[str]
) -> None:
    row = registry.yank("shout@3", PERSON)

    assert (row["yanked"], row["changed"], text(registry)) == (True, True, "two")
    assert text(registry, f"shout@{three[2]}") == "three"
    assert [hit.offer.version for hit in registry.query("shout a text", PERSON).hits] == [2]
    assert registry.yank("shout@3", PERSON)["changed"] is False


def test_undoing_a_yank_is_as_if_it_had_not_been(registry: LocalRegistry, three: list[str]) -> None:
    registry.yank("shout@3", PERSON)
    registry.yank("shout@3", PERSON, undo=True)
    assert text(registry) == "three"

    registry.yank("shout@1", PERSON)
    assert text(registry) == "three"
    assert registry.yank("shout@1", PERSON, undo=True)["yanked"] is False
    assert registry.yank("shout@1", PERSON, undo=True)["changed"] is False


def test_a_name_whose_versions_are_all_yanked_is_hidden_and_stays_its_owners(
    registry: LocalRegistry,
) -> None:
    digest = registry.deploy(spec(), PERSON).offer.digest
    registry.yank(f"shout@{digest}", PERSON)

    assert list(registry.list(PERSON)) == []
    assert registry.query("shout a text", PERSON).hits == ()
    with pytest.raises(UsageError, match="ENOENT"):
        text(registry)
    assert text(registry, f"shout@{digest}") == "one"
    with pytest.raises(Refused, match="EEXIST"):
        registry.deploy(spec(execute="return 'mine'"), MODEL)
    registry.yank("shout@1", PERSON, undo=True)
    assert text(registry) == "one"


def test_where_all_are_yanked_the_one_that_is_given_back_runs(
    registry: LocalRegistry, three: list[str]
) -> None:
    for number in (1, 2, 3):
        registry.yank(f"shout@{number}", PERSON)
    assert registry.yank("shout@2", PERSON, undo=True)["active"] is True
    assert text(registry) == "two"
    assert registry.yank("shout@1", PERSON, undo=True)["active"] is False
    assert text(registry) == "two"


def test_a_model_cannot_bring_back_what_a_person_withdrew(registry: LocalRegistry) -> None:
    registry.deploy(spec(), MODEL)
    registry.deploy(spec(execute="return 'two'"), MODEL)
    registry.yank("shout@1", PERSON)

    with pytest.raises(Refused, match="EEXIST"):
        registry.deploy(spec(), MODEL)
    assert registry.deploy(spec(), PERSON).offer.version == 1
    assert text(registry) == "one"


def test_a_rollback_leaves_out_what_is_yanked(registry: LocalRegistry, three: list[str]) -> None:
    registry.yank("shout@2", PERSON)
    assert registry.rollback("shout", PERSON)["version"] == 1


def test_a_yank_has_to_say_which_version(registry: LocalRegistry, three: list[str]) -> None:
    for ref in ("shout", "shout@9", "Shout@1", f"shout@sha256:{'0' * 64}"):
        with pytest.raises(UsageError):
            registry.yank(ref, PERSON)
    assert active(registry) == [3]


def test_nobody_changes_what_is_not_of_the_own_namespace(registry: LocalRegistry) -> None:
    from sigil.protocol import LIBRARY, Caller

    for word in ("one", "two"):
        registry.deploy(spec(execute=f"return '{word}'"), Caller(LIBRARY, author="library"))
    for act in (
        lambda: registry.rollback("shout", PERSON),
        lambda: registry.yank("shout@2", PERSON),
    ):
        with pytest.raises(Refused, match="EPERM"):
            act()
    assert len(registry.versions("shout", PERSON)) == 2


def test_a_removed_digest_does_not_run_even_when_its_records_were_left(
    registry: LocalRegistry, kv: KV, three: list[str]
) -> None:
    left = keys.version("main", "shout", 1), keys.version_of_digest("main", "shout", three[0])
    kept = [(key, item.value) for key in left if (item := kv.get(key))]
    registry.remove("shout", PERSON)
    for key, value in kept:  # as after a crash in the middle of a removal
        kv.put(key, value)

    for _ in range(2):
        for ref in (f"shout@{three[0]}", "shout@1"):
            with pytest.raises(UsageError, match="ENOENT"):
                text(registry, ref)
        registry.deploy(spec(execute="return 'new'"), PERSON)
    assert [row["version"] for row in registry.versions("shout", PERSON)] == [4]
    assert len(kept) == 2


@in_a_file
def test_only_the_last_hundred_versions_are_kept(
    registry: LocalRegistry, kv: KV, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert catalog.VERSIONS_KEPT == 100
    monkeypatch.setattr(catalog, "VERSIONS_KEPT", kept := 22)
    for number in range(1, kept + 4):
        registry.deploy(spec(execute=f"return '{number}'"), PERSON)

    numbers = [row["version"] for row in registry.versions("shout", PERSON)]
    assert numbers == list(range(kept + 3, 3, -1))
    head = Catalog(kv).load_head("main", "shout")
    assert head is not None
    assert head.state.size == sum(row["bytes"] for row in registry.versions("shout", PERSON))
    assert len(head.state.history) == 20


def test_a_difference_shows_fields_schema_and_source(registry: LocalRegistry) -> None:
    registry.deploy(spec(execute="const a = 1;\nreturn a;", tags=["old"]), PERSON)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    registry.deploy(
        {**spec(execute="const a = 2;\nreturn a;", tags=["new"]), "schema": schema}, PERSON
    )

    found = registry.diff("shout", PERSON)

    assert (found["from"], found["to"], found["same"]) == (1, 2, False)
    assert found["manifest"] == [{"field": "tags", "old": ["old"], "new": ["new"]}]
    assert '+    "n": {' in found["schema"]
    assert found["source"].splitlines() == [
        "--- shout@1",
        "+++ shout@2",
        "@@ -1,2 +1,2 @@",
        "-const a = 1;",
        "+const a = 2;",
        " return a;",
    ]
    back = registry.diff("shout", PERSON, 2, 1)
    assert back["manifest"] == [{"field": "tags", "old": ["new"], "new": ["old"]}]
    assert registry.diff("shout", PERSON, 2, 2) == {
        "capability": "shout", "from": 2, "to": 2, "same": True, "manifest": [], "schema": "", "source": ""
    }  # fmt: skip


def test_there_is_no_difference_to_what_is_not_there(registry: LocalRegistry) -> None:
    registry.deploy(spec(), PERSON)
    for older, newer in ((None, None), (1, 2), (7, None)):
        with pytest.raises(UsageError, match="ENOENT"):
            registry.diff("shout", PERSON, older, newer)


def test_what_a_chat_made_is_published_with_its_digest_and_author(registry: LocalRegistry) -> None:
    digest = registry.deploy(spec(), GUEST).offer.digest
    done = registry.publish("shout", PERSON)

    assert (done.created, done.offer.version, done.offer.digest) == (True, 1, digest)
    row = registry.inspect("shout", OTHER)
    assert (row["author"], row["session"], row["namespace"]) == ("model", "telegram:9", "main")
    assert text(registry, "shout", OTHER) == text(registry, f"shout@{digest}", GUEST) == "one"
    assert registry.publish("shout", PERSON).created is False
    assert [row["namespace"] for row in registry.list(GUEST)] == ["main"]


def test_a_publication_asks_which_chat_is_meant(registry: LocalRegistry) -> None:
    registry.deploy(spec(), GUEST)
    registry.deploy(spec(execute="return 'two'"), OTHER)

    with pytest.raises(UsageError, match="EAMBIGUOUS") as caught:
        registry.publish("shout", PERSON)
    assert "telegram:8, telegram:9" in caught.value.message
    assert registry.publish("shout", PERSON, session="telegram:8").created
    assert text(registry) == "two"
    with pytest.raises(UsageError, match="ENOENT"):
        registry.publish("nothing", PERSON)


def test_a_publication_replaces_what_somebody_else_made_only_when_told(
    registry: LocalRegistry,
) -> None:
    registry.deploy(spec(), PERSON)
    registry.deploy(spec("other"), GUEST)
    registry.deploy(spec("other", "return 'by hand'"), PERSON)

    with pytest.raises(Refused, match="EEXIST"):
        registry.publish("other", PERSON)
    assert text(registry, "other") == "by hand"
    assert registry.publish("other", PERSON, replace=True).offer.version == 2
    assert text(registry, "other") == "one"


def test_everything_that_happened_stands_in_the_audit(
    registry: LocalRegistry, kv: KV, three: list[str]
) -> None:
    from sigil.catalog.audit import Audit

    registry.rollback("shout", PERSON, 1)
    registry.yank("shout@3", PERSON)
    registry.yank("shout@3", PERSON, undo=True)
    registry.remove("shout", PERSON)

    audit = Audit(kv)
    assert [entry.fields["action"] for entry in audit.read_latest("main")][-7:] == [
        "deploy"
    ] * 3 + [
        "rollback",
        "yank",
        "unyank",
        "remove",
    ]
    assert audit.verify("main").problem == ""


def test_another_process_sees_at_once_which_version_runs(
    registry: LocalRegistry, opened: Open, three: list[str]
) -> None:
    other = opened()
    assert text(other) == "three"
    registry.rollback("shout", PERSON, 1)
    assert text(other) == "one"
    assert [hit.offer.version for hit in other.query("shout a text", PERSON).hits] == [1]
    registry.remove("shout", PERSON)
    with pytest.raises(SigilError, match="ENOENT"):
        text(other, f"shout@{three[2]}")


def test_two_who_change_a_name_at_the_same_time_both_succeed(
    registry: LocalRegistry, opened: Open, three: list[str]
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    other = opened()
    with ThreadPoolExecutor(2) as pool:
        yanks = (
            pool.submit(registry.yank, "shout@1", PERSON),
            pool.submit(other.yank, "shout@2", PERSON),
        )
        assert all(future.result(30)["changed"] for future in yanks)
    assert [row["version"] for row in registry.versions("shout", PERSON) if row["yanked"]] == [2, 1]


def test_two_who_deploy_at_the_same_time_make_a_version_each(
    registry: LocalRegistry, opened: Open
) -> None:
    sides = registry, opened()
    done = in_parallel(
        2,
        lambda number: [
            _patiently(sides[number], f"return '{number} {step}'") for step in range(3)
        ],
    )
    assert sorted(version for versions in done for version in versions) == [1, 2, 3, 4, 5, 6]
    rows = registry.versions("shout", PERSON)
    assert [row["version"] for row in rows] == [6, 5, 4, 3, 2, 1]
    steps = [step["version"] for step in registry.history("shout", PERSON)]
    assert sorted(steps) == [1, 2, 3, 4, 5, 6]
    assert active(registry) == [steps[-1]]
    audit = registry.log.verify(PERSON)
    assert (audit["ok"], audit["entries"]) == (True, 6)


def _patiently(registry: LocalRegistry, execute: str) -> int:
    while True:
        try:
            return registry.deploy(spec(execute=execute), PERSON).offer.version
        except Conflict:
            continue


def test_two_who_roll_back_at_the_same_time_end_where_one_of_them_wanted(
    registry: LocalRegistry, opened: Open, three: list[str]
) -> None:
    sides = registry, opened()
    rows = in_parallel(2, lambda number: sides[number].rollback("shout", PERSON, number + 1))
    steps = [step["version"] for step in registry.history("shout", PERSON)]
    assert {row["version"] for row in rows} == {1, 2}
    assert steps[:3] == [1, 2, 3]
    assert sorted(steps[3:]) == [1, 2]
    assert active(registry) == [steps[-1]]
