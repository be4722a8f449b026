"""The description and the table of routes: neither says what the other does not."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route as Served

from sigil.access.authentication import Authenticator
from sigil.http import app
from sigil.http.openapi import operations, schemas, texts
from sigil.http.request import AuthorizedRequest, RequestBody
from sigil.http.route import Access, Media
from sigil.http.status_codes import _TABLE
from sigil.manifest.model import Manifest
from tests.project.tree import ROOT
from tests.sigil.http.openapi import story
from tests.sigil.http.openapi.conftest import Stage
from tests.tables import each_row

METHODS = {"get", "post", "put", "delete"}


def described(document: dict[str, Any]) -> set[tuple[str, str]]:
    return {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }


def test_every_route_is_described_and_nothing_else(document: dict[str, Any]) -> None:
    routes = app.build_router(lambda: None, Authenticator("")).routes  # type: ignore[arg-type,return-value]
    served = {
        (method, route.path.replace(":path}", "}"))
        for route in routes
        if isinstance(route, Served)
        for method in route.methods or ()
    }

    assert served - {(method, path) for method, path in served if method == "HEAD"} == described(
        document
    )
    assert {path for method, path in served if method == "HEAD"} == {
        path for method, path in described(document) if method == "GET"
    }
    assert {(route.method, operations.path_of(route)) for route in app.ROUTES} == described(
        document
    )


def test_every_parameter_that_is_read_is_described_and_no_other(
    document: dict[str, Any], compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: dict[str, set[str]] = defaultdict(set)
    read_text = AuthorizedRequest.read_text
    monkeypatch.setattr(
        AuthorizedRequest,
        "read_text",
        lambda ask, name: (
            read[f"{ask.method} {template(ask, document)}"].add(name),
            read_text(ask, name),
        )[1],
    )
    with story.stage(compiled) as (url, tokens, _):
        for _played in story.play(url, tokens):
            pass
    for path, methods in document["paths"].items():
        for method in methods.keys() & METHODS:
            named = {
                each["name"] for each in methods[method]["parameters"] if each.get("in") == "query"
            } - {"arguments"}
            assert read[f"{method.upper()} {path}"] == named, f"{method} {path}"


def template(ask: AuthorizedRequest, document: dict[str, Any]) -> str:
    path = "/" + ask.url.partition("//")[2].partition("/")[2]
    return next(
        (
            each
            for each in document["paths"]
            if re.fullmatch(re.escape(each).replace(r"\{ref\}", ".+"), path)
        ),
        path,
    )


@each_row(
    "body",
    [route.body for route in app.ROUTES if route.body and not isinstance(route.body, Media)],
)
def test_every_field_of_a_body_is_described(
    body: type[RequestBody], document: dict[str, Any]
) -> None:  # type: ignore[valid-type]
    schema = document["components"]["schemas"][body.__qualname__]
    assert schema["properties"].keys() == body.model_fields.keys()  # type: ignore[attr-defined]
    assert schema["additionalProperties"] is False


def test_a_deploy_takes_every_field_of_a_manifest(document: dict[str, Any]) -> None:
    flat = {schemas._FLAT.get(name, name) for name in Manifest.model_fields}
    assert (
        document["components"]["schemas"]["Spec"]["properties"].keys()
        == flat | {"execute", "code", "wasm"}
        == schemas.FIELD_TEXTS.keys()
    )


def test_every_action_reads_the_body_that_its_row_names() -> None:
    for route in app.TOKEN_ROUTES:
        named = re.findall(r"request\.read_body\((\w+)", inspect.getsource(route.handler))
        wanted = (
            [] if route.body is None or isinstance(route.body, Media) else [route.body.__name__]
        )
        assert named == wanted, route.path


def test_every_status_has_a_sentence(document: dict[str, Any]) -> None:
    of_routes = {row.status for row in _TABLE if row.code not in ("EROUTE", "EMETHOD", "EGONE")}
    assert of_routes <= texts.STATUSES.keys()
    used = {
        int(status)
        for methods in document["paths"].values()
        for each in methods.values()
        for status in each["responses"]
    }
    assert {status for status in used if status >= 300} == texts.STATUSES.keys()


def test_schemas_have_plain_names(document: dict[str, Any]) -> None:
    assert not [name for name in document["components"]["schemas"] if not name.isalnum()]


def test_whoever_has_no_token_learns_what_the_routes_ask_for(document: dict[str, Any]) -> None:
    for route in app.ROUTES:
        own = document["paths"][operations.path_of(route)][route.method.lower()]
        assert texts.ACCESS[route.access.name] in own["description"]
        assert (own["security"] == []) is (route.access is Access.PUBLIC)


@pytest.mark.thorough  # a validator in an environment of its own
def test_the_description_is_good_openapi(stage: Stage, tools: Path, tmp_path: Path) -> None:
    path = tmp_path / "openapi.json"
    path.write_bytes(httpx.get(f"{stage.url}/_api/openapi.json").content)
    done = subprocess.run(
        [tools / "openapi-spec-validator", path],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_description_is_made_when_somebody_asks_for_it() -> None:
    script = "import sys, sigil.http.app; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert not [name for name in done.stdout.split() if name.startswith("sigil.http.openapi")]


def test_references_lead_somewhere(document: dict[str, Any]) -> None:
    for ref in set(references(document)):
        found: Any = document
        for part in ref.removeprefix("#/").split("/"):
            assert part in found, ref
            found = found[part]


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict) and isinstance(node.get("$ref"), str):
        yield node["$ref"]
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from references(each)
