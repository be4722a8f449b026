"""The description as a page for people: made on the server, whole in one answer, without a
script.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path

from sigil.http.openapi import curl, texts
from sigil.http.status_codes import codes_of
from sigil.protocol import Json

STYLE = Path(__file__).with_name("page.css")
METHODS = ("get", "post", "put", "delete")


def page(document: Mapping[str, Json]) -> tuple[bytes, str]:
    """The page, and the `Content-Security-Policy` under which it is shown: its own style, and
    nothing else from anywhere.
    """
    style = STYLE.read_text(encoding="utf-8").strip()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'; frame-ancestors 'none'"
    )
    return "\n".join(_lines(document, style)).encode(), policy


def _lines(document: Mapping[str, Json], style: str) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield (
        f'<title>{texts.TITLE}: the HTTP API</title>\n<link rel="icon"'
        f' href="data:,">\n<style>{style}</style>\n</head>\n<body>'
    )
    yield (
        f"<header><h1>{texts.TITLE}: the HTTP API"
        f" <small>{escape(document['info']['version'])}</small></h1><p>{_said(texts.LEAD)}</p>"
    )
    yield (
        '<p><a href="openapi.json">openapi.json</a> says the same to programs.</p></header>\n<main>'
    )
    groups = [(name, what, list(_of(document, name))) for name, what in texts.GROUPS.values()]
    yield (
        '<nav aria-label="Routes">'
        + "".join(_contents(name, found) for name, _, found in groups)
        + "</nav>"
    )
    yield '<h2 id="rules">What holds everywhere</h2>\n<dl>' + "".join(
        f"<dt>{name}</dt><dd>{_said(text)}</dd>" for name, text in texts.RULES
    )
    yield "</dl>\n" + _statuses()
    for name, what, found in groups:
        yield f'<h2 id="{name.lower()}">{escape(name)}</h2>\n<p>{_said(what)}</p>'
        for path, method, operation in found:
            yield from _operation(document, path, method, operation)
    yield '<h2 id="shapes">Shapes</h2>\n<p>What bodies and answers are made of.</p>'
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield (
            f'<h4 id="{name}">{name}</h4>\n<p>{_said(schema.get("description", ""))}</p>'
            + _table("", _fields(document, {"": {"schema": schema}}))
        )
    yield "</main>\n</body>\n</html>\n"


def _of(document: Mapping[str, Json], group: str) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method in METHODS:
            if group in methods.get(method, {}).get("tags", ()):
                yield path, method, methods[method]


def _contents(name: str, found: Iterable[tuple[str, str, Json]]) -> str:
    rows = (
        f'<li><a href="#{operation["operationId"]}">{_method(method)}'
        f" <code>{escape(path)}</code></a></li>"
        for path, method, operation in found
    )
    return f"<h4>{escape(name)}</h4><ul>{''.join(rows)}</ul>"


def _operation(
    document: Mapping[str, Json], path: str, method: str, operation: Json
) -> Iterator[str]:
    yield f'<article id="{operation["operationId"]}">\n<h3>{_method(method)} {escape(path)}</h3>'
    yield f"<p>{_said(operation['summary'])} {_said(operation['description'])}</p>"
    own = [each for each in operation["parameters"] if "$ref" not in each]
    yield _table(
        "Parameters",
        ((each["name"], _kind(each["schema"]), each.get("description", "")) for each in own),
    )
    body = operation.get("requestBody", {}).get("content", {})
    yield _table("Body", _fields(document, body))
    yield _table("Answers", _answers(document, operation))
    for call in curl.calls(path, method, operation):
        shown = f"<pre>{escape(call.answer)}</pre>" if call.answer else ""
        command = f"<pre>{escape(call.command)}</pre>"
        yield f"<details><summary>{_said(call.title)}</summary>{command}{shown}</details>"
    yield "</article>"


def _fields(
    document: Mapping[str, Json], content: Mapping[str, Json]
) -> Iterator[tuple[str, str, str]]:
    for kind, media in content.items():
        schema = _resolved(document, media["schema"])
        if not schema.get("properties"):
            yield kind, _kind(schema), schema.get("description", "")
        for name, inner in schema.get("properties", {}).items():
            needed = "" if "required" not in schema or name in schema["required"] else "(optional)"
            yield name, _kind(inner), " ".join(filter(None, (inner.get("description", ""), needed)))


def _answers(document: Mapping[str, Json], operation: Json) -> Iterator[tuple[str, str, str]]:
    bad = [status for status in operation["responses"] if status >= "400"]
    for status, answer in operation["responses"].items():
        if status not in bad:
            content = _resolved(document, answer).get("content", {})
            yield status, " or ".join(_shapes(content)), answer["description"]
    if bad:
        yield "else", _named("#/components/schemas/Failure"), ", ".join(bad)


def _shapes(content: Mapping[str, Json]) -> Iterator[str]:
    for kind, media in content.items():
        for each in media["schema"].get("anyOf", [media["schema"]]):
            yield _named(each["$ref"]) if "$ref" in each else kind


def _resolved(document: Mapping[str, Json], node: Json) -> Json:
    if "$ref" not in node:
        return node
    found: Json = document
    for part in node["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def _kind(schema: Json) -> str:
    """A schema in few words."""
    if "$ref" in schema:
        return _named(schema["$ref"])
    if "anyOf" in schema:
        return " or ".join(
            dict.fromkeys(_kind(each) for each in schema["anyOf"] if each != {"type": "null"})
        )
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, schema.get("enum", [schema.get("const")])))
    inner = f" of {_kind(schema['items'])}" if schema.get("items") else ""
    least, most = schema.get("minimum"), schema.get("maximum")
    span = "" if least is None or most is None else f" {least:,}–{most:,}"
    default = (
        f" = {schema['default']}"
        if schema.get("default") and not isinstance(schema["default"], dict | list)
        else ""
    )
    return f"{schema.get('type', 'anything')}{inner}{span}{default}"


def _statuses() -> str:
    return _table(
        "Statuses",
        (
            (str(status), ", ".join(codes_of(status)), what)
            for status, what in texts.STATUSES.items()
        ),
    )


def _table(title: str, rows: Iterable[tuple[str, str, str]]) -> str:
    lines = [
        f"<tr><td><code>{escape(name)}</code></td><td>{_linked(kind)}</td><td>{_said(what)}</td></tr>"
        for name, kind, what in rows
        if name or kind
    ]
    heading = f"<h4>{title}</h4>" if title else ""
    return f"{heading}<table><tbody>{''.join(lines)}</tbody></table>" if lines else ""


def _named(ref: str) -> str:
    """A shape, so that `_linked` knows it."""
    return f"@{ref.rpartition('/')[2]}"


def _linked(kind: str) -> str:
    """A kind in words, the shapes among them as links."""
    return re.sub(r"@(\w+)", r'<a href="#\1">\1</a>', escape(kind))


def _method(method: str) -> str:
    return f'<b class="{method}">{method.upper()}</b>'


def _said(text: str) -> str:
    """A sentence, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
