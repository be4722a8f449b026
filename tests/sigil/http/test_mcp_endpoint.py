"""`POST /mcp`: the official SDK's client against a real server, and requests that nobody should
believe.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sigil.access.tokens import TokenRequest
from sigil.http import app
from tests.selection import thorough
from tests.servers import mcp_sdk
from tests.sigil.mcp.messages import SHOUT, ask, call
from tests.sigil.serving import served
from tests.sigil.tool_importer import OWNER, ToolImporter

TOKEN = "admin-token-of-this-test"


class Place:
    """A server, and what it takes to ask it."""

    def __init__(self, importer: ToolImporter, url: str) -> None:
        self.registry = importer.registry
        self.url = f"{url}/mcp"

    def token(
        self, *scopes: str, kind: str = "invoke", namespace: str = "main", name: str = ""
    ) -> str:
        request = TokenRequest(kind, name, scopes, namespace)
        return str(self.registry.keys.create(request, OWNER)["token"])

    def post(self, body: Any, token: str = TOKEN, **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        spelt = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.post(self.url, content=content, headers={**given, **spelt}, timeout=30)

    def said(self, body: Any, token: str = TOKEN) -> Any:
        """The answer to one message: its result or its error."""
        answer = self.post(body, token).json()
        return answer.get("result", answer.get("error"))


@pytest.fixture
def place(importer: ToolImporter) -> Iterator[Place]:
    with served(app.build_registry_app(importer.registry, TOKEN)) as url:
        yield Place(importer, url)


def test_a_query_names_what_fits_too_little_and_says_what_to_do(place: Place) -> None:
    for crop in ("carrot", "radish"):
        manifest = {
            "name": f"plant-{crop}",
            "description": f"Plant a {crop}.",
            "aliases": [f"{crop} {letter}" for letter in "abcde"],
            "execute": "return 1;",
        }
        place.registry.deploy(manifest, OWNER)
    query = "how do I cook a radish with cream and vinegar"

    answer = place.said(call(1, "sigil_query", query=query))

    page = json.loads(answer["content"][0]["text"])
    assert (page["items"], page["total"]) == ([], 0)
    assert page["weak"] == [{"capability": "plant-radish", "description": "Plant a radish."}]
    assert page["next"].startswith("if one in weak can do it, query its name; else: nothing fits")


@pytest.mark.parametrize("mode", ["auto", *thorough("legacy")])
def test_a_client_finds_makes_and_runs(place: Place, mode: str) -> None:
    seen = mcp_sdk.client(
        ["list"],
        ["call", "sigil_deploy", SHOUT],
        ["call", "sigil_query", {"query": "say something in capital letters"}],
        ["call", "sigil_run", {"capability": "shout", "input": {"text": "hi"}}],
        ["call", "sigil_run", {"capability": "shout", "input": {}}],
        ["call", "cap_shout", {"text": "hi"}],
        ["list"],
        url=place.url,
        headers={"authorization": f"Bearer {TOKEN}"},
        mode=mode,
    )
    results = seen["results"]

    assert seen["revision"] == ("2026-07-28" if mode == "auto" else "2025-11-25")
    assert results[0] == results[-1] == ["sigil_query", "sigil_deploy", "sigil_run"]
    assert json.loads(results[1]["text"])["tool"] == "cap_shout"
    assert json.loads(results[2]["text"])["items"][0]["schema"]["required"] == ["text"]
    assert (results[3]["text"], results[3]["structured"]) == ("HI", {"output": "HI"})
    assert results[1]["structured"] == json.loads(results[1]["text"])
    assert results[2]["structured"] == json.loads(results[2]["text"])
    assert results[4]["structured"] is None
    assert results[4]["error"]
    assert json.loads(results[4]["text"])["error"]["code"] == "EINVAL"
    assert json.loads(results[5]["text"])["error"]["code"] == "ENOTRESIDENT"


def test_a_token_reaches_and_deploys_what_its_scopes_say(place: Place) -> None:
    place.registry.deploy(SHOUT, OWNER)
    place.registry.deploy(
        {**SHOUT, "name": "whisper", "execute": "return input.text.toLowerCase()"}, OWNER
    )
    invoke, deploy = (
        place.token("run:main/shout"),
        place.token("deploy:alice/*", "run:*", kind="deploy", namespace="alice"),
    )
    tools = [
        [tool["name"] for tool in place.said(ask(1, "tools/list"), token)["tools"]]
        for token in (invoke, deploy)
    ]
    run = call(1, "sigil_run", capability="shout", input={"text": "a"})

    assert tools == [
        ["sigil_query", "sigil_run"],
        ["sigil_query", "sigil_deploy", "sigil_run", "sigil_manage"],
    ]
    assert place.said(run, invoke)["content"][0]["text"] == "A"
    refused = place.said(call(1, "sigil_run", capability="whisper", input={"text": "a"}), invoke)
    assert refused["isError"]
    assert json.loads(refused["content"][0]["text"])["error"]["code"] == "EPERM"
    assert place.said(call(1, "sigil_deploy", **SHOUT), invoke)["code"] == -32602
    assert not place.said(call(1, "sigil_deploy", **SHOUT), deploy)["isError"]
    narrow = place.token("deploy:bob/other", kind="deploy", namespace="bob")
    denied = place.said(call(1, "sigil_deploy", **SHOUT), narrow)
    assert json.loads(denied["content"][0]["text"])["error"]["code"] == "EPERM"


def test_a_deploy_token_changes_its_own_capabilities_over_mcp(place: Place) -> None:
    # a token deploys once in five seconds; two of one name have one deployer
    tokens = [
        place.token("deploy:alice/*", kind="deploy", namespace="alice", name="mine")
        for _ in range(2)
    ]
    token = tokens[0]
    for key, code in zip(tokens, ("return 'one'", "return 'two'"), strict=True):
        place.said(call(1, "sigil_deploy", **{**SHOUT, "execute": code}), key)

    def manage(action: str, capability: str, key: str = token) -> Any:
        answer = place.said(call(1, "sigil_manage", action=action, capability=capability), key)
        if "content" not in answer:
            return answer["code"]
        said = json.loads(answer["content"][0]["text"])
        return said["error"]["code"] if answer["isError"] else said

    assert manage("rollback", "shout")["version"] == 1
    assert manage("rollback", "alice/shout@2")["active"]
    assert manage("yank", "shout@2")["yanked"]
    assert not manage("unyank", "shout@2")["yanked"]
    assert [manage("remove", "shout@2"), manage("burn", "shout"), manage("grant", "shout")] == [
        "EINVAL"
    ] * 3
    assert manage("remove", "bob/shout") == "EPERM"
    stranger = place.token("deploy:alice/*", kind="deploy", namespace="alice")
    assert manage("remove", "shout", stranger) == "EPERM"
    assert [manage("remove", "shout", key) for key in (TOKEN, place.token("run:*"))] == [-32602] * 2
    assert manage("remove", "shout") == {"removed": "shout"}


def test_a_model_behind_the_admin_token_replaces_nothing_of_a_person(place: Place) -> None:
    place.registry.deploy(SHOUT, OWNER)
    refused = place.said(call(1, "sigil_deploy", **{**SHOUT, "execute": "return 1"}))

    assert "belongs to a person" in refused["content"][0]["text"]


def test_who_shows_no_good_token_is_told_so(place: Place) -> None:
    answer = place.post(ask(1, "tools/list"), token="wrong")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_page_of_another_place_is_refused(place: Place) -> None:
    host = httpx.URL(place.url).netloc.decode()

    assert place.post(ask(1, "tools/list"), origin="https://evil.example").status_code == 403
    assert place.post(ask(1, "tools/list"), origin="null").status_code == 403
    assert place.post(ask(1, "tools/list"), origin=f"http://{host}").status_code == 200
    for odd in ("http://[", "http://[::1", "//", "http://a]"):
        assert place.post(ask(1, "tools/list"), origin=odd).status_code == 403


def test_there_is_no_stream_and_no_session(place: Place) -> None:
    for method in ("GET", "DELETE"):
        answer = httpx.request(
            method,
            place.url,
            headers={"authorization": f"Bearer {TOKEN}", "accept": "text/event-stream"},
        )
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    started = place.post(ask(1, "initialize", protocolVersion="2025-03-26", capabilities={}))
    assert started.json()["result"]["protocolVersion"] == "2025-03-26"
    assert "mcp-session-id" not in started.headers


def test_what_wants_no_answer_gets_none(place: Place) -> None:
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
    ):
        answer = place.post(message)
        assert (answer.status_code, answer.content) == (202, b"")


def test_an_older_client_may_send_a_list(place: Place) -> None:
    both = [
        ask(1, "ping"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ask(2, "nothing"),
    ]

    assert [each["id"] for each in place.post(both).json()] == [1, 2]
    assert place.post(both, mcp_protocol_version="2025-06-18").status_code == 400
    assert place.post([ask(1, "ping")] * 21).status_code == 400
    assert place.post([]).status_code == 400


def test_each_message_of_a_list_takes_from_its_tokens_rate(place: Place) -> None:
    answer = place.post([ask(number, "ping") for number in range(20)], place.token("run:*"))

    assert len(answer.json()) == 20
    assert "r=580" in answer.headers["ratelimit"]


def test_a_revoke_ends_a_list_that_is_under_way(place: Place) -> None:
    token = place.token("run:*", kind="deploy")
    key = next(place.registry.keys.rows(OWNER))["id"]
    place.registry.deploy({**SHOUT, "execute": "return 'ran'"}, OWNER)
    run = place.registry.run

    def revoking(*given: Any, **more: Any) -> Any:
        place.registry.keys.revoke(key, OWNER)
        return run(*given, **more)

    place.registry.run = revoking  # type: ignore[method-assign]
    first, second = place.post(
        [call(number, "sigil_run", capability="shout", input={"text": ""}) for number in (1, 2)],
        token,
    ).json()

    assert first["result"]["content"][0]["text"] == "ran"
    assert (second["id"], second["error"]["data"]["error"]["code"]) == (2, "EAUTH")


def test_a_list_that_takes_too_long_is_left(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sigil.http.mcp_endpoint.BATCH_SECONDS", 0.0)
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    said = place.post([ask(1, "ping"), note, ask(2, "ping"), ask(3, "ping")]).json()

    assert said[0]["result"] == {}
    assert [(each["id"], each["error"]["message"]) for each in said[1:]] == [
        (id, "ETIMEDOUT: the list took too long") for id in (2, 3)
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"not json", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":'
            + b'{"a":' * 5_000
            + b"1"
            + b"}" * 5_001
            + b"}",
            -32700,
        ),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b"7", -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 1_000 + b'"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}', -32602),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sigil_run","arguments":[]}}',
            -32602,
        ),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}', -32601),
    ],
)
def test_hostile_bodies_are_answered_as_the_protocol_has_it(
    place: Place, body: bytes, code: int
) -> None:
    answer = place.post(body)

    assert answer.status_code in (200, 400)
    assert answer.json()["error"]["code"] == code


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"capability": 7},
        {"capability": "../etc/passwd"},
        {"capability": "a@sha256:zz"},
        {"capability": "shout", "input": [1]},
        {"capability": "shout", "more": 1},
        {"capability": "x" * 100_000},
    ],
)
def test_a_run_that_makes_no_sense_is_the_tools_failure(
    place: Place, arguments: dict[str, Any]
) -> None:
    said = place.said(call(1, "sigil_run", **arguments))

    assert said["isError"]
    assert json.loads(said["content"][0]["text"])["error"]["code"] in ("EINVAL", "ENAME", "ENOENT")


def test_too_much_is_refused_before_it_is_read(place: Place) -> None:
    assert place.post(b"x" * ((1 << 20) + 1)).status_code == 413


def test_the_headers_of_the_newest_revision_have_to_say_what_the_body_says(place: Place) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = ask(1, "tools/call", name="sigil_query", arguments={"query": "x"}, _meta=meta)
    good = {
        "mcp_protocol_version": "2026-07-28",
        "mcp_method": "tools/call",
        "mcp_name": "sigil_query",
    }

    answer = place.post(message, **good)
    assert answer.status_code == 200
    assert answer.json()["result"]["resultType"] == "complete"
    for name in good:
        for wrong in (
            {**good, name: "other"},
            {key: value for key, value in good.items() if key != name},
        ):
            answer = place.post(message, **wrong)
            assert answer.status_code == 400
            assert answer.json()["error"]["code"] in (-32020, -32022)
    assert (
        place.post(
            ask(1, "tools/list"), mcp_protocol_version="2026-07-28", mcp_method="tools/list"
        ).status_code
        == 400
    )
    unknown = place.post(
        ask(1, "nothing", _meta=meta), mcp_protocol_version="2026-07-28", mcp_method="nothing"
    )
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, -32601)
    strange = place.post(ask(1, "tools/list"), mcp_protocol_version="1999-01-01")
    assert (strange.status_code, strange.json()["error"]["code"]) == (400, -32022)
    assert "2025-11-25" in strange.json()["error"]["data"]["supported"]


def test_accept_may_be_anything_that_takes_json(place: Place) -> None:
    assert place.post(ask(1, "ping"), accept="*/*").status_code == 200
    assert place.post(ask(1, "ping"), accept="text/html").status_code == 400


def test_a_registry_elsewhere_lists_a_servers_tools_for_its_admin(place: Place, fake: Any) -> None:
    from dataclasses import replace

    from sigil.client.registry import RemoteRegistry
    from sigil.errors import Refused

    elsewhere = RemoteRegistry(place.url.removesuffix("/mcp"), TOKEN)
    try:
        rows = elsewhere.importing.tools({"name": "tracker", "url": fake.address}, OWNER)
        assert [row["capability"] for row in rows] == ["tracker-greet"]
        with pytest.raises(Refused, match="on this machine only"):
            elsewhere.importing.tools({"name": "local", "command": ["/bin/cat"]}, OWNER)
    finally:
        elsewhere.close()
    stranger = RemoteRegistry(place.url.removesuffix("/mcp"), place.token("run:*"))
    try:
        with pytest.raises(Refused):
            stranger.importing.tools({"name": "tracker", "url": fake.address}, replace(OWNER))
    finally:
        stranger.close()
