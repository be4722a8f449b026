"""The tools that are always there, `sigil_query`, `sigil_deploy` and `sigil_run`: what a model
reads of them, and what it may give them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import orjson

from sigil.errors import ToolError, one_line
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
LIMIT, LIMIT_MOST = 3, 10
UNPAGED: Final = (
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
    """The text and the limit of a query; `ToolError` EINVAL when they are none. A limit may be the
    digits of one.
    """
    text, limit = arguments.get("query"), arguments.get("limit", LIMIT)
    if not isinstance(text, str) or not text.strip():
        raise ToolError("EINVAL", "query is missing: say what the capability should do")
    if isinstance(limit, str) and limit.isascii() and limit.isdigit() and len(limit) < 4:
        limit = int(limit)
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= LIMIT_MOST:
        raise ToolError("EINVAL", f"limit is a whole number from 1 to {LIMIT_MOST}")
    return text, limit


def read_spec(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """What a deploy is given, in the flat form that registries take; `ToolError` EINVAL for a field
    that is not a model's.
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
    return {name: _unwrapped(name, value) for name, value in arguments.items()}


def hit_row(hit: Hit) -> dict[str, Json]:
    """What the model reads of a found capability; its schema and its examples arrive as the
    tool.
    """
    offer, about = hit.offer, hit.summary or hit.offer.description
    return {
        "capability": offer.name,
        "tool": offer.tool,
        "description": about,
        "version": offer.version,
        "score": hit.score,
    }


def found_row(found: Found) -> dict[str, Json]:
    """What the model reads of a query."""
    return {"items": [hit_row(hit) for hit in found.hits], "total": found.total}


def without_tools(row: Mapping[str, Json], out: Collection[str]) -> dict[str, Json]:
    """What the model reads of a query or a deploy of which these tools were not paged in: the
    names, and why there is no tool.
    """
    told = (
        {**row, "items": [_named(item, out) for item in items]}
        if isinstance(items := row.get("items"), list)
        else _named(row, out)
    )
    return {**told, "note": UNPAGED}


def _named(row: Json, out: Collection[str]) -> Json:
    return (
        {name: value for name, value in row.items() if name not in ("tool", "description")}
        if row.get("tool") in out
        else row
    )


def deployed_row(done: Deployed) -> dict[str, Json]:
    """What the model reads of a deploy that succeeded."""
    return {
        "capability": done.offer.name,
        "tool": done.offer.tool,
        "version": done.offer.version,
        "digest": done.offer.digest,
        "tests": {"passed": done.passed, "failed": 0},
        "pending": list(done.pending),
    }


def _unwrapped(name: str, value: Json) -> Json:
    """Small models send objects and lists as JSON text."""
    if name in _ENCODED and isinstance(value, str):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
