"""Only owners see tokens and the audit, and the audit notes what is done with tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sigil.access.token_admin import AuditReader, TokenAdmin
from sigil.access.tokens import TokenRequest, Tokens
from sigil.catalog.audit import Audit
from sigil.catalog.owner import ADMIN
from sigil.errors import Refused, UsageError
from sigil.protocol import Caller
from sigil.storage.kv import KV
from tests.sigil.stores import Place, place, pytest_generate_tests
from tests.threads import in_parallel

__all__ = ["place", "pytest_generate_tests"]

OWNER = Caller("main", owner=True, token=ADMIN)


def opened(kv: KV) -> tuple[TokenAdmin, AuditReader]:
    return TokenAdmin(Tokens(kv), Audit(kv)), AuditReader(Audit(kv))


def test_what_is_done_with_keys_is_noted_without_their_values(place: Place) -> None:
    keyring, log = opened(place.open())
    row = keyring.create(TokenRequest("deploy", "ci", ("deploy:alice/*",)), OWNER)
    keyring.create(TokenRequest("invoke", namespace="alice"), OWNER)
    assert [
        each["name"] for each in sorted(keyring.rows(OWNER), key=lambda each: each["created"])
    ] == ["ci", ""]
    keyring.revoke(row["id"], OWNER)

    rows = log.rows(OWNER, namespace="alice")
    assert [(each["action"], each["kind"]) for each in rows] == [
        ("key-create", "deploy"),
        ("key-create", "invoke"),
        ("key-revoke", "deploy"),
    ]
    assert rows[0]["scopes"] == ["deploy:alice/*"]
    assert row["token"] not in f"{rows}"
    assert log.verify(OWNER, namespace="alice") == {
        "namespace": "alice",
        "entries": 3,
        "tip": rows[-1]["hash"],
        "ok": True,
        "problem": "",
    }
    assert [each["number"] for each in log.rows(OWNER, namespace="alice", after=1, limit=1)] == [2]
    assert log.verify(OWNER)["entries"] == 0


def test_keys_that_two_make_at_once_are_both_noted(place: Place) -> None:
    sides = [opened(place.open()) for _ in range(2)]
    made = in_parallel(
        2,
        lambda number: [
            sides[number][0].create(TokenRequest("invoke"), OWNER)["id"] for _ in range(3)
        ],
    )
    rows = sides[0][1].rows(OWNER)
    assert sorted(row["key"] for row in rows) == sorted(id for ids in made for id in ids)
    assert sides[1][1].verify(OWNER)["ok"]


@pytest.mark.parametrize(
    "less", [{"owner": False}, {"author": "model"}, {"token": "1f2e3d4c5b6a"}], ids=str
)
@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_nobody_but_an_owner_sees_or_changes_them(place: Place, less: dict[str, Any]) -> None:
    caller = replace(OWNER, **less)
    keyring, log = opened(place.open())
    acts = (
        lambda: keyring.create(TokenRequest("invoke"), caller),
        lambda: keyring.rows(caller),
        lambda: keyring.revoke("x", caller),
    )
    for act in (*acts, lambda: log.rows(caller), lambda: log.verify(caller)):
        with pytest.raises(Refused, match="EPERM"):
            act()
    with pytest.raises(UsageError, match="EINVAL"):
        keyring.rows(OWNER, "2")
