"""The schemas of the description: made of the types that are answered, the models that bodies are
read with, and the manifest's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from sigil.http.route import Media
from sigil.manifest.model import Manifest
from sigil.protocol import Json

REF = "#/components/schemas/{model}"
_FLAT = {"lifetime": "type", "input": "schema", "output": "output_schema"}
"""Fields of the manifest that a deploy calls by another name."""
_CODE = ("execute", "code", "wasm")
SAID = {
    "name": "lower-case words joined by hyphens; without it `t-` and six digits of the code",
    "description": "one sentence: what it does, as people would ask for it",
    "lang": "of `code`; `execute` is JavaScript",
    "type": "its lifetime",
    "ttl": "seconds that an ephemeral one lives, an hour unless it is given",
    "tags": "words to find it by",
    "aliases": "other names that people use for it",
    "examples": "requests that it would fulfil",
    "public": "every namespace may run it",
    "idempotent": "a call whose answer was lost may run again",
    "on_degraded": "after failures it rests, or the version before it comes back",
    "requires": "capabilities that it calls",
    "schema": "the JSON Schema of its input, an object",
    "output_schema": "the JSON Schema of its output",
    "permissions": "what it asks for; nothing unless it is given",
    "limits": "below the published ones",
    "tests": "golden tests; each has to pass before anything is deployed",
    "execute": "the code: the body of an async JavaScript function of `input` and `env`",
    "code": "the code, in the language that `lang` names",
    "wasm": "the code: a module, in base64",
}
"""What each field of a deploy says."""


def collected(types: Iterable[Any]) -> tuple[dict[Any, Json], dict[str, Json]]:
    """How each type is referred to, and the schemas that those references lead to."""
    kinds = list(dict.fromkeys(types))
    adapters = [(kind, "validation", TypeAdapter(kind)) for kind in (*kinds, Manifest)]
    refs, rest = TypeAdapter.json_schemas(adapters, ref_template=REF)  # type: ignore[arg-type]
    schemas = {name: _plain(schema) for name, schema in rest["$defs"].items()}
    schemas["Spec"] = _spec(schemas.pop("Manifest"))
    return {kind: _plain(refs[kind, "validation"]) for kind in kinds}, schemas


def _spec(manifest: Json) -> Json:
    """The manifest as a deploy takes it: flat, every field but the code optional, null as good as
    left out.
    """
    fields = {_FLAT.get(name, name): schema for name, schema in manifest["properties"].items()}
    texts = {name: {"type": "string"} for name in _CODE}
    either = {
        name: {"anyOf": _or_null(schema), "description": SAID.get(name, "")}
        for name, schema in {**fields, **texts}.items()
    }
    return {
        "type": "object",
        "description": (
            "A manifest's fields and the code, once. Without a `name` it is named after its code."
        ),
        "properties": either,
        "oneOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in _CODE],
        "additionalProperties": False,
    }


def _or_null(schema: Json) -> list[Json]:
    kinds = schema.get("anyOf", [schema])
    return [*(kind for kind in kinds if kind != {"type": "null"}), {"type": "null"}]


def _plain(node: Json) -> Json:
    """Without the titles that pydantic makes of the names."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        name: _plain(value)
        for name, value in node.items()
        if not (name == "title" and isinstance(value, str))
    }


def media(given: Any, refs: dict[Any, Json]) -> dict[str, Json]:
    """What a body holds, by its media type: `given` is a shape, several, or a `Media`."""
    if isinstance(given, Media):
        return {kind: {"schema": dict(schema)} for kind, schema in given.kinds.items()}
    several = given if isinstance(given, tuple) else (given,)
    found = [refs[each] for each in several]
    return {"application/json": {"schema": found[0] if len(found) == 1 else {"anyOf": found}}}
