"""Writes what was meant by a schema or a golden test in another form than ours.

A model that writes its first capability sends `{"text": "string"}` for a schema, or `expected` for
`output`. It gets the form that is right back, where there is no doubt about it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import orjson

from sigil.errors import UsageError
from sigil.manifest import schema
from sigil.protocol import Json

CORRECTION_CHARACTERS = 260
"""A longer one would be cut, and half a schema says nothing."""
_OUTPUT_NAMES = ("expected", "expect", "expected_output", "expectedOutput", "result", "returns")
_INPUT_NAMES = ("args", "arguments", "parameters", "params")


def suggest_schema(value: Json) -> str:
    """Return the advice to send the schema that was meant; empty where that is in doubt."""
    if not isinstance(value, dict):
        return ""
    corrected = _correct_object(value)
    try:
        schema.check(corrected)
    except UsageError:
        return ""
    return _format_correction("schema", value, corrected)


def suggest_test(value: Json, properties: Collection[str]) -> str:
    """Return the advice to send the golden test that was meant, empty where that is in doubt.

    `properties` are those of the capability's input.
    """
    if not isinstance(value, dict):
        return ""
    corrected = dict(value)
    for field, names in (("input", _INPUT_NAMES), ("output", _OUTPUT_NAMES)):
        given = [name for name in names if name in corrected]
        if field not in corrected and len(given) == 1:
            corrected[field] = corrected.pop(given[0])
    if "input" not in corrected and any(name in corrected for name in properties):
        inputs = {name: corrected.pop(name) for name in properties if name in corrected}
        corrected["input"] = inputs
    if "input" in corrected and not isinstance(corrected["input"], dict) and len(properties) == 1:
        corrected["input"] = {next(iter(properties)): corrected["input"]}
    if "error" in corrected and "output" not in corrected and corrected["error"]:
        corrected["error"] = "EINVAL"
    elif "output" in corrected and not corrected.get("error"):
        corrected.pop("error", None)
    ordered = {
        name: corrected[name] for name in ("input", "output", "error", "http") if name in corrected
    }
    is_whole = isinstance(ordered.get("input"), dict) and ordered.keys() & {"output", "error"}
    return _format_correction("the test", value, ordered) if is_whole else ""


def _correct_object(value: Mapping[str, Json]) -> dict[str, Json]:
    """Return an object schema, with properties where they belong and the names of its types."""
    properties = value.get("properties")
    if not isinstance(properties, dict):
        described = {name: part for name, part in value.items() if _is_description(part)}
        if "properties" in value or len(described) != len(value):
            return _correct_types(value)
        if not described:
            return dict(value)
        return _correct_object({"type": "object", "properties": described, "required": list(value)})
    corrected = {name: part for name, part in value.items() if name != "properties"}
    corrected["type"] = "object"
    required = corrected.get("required")
    names = [required] if isinstance(required, str) else required
    needed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    parts: dict[str, Json] = {}
    for name, part in properties.items():
        fields = _correct_types(part)
        if fields.pop("optional", None) is True and name in needed:
            needed.remove(name)
        if isinstance(fields.get("required"), bool) and fields.pop("required"):
            needed.append(name)
        parts[name] = fields
    corrected["properties"] = parts
    corrected["required"] = list(dict.fromkeys(needed))
    if not needed:
        del corrected["required"]
    return corrected


def _is_description(part: Json) -> bool:
    """Return whether a value describes a property: the name of a type, or a schema with one."""
    named = part.get("type") if isinstance(part, dict) else part
    return schema.name_type(named) is not None


def _correct_types(part: Json) -> dict[str, Json]:
    """Return the schema of a property with the names of its types."""
    if isinstance(part, str):
        named = schema.name_type(part)
        return {"type": named} if named else {"type": "string", "description": part}
    if not isinstance(part, dict):
        return {}
    fields = dict(part)
    kind = fields.get("type")
    if isinstance(kind, str):
        fields["type"] = schema.name_type(kind) or kind
    if isinstance(fields.get("properties"), dict):
        return _correct_object(fields)
    if "items" in fields and not isinstance(fields["items"], bool):
        fields["items"] = _correct_types(fields["items"])
    return fields


def _format_correction(field: str, value: Json, corrected: Json) -> str:
    text = orjson.dumps(corrected).decode()
    if corrected == value or len(text) > CORRECTION_CHARACTERS:
        return ""
    return f"send {field} as {text}"
