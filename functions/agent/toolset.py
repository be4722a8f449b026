"""Which tools the model has: a pure function of the history, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from functions.agent.messages import Message
from sigil.protocol import TOOL_PREFIX, Hit, Json, Offer

QUERY, DEPLOY = "sigil_query", "sigil_deploy"
RESIDENT_MOST = 100
"""Endpoints refuse a request with more than 128 tools."""

_DEPLOY_TEXT = """\
Create a new capability when sigil_query found none, and call it as cap_NAME (hyphens become underscores) in the next step.
execute is the body of an async JavaScript function (input, env): return a string or JSON. A module does as well:
export default { async fetch(request, env) { const input = await request.json(); return Response.json(input); } }
The engine has the web's names: crypto.subtle.digest, crypto.randomUUID, TextEncoder, TextDecoder, URL, URLSearchParams, atob, btoa,
structuredClone, console, BigInt. It has no files, no process, no require, no import, no setTimeout; fetch, Date.now() and Math.random()
throw unless the permission is declared. Given at once: clock, random, log, kv (await env.KV.get(key), put(key, text), list(), delete(key);
it lasts from call to call) and call (await env.call(name, input) of what call or requires lists). http, secrets and other
namespaces' capabilities wait until an owner grants them to this version: fetch throws EPERM till then, so tell the user what waits.
A test reaches no network: its http says what fetch answers, [{"url": "https://…", "body": {}}].
For bad input throw Object.assign(new Error("what is wrong"), {code: "EINVAL"}). Give tests: a capability whose tests fail is not activated.
Example: name "reverse-text", description "Reverse a text.",
schema {"type":"object","required":["text"],"properties":{"text":{"type":"string"}}},
execute "return [...input.text].reverse().join('')", tests [{"input":{"text":"abc"},"output":"cba"}]."""

_STRINGS = {"type": "array", "items": {"type": "string"}}

STATIC: tuple[dict[str, Json], ...] = (
    {
        "type": "function",
        "function": {
            "name": QUERY,
            "description": "Find capabilities by what they do. What is found becomes a callable cap_* tool in the next step. "
            "Tools that are not listed any more come back when you search for them again.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What the capability should do, in a few words."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
                },
                "required": ["query"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": DEPLOY,
            "description": _DEPLOY_TEXT,
            "parameters": {
                "type": "object",
                "properties": {
                    "name": {
                        "type": "string",
                        "description": "Lower-case words joined by hyphens; without one it is called t- and a number.",
                    },
                    "description": {"type": "string", "description": "What it does, in one sentence."},
                    "schema": {"type": "object", "description": "JSON Schema of the input, an object."},
                    "execute": {"type": "string", "description": "The JavaScript body."},
                    "tags": _STRINGS,
                    "aliases": _STRINGS,
                    "examples": _STRINGS,
                    "tests": {"type": "array", "items": {"type": "object"}, "description": "[{input, output}] or [{input, error}]."},
                    "permissions": {"type": "object", "description": 'For example {"clock": true, "http": ["GET api.example.com/v1/"]}.'},
                    "requires": _STRINGS,
                },
                "required": ["description", "schema", "execute"],
            },
        },
    },
)


def in_scope(messages: Iterable[Message]) -> tuple[Offer, ...]:
    """The offers that the history holds, in order of first appearance; the latest load of a tool wins. At most 100, the last loaded."""
    scope: dict[str, Offer] = {}
    loaded: dict[str, None] = {}
    for message in messages:
        for offer in message.loads:
            tool = offer.tool
            scope[tool] = offer
            loaded.pop(tool, None)
            loaded[tool] = None
    newest = set(list(loaded)[-RESIDENT_MOST:])
    return tuple(offer for tool, offer in scope.items() if tool in newest)


@lru_cache(maxsize=1024)
def definition(offer: Offer) -> dict[str, Json]:
    """An offer as the model reads it."""
    return {"type": "function", "function": {"name": offer.tool, "description": offer.description, "parameters": offer.schema}}


def definitions(offers: Sequence[Offer]) -> list[dict[str, Json]]:
    """The tools of a round: the static ones first, then the offers."""
    return [*STATIC, *map(definition, offers)]


def is_capability(tool: str) -> bool:
    """Whether a tool's name is one that a capability could have."""
    return tool.startswith(TOOL_PREFIX)


def by_tool(offers: Iterable[Offer]) -> Mapping[str, Offer]:
    """The offers by the tool that the model calls."""
    return {offer.tool: offer for offer in offers}


def summary(hit: Hit) -> dict[str, Json]:
    """What the model reads of a found capability; its schema arrives as the tool."""
    offer = hit.offer
    return {"capability": offer.name, "tool": offer.tool, "description": offer.description, "version": offer.version, "score": hit.score}
