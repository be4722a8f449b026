"""The routes of those who keep a registry: their lists, their bodies and the audit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sigil.http.test_app import error
from tests.sigil.http.token_server import ADMIN, MODEL, TokenServer, opened, place

__all__ = ["opened", "place"]


def test_keys_are_listed_without_values_page_by_page(place: TokenServer) -> None:
    values = [place.key("invoke", name=f"key {number}") for number in range(5)]
    answer = place.ask(ADMIN, "GET", "/_api/keys?limit=2")
    names = []
    while True:
        assert not [value for value in values if value in answer.text]
        names += [row["name"] for row in answer.json()["items"]]
        if "next" not in answer.json():
            break
        answer = place.ask(ADMIN, "GET", f"/_api/keys?limit=2&after={answer.json()['next']}")
    assert sorted(names) == [f"key {number}" for number in range(5)]


def test_lists_of_keepers_turn_their_pages_though_rows_come_and_go(place: TokenServer) -> None:
    def grantable(name: str) -> None:
        place.deploy(ADMIN, name, permissions={"http": ["GET example.com/"]})

    def secret(name: str) -> None:
        place.ask(ADMIN, "PUT", f"/_api/secrets/{name}", json={"value": "hush-hush"})

    for number in range(5):
        grantable(f"g{number}")
        secret(f"S{number}")
    ids = sorted(
        row["id"]
        for row in (
            place.ask(ADMIN, "POST", "/_api/keys", json={"kind": "invoke"}).json() for _ in range(5)
        )
    )
    place.ask(ADMIN, "POST", "/_api/grant", json={"ref": "g3"})

    def goes(kind: str) -> None:
        """The second row, with which the first page ended, and the first one; another comes before
        them.
        """
        for row in ("1", "0"):
            match kind:
                case "grants":
                    place.ask(ADMIN, "DELETE", f"/_api/remove?name=g{row}")
                    grantable("a-new-one")
                case "secrets":
                    place.ask(ADMIN, "DELETE", f"/_api/secrets/S{row}")
                    secret("A_NEW_ONE")
                case _:
                    place.ask(ADMIN, "DELETE", f"/_api/keys?id={ids[int(row)]}")

    expected = {
        "grants": [f"g{number}" for number in range(5)],
        "secrets": [f"S{number}" for number in range(5)],
        "keys": ids,
    }
    for kind, field in (("grants", "capability"), ("secrets", "secret"), ("keys", "id")):
        first = place.ask(ADMIN, "GET", f"/_api/{kind}?limit=2").json()
        goes(kind)
        rest = place.ask(ADMIN, "GET", f"/_api/{kind}", params={"after": first["next"]}).json()
        assert [row[field] for row in (*first["items"], *rest["items"])] == expected[kind]
        assert "next" not in rest
        for wrong in ("2", "x:y", "0:g1"):
            assert (
                error(place.ask(ADMIN, "GET", f"/_api/{kind}", params={"after": wrong}))
                == "400 EINVAL"
            )
        assert error(place.ask(ADMIN, "GET", f"/_api/{kind}?limit=501")) == "400 EINVAL"


def test_a_list_comes_in_pages_that_miss_nothing(place: TokenServer) -> None:
    for name in ("c", "a", "b"):
        place.deploy(ADMIN, name)
    names, after = [], ""
    for _ in range(5):
        page = place.ask(ADMIN, "GET", f"/_api/list?limit=1&after={after}").json()
        names += [row["capability"] for row in page["items"]]
        after = page.get("next", "")
        if not after:
            break
    assert names == ["a", "b", "c", "standard"]
    assert error(place.ask(ADMIN, "GET", "/_api/list?after=x")) == "400 EINVAL"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/_api/rollback", {}),
        ("POST", "/_api/rollback", {"name": 1}),
        ("POST", "/_api/rollback", {"name": "x", "version": "1"}),
        ("POST", "/_api/rollback", {"name": "x", "version": 0}),
        ("POST", "/_api/rollback", {"name": "x", "version": True}),
        ("POST", "/_api/rollback", {"name": "x", "force": True}),
        ("POST", "/_api/yank", {"ref": "x@1", "undo": 1}),
        ("POST", "/_api/publish", {"name": None}),
        ("POST", "/_api/export", {"refs": []}),
        ("POST", "/_api/export", {"refs": "x"}),
        ("POST", "/_api/grant", {"name": "x"}),
        ("POST", "/_api/revoke", {"name": ["x"]}),
        ("PUT", "/_api/secrets/KEY", {"value": 12345678987654321}),
        ("PUT", "/_api/secrets/KEY", {"value": "hush-hush", "more": 1}),
        ("POST", "/_api/keys", {"kind": "admin"}),
        ("POST", "/_api/keys", {"kind": "invoke", "scopes": ["run"]}),
        ("POST", "/_api/keys", {"kind": "invoke", "seconds": -1}),
        ("GET", "/_api/audit?limit=0", None),
        ("GET", "/_api/audit?after=-1", None),
        ("GET", "/_api/diff/x?from=one", None),
    ],
    ids=str,
)
def test_a_body_that_is_not_exactly_right_is_refused_and_not_repeated(
    place: TokenServer, method: str, path: str, body: Any
) -> None:
    answer = place.ask(ADMIN, method, path, json=body)
    assert error(answer) == "400 EINVAL"
    assert "hush-hush" not in answer.text
    assert "12345678987654321" not in answer.text


def test_what_is_done_stands_in_the_audit_with_who_did_it(place: TokenServer) -> None:
    place.deploy(ADMIN, "one")
    token = place.key("deploy", name="ci")
    place.deploy(token, "two")
    place.ask(ADMIN, "DELETE", "/_api/remove?name=one")
    place.ask(ADMIN, "PUT", "/_api/secrets/API_KEY", json={"value": "hush-hush"})
    answer = place.ask(ADMIN, "GET", "/_api/audit")
    rows = answer.json()["items"]
    assert [row["action"] for row in rows] == [
        "deploy",
        "key-create",
        "deploy",
        "remove",
        "secret-set",
    ]
    id = rows[1]["key"]
    assert [row.get("token") for row in rows[:4]] == ["admin", "admin", id, "admin"]
    assert rows[2]["digest"].startswith("sha256:")
    assert "hush-hush" not in answer.text
    assert token not in answer.text
    found = place.ask(ADMIN, "GET", "/_api/audit?verify=1").json()
    assert found == {
        "namespace": "main",
        "entries": 5,
        "tip": rows[-1]["hash"],
        "ok": True,
        "problem": "",
        "namespaces": 2,
        "broken": [],
    }
    assert [
        row["number"]
        for row in place.ask(ADMIN, "GET", "/_api/audit?after=1&limit=2").json()["items"]
    ] == [2, 3]
    assert (
        place.ask(ADMIN, "GET", "/_api/audit?namespace=library").json()["items"][0]["action"]
        == "deploy"
    )


def test_an_end_without_a_lifetime_that_has_one_is_refused(place: TokenServer) -> None:
    for headers in ({}, MODEL):
        body = {"name": "soon", "description": "Soon over.", "execute": "return 1;", "ttl": 60}
        answer = place.ask(ADMIN, "POST", "/_api/deploy", json=body, headers=headers)
        assert error(answer) == "400 EMANIFEST"
        assert answer.json()["error"]["source"] == "soon"
        assert "only an ephemeral capability expires" in answer.json()["error"]["message"]
        assert place.ask(
            ADMIN, "POST", "/_api/deploy", json={**body, "type": "ephemeral"}, headers=headers
        ).status_code in (200, 201)
