"""Describe the tools that are always there to a model, and read the arguments of its calls.

The built-in tools are `sigil_query`, `sigil_deploy` and `sigil_run`.

Model endpoints refuse a whole request when one tool has a parameter whose name is not of ASCII
letters, digits, dot, hyphen and underscore. So a parameter with a name of another script is shown
under a portable name, the same in every request, and its value goes back under the original one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Final

import orjson

from sigil.errors import ToolError, one_line
from sigil.json_fields import as_mapping
from sigil.protocol import Deployed, Found, Hit, Json

QUERY: Final = "sigil_query"
DEPLOY: Final = "sigil_deploy"
RUN: Final = "sigil_run"
SPEC_FIELDS: Final = (
    "name",
    "description",
    "schema",
    "execute",
    "tags",
    "aliases",
    "examples",
    "tests",
    "permissions",
    "requires",
)
_ENCODED: Final = ("schema", "permissions", "tests", "tags", "aliases", "examples", "requires")
LIMIT: Final = 3
LIMIT_MOST: Final = 10
NOT_PAGED_IN: Final = (
    "what has no tool was not paged in: your window is full; search for one alone, with limit 1"
)

QUERY_TEXT: Final = (
    "Find capabilities by what they do. What is found becomes a callable cap_* tool in the next"
    " step. Tools that are not listed any more come back when you search for them again."
)
DEPLOY_TEXT: Final = """\
Create a new capability when sigil_query found none, and call it as cap_NAME (hyphens become underscores) in the next step.
execute is the body of an async JavaScript function (input, env), not a function itself: return a string or JSON. A module does as well:
export default { async fetch(request, env) { const input = await request.json(); return Response.json(input); } }
The engine has the web's names: crypto.subtle.digest, crypto.randomUUID, TextEncoder, TextDecoder, URL, URLSearchParams, atob, btoa,
structuredClone, console, BigInt. It has no files, no process, no require, no import, no Intl, no setTimeout; fetch, Date.now() and
Math.random() throw unless the permission is declared. Given at once: clock, random, log, kv (await env.KV.get(key), put(key, text),
list(), delete(key); it lasts from call to call) and call (await env.call(name, input) of what call or requires lists, pinned at this
deploy). http, secrets and other namespaces' capabilities wait until an owner grants them to this version: fetch throws EPERM till then,
so tell the user what waits.
A test reaches no network: its http says what fetch answers, [{"url": "https://…", "body": {}}].
For bad input throw Object.assign(new Error("what is wrong"), {code: "EINVAL"}). Give tests: a capability whose tests fail is not activated.
Outputs are compared exactly: round fractions.
Example: name "reverse-text", description "Reverse a text.",
schema {"type":"object","required":["text"],"properties":{"text":{"type":"string"}}},
execute "return [...input.text].reverse().join('')", tests [{"input":{"text":"abc"},"output":"cba"}]."""

_PORTABLE_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII)
_DIGITS_LEAST: Final = 8
_STRINGS: Final = {"type": "array", "items": {"type": "string"}}
QUERY_SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "What the capability should do, in a few words.",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_MOST, "default": LIMIT},
    },
    "required": ["query"],
}
DEPLOY_SCHEMA: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "description": (
                "Lower-case words joined by hyphens; without one it is called t- and a number."
            ),
        },
        "description": {"type": "string", "description": "What it does, in one sentence."},
        "schema": {"type": "object", "description": "JSON Schema of the input, an object."},
        "execute": {"type": "string", "description": "The JavaScript body."},
        "tags": _STRINGS,
        "aliases": _STRINGS,
        "examples": _STRINGS,
        "tests": {
            "type": "array",
            "items": {"type": "object"},
            "description": "[{input, output}] or [{input, error}].",
        },
        "permissions": {
            "type": "object",
            "description": 'For example {"clock": true, "http": ["GET api.example.com/v1/"]}.',
        },
        "requires": _STRINGS,
    },
    "required": ["description", "schema", "execute"],
}


def read_query(arguments: Mapping[str, Json]) -> tuple[str, int]:
    """Return the text and the limit of a query; `ToolError` EINVAL when they are none.

    A limit may be the digits of one.
    """
    text = arguments.get("query")
    limit = arguments.get("limit", LIMIT)
    if not isinstance(text, str) or not text.strip():
        raise ToolError("EINVAL", "query is missing: say what the capability should do")
    if isinstance(limit, str) and limit.isascii() and limit.isdigit() and len(limit) < 4:
        limit = int(limit)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= LIMIT_MOST:
        raise ToolError("EINVAL", f"limit is a whole number from 1 to {LIMIT_MOST}")
    return text, limit


def read_spec(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the spec of a deploy in the flat form that registries take; `ToolError` EINVAL for a
    field that a model may not give.
    """
    unknown = sorted(set(arguments) - set(SPEC_FIELDS))
    if unknown:
        raise ToolError(
            "EINVAL",
            f"unknown field {one_line(unknown[0], 40)!r}",
            suggestion=f"the fields are {', '.join(SPEC_FIELDS)}",
        )
    if not isinstance(arguments.get("name"), str | None):
        raise ToolError(
            "EINVAL",
            "name is no text",
            suggestion="lower-case words joined by hyphens, or leave it out",
        )
    spec: dict[str, Json] = {}
    for name, value in arguments.items():
        spec[name] = value
        if name in _ENCODED and isinstance(value, str):
            with suppress(orjson.JSONDecodeError):
                spec[name] = orjson.loads(value)  # small models send objects and lists as JSON text
    return spec


def hit_row(hit: Hit) -> dict[str, Json]:
    """Return what the model reads of a found capability; its schema and its examples arrive with
    the tool.
    """
    offer = hit.offer
    return {
        "capability": offer.name,
        "tool": offer.tool,
        "description": hit.summary or offer.description,
        "version": offer.version,
        "score": hit.score,
    }


def found_row(found: Found) -> dict[str, Json]:
    """Return what the model reads of a query."""
    return {"items": [hit_row(hit) for hit in found.hits], "total": found.total}


def deployed_row(deployed: Deployed) -> dict[str, Json]:
    """Return what the model reads of a deploy that succeeded."""
    return {
        "capability": deployed.offer.name,
        "tool": deployed.offer.tool,
        "version": deployed.offer.version,
        "digest": deployed.offer.digest,
        "tests": {"passed": deployed.passed, "failed": 0},
        "pending": list(deployed.pending),
    }


def without_tools(row: Mapping[str, Json], tools: Collection[str]) -> dict[str, Json]:
    """Return the row of a query or a deploy when these tools were not paged in: the names alone,
    and a note that says why there is no tool.
    """

    def drop_tool(row: Mapping[str, Json]) -> dict[str, Json]:
        if row.get("tool") not in tools:
            return dict(row)
        return {name: row[name] for name in row if name not in ("tool", "description")}

    items = row.get("items")
    if isinstance(items, list):
        return {**row, "items": [drop_tool(item) for item in items], "note": NOT_PAGED_IN}
    return {**drop_tool(row), "note": NOT_PAGED_IN}


def portable_schema(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a tool's schema with parameter names that every model endpoint takes.

    The description of a renamed parameter begins with its original name.
    """
    new_names = _portable_names(schema)
    if not new_names:
        return schema
    properties: dict[str, Json] = {}
    for name, part in as_mapping(schema["properties"]).items():
        if name in new_names:
            fields = part if isinstance(part, dict) else {}
            description = fields.get("description")
            if isinstance(description, str) and description:
                description = f"{name}: {description}"
            else:
                description = name
            properties[new_names[name]] = {**fields, "description": description}
        else:
            properties[name] = part
    renamed = {key: _rename_in_keyword(key, value, new_names) for key, value in schema.items()}
    return {**renamed, "properties": properties}


def original_arguments(
    schema: Mapping[str, Json], arguments: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the arguments of a call under the names that the capability knows.

    One that came under its original name stays as it is.
    """
    originals = {new: original for original, new in _portable_names(schema).items()}
    return {originals.get(name, name): value for name, value in arguments.items()}


def _portable_names(schema: Mapping[str, Json]) -> dict[str, str]:
    """Return the portable name of each parameter that needs one.

    No two are alike, and none is like a parameter that keeps its name.
    """
    properties = schema.get("properties")
    names = properties if isinstance(properties, dict) else {}
    taken = set(names)
    new_names: dict[str, str] = {}
    for name in sorted(names):
        if _PORTABLE_NAME.fullmatch(name):
            continue
        digits = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        candidates = (f"p_{digits[:size]}" for size in range(_DIGITS_LEAST, len(digits) - 2))
        new_names[name] = next(candidate for candidate in candidates if candidate not in taken)
        taken.add(new_names[name])
    return new_names


def _rename_in_keyword(key: str, value: Json, new_names: Mapping[str, str]) -> Json:
    """Return the value of a top-level keyword, with new names where it names parameters."""
    if key == "required" and isinstance(value, list):
        return [new_names.get(name, name) if isinstance(name, str) else name for name in value]
    if key == "dependentRequired" and isinstance(value, dict):
        return {
            new_names.get(name, name): _rename_in_keyword("required", names, new_names)
            for name, names in value.items()
        }
    if key == "dependentSchemas" and isinstance(value, dict):
        return {new_names.get(name, name): part for name, part in value.items()}
    return value
