"""Who may do what, from outside: tokens of every kind over a real server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sigil.access.tokens import new_token
from sigil.client.registry import RemoteRegistry
from sigil.errors import ToolError
from sigil.http import app as sigil_http
from sigil.http.routes import TOKEN_ROUTES
from sigil.protocol import Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.http.test_app import error
from tests.sigil.http.token_server import ADMIN, MODEL, TokenServer, opened, place
from tests.sigil.serving import served

__all__ = ["opened", "place"]


KEEPING = [
    ("POST", "/_api/publish"),
    ("POST", "/_api/import"),
    ("GET", "/_api/secrets"),
    ("PUT", "/_api/secrets/KEY"),
    ("DELETE", "/_api/secrets/KEY"),
    ("GET", "/_api/keys"),
    ("POST", "/_api/keys"),
    ("DELETE", "/_api/keys?id=x"),
    ("GET", "/_api/audit"),
    ("POST", "/_api/mcp/tools"),
]
WORKING = [
    ("POST", "/_api/deploy"),
    ("GET", "/_api/versions/one"),
    ("GET", "/_api/diff/one"),
    ("POST", "/_api/export"),
    ("GET", "/_api/status"),
    ("DELETE", "/_api/remove?name=none"),
    ("POST", "/_api/rollback"),
    ("POST", "/_api/yank"),
    ("GET", "/_api/grants"),
    ("GET", "/_api/grants/none"),
    ("POST", "/_api/grant"),
    ("POST", "/_api/revoke"),
]
USING = [
    ("GET", "/run/one"),
    ("GET", "/_api/query?q=one"),
    ("GET", "/_api/inspect/one"),
    ("GET", "/_api/list"),
    ("GET", "/_api/whoami"),
]


def test_every_route_asks_for_the_right_token(place: TokenServer) -> None:
    place.deploy(ADMIN, "one")
    invoke, deploy = place.key("invoke"), place.key("deploy")
    assert {error(place.ask(token, *route)) for token in (invoke, deploy) for route in KEEPING} == {
        "403 EPERM"
    }
    assert {error(place.ask(invoke, *route)) for route in WORKING} == {"403 EPERM"}
    assert {
        place.ask(token, *route).status_code for token in (invoke, deploy) for route in USING
    } == {200}
    assert not {place.ask(deploy, *route).status_code for route in WORKING} & {401, 403}
    assert {
        error(place.ask(token, *route))
        for token in ("", "x", new_token())
        for route in (*KEEPING, *WORKING, *USING)
    } <= {
        "401 EAUTH",
        "429 ERATE",
    }
    missing = "/_api/files/" + "0" * 32
    assert {error(place.ask(token, "GET", missing)) for token in (invoke, deploy)} == {"404 ENOENT"}
    assert error(place.ask("x", "GET", missing)) in ("401 EAUTH", "429 ERATE")
    tried_alone = (("POST", "/run/one"), ("POST", "/mcp"), ("GET", missing))
    listed = {(route.method, route.path.partition("{")[0]) for route in TOKEN_ROUTES}
    tried = {
        (method, path.partition("?")[0])
        for method, path in (*KEEPING, *WORKING, *USING, *tried_alone)
    }
    assert {
        (method, path)
        for method, path in listed
        if not any(m == method and p.startswith(path) for m, p in tried)
    } == set()


def test_a_deploy_token_deploys_into_its_own_namespace_whatever_the_headers_say(
    place: TokenServer,
) -> None:
    token = place.key("deploy", namespace="alice")
    spoken = {"X-Sigil-Namespace": "main", "X-Sigil-Owner": "1", "X-Sigil-Session": "telegram%3A1"}
    assert place.deploy(token, "hers", headers=spoken).status_code == 201
    row = place.ask(token, "GET", "/_api/inspect/hers").json()
    assert (row["namespace"], row["author"], row["source"]) == ("alice", "person", "return 1;")
    assert error(place.ask(ADMIN, "GET", "/run/hers")) == "404 ENOENT"
    assert error(place.deploy(token, "models", headers=MODEL)) == "403 EPERM"
    assert place.ask(token, "GET", "/run/hers", headers=MODEL).json() == 1


def test_a_deploy_token_keeps_to_the_names_of_its_scopes(place: TokenServer) -> None:
    token = place.key("deploy", "deploy:alice/one", "run:library/*")
    assert place.deploy(token, "one").status_code == 201
    assert error(place.deploy(token, "two")) == "403 EPERM"
    assert (
        error(place.ask(token, "POST", "/_api/deploy", json={"name": None, "execute": "return 1;"}))
        == "403 EPERM"
    )
    assert place.ask(token, "GET", "/run/one").json() == 1
    assert place.ask(token, "GET", "/run/standard").text == "s"
    place.deploy(place.key("deploy", namespace="alice"), "two")
    refused = [
        ("GET", "/run/two"),
        ("GET", "/_api/inspect/two"),
        ("GET", "/_api/versions/two"),
        ("GET", "/_api/diff/two"),
        ("GET", "/run/alice/two"),
    ]
    assert {error(place.ask(token, *route)) for route in refused} == {"403 EPERM"}
    assert (
        error(place.ask(token, "POST", "/_api/export", json={"refs": ["one", "two"]}))
        == "403 EPERM"
    )
    assert [row["capability"] for row in place.ask(token, "GET", "/_api/list").json()["items"]] == [
        "one",
        "standard",
    ]


def change(place: TokenServer, token: str, verb: str, name: str = "hers") -> str:
    """Ask for a change of a capability; return "done", or how it is refused."""
    answer = {
        "remove": lambda: place.ask(token, "DELETE", f"/_api/remove?name={name}"),
        "yank": lambda: place.ask(token, "POST", "/_api/yank", json={"ref": f"{name}@2"}),
        "unyank": lambda: place.ask(
            token, "POST", "/_api/yank", json={"ref": f"{name}@2", "undo": True}
        ),
        "rollback": lambda: place.ask(token, "POST", "/_api/rollback", json={"name": name}),
        "grant": lambda: place.ask(token, "POST", "/_api/grant", json={"ref": name}),
        "asked": lambda: place.ask(token, "GET", f"/_api/grants/{name}"),
        "revoke": lambda: place.ask(token, "POST", "/_api/revoke", json={"name": name}),
    }[verb]()
    return "done" if answer.status_code == 200 else error(answer)


CHANGES = ("asked", "grant", "revoke", "rollback", "yank", "unyank", "remove")
CALLS_BOB = {"permissions": {"call": ["bob/open"]}}


def test_who_deployed_with_a_token_changes_their_own_and_nobody_elses(place: TokenServer) -> None:
    bob = place.key("deploy", namespace="bob")
    place.deploy(bob, "open", public=True)
    hers = place.key("deploy", namespace="alice", name="laptop")
    renewed = place.key("deploy", namespace="alice", name="laptop")
    others = {
        "of another name": place.key("deploy", namespace="alice", name="ci"),
        "without a name": place.key("deploy", namespace="alice"),
        "of another namespace": bob,
        "for other capabilities": place.key(
            "deploy", "deploy:alice/else", namespace="alice", name="laptop"
        ),
        "that only runs": place.key("invoke", namespace="alice", name="laptop"),
    }
    for code in ("return 1;", "return 2;"):
        assert place.deploy(hers, "hers", code, **CALLS_BOB).status_code == 201
    for whose, token in others.items():
        refusals = {change(place, token, verb) for verb in CHANGES}
        expected = "404 ENOENT" if whose == "of another namespace" else "403 EPERM"
        assert (whose, refusals) == (whose, {expected})
    assert [change(place, renewed, verb) for verb in CHANGES] == ["done"] * len(CHANGES)
    assert error(place.ask(hers, "GET", "/run/hers")) == "404 ENOENT"

    rows = place.ask(ADMIN, "GET", "/_api/audit?namespace=alice").json()["items"]
    done = [row for row in rows if row["action"] not in ("deploy", "key-create")]
    actions = ["grant", "revoke", "rollback", "yank", "unyank", "remove"]
    assert [row["action"] for row in done] == actions
    ids = {row["token"] for row in done}
    assert ids == {place.ask(renewed, "GET", "/_api/whoami").json()["id"]}


def test_what_an_owner_deployed_is_not_for_a_token_of_that_namespace(place: TokenServer) -> None:
    token = place.key("deploy", name="laptop")
    place.deploy(ADMIN, "owners", **CALLS_BOB)
    assert {change(place, token, verb, "owners@1" if verb in ("grant", "asked") else "owners")
            for verb in ("asked", "grant", "revoke", "remove")} == {"403 EPERM"}  # fmt: skip
    assert place.deploy(token, "owners", "return 2;", **CALLS_BOB).status_code == 201
    # it may withdraw its own version, and does not decide about the owner's
    assert change(place, token, "rollback", "owners") == "403 EPERM"
    assert change(place, token, "remove", "owners") == "403 EPERM"
    assert change(place, token, "revoke", "owners") == "403 EPERM"
    assert change(place, token, "yank", "owners") == "done"
    assert place.ask(ADMIN, "GET", "/run/owners").json() == 1
    assert change(place, token, "rollback", "standard") == "403 EPERM"
    assert change(place, token, "remove", "standard") == "403 EPERM"
    assert change(place, token, "grant", "library/standard") == "403 EPERM"


def test_a_name_that_an_owner_took_back_is_not_the_tokens_any_more(place: TokenServer) -> None:
    token = place.key("deploy", name="laptop")
    place.deploy(token, "one")
    place.ask(ADMIN, "DELETE", "/_api/remove?name=one")
    place.deploy(ADMIN, "one")  # the very digest
    assert change(place, token, "remove", "one") == "403 EPERM"
    place.ask(ADMIN, "DELETE", "/_api/remove?name=one")
    place.deploy(token, "one", type="ephemeral", ttl=60)
    place.clock.now += 50
    assert place.deploy(token, "one", type="ephemeral", ttl=60).status_code == 200
    place.clock.now += 55
    assert change(place, token, "remove", "one") == "done"


def test_a_token_grants_calls_that_it_may_make_itself_and_no_more(place: TokenServer) -> None:
    place.deploy(place.key("deploy", namespace="bob"), "open", public=True)
    token = place.key("deploy", namespace="alice", name="laptop")
    asked = {"call": ["bob/open"], "http": ["GET api.example.com/"], "secrets": ["KEY@api.example.com"]}  # fmt: skip
    place.deploy(token, "asks", permissions=asked)
    kept_back = ["http:GET api.example.com/", "secret:KEY@api.example.com"]
    assert place.ask(token, "GET", "/_api/grants/asks").json()["owners_only"] == kept_back
    row = place.ask(token, "POST", "/_api/grant", json={"ref": "asks"}).json()
    assert (row["granted"], row["new"]) == (["call:bob/open"], kept_back)
    refused = place.ask(token, "POST", "/_api/grant", json={"ref": "asks"})
    assert error(refused) == "403 EPERM"
    problem = refused.json()["error"]
    assert problem["message"] == f"only an owner grants {', '.join(kept_back)}"
    assert problem["suggestion"] == "ask an owner of the registry: `sigil grant alice/asks`"
    # what an owner granted stays when the token asks again
    alice = {"X-Sigil-Namespace": "alice"}
    place.ask(ADMIN, "POST", "/_api/grant", json={"ref": "asks"}, headers=alice)
    row = place.ask(token, "POST", "/_api/grant", json={"ref": "asks"}).json()
    assert (row["new"], "owners_only" in row) == ([], False)
    listed = place.ask(token, "GET", "/_api/grants").json()["items"]
    assert [(row["capability"], row["by"]) for row in listed] == [("asks", "an owner")]
    other = place.key("deploy", "deploy:alice/else", namespace="alice")
    assert place.ask(other, "GET", "/_api/grants").json()["items"] == []


def test_an_invoke_token_runs_and_finds_what_it_may_run_and_sees_no_source(
    place: TokenServer,
) -> None:
    for name in ("one", "two"):
        place.deploy(ADMIN, name, tests=[{"input": {}, "output": 1}])
    token = place.key("invoke", "run:main/one")
    assert place.ask(token, "GET", "/run/one").json() == 1
    assert error(place.ask(token, "GET", "/run/two")) == "403 EPERM"
    assert error(place.ask(token, "GET", "/run/standard")) == "403 EPERM"
    assert [
        item["capability"]
        for item in place.ask(token, "GET", "/_api/query?q=thing").json()["items"]
    ] == ["one"]
    row = place.ask(token, "GET", "/_api/inspect/one").json()
    assert row["schema"]
    assert not {"source", "tests", "wasm", "pending", "calls"} & set(row)


def test_a_revoked_or_ended_token_is_refused_at_once(place: TokenServer) -> None:
    token, short = place.key("invoke", name="shop"), place.key("invoke", seconds=60)
    assert place.ask(short, "GET", "/_api/whoami").json()["expires"] == place.clock.now + 60
    place.clock.now += 60
    assert error(place.ask(short, "GET", "/_api/whoami")) == "401 EAUTH"
    row = next(
        row
        for row in place.ask(ADMIN, "GET", "/_api/keys").json()["items"]
        if row["name"] == "shop"
    )
    assert place.ask(ADMIN, "DELETE", f"/_api/keys?id={row['id']}").json()["id"] == row["id"]
    assert error(place.ask(token, "GET", "/_api/whoami")) == "401 EAUTH"


def test_only_an_owner_reads_the_audit_or_makes_keys(place: TokenServer) -> None:
    for headers in (MODEL, {"X-Sigil-Owner": "0"}):
        assert error(place.ask(ADMIN, "GET", "/_api/audit", headers=headers)) == "403 EPERM"
        assert (
            error(place.ask(ADMIN, "POST", "/_api/keys", json={"kind": "invoke"}, headers=headers))
            == "403 EPERM"
        )
        assert error(place.ask(ADMIN, "GET", "/_api/keys", headers=headers)) == "403 EPERM"


def test_a_token_that_asks_too_often_is_told_when_to_come_back(
    opened: Callable[..., TokenServer],
) -> None:
    place = opened(rate=3)
    token, other = place.key("invoke"), place.key("invoke")
    answers = [place.ask(token, "GET", "/run/standard") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert (error(answers[3]), answers[3].headers["retry-after"]) == ("429 ERATE", "20")
    assert place.ask(other, "GET", "/run/standard").status_code == 200
    assert place.ask(ADMIN, "GET", "/run/standard").status_code == 200


def test_health_says_more_to_who_has_a_token(place: TokenServer) -> None:
    assert place.ask("", "GET", "/_health").json().keys() == {"ok", "version"}
    assert place.ask("wrong", "GET", "/_health").json().keys() == {"ok", "version"}
    assert place.ask(place.key("invoke"), "GET", "/_health").json().keys() == {"ok", "version"}
    row = place.ask(ADMIN, "GET", "/_health").json()
    assert row["ok"] is True
    assert row["sandbox"]["children"] >= 0
    assert row["sandbox"]["path"].startswith(("fast: ", "plain, as SIGIL_SANDBOX says"))
    assert row["store"]["read_ms"] >= 0
    assert {"path", "children", "busy", "calls"} <= set(
        place.ask(ADMIN, "GET", "/_api/status").json()["sandbox"]
    )


def test_logs_are_for_who_owns_the_capability(place: TokenServer) -> None:
    alice, bob, invoke = (
        place.key("deploy", namespace="alice"),
        place.key("deploy", namespace="bob"),
        place.key("invoke", namespace="alice"),
    )
    place.deploy(
        alice, "says", "console.log('inside'); return 1;", permissions={"log": True}, public=True
    )
    lines = [
        place.ask(
            token, "GET", "/run/alice/says", headers={"Accept": "application/x-ndjson"}
        ).text.partition("\n")[0]
        for token in (alice, invoke, bob)
    ]
    assert ["inside" in line for line in lines] == [True, False, False]


def test_a_deploy_token_pauses_between_two_deploys_and_the_admin_does_not(
    place: TokenServer, sandbox: Sandbox
) -> None:
    registry = LocalRegistry(
        MemoryKV(place.clock), MemoryArtifacts(), sandbox, place.clock, rules=RegistryRules(pause=5)
    )
    with served(sigil_http.build_registry_app(registry, ADMIN)) as url:
        slow = TokenServer(url, registry, place.clock, place.client)
        token = slow.key("deploy")
        assert slow.deploy(token, "one").status_code == 201
        answer = slow.deploy(token, "two")
        assert (error(answer), answer.headers["retry-after"]) == ("429 ERATE", "5")
        assert slow.deploy(token, "one").status_code == 200
        assert [slow.deploy(ADMIN, name).status_code for name in ("two", "three")] == [201, 201]
        place.clock.now += 5
        assert slow.deploy(token, "four").status_code == 201


def test_logs_of_a_failed_run_reach_owners_alone(place: TokenServer) -> None:
    place.deploy(
        ADMIN,
        "fails",
        "console.log('inside'); throw Object.assign(new Error('no'), {code: 'EINVAL'});",
        permissions={"log": True},
    )
    assert place.ask(ADMIN, "GET", "/run/fails").json()["error"]["logs"] == ["inside"]
    for token, headers in (
        (ADMIN, MODEL),
        (ADMIN, {"X-Sigil-Owner": "0"}),
        (place.key("invoke"), {}),
    ):
        assert error(place.ask(token, "GET", "/run/fails", headers=headers)) == "424 EINVAL"
    there = RemoteRegistry(place.url, ADMIN)
    with pytest.raises(ToolError) as caught:
        there.run("fails", {}, Caller("main", owner=True))
    assert caught.value.logs == ("inside",)
    there.close()


def test_what_the_library_has_is_hidden_only_when_that_is_asked_for(place: TokenServer) -> None:
    mine = {"name": "standard", "description": "Mine.", "execute": "return 'mine';"}
    reader = place.key("invoke", "run:library/standard")
    token = place.key("deploy")
    for each in (ADMIN, token):
        assert error(place.ask(each, "POST", "/_api/deploy", json=mine)) == "409 EEXIST"
    message = {"name": "sigil_deploy", "arguments": mine}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}
    for each in (ADMIN, token):
        result = place.ask(each, "POST", "/mcp", json=asked).json()["result"]
        assert result["isError"]
        assert "EEXIST" in result["content"][0]["text"]
    assert place.ask(token, "POST", "/_api/deploy?replace=1", json=mine).status_code == 201
    assert place.ask(token, "GET", "/run/standard").text == "mine"
    assert place.ask(reader, "GET", "/run/standard").text == "s"
    assert error(place.ask(reader, "GET", "/run/main/standard")) == "403 EPERM"
