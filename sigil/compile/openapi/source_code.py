"""The JavaScript of a capability that sends one operation's request, written to be read.

Every text of the document stands in it as a JSON string, so none can become code.
"""

from __future__ import annotations

import json
import re

from sigil.compile.openapi.operations import Operation
from sigil.compile.openapi.requests import FORM, JSON, TEXT, Field, Request

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_VARIABLE = re.compile(r"(\{[^{}]{1,200}\})")
_SEGMENT = """\
const segment = (value) => {
  const text = String(value);
  if (["", ".", ".."].includes(text)) {
    const problem = new Error(`${JSON.stringify(text)} cannot be a part of the path`);
    throw Object.assign(problem, { code: "EINVAL" });
  }
  return encodeURIComponent(text);
};"""
_ANSWER = """\
const text = await response.text();
if (!response.ok) {
  const codes = { 400: "EINVAL", 401: "EACCES", 403: "EACCES", 404: "ENOENT", 422: "EINVAL" };
  const problem = new Error(`the API answered ${response.status}: ${text.slice(0, 200)}`);
  throw Object.assign(problem, { code: codes[response.status] ?? "EREMOTE" });
}
if (!text) return null;
try {
  return JSON.parse(text);
} catch {
  return text;
}
"""


def write_source(operation: Operation, request: Request, title: str) -> str:
    """Return the body of `async (input, env) => {…}` for one operation."""
    origin = _quote(f"{operation.title} of {title}")[1:-1]
    lines = [f"// {origin}, written by `sigil add openapi`."]
    in_path = {each.wire: each for each in request.fields if each.part == "path"}
    if in_path:
        lines.append(_SEGMENT)
    lines.append(f"let url = {_write_url(request, in_path)};")
    query = [line for each in request.fields if each.part == "query" for line in _write_query(each)]
    for name, value in request.query:
        query.append(f"query.push({_quote(f'{_encode(name)}={value}')});")
    if query:
        lines += ["const query = [];", *query]
        lines.append('if (query.length) url += "?" + query.join("&");')
    lines.append(f"const headers = {_write_headers(request)};")
    for each in request.fields:
        if each.part == "header":
            text = f"String({_read(each)})"
            line = f"headers[{_quote(each.wire.lower())}] = {text};"
            lines.append(line if each.is_required else f"if ({_read(each)} != null) {line}")
    lines += _write_body(request)
    body = ", body" if request.body else ""
    lines.append(
        f'const response = await fetch(url, {{ method: "{request.method}", headers{body} }});'
    )
    return "\n".join(lines) + "\n" + _ANSWER


def _quote(text: str) -> str:
    """Return a string literal; in ASCII, so that nothing in it ends a line or hides."""
    return json.dumps(text)


def _encode(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="-_.!~*'()")


def _read(each: Field) -> str:
    """Return the expression of an input's property."""
    if _NAME.fullmatch(each.name):
        return f"input.{each.name}"
    return f"input[{_quote(each.name)}]"


def _write_url(request: Request, in_path: dict[str, Field]) -> str:
    """Return the expression of the address without its query."""
    written = []
    text = request.base
    for piece in _VARIABLE.split(request.path):
        variable = in_path.get(piece[1:-1]) if piece.startswith("{") else None
        if variable is None:
            text += piece
            continue
        written.append(_quote(text))
        text = ""
        value = _read(variable)
        if variable.style == "comma":
            value = f'{value}.map(segment).join(",")'
            written.append(value)
        else:
            written.append(f"segment({value})")
    if text:
        written.append(_quote(text))
    return " + ".join(written)


def _write_query(each: Field) -> list[str]:
    """Return the statements that put a parameter into the query."""
    name = _encode(each.wire)
    value = _read(each)
    begin = _quote(f"{name}=")
    if each.style == "repeat":
        item = "encodeURIComponent(value)"
        return [f"for (const value of {value} ?? []) query.push({begin} + {item});"]
    if each.style in ("deep", "spread"):
        entry = "encodeURIComponent(key)"
        if each.style == "deep":
            entry = f"{_quote(name)} + encodeURIComponent(`[${{key}}]`)"
        return [
            f"for (const [key, value] of Object.entries({value} ?? {{}})) {{",
            f'  query.push({entry} + "=" + encodeURIComponent(value));',
            "}",
        ]
    if each.style == "json":
        pushed = f"encodeURIComponent(JSON.stringify({value}))"
    elif each.style == "plain":
        pushed = f"encodeURIComponent({value})"
    else:
        separator = {"comma": ",", "space": "%20", "pipe": "%7C"}[each.style]
        pushed = f"{value}.map(encodeURIComponent).join({_quote(separator)})"
    line = f"query.push({begin} + {pushed});"
    return [line if each.is_required else f"if ({value} != null) {line}"]


def _write_headers(request: Request) -> str:
    headers = {"accept": JSON}
    content = {"json": JSON, "form": FORM, "text": TEXT}
    if request.body:
        headers["content-type"] = content[request.body]
    headers.update(request.headers)
    pairs = ", ".join(f"{_quote(name)}: {_quote(value)}" for name, value in headers.items())
    return f"{{ {pairs} }}"


def _write_body(request: Request) -> list[str]:
    """Return the statements that make the body."""
    if not request.body:
        return []
    whole = next((each for each in request.fields if each.part == "body"), None)
    if whole:
        value = _read(whole)
        text = f"String({value})" if request.body == "text" else f"JSON.stringify({value})"
        return [f"const body = {value} == null ? undefined : {text};"]
    members = [each for each in request.fields if each.part == "member"]
    if request.body == "form":
        lines = ["const form = [];"]
        for each in members:
            name = _quote(f"{_encode(each.wire)}=")
            lines.append(
                f"for (const value of [{_read(each)} ?? []].flat()) form.push({name} +"
                ' encodeURIComponent(typeof value === "object" ? JSON.stringify(value) : value));'
            )
        return [*lines, 'const body = form.join("&");']
    pairs = "".join(f"  {_quote(each.wire)}: {_read(each)},\n" for each in members)
    return [f"const body = JSON.stringify({{\n{pairs}}});"]
