"""Sigil's HTTP API, over a real server."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sigil
from sigil.cli.templates import make_files
from sigil.http import app as sigil_http
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.selection import examples
from tests.sigil.serving import served
from tests.tables import each_row

TOKEN = "a-token-for-tests"

ENGINE = Path(sigil.__file__).parent / "sandbox" / "engine" / "engine.wasm"
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
ADD = {
    "type": "object",
    "required": ["a"],
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "number", "default": 1},
        "loud": {"type": "boolean", "default": False},
    },
}
CAPABILITIES: tuple[dict[str, Any], ...] = (
    {
        "name": "shout",
        "description": "Shout a text.",
        "schema": TEXT,
        "execute": "return input.text.toUpperCase();",
        "tags": ["noise"],
    },
    {"name": "add", "schema": ADD, "execute": "return {sum: input.a + input.b, loud: input.loud};"},
    {"name": "give", "execute": "return input;"},
    {
        "name": "spin",
        "execute": "for (;;);",
        "limits": {"timeout_ms": 60},
        "tests": [{"input": {}, "error": "ETIMEDOUT"}],
    },
    {
        "name": "fail",
        "execute": "throw Object.assign(new Error('not that'), {code: input.code ?? 'EINVAL'});",
    },
    {"name": "page", "execute": "return '<script>alert(1)</script>';"},
)


@pytest.fixture(scope="module")
def registry(compiled: Path) -> Iterator[LocalRegistry]:
    made = LocalRegistry(
        MemoryKV(), MemoryArtifacts(), Sandbox(engine=ENGINE, cache=compiled, children=1)
    )
    made.deploy({"name": "standard", "execute": "return 1;"}, Caller(LIBRARY, author="library"))
    for spec in CAPABILITIES:
        made.deploy(spec, Caller("main", owner=True))
    yield made
    made.close()


@pytest.fixture(scope="module")
def url(registry: LocalRegistry) -> Iterator[str]:
    with served(sigil_http.build_registry_app(registry, TOKEN)) as address:
        yield address


@pytest.fixture(scope="module")
def sigil_api(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        yield client


def error(response: httpx.Response) -> str:
    """`STATUS CODE` of a failure that has the shape of every failure."""
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"source", "code", "message", "suggestion"}
    return f"{response.status_code} {body['error']['code']}"


def test_health_asks_for_no_token(url: str) -> None:
    for path in ("/health", "/_health"):
        response = httpx.get(url + path)
        assert response.status_code == 200
        assert response.json()["ok"] is True
        assert response.json()["version"]


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ä", f"{TOKEN}"],
)
@each_row(
    ("method", "path"),
    [
        ("GET", "/run/shout"),
        ("POST", "/_api/deploy"),
        ("DELETE", "/_api/remove"),
        ("GET", "/_api/list"),
    ],
)
def test_without_the_token_every_door_is_closed(
    url: str, header: str, method: str, path: str
) -> None:
    response = httpx.request(method, url + path, headers={"Authorization": header.encode()})
    assert error(response) == "401 EAUTH"
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_an_empty_token_closes_the_api_instead_of_opening_it(registry: LocalRegistry) -> None:
    with served(sigil_http.build_registry_app(registry, "")) as address:
        for header in ("", "Bearer", "Bearer None"):
            assert (
                error(httpx.get(f"{address}/_api/list", headers={"Authorization": header}))
                == "401 EAUTH"
            )
        assert httpx.get(f"{address}/health").status_code == 200


def test_a_deploy_answers_201_and_the_same_digest_200(sigil_api: httpx.Client) -> None:
    spec = {
        "name": "twice",
        "schema": TEXT,
        "execute": "return 1;",
        "permissions": {"http": ["GET example.com/"]},
        "type": "ephemeral",
    }
    first, again = (
        sigil_api.post("/_api/deploy", json=spec),
        sigil_api.post("/_api/deploy", json=spec),
    )
    assert (first.status_code, again.status_code) == (201, 200)
    row = first.json()
    assert (row["capability"], row["version"], row["tests"]) == (
        "twice",
        1,
        {"passed": 0, "failed": 0},
    )
    assert row["pending"] == ["http:GET example.com/"]
    assert row["expires_at"] > 0
    assert again.json()["digest"] == row["digest"]
    assert sigil_api.post(row["url"], json={"text": ""}).json() == 1


def test_a_capability_without_a_name_is_named_after_its_code(sigil_api: httpx.Client) -> None:
    row = sigil_api.post(
        "/_api/deploy", json={"name": None, "execute": "return 'nameless';"}
    ).json()
    assert row["capability"].startswith("t-")
    assert len(row["capability"]) == 8
    assert sigil_api.get(f"/run/{row['capability']}").text == "nameless"


def test_a_whole_module_can_be_deployed_as_text_or_as_bytes(
    sigil_api: httpx.Client, registry: LocalRegistry
) -> None:
    wat = make_files("echo", "wat", bytes)["main.wat"].decode()
    assert (
        sigil_api.post(
            "/_api/deploy", json={"name": "from-wat", "lang": "wat", "code": wat}
        ).status_code
        == 201
    )
    wasm = base64.b64encode(registry._sandbox.assemble(wat.encode())).decode()
    assert (
        sigil_api.post("/_api/deploy", json={"name": "from-wasm", "wasm": wasm}).status_code == 201
    )
    for name in ("from-wat", "from-wasm"):
        assert sigil_api.post(f"/run/{name}", json={"a": [1, None]}).json() == {"a": [1, None]}


def test_a_redeploy_makes_a_version_and_the_old_one_stays_by_digest(
    sigil_api: httpx.Client,
) -> None:
    first, second = (
        sigil_api.post(
            "/_api/deploy", json={"name": "grows", "execute": f"return {number};"}
        ).json()
        for number in (1, 2)
    )
    assert (first["version"], second["version"]) == (1, 2)
    refs = ("grows", "grows@1", f"grows@{first['digest']}", "grows@2")
    assert [sigil_api.get(f"/run/{ref}").json() for ref in refs] == [2, 1, 1, 2]
    assert error(sigil_api.get("/run/grows@3")) == "404 ENOENT"


def test_query_parameters_and_a_json_body_both_feed_a_run(sigil_api: httpx.Client) -> None:
    assert sigil_api.get("/run/add?a=2&b=0.5&loud=true").json() == {"sum": 2.5, "loud": True}
    assert sigil_api.post("/run/add", json={"a": 2}).json() == {"sum": 3, "loud": False}
    assert error(sigil_api.get("/run/add")) == "400 EINVAL"
    assert error(sigil_api.get("/run/add?a=many")) == "400 EINVAL"
    assert error(sigil_api.post("/run/add", json={"a": 1.5})) == "400 EINVAL"


def test_a_repeated_query_parameter_is_a_list(sigil_api: httpx.Client) -> None:
    assert sigil_api.get("/run/give?tag=x&tag=y&one=z").json() == {"tag": ["x", "y"], "one": "z"}


def test_an_empty_body_is_no_arguments(sigil_api: httpx.Client) -> None:
    assert sigil_api.post("/run/give").json() == {}


def test_a_string_is_plain_text_unless_only_json_is_accepted(sigil_api: httpx.Client) -> None:
    kinds: Callable[[str], tuple[str, str]] = lambda accept: (  # noqa: E731
        (answer := sigil_api.get("/run/shout?text=ö", headers={"Accept": accept})).headers[
            "content-type"
        ],
        answer.text,
    )
    assert kinds("*/*") == ("text/plain; charset=utf-8", "Ö")
    assert kinds("text/html, text/plain;q=0.5") == ("text/plain; charset=utf-8", "Ö")
    assert kinds("application/json") == ("application/json; charset=utf-8", '"Ö"')
    assert (
        sigil_api.get("/run/add?a=1").headers["content-type"] == "application/json; charset=utf-8"
    )


def test_an_output_says_what_ran_and_can_do_nothing_in_a_browser(
    sigil_api: httpx.Client, registry: LocalRegistry
) -> None:
    headers = sigil_api.get("/run/page", headers={"Accept": "text/html,*/*"}).headers
    assert headers["content-type"] == "text/plain; charset=utf-8"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["x-sigil-version"] == "1"
    assert headers["x-sigil-digest"] == registry.inspect("page", Caller("main"))["digest"]
    assert float(headers["x-sigil-duration-ms"]) > 0
    assert headers["x-sigil-cold-start"] in ("true", "false")


def test_every_kind_of_failure_has_its_status(sigil_api: httpx.Client) -> None:
    deploy: Callable[..., str] = lambda **spec: error(sigil_api.post("/_api/deploy", json=spec))  # noqa: E731
    assert error(sigil_api.get("/run/nothing")) == "404 ENOENT"
    assert error(sigil_api.get("/run/No_Name")) == "400 ENAME"
    assert error(sigil_api.get("/run/fail")) == "424 EINVAL"
    assert error(sigil_api.get("/run/fail?code=ENOENT")) == "424 ENOENT"
    assert error(sigil_api.get("/run/spin")) == "424 ETIMEDOUT"
    assert error(sigil_api.get("/_api/inspect/nothing")) == "404 ENOENT"
    assert error(sigil_api.delete("/_api/remove?name=nothing")) == "404 ENOENT"
    assert error(sigil_api.delete("/_api/remove?name=standard")) == "403 EPERM"
    assert deploy(name="Bad", execute="") == "400 EMANIFEST"
    assert (
        deploy(name="far", execute="return 1", schema={"$ref": "https://example.com/"})
        == "400 EMANIFEST"
    )
    assert (
        deploy(name="large", execute="return 1", schema={"title": "x" * 17_000}) == "400 EMANIFEST"
    )
    assert deploy(name="syntax", execute="return (") == "422 EMODULE"
    assert deploy(name="module", wasm=base64.b64encode(b"\0asm\1\0\0\0").decode()) == "422 EMODULE"
    assert (
        deploy(name="wrong", execute="return 1", tests=[{"input": {}, "output": 2}]) == "422 ETESTS"
    )
    assert deploy(name="long", execute=" " * (256 * 1024 + 1)) == "413 ETOOBIG"
    names = [row["capability"] for row in sigil_api.get("/_api/list").json()["items"]]
    assert not {"far", "large", "syntax", "module", "wrong", "long"} & set(names)


@pytest.mark.parametrize(
    "code",
    [
        {"execute": ""},
        {"execute": " \n\t"},
        {"code": "\ufeff \n", "lang": "ts"},
        {"wasm": ""},
        {"wasm": "", "lang": "wasi"},
    ],
)
def test_an_empty_source_is_refused_and_says_so(
    sigil_api: httpx.Client, code: dict[str, str]
) -> None:
    answer = sigil_api.post("/_api/deploy", json={"name": "empty", **code})
    assert error(answer) == "400 EMANIFEST"
    told = answer.json()["error"]
    assert (told["source"], told["message"]) == ("empty", "the code is empty")
    assert told["suggestion"]
    assert error(sigil_api.get("/run/empty")) == "404 ENOENT"


def test_what_is_removed_is_gone(sigil_api: httpx.Client) -> None:
    sigil_api.post("/_api/deploy", json={"name": "goes", "execute": "return 1;"})
    assert sigil_api.delete("/_api/remove?name=goes").json() == {"removed": "goes"}
    assert error(sigil_api.get("/run/goes")) == "404 ENOENT"


@pytest.mark.parametrize(
    "body", [{"name": "goes"}, {"capability": "goes"}, {"name": "goes", "capability": "goes"}]
)
def test_what_shall_go_may_be_named_in_the_body(
    sigil_api: httpx.Client, body: dict[str, str]
) -> None:
    sigil_api.post("/_api/deploy", json={"name": "goes", "execute": "return 1;"})
    assert sigil_api.request("DELETE", "/_api/remove", json=body).json() == {"removed": "goes"}
    assert error(sigil_api.get("/run/goes")) == "404 ENOENT"


def test_a_removal_that_names_nothing_or_several_removes_nothing(sigil_api: httpx.Client) -> None:
    def refused(path: str = "/_api/remove", **given: Any) -> str:
        return error(sigil_api.request("DELETE", path, **given))

    assert refused("/_api/remove?name=shout", json={"name": "add"}) == "409 ECONFLICT"
    assert refused(json={"name": "shout", "capability": "add"}) == "409 ECONFLICT"
    assert refused(json={"names": ["shout"]}) == "400 EINVAL"
    assert refused(json=["shout"]) == "400 EJSON"
    assert [refused(), refused(json={})] == ["404 ENOENT", "404 ENOENT"]
    assert {"shout", "add"} <= {
        row["capability"] for row in sigil_api.get("/_api/list").json()["items"]
    }


def test_find_gives_what_can_be_called_and_explore_what_there_is(sigil_api: httpx.Client) -> None:
    found = sigil_api.get("/_api/query?q=shout a text").json()["items"][0]
    assert (found["capability"], found["tool"], found["schema"], found["tags"]) == (
        "shout",
        "cap_shout",
        TEXT,
        ["noise"],
    )
    assert 0 < found["score"] <= 1
    explored = sigil_api.get("/_api/query").json()
    shout = next(row for row in explored["items"] if row["capability"] == "shout")
    assert shout.items() >= {"tool": "cap_shout", "description": "Shout a text."}.items()
    assert 0 <= shout["score"] <= 1
    assert sigil_api.get("/_api/query?q=shout&mode=explore").json()["items"][0].keys() == {
        "capability",
        "tool",
        "description",
        "score",
    }
    assert sigil_api.get("/_api/query?q=quantum chromodynamics").json() == {"items": [], "total": 0}
    assert len(sigil_api.get("/_api/query?limit=2").json()["items"]) == 2


@each_row(
    "query",
    [
        "q=x&limit=0",
        "q=x&limit=51",
        "q=x&limit=-1",
        "q=x&limit=2.5",
        "q=x&limit=" + "9" * 5_000,
        "q=x&limit=٣",
        "mode=all",
    ],
)
def test_a_query_that_makes_no_sense_is_refused(sigil_api: httpx.Client, query: str) -> None:
    assert error(sigil_api.get(f"/_api/query?{query}")) == "400 EINVAL"


def test_unknown_routes_and_methods_are_answered_like_every_failure(
    sigil_api: httpx.Client,
) -> None:
    assert error(sigil_api.get("/nowhere")) == "404 EROUTE"
    assert error(sigil_api.put("/run/shout")) == "405 EMETHOD"
    assert error(sigil_api.get("/docs")) == "404 EROUTE"
    assert error(sigil_api.get("/openapi.json")) == "404 EROUTE"


BROKEN = [
    b"{",
    b"",
    b"\xff{}",
    b'"text"',
    b"[]",
    b"null",
    b"{}{}",
    b'{"a": NaN}',
    b'{"a": 1e999}',
    b'{"a": "\\ud800"}',
    b'{"a": ' + b"9" * 5_000 + b"}",
]
DEEP = [b'{"a": ' + b"[" * depth + b"]" * depth + b"}" for depth in (101, 250, 1_000, 100_000)]


@each_row("body", [*BROKEN, *DEEP])
def test_what_is_no_json_object_is_refused(sigil_api: httpx.Client, body: bytes) -> None:
    assert error(sigil_api.post("/_api/deploy", content=body)) == "400 EJSON"
    if body:
        assert error(sigil_api.post("/run/give", content=body)) == "400 EJSON"


@settings(max_examples=examples(30), deadline=None)
@given(
    st.binary(max_size=200)
    | st.dictionaries(
        st.text(max_size=8),
        st.none() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    )
    .map(repr)
    .map(str.encode)
)
def test_no_body_ends_in_a_mistake_of_ours(sigil_api: httpx.Client, body: bytes) -> None:
    for path in ("/run/give", "/_api/deploy"):
        assert sigil_api.post(path, content=body).status_code < 500


@settings(max_examples=examples(30), deadline=None)
@given(
    st.sampled_from(
        [
            "execute",
            "name",
            "schema",
            "tests",
            "tags",
            "ttl",
            "limits",
            "permissions",
            "lang",
            "wasm",
            "other",
        ]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
        ),
        max_leaves=6,
    ),
)
def test_no_field_of_a_deploy_ends_in_a_mistake_of_ours(
    sigil_api: httpx.Client, field: str, value: object
) -> None:
    try:
        response = sigil_api.post(
            "/_api/deploy", json={"name": "odd", "execute": "return 1;", field: value}
        )
    except UnicodeEncodeError:
        return  # no JSON at all
    assert response.status_code in (200, 201, 400, 413, 422)


def test_a_body_is_counted_as_it_arrives(sigil_api: httpx.Client) -> None:

    def chunks(mebibytes: int) -> Iterator[bytes]:
        return (b" " * (1 << 20) for _ in range(mebibytes))

    assert error(sigil_api.post("/run/give", content=b" " * ((1 << 20) + 1))) == "413 ETOOBIG"
    assert error(sigil_api.post("/run/give", content=chunks(2))) == "413 ETOOBIG"
    assert error(sigil_api.post("/_api/deploy", content=chunks(5))) == "413 ETOOBIG"
    assert error(sigil_api.post("/_api/deploy", content=chunks(4))) == "400 EJSON"
    assert sigil_api.get("/health").status_code == 200


def test_the_holder_of_the_token_may_speak_for_a_chat(sigil_api: httpx.Client) -> None:
    chat = {"X-Sigil-Session": "telegram%3A1", "X-Sigil-Author": "model", "X-Sigil-Owner": "0"}
    spec = {"name": "mine", "execute": "return 1;"}
    assert sigil_api.post("/_api/deploy", json=spec, headers=chat).status_code == 201
    assert sigil_api.get("/run/mine", headers=chat).json() == 1
    assert error(sigil_api.get("/run/mine")) == "404 ENOENT"
    assert (
        error(sigil_api.post("/_api/deploy", json={**spec, "name": "shout"}, headers=chat))
        == "409 EEXIST"
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Sigil-Author": "library"},
        {"X-Sigil-Owner": "yes"},
        {"X-Sigil-Namespace": "library"},
        {"X-Sigil-Namespace": "main~telegram"},
        {"X-Sigil-Session": "x" * 501},
    ],
    ids=str,
)
def test_a_caller_that_cannot_be_is_refused(
    sigil_api: httpx.Client, headers: dict[str, str]
) -> None:
    assert error(sigil_api.get("/_api/list", headers=headers)) == "400 ECALLER"


class Broken:
    """A registry with a mistake in it."""

    def list(self, caller: Caller) -> Iterator[dict[str, Any]]:
        raise RuntimeError("the inside of the server")


def test_a_mistake_of_ours_shows_nothing_of_the_inside() -> None:
    with served(sigil_http.build_registry_app(Broken(), TOKEN)) as address:  # type: ignore[arg-type]
        response = httpx.get(f"{address}/_api/list", headers={"Authorization": f"Bearer {TOKEN}"})
    assert error(response) == "500 EBUG"
    assert "inside" not in response.text
    assert "Traceback" not in response.text
