"""A store with damaged records: commands name the damage and work where they can, and the doctor
lists it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.selection import in_full
from tests.sigil.cli.conftest import Sigil

Damage = Callable[[str, bytes], None]
ASKS = ("--permission", "http:GET example.com/", "--permission", "secret:API_KEY@example.com")


@pytest.fixture
def stocked_store(shout: Sigil) -> Sigil:
    """A store with one of everything."""
    for words in (
        ("deploy", "--name", "asks", *ASKS, "--execute", "return 1", "--description", "It asks."),
        ("grant", "asks", "--yes"),
        ("keys", "create", "--name", "a key"),
    ):
        assert shout(*words).code == 0
    assert shout("secret", "set", "API_KEY", stdin=b"long-enough\n").code == 0
    assert shout("run", "asks").code == 0
    return shout


@pytest.fixture
def damage(place: Path) -> Damage:
    """Overwrite every item of the partitions whose names begin with a text."""

    def write(partition: str, value: bytes) -> None:
        with closing(sqlite3.connect(place.parent / "data" / "uncaged.db")) as store:
            changed = store.execute(
                "UPDATE item SET value = ? WHERE instr(partition, ?) = 1",
                (value, partition.encode()),
            ).rowcount
            store.commit()
        assert changed, partition

    return write


COMMANDS = (
    *(
        "list",
        "inspect asks",
        "run asks",
        "versions asks",
        "grants",
        "secret list",
        "keys list",
        "audit",
        "audit --verify",
        "logs asks",
    ),
    *(
        "status",
        "deploy --name new --execute return(1) --description New.",
        "grant asks --yes",
        "revoke asks",
        "remove asks --yes",
    ),
)
VALUES = {
    "capability#": (b'{"latest": 1, "record": {}}', b'{"latest": "1", "record": {"version": "x"}}'),
    "version#": (b"{}", b'{"version": 1, "at": []}'),
    "digest#": (b"one", b"-1"),
    "grant#": (b"5", b'["x"]', b'[{"digest": 1, "permissions": [], "at": 1, "by": ""}]'),
    "secret#": (b"[1]", b'{"value": 1, "at": 1, "by": ""}'),
    "token": (b"[]", b'{"kind": "invoke", "namespace": "main", "scopes": [], "expires": []}'),
    "audit#": (b"{}", b'{"body": "[1]", "hash": ""}', b'{"body": "{\\"a\\": 1}", "hash": 1}'),
    "audit-tip": (b"nan", b'{"number": 1e30, "hash": ""}', b'{"number": -1, "hash": ""}'),
    "health#": (b"[1]", b'{"main": {"until": "x"}}', b'{"main": {"until": NaN}}'),
    "room": (b"5", b'[{"mark": 1, "until": 1}]'),
    "use#": (b"[1, 1, 1.0, 1.0, [[]], []]",),
    "generation": (b"{}",),
}


@pytest.mark.parametrize("kind", VALUES)
def test_no_damage_is_taken_for_a_mistake_of_the_command(
    stocked_store: Sigil, damage: Damage, kind: str
) -> None:
    if kind == "health#":
        assert (
            stocked_store(
                "deploy",
                "--name",
                "falls",
                "--execute",
                "throw Error('x')",
                "--description",
                "It falls.",
            ).code
            == 0
        )
        stocked_store("run", "falls")
    if kind == "room":
        assert stocked_store("remove", "shout", "--yes").code == 0
    for number, value in enumerate(VALUES[kind]):
        damage(kind, value)
        # in the suite each command meets one damaged value of each kind
        commands = COMMANDS if in_full() else COMMANDS[number :: len(VALUES[kind])]
        for command in commands:
            result = stocked_store(*command.split())
            assert "EBUG" not in result.err + result.out, (value, command, result.err)
            assert result.code in (0, 1, 3, 7), (value, command, result)


def test_the_doctor_names_what_cannot_be_read_and_how_to_go_on(
    stocked_store: Sigil, damage: Damage
) -> None:
    def records() -> dict[str, str]:
        checks = stocked_store("doctor", "--json").document["checks"]
        return next(check for check in checks if check["name"] == "records")

    assert records()["state"] == "ok"
    for kind in ("grant#", "secret#", "token", "capability#main", "version#main"):
        damage(kind, b"[]x")
    found = records()
    assert found["state"] == "fail"
    assert all(
        name in found["found"] for name in ("main/asks", "main/shout", "main/asks@1", "token ")
    )
    assert "sigil keys revoke" in found["mend"]
    assert "restore a backup" in found["mend"]


def test_damaged_grants_are_none_until_they_are_revoked_and_given_anew(
    stocked_store: Sigil, damage: Damage
) -> None:
    damage("grant#", b"[1]")
    result = stocked_store("run", "asks", "--json")
    assert (result.code, result.error["code"]) == (7, "EDAMAGED")
    assert "`sigil revoke asks`" in result.error["suggestion"]
    assert stocked_store("revoke", "asks").code == 0
    assert stocked_store("grant", "asks", "--yes").code == 0
    assert stocked_store("run", "asks").code == 0


def test_a_damaged_secret_is_set_again_and_a_damaged_token_revoked(
    stocked_store: Sigil, damage: Damage
) -> None:
    damage("secret#", b"x")
    damage("token", b"x")
    assert "set it again: `sigil secret set API_KEY`" in stocked_store("secret", "list").err
    assert stocked_store("secret", "set", "API_KEY", stdin=b"long-enough\n").code == 0
    assert stocked_store("secret", "list").code == 0
    id = stocked_store("keys", "list", "--json").error["message"].split("token ")[1].split()[0]
    assert stocked_store("keys", "revoke", id).code == 0
    assert stocked_store("keys", "list", "--json").document["items"] == []


def test_an_entry_of_the_audit_that_cannot_be_read_stands_among_the_others(
    stocked_store: Sigil, place: Path
) -> None:
    with closing(sqlite3.connect(place.parent / "data" / "uncaged.db")) as store:
        store.execute(
            "UPDATE item SET value = '{}' WHERE partition = ? AND sort = ?",
            (b"audit#main", b"000000000002"),
        )
        store.commit()
    rows = stocked_store("audit", "--json").document["items"]
    assert [row["number"] for row in rows] == [*range(1, len(rows) + 1)]
    assert rows[1]["action"] == "unreadable"
    assert rows[0]["action"] == "deploy"
    assert "unreadable" in stocked_store("audit").out


def test_a_capability_with_a_damaged_version_can_be_removed_and_deployed_anew(
    stocked_store: Sigil, damage: Damage
) -> None:
    damage("version#", b"{}")
    assert stocked_store("versions", "shout").code == 7
    for name in ("shout", "asks"):
        assert stocked_store("remove", name, "--yes").code == 0
    assert stocked_store("doctor", "--json").document["ok"]
    assert stocked_store("deploy", "--name", "shout", "--execute", "return 1").code == 0
    assert stocked_store("versions", "shout").code == 0


def test_a_damaged_count_of_calls_begins_anew(stocked_store: Sigil, damage: Damage) -> None:
    damage("use#", b"{}")
    assert [row["calls"] for row in stocked_store("list", "asks", "--json").document["items"]] == [
        0
    ]
    assert stocked_store("run", "asks").code == 0
    assert [row["calls"] for row in stocked_store("list", "asks", "--json").document["items"]] == [
        1
    ]
