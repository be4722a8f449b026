"""Describe a table of routes in OpenAPI 3.1: one operation a route."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import orjson

from sigil import rows
from sigil.http.caller_headers import AUTHOR, NAMESPACE, OWNER, SESSION
from sigil.http.capabilities import RemoveBody
from sigil.http.openapi import texts
from sigil.http.openapi.document import (
    ApiDescription,
    Content,
    ExampleObject,
    MediaObject,
    Operation,
    Parameter,
    Reference,
    ResponseObject,
)
from sigil.http.openapi.examples import Example, examples_of
from sigil.http.openapi.schemas import collect_schemas, describe_media
from sigil.http.route import (
    BUNDLE_FILE,
    DOCS_PAGE,
    RUN_ARGUMENTS,
    RUN_OUTPUT,
    Access,
    Media,
    Route,
    Schema,
)
from sigil.http.status_codes import codes_of
from sigil.json_fields import as_string
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
_RATE_HEADERS = ["RateLimit-Policy", "RateLimit"]
_WITHOUT_TOKEN = (Access.PUBLIC, Access.OPTIONAL_TOKEN)


def encode_document(routes: Sequence[Route], version: str) -> bytes:
    """Return the description of `routes` as JSON."""
    return orjson.dumps(describe_routes(routes, version))


def describe_routes(routes: Sequence[Route], version: str) -> ApiDescription:
    """Return the description of `routes` in OpenAPI 3.1."""
    types: list[object] = []
    for route in routes:
        for shape in (route.body, *route.responses.values()):
            alternatives = shape if type(shape) is tuple else (shape,)
            for alternative in alternatives:
                if alternative and not isinstance(alternative, Media):
                    types.append(alternative)
    refs, schemas = collect_schemas([*types, rows.FailureRow])
    names = Counter(route.operation_name for route in routes)
    paths: dict[str, dict[str, Operation]] = {}
    for route in routes:
        operation_id = route.operation_name
        if names[operation_id] > 1:
            operation_id = f"{operation_id}_{route.method.lower()}"
        operation = _describe_operation(route, operation_id, refs)
        paths.setdefault(path_of(route), {})[route.method.lower()] = operation
    caller_help = "of the admin token alone: on whose behalf it asks"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": texts.TITLE,
            "version": version,
            "description": "\n\n".join(
                (texts.LEAD, *(f"**{name}.** {text}" for name, text in texts.RULES))
            ),
            "license": {"name": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": what} for name, what in texts.GROUPS.values()],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "headers": {
                name: {"description": what, "required": always, "schema": {"type": "string"}}
                for name, (what, always) in texts.HEADERS.items()
            },
            "parameters": {
                name: {"name": name, "in": "header", "description": caller_help, "schema": schema}
                for name, schema in _CALLER.items()
            },
            "responses": {
                f"E{status}": _describe_failure(status, [])
                for status in texts.STATUSES
                if status >= 400
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def path_of(route: Route) -> str:
    """Return a route's path as OpenAPI writes it."""
    return route.path.replace(":path}", "}")


def failure_statuses(route: Route) -> list[int]:
    """Return the statuses of a route's failures, in ascending order."""
    if route.access is Access.PUBLIC:
        found = set[int]()
    elif route.access is Access.OPTIONAL_TOKEN:
        found = {400, 503}
    else:
        found = {400, 401, 403, 429, 503}
    found.update(route.failures)
    if "{ref" in route.path:
        found.add(404)
    if route.body:
        found |= {408, 413, 415}
    if route.method != "GET":
        found.add(412)
    return sorted(found)


def header_names(route: Route) -> list[str]:
    """Return the names of the headers of a route's good answers."""
    names = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"]
    if route.has_etag:
        names.append("ETag")
    if route.has_etag and route.access is not Access.PUBLIC:
        names.append("Vary")
    if "after" in route.query:
        names.append("Link")
    if route.responses.get(200) in (RUN_OUTPUT, BUNDLE_FILE, DOCS_PAGE):
        names.append("Content-Security-Policy")
    if route.responses.get(200) is RUN_OUTPUT:
        names += [name for name in texts.HEADERS if name.startswith("X-Sigil-")]
    if route.access not in _WITHOUT_TOKEN:
        names += _RATE_HEADERS
    return names


def _describe_operation(
    route: Route, operation_id: str, refs: Mapping[object, Schema]
) -> Operation:
    """Return the description of one route; its summary is the first paragraph of its handler's
    docstring.
    """
    docstring = inspect.getdoc(route.handler) or ""
    examples = examples_of(route.method, route.path)
    group, _ = texts.GROUPS[route.handler.__module__.rpartition(".")[2]]
    security: list[dict[str, list[str]]] = [{"token": []}]
    if route.access is Access.OPTIONAL_TOKEN:
        security.insert(0, {})
    elif route.access is Access.PUBLIC:
        security = []
    operation: Operation = {
        "operationId": operation_id,
        "tags": [group],
        "summary": " ".join(docstring.partition("\n\n")[0].split()),
        "description": f"Takes {texts.ACCESS[route.access.name]}.",
        "security": security,
        "parameters": list(_describe_parameters(route, examples)),
    }
    if route.body:
        content = describe_media(route.body, refs)
        bodies: dict[str, ExampleObject] = {}
        for example in examples:
            if example.body is not None:
                bodies[example.name] = {"summary": example.title, "value": example.body}
        if bodies:
            content["application/json"]["examples"] = bodies
        is_required = route.body not in (RUN_ARGUMENTS, RemoveBody)
        operation["requestBody"] = {"required": is_required, "content": content}
    operation["responses"] = dict(_describe_responses(route, refs, examples))
    return operation


def _describe_parameters(
    route: Route, examples: Sequence[Example]
) -> Iterator[Parameter | Reference]:
    good = [example for example in examples if example.status < 300]
    if "{ref" in route.path:
        values = {example.name: example.ref for example in good}
        at_path: Parameter = {"name": "ref", "in": "path", "required": True}
        yield _add_schema(at_path, route.ref, values)
    for name, schema in route.query.items():
        if name == "*":
            every: Parameter = {
                "name": "arguments",
                "in": "query",
                "style": "form",
                "explode": True,
            }
            yield _add_schema(every, schema, {})
        else:
            values = {example.name: example.query.get(name, "") for example in good}
            yield _add_schema({"name": name, "in": "query"}, schema, values)
    if route.has_etag:
        yield {
            "name": "If-None-Match",
            "in": "header",
            "description": "an `ETag` that is known",
            "schema": {"type": "string"},
        }
    if route.access not in _WITHOUT_TOKEN:
        for name in _CALLER:
            yield {"$ref": f"#/components/parameters/{name}"}


def _add_schema(parameter: Parameter, schema: Schema, values: Mapping[str, str]) -> Parameter:
    """Return a parameter with its schema, its description, whether it has to be there, and the
    values that the examples have for it by their names.
    """
    if "description" in schema:
        parameter["description"] = as_string(schema["description"])
    if "required" in schema:
        parameter["required"] = schema["required"] is True
    outer = ("description", "required")
    parameter["schema"] = {name: value for name, value in schema.items() if name not in outer}
    examples: dict[str, ExampleObject] = {}
    for name, value in values.items():
        if value:
            examples[name] = {"value": value}
    if examples:
        parameter["examples"] = examples
    return parameter


def _describe_responses(
    route: Route, refs: Mapping[object, Schema], examples: Sequence[Example]
) -> Iterator[tuple[str, ResponseObject | Reference]]:
    for status, shape in route.responses.items():
        content: Content = describe_media(shape, refs) if shape else {}
        for example in examples:
            if example.status == status and example.answer is not None:
                answers = content[example.kind].setdefault("examples", {})
                answers[example.name] = {"summary": example.title, "value": example.answer}
        description = "the answer"
        if status == 201:
            description = "it was created"
        elif status == 200 and 201 in route.responses:
            description = "this very digest was there already"
        response: ResponseObject = {
            "description": description,
            "headers": _refer_to_headers(header_names(route)),
        }
        if content:
            response["content"] = content
        yield str(status), response
    if route.has_etag:
        names = ["ETag", "Cache-Control", "Vary", "X-Request-Id"]
        if route.access not in _WITHOUT_TOKEN:
            names += _RATE_HEADERS
        yield "304", {"description": texts.STATUSES[304], "headers": _refer_to_headers(names)}
    for status in failure_statuses(route):
        if status in route.responses:
            continue
        failures = [example for example in examples if example.status == status]
        if failures:
            yield str(status), _describe_failure(status, failures)
        else:
            yield str(status), {"$ref": f"#/components/responses/E{status}"}


def _describe_failure(status: int, examples: Sequence[Example]) -> ResponseObject:
    names = ["X-Request-Id", "X-Content-Type-Options", "Cache-Control"]
    if status == 401:
        names.append("WWW-Authenticate")
    if status in (429, 503):
        names.append("Retry-After")
    content: MediaObject = {"schema": {"$ref": "#/components/schemas/Failure"}}
    if examples:
        content["examples"] = {
            example.name: {"summary": example.title, "value": example.answer}
            for example in examples
        }
    description = texts.STATUSES[status]
    codes = ", ".join(f"`{code}`" for code in codes_of(status))
    if codes:
        description += f" ({codes})"
    return {
        "description": description,
        "headers": _refer_to_headers([*names, *_RATE_HEADERS]),
        "content": {"application/json": content},
    }


def _refer_to_headers(names: Sequence[str]) -> dict[str, Reference]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
