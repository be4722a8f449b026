"""What those who keep a registry do in its own process, done to one behind HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sigil.access.tokens import TokenRequest
from sigil.client.registry import RemoteRegistry
from sigil.errors import Refused
from sigil.protocol import Caller
from tests.sigil.http.token_server import ADMIN, TokenServer, opened, place

__all__ = ["opened", "place"]


OWNER = Caller("main", owner=True)


@pytest.fixture
def there(place: TokenServer) -> Iterator[RemoteRegistry]:
    made = RemoteRegistry(place.url, ADMIN)
    for number in (1, 2, 3):
        made.deploy(
            {"name": "grows", "description": "It grows.", "execute": f"return {number};"},
            OWNER,
        )
    yield made
    made.close()


def test_versions_go_back_and_forth(there: RemoteRegistry, place: TokenServer) -> None:
    assert [row["version"] for row in there.versions("grows", OWNER)] == [3, 2, 1]
    assert there.diff("grows", OWNER, 1, 2) == place.registry.diff("grows", OWNER, 1, 2)
    assert there.rollback("grows", OWNER, 1)["version"] == 1
    assert there.run("grows", {}, OWNER).output == b"1"
    assert there.yank("grows@2", OWNER)["changed"] is True
    assert there.yank("grows@2", OWNER, undo=True)["changed"] is True
    assert there.history("grows", OWNER) == place.registry.history("grows", OWNER)


def test_a_bundle_goes_from_one_registry_to_another(
    there: RemoteRegistry, opened: Callable[..., TokenServer]
) -> None:
    bundle = there.export(["grows"], OWNER)
    other = RemoteRegistry(opened().url, ADMIN)
    brought = other.import_bundle(bundle, OWNER)
    assert [(each.offer.name, each.created) for each in brought] == [("grows", True)]
    assert other.run("grows", {}, OWNER).output == b"3"
    assert [each.created for each in other.import_bundle(bundle, OWNER)] == [False]
    there.deploy(
        {"name": "open", "execute": "return 1;", "public": True, "permissions": {"kv": True}},
        OWNER,
    )
    bundle = there.export(["open"], OWNER)
    other.import_bundle(bundle, OWNER)
    assert other.inspect("open", OWNER)["public"] is False
    with pytest.raises(Refused, match="EEXIST"):
        other.import_bundle(bundle, OWNER, public=True)
    other.import_bundle(bundle, OWNER, public=True, replace=True)
    assert other.inspect("open", OWNER)["public"] is True
    other.close()


def test_an_owner_publishes_what_a_chat_made(there: RemoteRegistry) -> None:
    chat = Caller("main", "telegram:1", author="model")
    there.deploy({"name": "chats", "description": "Of a chat.", "execute": "return 'c';"}, chat)
    assert there.publish("chats", OWNER, session="telegram:1").offer.name == "chats"
    assert there.run("chats", {}, OWNER).output == b'"c"'


def test_grants_and_secrets_are_set_and_taken_back(
    there: RemoteRegistry, place: TokenServer
) -> None:
    there.deploy(
        {"name": "asks", "execute": "return 1;", "permissions": {"http": ["GET example.com/"]}},
        OWNER,
    )
    assert there.granting.find_request("asks", OWNER)["new"] == ["http:GET example.com/"]
    assert [row["state"] for row in there.granting.rows(OWNER)] == ["waits"]
    assert there.granting.grant("asks", OWNER)["granted"] == ["http:GET example.com/"]
    assert there.granting.revoke("asks", OWNER)["revoked"] == ["http:GET example.com/"]
    there.secrets.set("API_KEY", "hush-hush", OWNER)
    assert [row["secret"] for row in there.secrets.rows(OWNER)] == ["API_KEY"]
    there.secrets.remove("API_KEY", OWNER)
    assert list(place.registry.secrets.rows(OWNER)) == []


def test_lists_of_several_pages_come_whole(
    there: RemoteRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sigil.http.admin.PAGE_MOST", 2)
    for number in range(5):
        there.deploy(
            {
                "name": f"g{number}",
                "execute": "return 1;",
                "permissions": {"http": ["GET example.com/"]},
            },
            OWNER,
        )
        there.secrets.set(f"S{number}", "hush-hush", OWNER)
    assert [row["capability"] for row in there.granting.rows(OWNER)] == [
        f"g{number}" for number in range(5)
    ]
    assert [row["secret"] for row in there.secrets.rows(OWNER)] == [
        f"S{number}" for number in range(5)
    ]
    assert [row["secret"] for row in there.secrets.rows(OWNER, "S2")] == ["S3", "S4"]


def test_keys_the_status_and_the_audit_are_shown(there: RemoteRegistry) -> None:
    row = there.keys.create(TokenRequest("invoke", "shop", ("run:*",), seconds=60.0), OWNER)
    assert [each["name"] for each in there.keys.rows(OWNER)] == ["shop"]
    assert there.keys.whoami(OWNER)["kind"] == "admin"
    assert there.keys.revoke(row["id"], OWNER)["id"] == row["id"]
    assert [entry["action"] for entry in there.log.rows(OWNER)][-2:] == [
        "key-create",
        "key-revoke",
    ]
    assert there.log.verify(OWNER)["ok"] is True
    assert there.status(OWNER)["items"][0]["capability"] == "grows"


def test_whoever_is_no_owner_is_refused_there_too(there: RemoteRegistry) -> None:
    chat = Caller("main", "telegram:1", author="model")
    for call in (
        lambda: there.rollback("grows", chat, 1),
        lambda: there.yank("grows@1", chat),
        lambda: there.granting.grant("grows", chat),
        lambda: there.secrets.set("KEY", "x", chat),
        lambda: there.keys.revoke("x", chat),
        lambda: there.log.verify(chat),
    ):
        with pytest.raises(Refused):
            call()
