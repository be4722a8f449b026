"""A grant, a revocation, a publication and a token reach no further than somebody meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from sigil.access.tokens import TokenHolder
from sigil.catalog.expiry import IDLE_SECONDS, Sweeper
from sigil.errors import Conflict, Refused, UsageError
from sigil.http.capabilities import query
from sigil.http.request import AuthorizedRequest
from sigil.protocol import LIBRARY, Caller, Deployed
from sigil.registry import LocalRegistry
from sigil.storage.kv.sqlite import SqliteKV
from tests.fakes.clock import Clock
from tests.sigil.conftest import kv, opened, registry
from tests.sigil.registries import GUEST, MODEL, OTHER, PERSON, spec, text

__all__ = ["kv", "opened", "registry"]

SHELF = Caller(LIBRARY, author="library")
BOB = Caller("bob", owner=True)
ASKS: dict[str, Any] = {"permissions": {"http": ["GET w.example/"]}}
HTTP = "http:GET w.example/"
FIRST = "publish it first: `sigil publish sw --session telegram:9`"


def refused(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value


# -- grants
# ---------------------------------------------------------------------------------------------------------------------


def test_what_is_revoked_is_taken_from_every_capability_of_that_name(
    registry: LocalRegistry,
) -> None:
    for caller in (SHELF, PERSON):
        made = spec("weather", f"return '{caller.namespace}'", **ASKS)
        registry.deploy(made, caller, replace=True)
        registry.granting.grant("weather" if caller is PERSON else "library/weather", PERSON)
    row = registry.granting.revoke("weather", PERSON)

    assert (row["namespace"], row["namespaces"], row["revoked"]) == (
        "main",
        ["main", LIBRARY],
        [HTTP],
    )
    assert [registry.inspect(ref, PERSON)["pending"] for ref in ("weather", "library/weather")] == [
        [HTTP],
        [HTTP],
    ]
    assert registry.log.rows(PERSON)[-1]["namespaces"] == ["main", LIBRARY]
    with pytest.raises(UsageError, match="ENOENT"):
        registry.granting.revoke("weather", PERSON)


def test_what_a_chat_alone_has_is_published_before_it_is_granted_anything(
    registry: LocalRegistry,
) -> None:
    registry.deploy(spec("sw", **ASKS), GUEST)
    in_chat = replace(PERSON, session="telegram:9")
    for caller in (PERSON, in_chat, replace(PERSON, session="telegram:8")):
        problem = refused(partial(registry.granting.grant, "sw", caller))
        assert (problem.code, problem.suggestion) == ("EPERM", FIRST)
    assert registry.granting.find_request("sw", in_chat)["new"] == [HTTP]
    (row,) = registry.granting.rows(PERSON)
    assert (row["capability"], row["state"], row["chat"], row["permissions"]) == (
        "sw",
        "waits",
        "telegram:9",
        [HTTP],
    )

    registry.publish("sw", PERSON, session="telegram:9")
    assert registry.granting.grant("sw", PERSON)["granted"] == [HTTP]
    assert [("chat" in row, row["state"]) for row in registry.granting.rows(PERSON)] == [
        (False, "stands")
    ]
    with pytest.raises(UsageError, match="ENOENT"):
        registry.granting.grant("nobodys", PERSON)


def test_another_agents_chats_are_not_told_of(registry: LocalRegistry) -> None:
    registry.deploy(spec("sw", **ASKS), GUEST)
    assert list(registry.granting.rows(BOB)) == []
    with pytest.raises(UsageError, match="ENOENT"):
        registry.granting.find_request("sw", BOB)


def test_what_was_granted_in_a_chat_of_old_stays_behind_when_it_leaves(
    registry: LocalRegistry,
) -> None:
    digest = registry.deploy(spec("sw", **ASKS), GUEST).offer.digest
    record = registry._catalog.find_digest(GUEST.own, "sw", digest)
    assert record
    registry._grant_store.grant(record, frozenset({HTTP}), "an owner")
    assert registry.inspect("sw", GUEST)["pending"] == []
    registry.publish("sw", PERSON, session="telegram:9")
    registry.remove("sw", PERSON)

    assert list(registry.granting.rows(PERSON)) == []
    assert registry.deploy(spec("sw", **ASKS), GUEST).pending == (HTTP,)


def test_what_others_may_call_from_now_on_keeps_no_grant(registry: LocalRegistry) -> None:
    registry.deploy(spec("far", **ASKS), PERSON)
    registry.granting.grant("far", PERSON)
    assert registry.deploy(spec("far", "return 'two'", **ASKS), PERSON).pending == ()
    assert registry.deploy(spec("far", "return 'three'", public=True, **ASKS), PERSON).pending == (
        HTTP,
    )
    registry.granting.grant("far", PERSON)
    assert registry.deploy(spec("far", "return 'four'", public=True, **ASKS), PERSON).pending == ()
    assert registry.deploy(spec("far", "return 'five'", **ASKS), PERSON).pending == ()


# -- publications
# ---------------------------------------------------------------------------------------------------------------


def test_a_publication_does_not_take_the_name_of_what_was_withdrawn(
    registry: LocalRegistry,
) -> None:
    registry.deploy(spec("sw", "return 'a chat'"), GUEST)
    registry.deploy(spec("sw"), PERSON)
    registry.yank("sw@1", PERSON)
    problem = refused(lambda: registry.publish("sw", PERSON, session="telegram:9"))
    assert (problem.code, problem.suggestion) == ("EEXIST", "--replace puts it in its place")
    assert registry.publish("sw", PERSON, session="telegram:9", replace=True).created
    assert text(registry, "sw") == "a chat"


def test_the_very_version_that_was_withdrawn_is_published_only_when_told(
    registry: LocalRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.deploy(spec("sw"), GUEST)
    with monkeypatch.context() as patch:
        newer = Conflict("the chat deployed a newer one")
        patch.setattr(
            registry._transfer._catalog, "remove", lambda source: (_ for _ in ()).throw(newer)
        )
        registry.publish("sw", PERSON)
        registry.yank("sw@1", PERSON)
        assert "withdrawn" in refused(lambda: registry.publish("sw", PERSON)).message

        done: Deployed = registry.publish("sw", PERSON, replace=True)
    assert (done.created, text(registry, "sw")) == (True, "one")


def test_what_a_model_made_public_is_not_published_for_everybody(registry: LocalRegistry) -> None:
    registry.deploy(spec("sw"), GUEST)
    catalog = registry._catalog
    head = catalog.load_head(GUEST.own, "sw")
    assert head
    open_one = replace(
        head.record, manifest=head.record.manifest.model_copy(update={"public": True})
    )  # as it was let in once
    catalog.save_head(open_one, head.state, head)
    assert refused(lambda: registry.publish("sw", PERSON)).code == "EPERM"
    assert catalog.load_head("main", "sw") is None


# -- tokens and doors
# -----------------------------------------------------------------------------------------------------------


def ask(registry: LocalRegistry, holder: TokenHolder, **parameters: str) -> AuthorizedRequest:
    given = {name: [value] for name, value in parameters.items()}
    return AuthorizedRequest(registry, holder, holder.to_caller(), "GET", "/", "", given, "", b"")


def test_a_token_about_one_name_is_not_about_anothers_of_that_name(registry: LocalRegistry) -> None:
    token = TokenHolder("t", "deploy", "alice", scopes=("deploy:alice/prop", "run:bob/other"))
    asked = ask(registry, token)
    asked.require_reach("prop")
    asked.require_reach("alice/prop@2")
    asked.require_reach("bob/other")
    for ref in ("bob/prop", "other", "alice/other"):
        assert refused(partial(asked.require_reach, ref)).code == "EPERM"


def test_what_is_unused_is_not_shown_to_those_who_look_around(
    registry: LocalRegistry, kv: SqliteKV, clock: Clock
) -> None:
    registry.deploy(spec("old"), PERSON)
    clock.now += IDLE_SECONDS + 1
    Sweeper(kv, clock).sweep()
    registry.deploy(spec("new"), PERSON)
    body = query(ask(registry, TokenHolder("a", "invoke", "main", scopes=("run:*",)))).body
    assert (b'"new"' in body, b'"old"' in body) == (True, False)
    assert [row["capability"] for row in registry.list(PERSON)] == ["new", "old"]


def test_the_same_word_is_said_of_a_state_everywhere(registry: LocalRegistry) -> None:
    registry.deploy(spec("breaks", "throw new Error('a mistake')"), PERSON)
    registry.deploy(spec("well"), PERSON)
    for _ in range(5):
        with pytest.raises(Exception, match="mistake"):
            registry.run("breaks", {}, PERSON)
    for name, state in (("breaks", "degraded"), ("well", "ok")):
        (row,) = registry.versions(name, PERSON)
        listed = next(row for row in registry.list(PERSON) if row["capability"] == name)
        assert row["state"] == listed["state"] == registry.inspect(name, PERSON)["state"] == state
        assert row["health"] == ("closed" if state == "ok" else "degraded")


def test_the_agents_audit_has_what_a_model_deploys_in_a_chat(registry: LocalRegistry) -> None:
    registry.deploy(spec("sw"), GUEST)
    registry.deploy(spec("sx"), OTHER)
    registry.deploy(spec("sy"), MODEL)
    rows = registry.log.rows(PERSON)
    assert [(row["name"], row.get("chat")) for row in rows] == [
        ("sw", "telegram:9"),
        ("sx", "telegram:8"),
        ("sy", None),
    ]
