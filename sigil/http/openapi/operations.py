"""The description itself: one operation a row of the table."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence

from sigil import rows
from sigil.http import admin_bodies
from sigil.http.caller_headers import AUTHOR, NAMESPACE, OWNER, SESSION
from sigil.http.openapi import texts
from sigil.http.openapi.examples import Example, of_route
from sigil.http.openapi.schemas import collected, media
from sigil.http.route import BUNDLE_FILE, DOCS_PAGE, RUN_ARGUMENTS, RUN_OUTPUT, Access, Media, Route
from sigil.http.status_codes import codes_of
from sigil.protocol import Json

_CALLER: dict[str, Json] = {
    NAMESPACE: {
        "type": "string",
        "maxLength": 500,
        "pattern": "^[^~]*$",
        "not": {"const": "library"},
    },
    SESSION: {"type": "string", "maxLength": 500, "description": "a chat, percent-encoded"},
    AUTHOR: {"type": "string", "enum": ["person", "model"]},
    OWNER: {"type": "string", "enum": ["0", "1"]},
}
"""On whose behalf the admin token asks."""


def document(routes: Sequence[Route], version: str) -> dict[str, Json]:
    """The description of a table of routes, in OpenAPI 3.1."""
    refs, schemas = collected([*_types(routes), rows.FailureRow])
    ids = _ids(routes)
    paths: dict[str, dict[str, Json]] = {}
    for route in routes:
        examples = of_route(route.method, route.path)
        paths.setdefault(path_of(route), {})[route.method.lower()] = _operation(
            route, ids[route.method, route.path], refs, examples
        )
    return {
        "openapi": "3.1.0",
        "info": {
            "title": texts.TITLE,
            "version": version,
            "description": _prose(),
            "license": {"name": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": what} for name, what in texts.GROUPS.values()],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "headers": {name: _header(name) for name in texts.HEADERS},
            "parameters": _callers(),
            "responses": {
                f"E{status}": _failed(status, []) for status in texts.STATUSES if status >= 400
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def path_of(route: Route) -> str:
    """The path as OpenAPI writes it."""
    return route.path.replace(":path}", "}")


def failures(route: Route) -> list[int]:
    """The statuses of its failures."""
    found = {Access.PUBLIC: set[int](), Access.OPTIONAL_TOKEN: {400, 503}}.get(
        route.access, {400, 401, 403, 429, 503}
    )
    found |= {*route.fails} | ({404} if "{ref" in route.path else set())
    found |= ({408, 413, 415} if route.takes else set()) | (
        {412} if route.method != "GET" else set()
    )
    return sorted(found)


def _operation(
    route: Route, name: str, refs: dict[Json, Json], examples: Sequence[Example]
) -> dict[str, Json]:
    group, _ = texts.GROUPS[route.action.__module__.rpartition(".")[2]]
    lines = inspect.getdoc(route.action) or ""
    return {
        "operationId": name,
        "tags": [group],
        "summary": lines.partition("\n")[0],
        "description": f"Takes {texts.ACCESS[route.access.name]}.",
        "security": {Access.PUBLIC: [], Access.OPTIONAL_TOKEN: [{}, {"token": []}]}.get(
            route.access, [{"token": []}]
        ),
        "parameters": list(_parameters(route, examples)),
        **({"requestBody": _body(route, refs, examples)} if route.takes else {}),
        "responses": dict(_responses(route, refs, examples)),
    }


def _parameters(route: Route, examples: Sequence[Example]) -> Iterator[Json]:
    if "{ref" in route.path:
        yield {
            "name": "ref",
            "in": "path",
            "required": True,
            **_schema(route.ref),
            **_given("ref", examples),
        }
    for name, schema in route.query.items():
        free = name == "*"
        kind = {"style": "form", "explode": True} if free else {}
        shown = {} if free else _given(name, examples)
        yield {
            "name": "arguments" if free else name,
            "in": "query",
            **kind,
            **_schema(schema),
            **shown,
        }
    if route.kept:
        yield {
            "name": "If-None-Match",
            "in": "header",
            "description": "an `ETag` that is known",
            "schema": {"type": "string"},
        }
    if route.access not in (Access.PUBLIC, Access.OPTIONAL_TOKEN):
        yield from ({"$ref": f"#/components/parameters/{name}"} for name in _CALLER)


def _schema(schema: Json) -> dict[str, Json]:
    """A parameter's schema, its description and whether it has to be there."""
    inner = {
        name: value for name, value in schema.items() if name not in ("description", "required")
    }
    said = {name: schema[name] for name in ("description", "required") if name in schema}
    return {**said, "schema": inner}


def _given(name: str, examples: Sequence[Example]) -> dict[str, Json]:
    """What the examples that succeed give to a parameter."""
    good = [example for example in examples if example.status < 300]
    values = {
        example.name: example.ref if name == "ref" else example.query.get(name) for example in good
    }
    shown = {key: {"value": value} for key, value in values.items() if value not in (None, "")}
    return {"examples": shown} if shown else {}


def _body(route: Route, refs: dict[Json, Json], examples: Sequence[Example]) -> Json:
    content = media(route.takes, refs)
    shown = {
        example.name: {"summary": example.title, "value": example.body}
        for example in examples
        if example.body is not None
    }
    if shown:
        content["application/json"]["examples"] = shown
    return {
        "required": route.takes not in (RUN_ARGUMENTS, admin_bodies.Remove),
        "content": content,
    }


def _responses(
    route: Route, refs: dict[Json, Json], examples: Sequence[Example]
) -> Iterator[tuple[str, Json]]:
    for status, shape in route.gives.items():
        content = media(shape, refs) if shape else {}
        for example in examples:
            if example.status == status and example.answer is not None:
                content[example.kind].setdefault("examples", {})[example.name] = {
                    "summary": example.title,
                    "value": example.answer,
                }
        yield (
            str(status),
            {
                "description": _good(route, status),
                "headers": _headers(headers_of(route)),
                **({"content": content} if content else {}),
            },
        )
    if route.kept:
        kept = ["ETag", "Cache-Control", "Vary", "X-Request-Id", *_rates(route)]
        yield "304", {"description": texts.STATUSES[304], "headers": _headers(kept)}
    for status in [status for status in failures(route) if status not in route.gives]:
        shown = [example for example in examples if example.status == status]
        yield (
            str(status),
            _failed(status, shown) if shown else {"$ref": f"#/components/responses/E{status}"},
        )


def headers_of(route: Route) -> list[str]:
    """The headers of its good answers."""
    found = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"]
    found += ["ETag"] if route.kept else []
    found += ["Vary"] if route.kept and route.access is not Access.PUBLIC else []
    found += ["Link"] if "after" in route.query else []
    found += (
        ["Content-Security-Policy"]
        if route.gives.get(200) in (RUN_OUTPUT, BUNDLE_FILE, DOCS_PAGE)
        else []
    )
    ran = (
        [name for name in texts.HEADERS if name.startswith("X-Sigil-")]
        if route.gives.get(200) is RUN_OUTPUT
        else []
    )
    return [*found, *ran, *_rates(route)]


def _rates(route: Route) -> list[str]:
    return (
        []
        if route.access in (Access.PUBLIC, Access.OPTIONAL_TOKEN)
        else ["RateLimit-Policy", "RateLimit"]
    )


def _headers(names: Sequence[str]) -> Json:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _header(name: str) -> Json:
    what, always = texts.HEADERS[name]
    return {"description": what, "required": always, "schema": {"type": "string"}}


def _failed(status: int, examples: Sequence[Example]) -> Json:
    always = {401: ["WWW-Authenticate"], 429: ["Retry-After"], 503: ["Retry-After"]}.get(status, [])
    content: Json = {"schema": {"$ref": "#/components/schemas/Failure"}}
    if examples:
        content["examples"] = {
            example.name: {"summary": example.title, "value": example.answer}
            for example in examples
        }
    names = [
        "X-Request-Id",
        "X-Content-Type-Options",
        "Cache-Control",
        *always,
        "RateLimit-Policy",
        "RateLimit",
    ]
    codes = ", ".join(f"`{code}`" for code in codes_of(status))
    said = f"{texts.STATUSES[status]} ({codes})" if codes else texts.STATUSES[status]
    return {
        "description": said,
        "headers": _headers(names),
        "content": {"application/json": content},
    }


def _good(route: Route, status: int) -> str:
    return (
        "this very digest stood already"
        if status == 200 and 201 in route.gives
        else "it was made"
        if status == 201
        else "the answer"
    )


def _callers() -> Json:
    what = "of the admin token alone: on whose behalf it asks"
    return {
        name: {"name": name, "in": "header", "description": what, "schema": schema}
        for name, schema in _CALLER.items()
    }


def _ids(routes: Sequence[Route]) -> dict[tuple[str, str], str]:
    count = Counter(route.action.__name__ for route in routes)
    names = [
        route.action.__name__
        if count[route.action.__name__] == 1
        else f"{route.action.__name__}_{route.method.lower()}"
        for route in routes
    ]
    return {(route.method, route.path): name for route, name in zip(routes, names, strict=True)}


def _types(routes: Sequence[Route]) -> Iterator[Json]:
    for route in routes:
        for given in (route.takes, *route.gives.values()):
            yield from (
                each
                for each in (given if type(given) is tuple else (given,))
                if each and not isinstance(each, Media)
            )


def _prose() -> str:
    return "\n\n".join((texts.LEAD, *(f"**{name}.** {text}" for name, text in texts.RULES)))
