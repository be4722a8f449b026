"""What a namespace made public, for the tokens of others."""

from __future__ import annotations

from collections.abc import Callable

from sigil.client.registry import RemoteRegistry
from sigil.protocol import Caller
from tests.sigil.http.test_app import error
from tests.sigil.http.token_server import ADMIN, MODEL, TokenServer, opened, place

__all__ = ["opened", "place"]


def test_what_is_public_runs_everywhere_and_nothing_else_does(place: TokenServer) -> None:
    alice, bob = (place.key("deploy", namespace=name) for name in ("alice", "bob"))
    shown, hidden = (
        place.deploy(alice, name, f"return '{name}';", public=name == "shown").json()
        for name in ("shown", "hidden")
    )
    for token in (bob, place.key("invoke", namespace="carol"), ADMIN):
        assert place.ask(token, "GET", "/run/alice/shown").text == "shown"
        assert (
            place.ask(token, "POST", f"/run/alice/shown@{shown['digest']}", json={}).text == "shown"
        )
        refs = [
            "shown",
            "alice/hidden",
            f"alice/hidden@{hidden['digest']}",
            "alice/hidden@1",
            "alice/nothing",
        ]
        assert {error(place.ask(token, "GET", f"/run/{ref}")) for ref in refs} == {"404 ENOENT"}
        assert error(place.ask(token, "GET", "/_api/inspect/alice/hidden")) == "404 ENOENT"
        row = place.ask(token, "GET", "/_api/inspect/alice/shown").json()
        assert (row["capability"], row["tool"]) == ("alice/shown", "cap_alice__shown")
        assert "source" not in row
    assert place.ask(alice, "GET", "/run/alice/hidden").text == "hidden"
    assert (
        error(place.ask(place.key("invoke", "run:bob/*"), "GET", "/run/alice/shown")) == "403 EPERM"
    )
    assert (
        place.ask(
            place.key("invoke", "run:alice/shown", namespace="bob"), "GET", "/run/alice/shown"
        ).text
        == "shown"
    )


def test_what_others_made_public_is_found_behind_ones_own(place: TokenServer) -> None:
    alice, bob = (place.key("deploy", namespace=name) for name in ("alice", "bob"))
    place.deploy(alice, "shout", public=True, aliases=["shout a text"], tags=["shout", "text"])
    place.deploy(alice, "shout-quietly")
    place.deploy(bob, "louder", aliases=["shout louder"])
    items = place.ask(bob, "GET", "/_api/query?q=shout a text").json()["items"]
    assert [(item["capability"], item["tool"]) for item in items] == [
        ("louder", "cap_louder"),
        ("alice/shout", "cap_alice__shout"),
    ]
    assert [
        item["capability"]
        for item in place.ask(alice, "GET", "/_api/query?q=shout").json()["items"]
    ] == ["shout", "shout-quietly"]
    named = place.ask(bob, "GET", "/_api/query?q=alice/shout").json()["items"]
    assert [item["score"] for item in named if item["capability"] == "alice/shout"] > [0.9]
    with_remote = RemoteRegistry(place.url, bob)
    offer = with_remote.query("shout a text", Caller("main")).hits[1].offer
    assert with_remote.run(f"{offer.name}@{offer.digest}", {}, Caller("main")).output == b"1"
    with_remote.close()


def test_what_is_no_longer_public_is_gone_for_others(place: TokenServer) -> None:
    alice, bob = (place.key("deploy", namespace=name) for name in ("alice", "bob"))
    found: Callable[[], int] = lambda: place.ask(bob, "GET", "/_api/query?q=shout").json()["total"]  # noqa: E731
    old = place.deploy(alice, "shout", public=True).json()
    assert found() == 1
    place.deploy(alice, "shout", "return 2;")
    assert found() == 0
    assert {
        error(place.ask(bob, "GET", f"/run/alice/shout{at}"))
        for at in ("", "@1", f"@{old['digest']}")
    } == {"404 ENOENT"}
    place.deploy(alice, "shout", "return 3;", public=True)
    assert found() == 1
    assert place.ask(bob, "GET", "/run/alice/shout@1").json() == 1
    assert error(place.ask(bob, "GET", "/run/alice/shout@2")) == "404 ENOENT"
    place.ask(ADMIN, "DELETE", "/_api/remove?name=shout", headers={"X-Sigil-Namespace": "alice"})
    assert found() == 0
    assert error(place.ask(bob, "GET", f"/run/alice/shout@{old['digest']}")) == "404 ENOENT"


def test_a_public_capability_needs_a_name_that_fits_into_a_tool(place: TokenServer) -> None:
    alice = place.key("deploy", namespace="alice")
    assert place.deploy(alice, "x" * 53, public=True).status_code == 201
    assert error(place.deploy(alice, "x" * 54, public=True)) == "403 ENAME"
    assert place.deploy(alice, "x" * 54).status_code == 201


def test_a_chats_own_capability_is_nobody_elses_whatever_it_says(place: TokenServer) -> None:
    place.deploy(ADMIN, "secretive", public=True, headers=MODEL)
    bob = place.key("deploy", namespace="bob")
    assert place.ask(bob, "GET", "/_api/query?q=secretive").json()["total"] == 0
    assert error(place.ask(bob, "GET", "/run/main/secretive")) == "404 ENOENT"
