"""Who may do what, from outside: tokens of every kind over a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

import sigil
from sigil.access.authentication import Authenticator
from sigil.access.tokens import new_token
from sigil.client.registry import RemoteRegistry
from sigil.errors import Refused, ToolError
from sigil.http import app as sigil_http
from sigil.http.routes import TOKEN_ROUTES
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.sigil.http.test_app import error
from tests.sigil.serving import served

ADMIN = "an-admin-token-for-tests"
ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"
MODEL = {"X-Sigil-Author": "model", "X-Sigil-Session": "telegram%3A1", "X-Sigil-Owner": "0"}


@dataclass(frozen=True, slots=True)
class Place:
    """A server with a registry behind it."""

    url: str
    registry: LocalRegistry
    clock: Clock
    client: httpx.Client

    def ask(self, token: str, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **options.pop("headers", {}),
        }
        return self.client.request(method, self.url + path, headers=headers, **options)

    def deploy(
        self, token: str, name: str, execute: str = "return 1;", **more: Any
    ) -> httpx.Response:
        headers = more.pop("headers", {})
        spec = {"name": name, "description": f"The {name} thing.", "execute": execute, **more}
        return self.ask(token, "POST", "/_api/deploy", json=spec, headers=headers)

    def key(self, kind: str, *scopes: str, namespace: str = "", **more: Any) -> str:
        """A new token."""
        body = {"kind": kind, "scopes": list(scopes), "namespace": namespace, **more}
        answer = self.ask(ADMIN, "POST", "/_api/keys", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])


@pytest.fixture
def opened(sandbox: Sandbox) -> Iterator[Callable[..., Place]]:
    """Makes a server over a registry of its own; `rate` for its gate."""
    from contextlib import ExitStack

    with ExitStack() as stack, httpx.Client(timeout=60) as client:

        def opening(rate: float = 600) -> Place:
            clock = Clock()
            registry = LocalRegistry(
                MemoryKV(clock), MemoryArtifacts(), sandbox, clock, rules=RegistryRules(pause=0)
            )
            registry.deploy(
                {"name": "standard", "description": "Of the library.", "execute": "return 's';"},
                Caller(LIBRARY, author="library"),
            )
            gate = Authenticator(ADMIN, lambda: registry.keys, "main", rate, clock)
            return Place(
                stack.enter_context(served(sigil_http.build_app(lambda: registry, gate))),
                registry,
                clock,
                client,
            )

        yield opening


@pytest.fixture
def place(opened: Callable[..., Place]) -> Place:
    return opened()


KEEPING = [
    ("DELETE", "/_api/remove?name=one"),
    ("POST", "/_api/rollback"),
    ("POST", "/_api/yank"),
    ("POST", "/_api/publish"),
    ("POST", "/_api/import"),
    ("GET", "/_api/grants"),
    ("GET", "/_api/grants/one"),
    ("POST", "/_api/grant"),
    ("POST", "/_api/revoke"),
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
]
USING = [
    ("GET", "/run/one"),
    ("GET", "/_api/query?q=one"),
    ("GET", "/_api/inspect/one"),
    ("GET", "/_api/list"),
    ("GET", "/_api/whoami"),
]


def test_every_route_asks_for_the_right_token(place: Place) -> None:
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
    listed = {(route.method, route.path.partition("{")[0]) for route in TOKEN_ROUTES}
    tried = {
        (method, path.partition("?")[0])
        for method, path in (*KEEPING, *WORKING, *USING, ("POST", "/run/one"), ("POST", "/mcp"))
    }
    assert {
        (method, path)
        for method, path in listed
        if not any(m == method and p.startswith(path) for m, p in tried)
    } == set()


def test_a_deploy_token_deploys_into_its_own_namespace_whatever_the_headers_say(
    place: Place,
) -> None:
    token = place.key("deploy", namespace="alice")
    spoken = {"X-Sigil-Namespace": "main", "X-Sigil-Owner": "1", "X-Sigil-Session": "telegram%3A1"}
    assert place.deploy(token, "hers", headers=spoken).status_code == 201
    row = place.ask(token, "GET", "/_api/inspect/hers").json()
    assert (row["namespace"], row["author"], row["source"]) == ("alice", "person", "return 1;")
    assert error(place.ask(ADMIN, "GET", "/run/hers")) == "404 ENOENT"
    assert error(place.deploy(token, "models", headers=MODEL)) == "403 EPERM"
    assert place.ask(token, "GET", "/run/hers", headers=MODEL).json() == 1


def test_a_deploy_token_keeps_to_the_names_of_its_scopes(place: Place) -> None:
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


def test_an_invoke_token_runs_and_finds_what_it_may_run_and_sees_no_source(place: Place) -> None:
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


def test_what_is_public_runs_everywhere_and_nothing_else_does(place: Place) -> None:
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


def test_what_others_made_public_is_found_behind_ones_own(place: Place) -> None:
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


def test_what_is_no_longer_public_is_gone_for_others(place: Place) -> None:
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


def test_a_public_capability_needs_a_name_that_fits_into_a_tool(place: Place) -> None:
    alice = place.key("deploy", namespace="alice")
    assert place.deploy(alice, "x" * 53, public=True).status_code == 201
    assert error(place.deploy(alice, "x" * 54, public=True)) == "403 ENAME"
    assert place.deploy(alice, "x" * 54).status_code == 201


def test_a_chats_own_capability_is_nobody_elses_whatever_it_says(place: Place) -> None:
    place.deploy(ADMIN, "secretive", public=True, headers=MODEL)
    bob = place.key("deploy", namespace="bob")
    assert place.ask(bob, "GET", "/_api/query?q=secretive").json()["total"] == 0
    assert error(place.ask(bob, "GET", "/run/main/secretive")) == "404 ENOENT"


def test_a_revoked_or_ended_token_is_refused_at_once(place: Place) -> None:
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


def test_keys_are_listed_without_values_page_by_page(place: Place) -> None:
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


def test_lists_of_keepers_turn_their_pages_though_rows_come_and_go(place: Place) -> None:
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


def test_a_list_comes_in_pages_that_miss_nothing(place: Place) -> None:
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
    place: Place, method: str, path: str, body: Any
) -> None:
    answer = place.ask(ADMIN, method, path, json=body)
    assert error(answer) == "400 EINVAL"
    assert "hush-hush" not in answer.text
    assert "12345678987654321" not in answer.text


def test_what_is_done_stands_in_the_audit_with_who_did_it(place: Place) -> None:
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
    }
    assert [
        row["number"]
        for row in place.ask(ADMIN, "GET", "/_api/audit?after=1&limit=2").json()["items"]
    ] == [2, 3]
    assert (
        place.ask(ADMIN, "GET", "/_api/audit?namespace=library").json()["items"][0]["action"]
        == "deploy"
    )


def test_only_an_owner_reads_the_audit_or_makes_keys(place: Place) -> None:
    for headers in (MODEL, {"X-Sigil-Owner": "0"}):
        assert error(place.ask(ADMIN, "GET", "/_api/audit", headers=headers)) == "403 EPERM"
        assert (
            error(place.ask(ADMIN, "POST", "/_api/keys", json={"kind": "invoke"}, headers=headers))
            == "403 EPERM"
        )
        assert error(place.ask(ADMIN, "GET", "/_api/keys", headers=headers)) == "403 EPERM"


def test_a_token_that_asks_too_often_is_told_when_to_come_back(
    opened: Callable[..., Place],
) -> None:
    place = opened(rate=3)
    token, other = place.key("invoke"), place.key("invoke")
    answers = [place.ask(token, "GET", "/run/standard") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert (error(answers[3]), answers[3].headers["retry-after"]) == ("429 ERATE", "20")
    assert place.ask(other, "GET", "/run/standard").status_code == 200
    assert place.ask(ADMIN, "GET", "/run/standard").status_code == 200


def test_health_says_more_to_who_has_a_token(place: Place) -> None:
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


def test_logs_are_for_who_owns_the_capability(place: Place) -> None:
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
    place: Place, sandbox: Sandbox
) -> None:
    registry = LocalRegistry(
        MemoryKV(place.clock), MemoryArtifacts(), sandbox, place.clock, rules=RegistryRules(pause=5)
    )
    with served(sigil_http.build_registry_app(registry, ADMIN)) as url:
        slow = Place(url, registry, place.clock, place.client)
        token = slow.key("deploy")
        assert slow.deploy(token, "one").status_code == 201
        answer = slow.deploy(token, "two")
        assert (error(answer), answer.headers["retry-after"]) == ("429 ERATE", "5")
        assert slow.deploy(token, "one").status_code == 200
        assert [slow.deploy(ADMIN, name).status_code for name in ("two", "three")] == [201, 201]
        place.clock.now += 5
        assert slow.deploy(token, "four").status_code == 201


def test_an_end_without_a_lifetime_that_has_one_is_refused(place: Place) -> None:
    for headers in ({}, MODEL):
        body = {"name": "soon", "description": "Soon over.", "execute": "return 1;", "ttl": 60}
        answer = place.ask(ADMIN, "POST", "/_api/deploy", json=body, headers=headers)
        assert error(answer) == "400 EMANIFEST"
        assert answer.json()["error"]["source"] == "soon"
        assert "only an ephemeral capability expires" in answer.json()["error"]["message"]
        assert place.ask(
            ADMIN, "POST", "/_api/deploy", json={**body, "type": "ephemeral"}, headers=headers
        ).status_code in (200, 201)


def test_logs_of_a_failed_run_reach_owners_alone(place: Place) -> None:
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


class TestKeepersVerbsElsewhere:
    """What keepers do to a registry in this process, done to one behind HTTP."""

    OWNER = Caller("main", owner=True)

    @pytest.fixture
    def there(self, place: Place) -> Iterator[RemoteRegistry]:
        made = RemoteRegistry(place.url, ADMIN)
        for number in (1, 2, 3):
            made.deploy(
                {"name": "grows", "description": "It grows.", "execute": f"return {number};"},
                self.OWNER,
            )
        yield made
        made.close()

    def test_versions_go_back_and_forth(self, there: RemoteRegistry, place: Place) -> None:
        assert [row["version"] for row in there.versions("grows", self.OWNER)] == [3, 2, 1]
        assert there.diff("grows", self.OWNER, 1, 2) == place.registry.diff(
            "grows", self.OWNER, 1, 2
        )
        assert there.rollback("grows", self.OWNER, 1)["version"] == 1
        assert there.run("grows", {}, self.OWNER).output == b"1"
        assert there.yank("grows@2", self.OWNER)["changed"] is True
        assert there.yank("grows@2", self.OWNER, undo=True)["changed"] is True
        assert there.history("grows", self.OWNER) == place.registry.history("grows", self.OWNER)

    def test_a_bundle_goes_from_one_registry_to_another(
        self, there: RemoteRegistry, opened: Callable[..., Place]
    ) -> None:
        bundle = there.export(["grows"], self.OWNER)
        other = RemoteRegistry(opened().url, ADMIN)
        brought = other.import_bundle(bundle, self.OWNER)
        assert [(each.offer.name, each.created) for each in brought] == [("grows", True)]
        assert other.run("grows", {}, self.OWNER).output == b"3"
        assert [each.created for each in other.import_bundle(bundle, self.OWNER)] == [False]
        there.deploy(
            {"name": "open", "execute": "return 1;", "public": True, "permissions": {"kv": True}},
            self.OWNER,
        )
        bundle = there.export(["open"], self.OWNER)
        other.import_bundle(bundle, self.OWNER)
        assert other.inspect("open", self.OWNER)["public"] is False
        with pytest.raises(Refused, match="EEXIST"):
            other.import_bundle(bundle, self.OWNER, public=True)
        other.import_bundle(bundle, self.OWNER, public=True, replace=True)
        assert other.inspect("open", self.OWNER)["public"] is True
        other.close()

    def test_an_owner_publishes_what_a_chat_made(self, there: RemoteRegistry) -> None:
        chat = Caller("main", "telegram:1", author="model")
        there.deploy({"name": "chats", "description": "Of a chat.", "execute": "return 'c';"}, chat)
        assert there.publish("chats", self.OWNER, session="telegram:1").offer.name == "chats"
        assert there.run("chats", {}, self.OWNER).output == b'"c"'

    def test_grants_and_secrets(self, there: RemoteRegistry, place: Place) -> None:
        there.deploy(
            {"name": "asks", "execute": "return 1;", "permissions": {"http": ["GET example.com/"]}},
            self.OWNER,
        )
        assert there.granting.find_request("asks", self.OWNER)["new"] == ["http:GET example.com/"]
        assert [row["state"] for row in there.granting.rows(self.OWNER)] == ["waits"]
        assert there.granting.grant("asks", self.OWNER)["granted"] == ["http:GET example.com/"]
        assert there.granting.revoke("asks", self.OWNER)["revoked"] == ["http:GET example.com/"]
        there.secrets.set("API_KEY", "hush-hush", self.OWNER)
        assert [row["secret"] for row in there.secrets.rows(self.OWNER)] == ["API_KEY"]
        there.secrets.remove("API_KEY", self.OWNER)
        assert list(place.registry.secrets.rows(self.OWNER)) == []

    def test_lists_of_several_pages_come_whole(
        self, there: RemoteRegistry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sigil.http.admin.PAGE_MOST", 2)
        for number in range(5):
            there.deploy(
                {
                    "name": f"g{number}",
                    "execute": "return 1;",
                    "permissions": {"http": ["GET example.com/"]},
                },
                self.OWNER,
            )
            there.secrets.set(f"S{number}", "hush-hush", self.OWNER)
        assert [row["capability"] for row in there.granting.rows(self.OWNER)] == [
            f"g{number}" for number in range(5)
        ]
        assert [row["secret"] for row in there.secrets.rows(self.OWNER)] == [
            f"S{number}" for number in range(5)
        ]
        assert [row["secret"] for row in there.secrets.rows(self.OWNER, "S2")] == ["S3", "S4"]

    def test_keys_status_and_the_audit(self, there: RemoteRegistry) -> None:
        from sigil.access.tokens import TokenRequest

        row = there.keys.create(
            TokenRequest("invoke", "shop", ("run:*",), seconds=60.0), self.OWNER
        )
        assert [each["name"] for each in there.keys.rows(self.OWNER)] == ["shop"]
        assert there.keys.whoami(self.OWNER)["kind"] == "admin"
        assert there.keys.revoke(row["id"], self.OWNER)["id"] == row["id"]
        assert [entry["action"] for entry in there.log.rows(self.OWNER)][-2:] == [
            "key-create",
            "key-revoke",
        ]
        assert there.log.verify(self.OWNER)["ok"] is True
        assert there.status(self.OWNER)["items"][0]["capability"] == "grows"

    def test_whoever_is_no_owner_is_refused_there_too(self, there: RemoteRegistry) -> None:
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
