"""Describe the tools that are always there to a model, and read the arguments of its calls.

The built-in tools are `sigil_query`, `sigil_deploy` and `sigil_run`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Final

import orjson

from sigil import lenient_json
from sigil.errors import ToolError, one_line
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Deployed, Found, Hit, Json, WeakHit, example_row

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
Create a capability when sigil_query found none; in the next step call it as cap_NAME (hyphens become underscores).
execute is the body of an async JavaScript function (input, env): return a string or JSON. It has the web's names (URL, TextEncoder,
crypto.subtle, atob …), no import, require, files, Intl or setTimeout.
permissions: clock (Date.now), random, log, kv (await env.KV.get/put/list/delete), call (await env.call(name, input)) work at once; http
(fetch) and secrets wait for an owner: tell the user. A test's http says what fetch answers: [{"url": "https://…", "body": {}}].
For bad input throw Object.assign(new Error("why"), {code: "EINVAL"}). Unless all tests pass, nothing is created; round fractions.
A whole call: name "reverse-text", description "Reverse a text.",
schema {"type":"object","required":["text"],"properties":{"text":{"type":"string"}}},
execute "return [...input.text].reverse().join('')", tests [{"input":{"text":"abc"},"output":"cba"}]."""
NO_DEPLOY_TEXT: Final = (
    "Never call this: no capabilities may be created in this chat. Say what is missing instead."
)
QUERY_WEAK: Final = "if one in weak can do it, query its name; else: "
WRITE_IT: Final = (
    "nothing fits: write it yourself, then call it. Call sigil_deploy with"
    ' {"name":"…","description":"…","schema":{"type":"object","required":["text"],"properties":'
    '{"text":{"type":"string"}}},"execute":"return …","tests":[{"input":{"text":"…"},"output":"…"}]}'
)
CANNOT_WRITE: Final = (
    "nothing fits, and this chat may not create capabilities: tell the user what is missing"
)
SUGGESTED_CALL: Final = "call it with "
"""How the advice begins that shows a call which is right."""
EXAMPLE_FAILED: Final = "if the example should work, correct execute and deploy again"
_QUERY_NAMES: Final = ("q", "text", "input", "search", "keywords", "name", "capability")
"""Names under which models send the text of a query."""
_SPEC_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("code", "javascript", "js", "body", "function", "source"), "execute"),
    **dict.fromkeys(("parameters", "input_schema", "inputSchema", "input"), "schema"),
}
"""Other names under which models send a field of a deploy."""
_WORDS: Final = ("tags", "aliases", "examples", "requires")
_SWITCHES: Final = ("clock", "random", "log", "kv")
"""The permissions that are on or off."""
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
        "name": {"type": "string"},
        "description": {"type": "string"},
        "schema": {"type": "object"},
        "execute": {"type": "string"},
        "tags": _STRINGS,
        "aliases": _STRINGS,
        "examples": _STRINGS,
        "tests": {
            "type": "array",
            "items": {"type": "object"},
            "description": "{input, output} or {input, error}",
        },
        "permissions": {
            "type": "object",
            "description": '{"kv": true, "http": ["GET api.example.com/v1/"]}',
        },
        "requires": _STRINGS,
    },
    "required": ["description", "schema", "execute"],
}


def read_arguments(text: str, schema: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """Return the arguments of a model's call, which are a JSON object as text.

    `ToolError` EJSON when they are none; it names what `schema` asks for.
    """
    try:
        arguments = lenient_json.read_json(text or "{}")
        if isinstance(arguments, str):  # an object that was written as JSON twice
            with suppress(orjson.JSONDecodeError):
                arguments = lenient_json.read_json(arguments)
    except orjson.JSONDecodeError as problem:
        message = f"the arguments are not JSON: {problem.msg} (column {problem.colno})"
    else:
        if isinstance(arguments, dict):
            return arguments
        message = "the arguments are not a JSON object"
    required = as_sequence(schema.get("required")) if schema else ()
    names = ", ".join(one_line(str(name), 40) for name in required)
    suggestion = f"send one JSON object with {names}" if names else "send one JSON object"
    raise ToolError("EJSON", message, suggestion=suggestion)


def read_query(arguments: Mapping[str, Json]) -> tuple[str, int]:
    """Return the text and the limit of a query; `ToolError` EINVAL when they are none.

    A limit may be the digits of one, and one that is too high is the highest.
    """
    names = [name for name in ("query", *_QUERY_NAMES) if arguments.get(name)]
    text = arguments[names[0]] if names else None
    if isinstance(text, list) and all(isinstance(word, str) for word in text):
        text = " ".join(text)
    limit = arguments.get("limit")
    if limit is None:
        limit = LIMIT
    if not isinstance(text, str) or not text.strip():
        raise ToolError(
            "EINVAL",
            "query is missing: say what the capability should do",
            suggestion="give it as query, in a few words",
        )
    if isinstance(limit, str) and limit.isascii() and limit.isdigit() and len(limit) < 4:
        limit = int(limit)
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ToolError(
            "EINVAL",
            f"limit is a whole number from 1 to {LIMIT_MOST}",
            suggestion="leave limit out",
        )
    return text, min(limit, LIMIT_MOST)


def read_spec(arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the spec of a deploy in the flat form that registries take; `ToolError` EINVAL for a
    field that a model may not give.
    """
    spec: dict[str, Json] = {}
    for given, value in arguments.items():
        name = _SPEC_NAMES.get(given, given)
        if name in arguments or name in spec:
            name = given
        if name not in SPEC_FIELDS:
            raise ToolError(
                "EINVAL",
                f"unknown field {one_line(given, 40)!r}",
                suggestion=f"the fields are {', '.join(SPEC_FIELDS)}",
            )
        spec[name] = _read_field(name, value) if name in _ENCODED else value
    if not isinstance(spec.get("name"), str | None):
        raise ToolError(
            "EINVAL",
            "name is no text",
            suggestion="lower-case words joined by hyphens, or leave it out",
        )
    return spec


def _read_field(name: str, value: Json) -> Json:
    """Return a field that is an object or a list, as small models send it: as JSON text, as words
    with commas between them, one test without its list, or permissions by name.
    """
    if isinstance(value, str):
        with suppress(orjson.JSONDecodeError):
            value = lenient_json.read_json(value)
    if name in _WORDS and isinstance(value, str):
        separator = "\n" if name == "examples" else ","
        return [word.strip() for word in value.split(separator) if word.strip()]
    if name == "tests" and isinstance(value, dict):
        return [value]
    if name == "permissions" and isinstance(value, list):
        switches = [each for each in value if isinstance(each, str) and each in _SWITCHES]
        return dict.fromkeys(switches, True) if len(switches) == len(value) else value
    return value


# -- what the model reads of a query and a deploy


def hit_row(hit: Hit) -> dict[str, Json]:
    """Return what the model reads of a found capability; its schema and its examples arrive with
    the tool.
    """
    offer = hit.offer
    if hit.offers:
        return {
            "capability": offer.name,
            "tools": [each.tool for each in hit.offers],
            "description": hit.summary or offer.description,
            "score": hit.score,
        }
    return {
        "capability": offer.name,
        "tool": offer.tool,
        "description": hit.summary or offer.description,
        "version": offer.version,
        "score": hit.score,
    }


def found_row(found: Found, *, may_deploy: bool = True) -> dict[str, Json]:
    """Return what the model reads of a query, with what comes next: a tool to call, or, where
    nothing was found, the call that writes it.
    """
    items: list[Json] = [hit_row(hit) for hit in found.hits]
    row: dict[str, Json] = {"items": items, "total": found.total}
    if found.weak:
        row["weak"] = [weak_row(each) for each in found.weak]
    if items:
        return {**row, **next_call(items)}
    how = WRITE_IT if may_deploy else CANNOT_WRITE
    return {**row, "next": QUERY_WEAK + how if found.weak else how}


def weak_row(weak: WeakHit) -> dict[str, Json]:
    """Return what the model reads of a capability that was not paged in; a query for its name does
    that.
    """
    return {"capability": weak.name, "description": weak.description}


def next_call(items: Sequence[Json]) -> dict[str, Json]:
    """Return the field that says which tool to call, empty when there is none."""
    rows = [as_mapping(item) for item in items]
    tools: list[Json] = []
    for row in rows:
        tools += [row["tool"]] if "tool" in row else as_sequence(row.get("tools"))
    if not tools:
        return {}
    if len(tools) == 1:
        return {"next": f"now call {tools[0]}"}
    return {"next": f"now call {tools[0]}, or whichever of these fits better"}


def deployed_row(deployed: Deployed) -> dict[str, Json]:
    """Return what the model reads of a deploy that succeeded."""
    next_step = f"now call {deployed.offer.tool}"
    example: dict[str, Json] = {}
    if deployed.example:
        example = {"example": as_mapping(example_row(deployed.example))}
    if deployed.example and deployed.example.problem:
        next_step = f"{EXAMPLE_FAILED}; else {next_step.removeprefix('now ')}"
    return {
        "capability": deployed.offer.name,
        "tool": deployed.offer.tool,
        "version": deployed.offer.version,
        "digest": deployed.offer.digest,
        "tests": {"passed": deployed.passed, "failed": 0},
        **example,
        "pending": list(deployed.pending),
        "next": next_step,
    }


def without_tools(row: Mapping[str, Json], tools: Collection[str]) -> dict[str, Json]:
    """Return the row of a query or a deploy when these tools were not paged in: the names alone,
    and a note that says why there is no tool.
    """

    def drop_tool(row: Mapping[str, Json]) -> dict[str, Json]:
        if "tools" in row:
            left = [tool for tool in as_sequence(row["tools"]) if tool not in tools]
            if left:
                return {**row, "tools": left}
            return {"capability": row["capability"]}
        if row.get("tool") not in tools:
            return dict(row)
        return {name: row[name] for name in row if name not in ("tool", "description", "next")}

    items = row.get("items")
    if isinstance(items, list):
        left = [drop_tool(item) for item in items]
        rest = {name: row[name] for name in row if name != "next"}
        return {**rest, "items": left, **next_call(left), "note": NOT_PAGED_IN}
    return {**drop_tool(row), "note": NOT_PAGED_IN}
