"""Make the schemas of the description, of the types of bodies and answers and of the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from sigil.http.openapi.document import Content
from sigil.http.route import Media, Schema
from sigil.json_fields import as_mapping, as_sequence
from sigil.manifest.model import Manifest
from sigil.protocol import Json

REF = "#/components/schemas/{model}"
_FLAT = {"lifetime": "type", "input": "schema", "output": "output_schema"}
"""Fields of the manifest that a deploy calls by another name."""
_CODE = ("execute", "code", "wasm")
FIELD_TEXTS = {
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
    "members": "of a bundle: the capabilities that it pages in",
    "schema": "the JSON Schema of its input, an object",
    "output_schema": "the JSON Schema of its output",
    "permissions": "what it asks for; nothing unless it is given",
    "limits": "below the published ones",
    "tests": "golden tests; each has to pass before anything is deployed",
    "execute": "the code: the body of an async JavaScript function of `input` and `env`",
    "code": "the code, in the language that `lang` names",
    "wasm": "the code: a module, in base64",
}
"""The description of each field of a deploy."""


def collect_schemas(types: Iterable[Any]) -> tuple[dict[object, Schema], dict[str, Schema]]:
    """Return the reference to each type, and the schemas that those references lead to."""
    kinds = list(dict.fromkeys(types))
    adapters = [(kind, "validation", TypeAdapter(kind)) for kind in (*kinds, Manifest)]
    refs, rest = TypeAdapter.json_schemas(adapters, ref_template=REF)  # type: ignore[arg-type]
    schemas: dict[str, Schema] = {}
    for name, schema in rest["$defs"].items():
        schemas[name] = as_mapping(_without_titles(schema))
    schemas["Spec"] = _describe_spec(schemas.pop("Manifest"))
    return {kind: as_mapping(_without_titles(refs[kind, "validation"])) for kind in kinds}, schemas


def _describe_spec(manifest: Schema) -> Schema:
    """Return the schema of a manifest as a deploy takes it.

    It is flat, every field but the code is optional, and null means the same as leaving it out.
    """
    fields: dict[str, Schema] = {}
    for name, field in as_mapping(manifest["properties"]).items():
        fields[_FLAT.get(name, name)] = as_mapping(field)
    for name in _CODE:
        fields[name] = {"type": "string"}
    properties = {}
    for name, schema in fields.items():
        declared = as_sequence(schema.get("anyOf", [schema]))
        alternatives = [each for each in declared if each != {"type": "null"}]
        alternatives.append({"type": "null"})
        properties[name] = {"anyOf": alternatives, "description": FIELD_TEXTS.get(name, "")}
    return {
        "type": "object",
        "description": (
            "A manifest's fields and the code, once. Without a `name` it is named after its code."
        ),
        "properties": properties,
        "oneOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in _CODE],
        "additionalProperties": False,
    }


def _without_titles(node: Json) -> Json:
    """Return a schema without the titles that pydantic makes of the names."""
    if isinstance(node, list):
        return [_without_titles(each) for each in node]
    if not isinstance(node, dict):
        return node
    return {
        name: _without_titles(value)
        for name, value in node.items()
        if not (name == "title" and isinstance(value, str))
    }


def describe_media(shape: object, refs: Mapping[object, Schema]) -> Content:
    """Return the content of a body by its media type; `shape` is a type, several, or a `Media`."""
    if isinstance(shape, Media):
        return {kind: {"schema": dict(schema)} for kind, schema in shape.kinds.items()}
    if not isinstance(shape, tuple):
        return {"application/json": {"schema": refs[shape]}}
    return {"application/json": {"schema": {"anyOf": [refs[each] for each in shape]}}}
