"""Render the description as a page for people: whole in one answer, and without a script."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from sigil.http.openapi import curl, texts
from sigil.http.openapi.document import (
    ApiDescription,
    Content,
    Operation,
    Reference,
    ResponseObject,
)
from sigil.http.openapi.operations import describe_routes
from sigil.http.route import Route, Schema
from sigil.http.status_codes import codes_of
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

STYLE = Path(__file__).with_name("page.css")
METHODS = ("get", "post", "put", "delete")


class _Operation(NamedTuple):
    path: str
    method: str
    fields: Operation


class _TableRow(NamedTuple):
    name: str
    kind: str
    text: str


def render_page(routes: Sequence[Route], version: str) -> tuple[bytes, str]:
    """Return the page and the `Content-Security-Policy` under which a browser shows it: its own
    style, and nothing else from anywhere.
    """
    document = describe_routes(routes, version)
    style = STYLE.read_text(encoding="utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )
    return "\n".join(_render_lines(document, style)).encode(), policy


def _render_lines(document: ApiDescription, style: str) -> Iterator[str]:
    groups: dict[str, list[_Operation]] = {name: [] for name, _ in texts.GROUPS.values()}
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method not in methods:
                continue
            operation = _Operation(path, method, methods[method])
            for name in operation.fields["tags"]:
                groups[name].append(operation)
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{texts.TITLE}: the HTTP API</title>"
    yield f'<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n<body>'
    yield (
        f"<header><h1>{texts.TITLE}: the HTTP API"
        f" <small>{escape(document['info']['version'])}</small></h1>"
        f"<p>{_render_text(texts.LEAD)}</p>"
    )
    yield (
        '<p><a href="openapi.json">openapi.json</a> says the same to programs.</p></header>\n<main>'
    )
    contents = []
    for name, operations in groups.items():
        items = [
            f'<li><a href="#{operation.fields["operationId"]}">{_render_method(operation.method)}'
            f" <code>{escape(operation.path)}</code></a></li>"
            for operation in operations
        ]
        contents.append(f"<h4>{escape(name)}</h4><ul>{''.join(items)}</ul>")
    yield f'<nav aria-label="Routes">{"".join(contents)}</nav>'
    rules = "".join(f"<dt>{name}</dt><dd>{_render_text(text)}</dd>" for name, text in texts.RULES)
    yield f'<h2 id="rules">What holds everywhere</h2>\n<dl>{rules}'
    statuses = [
        _TableRow(str(status), ", ".join(codes_of(status)), what)
        for status, what in texts.STATUSES.items()
    ]
    yield "</dl>\n" + _render_table("Statuses", statuses)
    for name, what in texts.GROUPS.values():
        yield f'<h2 id="{name.lower()}">{escape(name)}</h2>\n<p>{_render_text(what)}</p>'
        for operation in groups[name]:
            yield from _render_operation(document, operation)
    yield '<h2 id="shapes">Shapes</h2>\n<p>What bodies and answers are made of.</p>'
    for name, schema in sorted(document["components"]["schemas"].items()):
        text = as_string(schema.get("description"))
        yield f'<h4 id="{name}">{name}</h4>\n<p>{_render_text(text)}</p>'
        yield _render_table("", _field_rows(document, {"": {"schema": schema}}))
    yield "</main>\n</body>\n</html>\n"


def _render_operation(document: ApiDescription, operation: _Operation) -> Iterator[str]:
    path, method, fields = operation
    yield f'<article id="{fields["operationId"]}">'
    yield f"<h3>{_render_method(method)} {escape(path)}</h3>"
    yield f"<p>{_render_text(fields['summary'])} {_render_text(fields['description'])}</p>"
    parameters = [
        _TableRow(each["name"], _write_kind(each["schema"]), each.get("description", ""))
        for each in fields["parameters"]
        if "$ref" not in each
    ]
    yield _render_table("Parameters", parameters)
    body = fields["requestBody"]["content"] if "requestBody" in fields else {}
    yield _render_table("Body", _field_rows(document, body))
    yield _render_table("Answers", _answer_rows(document, fields["responses"]))
    for call in curl.write_calls(path, method):
        answer = f"<pre>{escape(call.answer)}</pre>" if call.answer else ""
        command = f"<pre>{escape(call.command)}</pre>"
        summary = f"<summary>{_render_text(call.title)}</summary>"
        yield f"<details>{summary}{command}{answer}</details>"
    yield "</article>"


def _field_rows(document: ApiDescription, content: Content) -> Iterator[_TableRow]:
    """Yield a row for each field of a body, or one for a body that has none."""
    for media_type, media in content.items():
        schema = media["schema"]
        if "$ref" in schema:
            schema = document["components"]["schemas"][_shape_of(schema)]
        properties = as_mapping(schema.get("properties"))
        if not properties:
            text = as_string(schema.get("description"))
            yield _TableRow(media_type, _write_kind(schema), text)
        required = as_sequence(schema.get("required"))
        for name, field in properties.items():
            text = as_string(as_mapping(field).get("description"))
            if "required" in schema and name not in required:
                text = f"{text} (optional)".strip()
            yield _TableRow(name, _write_kind(as_mapping(field)), text)


def _answer_rows(
    document: ApiDescription, responses: Mapping[str, ResponseObject | Reference]
) -> Iterator[_TableRow]:
    """Yield a row for each good answer, and one for all failures."""
    failures = [status for status in responses if status >= "400"]
    for status, response in responses.items():
        if status in failures:
            continue
        answer = response
        if "$ref" in answer:
            answer = document["components"]["responses"][_shape_of(answer)]
        kinds = []
        for media_type, media in answer.get("content", {}).items():
            schema = media["schema"]
            for each in map(as_mapping, as_sequence(schema.get("anyOf", [schema]))):
                kinds.append(f"@{_shape_of(each)}" if "$ref" in each else media_type)
        yield _TableRow(status, " or ".join(kinds), answer["description"])
    if failures:
        yield _TableRow("else", "@Failure", ", ".join(failures))


def _shape_of(reference: Mapping[str, Json]) -> str:
    """Return the name of the shape that a reference leads to."""
    return as_string(reference["$ref"]).rpartition("/")[2]


def _write_kind(schema: Schema) -> str:
    """Return a schema in few words; `_render_table` makes a link of a shape's name behind an @."""
    if "$ref" in schema:
        return f"@{_shape_of(schema)}"
    if "anyOf" in schema:
        declared = as_sequence(schema["anyOf"])
        kinds = [_write_kind(as_mapping(each)) for each in declared if each != {"type": "null"}]
        return " or ".join(dict.fromkeys(kinds))
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, as_sequence(schema.get("enum", [schema.get("const")]))))
    words = str(schema.get("type", "anything"))
    if schema.get("items"):
        words += f" of {_write_kind(as_mapping(schema['items']))}"
    least = schema.get("minimum")
    most = schema.get("maximum")
    if least is not None and most is not None:
        words += f" {least:,}–{most:,}"
    default = schema.get("default")
    if default and not isinstance(default, dict | list):
        words += f" = {default}"
    return words


def _render_table(title: str, rows: Iterable[_TableRow]) -> str:
    lines = []
    for name, kind, text in rows:
        if name or kind:
            shape = re.sub(r"@(\w+)", r'<a href="#\1">\1</a>', escape(kind))
            cells = (f"<code>{escape(name)}</code>", shape, _render_text(text))
            lines.append("".join(["<tr>", *(f"<td>{cell}</td>" for cell in cells), "</tr>"]))
    if not lines:
        return ""
    heading = f"<h4>{title}</h4>" if title else ""
    return f"{heading}<table><tbody>{''.join(lines)}</tbody></table>"


def _render_method(method: str) -> str:
    return f'<b class="{method}">{method.upper()}</b>'


def _render_text(text: str) -> str:
    """Return a sentence as HTML, with what is between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
