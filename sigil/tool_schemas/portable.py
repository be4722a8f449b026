"""The schema of a tool's input for the endpoints that take the fewest forms.

It satisfies each of them at once: Gemini's own field knows some twenty keywords, Kimi wants a type
everywhere, llama.cpp makes a grammar of it. What has no keyword there is said in descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json
from sigil.tool_schemas.clean import Form, clean, list_types
from sigil.tool_schemas.words import add_words, describe_keywords, list_values

REPEATS_MOST: Final = 2_000
"""From here on a bound of lengths is said in words: grammars repeat nothing so often."""
EXACT_MOST: Final = 2**53
"""A bound beyond it is said in words: not every reader of JSON keeps it exactly."""
_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object", "null")
_NOTES: Final = ("title", "description", "default")
_KEYWORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("format", "minLength", "maxLength", "enum"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "minProperties", "maxProperties"),
    "null": (),
}
"""The keywords of each type that are kept."""
_SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("pattern", "contentEncoding", "contentMediaType"),
    "number": ("exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "integer": ("exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "boolean": (),
    "array": ("uniqueItems", "contains"),
    "object": ("additionalProperties", "patternProperties", "propertyNames", "dependentRequired"),
    "null": (),
}
"""The keywords of each type that are said in words."""
_NUMBERS: Final = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("imum", "Length", "Items", "Properties")
)
_ANY: Final = ("string", "number", "boolean", "array", "object")


@dataclass(frozen=True, slots=True)
class Untellable:
    """A tool that no strict endpoint can be offered. `reason`: why, in a sentence for people."""

    reason: str


def portable(schema: Mapping[str, Json]) -> Mapping[str, Json] | Untellable:
    """Return a tool's schema in the form that every endpoint takes, whether it was cleaned before
    or not. A schema that has this form already is returned as it is.
    """
    types = list_types(schema)
    if types and "object" not in types:
        return Untellable(f"its input is {' or '.join(types)}, and a tool takes an object")
    cleaned = clean(schema)
    return {"type": "object", "properties": {}, **_narrow_type("object", cleaned)}


def _narrow(node: Mapping[str, Json]) -> Form:
    """Return a schema within an input: one type, or alternatives of one type each."""
    branches = [
        as_mapping(part) for key in ("anyOf", "oneOf") for part in as_sequence(node.get(key))
    ]
    beside = {key: value for key, value in node.items() if key not in ("anyOf", "oneOf", "allOf")}
    for part in as_sequence(node.get("allOf")):
        beside = {**as_mapping(part), **beside}
    if branches:
        # what stands beside alternatives holds in each of them
        shared = {key: value for key, value in beside.items() if key not in _NOTES}
        return _unite([_narrow({**shared, **branch}) for branch in branches], beside)
    choices = [beside["const"]] if "const" in beside else as_sequence(beside.get("enum"))
    if choices:
        return _narrow_choices(choices, beside)
    types = [kind for kind in dict.fromkeys(list_types(beside)) if kind in _TYPES]
    if "number" in types and "integer" in types:
        types.remove("integer")
    types = types or _guess_types(beside)
    if len(types) == 1:
        return _narrow_type(types[0], beside)
    shared = {key: value for key, value in beside.items() if key not in _NOTES}
    return _unite([_narrow_type(kind, shared) for kind in types], beside)


def _guess_types(node: Mapping[str, Json]) -> list[str]:
    """Return the types of a schema that names none: the one whose keywords it has, else all."""
    for kind in ("object", "array", "string", "number"):
        if not node.keys().isdisjoint((*_KEYWORDS[kind], *_SAID[kind])):
            return [kind]
    return list(_ANY)


def _copy_notes(node: Mapping[str, Json]) -> Form:
    """Return the keywords of a schema that only tell about it."""
    notes = {key: node[key] for key in _NOTES if isinstance(node.get(key), str)}
    if "default" in node:
        notes["default"] = node["default"]
    return notes


def _unite(forms: Sequence[Form], node: Mapping[str, Json]) -> Form:
    """Return the schema of these alternatives, with what `node` tells about them all."""
    different: list[Form] = []
    for form in forms:
        parts: Sequence[Json] = [form]
        if form.keys() == {"anyOf"}:
            parts = as_sequence(form["anyOf"])
        for part in parts:
            if isinstance(part, dict) and part not in different:
                different.append(part)
    notes = _copy_notes(node)
    if len(different) > 1:
        return {**notes, "anyOf": list(different)}
    (only,) = different
    united: Form = {**only, **notes}
    if "description" in only:
        add_words(united, [str(only["description"])])
    return united


def _narrow_choices(choices: Sequence[Json], node: Mapping[str, Json]) -> Form:
    """Return a schema of these values: texts are listed, others are said in words."""
    by_type: dict[str, list[Json]] = {}
    for value in choices:
        by_type.setdefault(_type_of(value), []).append(value)
    if "number" in by_type and "integer" in by_type:
        by_type["number"] += by_type.pop("integer")
    forms = []
    for kind, values in by_type.items():
        form = _narrow_type(kind, {})
        if kind == "string" and "" not in values:
            form["enum"] = values
        elif kind != "null" and not (kind == "boolean" and len(values) > 1):
            add_words(form, [list_values(values)])
        forms.append(form)
    return _unite(forms, node)


def _type_of(value: Json) -> str:
    """Return the type of a value as schemas name it."""
    if value is None:
        return "null"
    for kind, types in _PYTHON_TYPES.items():
        if isinstance(value, types):
            return kind
    return "object"


_PYTHON_TYPES: Final[Mapping[str, type]] = {
    "boolean": bool,
    "integer": int,
    "number": float,
    "string": str,
    "array": list,
}
"""The types of values, `bool` before the `int` that it is for Python."""


def _narrow_type(kind: str, node: Mapping[str, Json]) -> Form:
    """Return a schema of one type, with the keywords that every endpoint takes."""
    form: Form = {"type": kind, **_copy_notes(node)}
    said = {key: node[key] for key in _SAID[kind] if key in node}
    least = said.get("exclusiveMinimum")
    most = said.get("exclusiveMaximum")
    for key in _KEYWORDS[kind]:
        if key not in node:
            continue
        if _is_taken(key, node[key]):
            form[key] = node[key]
        else:
            said[key] = node[key]
    if kind == "integer":
        if isinstance(least, int) and "minimum" not in form and _is_taken("minimum", least):
            form["minimum"] = least + 1
            del said["exclusiveMinimum"]
        if isinstance(most, int) and "maximum" not in form and _is_taken("maximum", most):
            form["maximum"] = most - 1
            del said["exclusiveMaximum"]
    if kind == "array":
        items = node.get("items")
        form["items"] = _narrow(items) if isinstance(items, dict) else {"type": "string"}
    properties = node.get("properties")
    if kind == "object" and isinstance(properties, dict):
        form["properties"] = {name: _narrow(as_mapping(part)) for name, part in properties.items()}
    add_words(form, describe_keywords(said))
    return form


def _is_taken(key: str, value: Json) -> bool:
    """Return whether every endpoint takes a keyword with this value."""
    if key == "format":
        return value == "date-time"
    if key in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return abs(value) < (EXACT_MOST if key in ("minimum", "maximum") else REPEATS_MOST)
    return key in ("properties", "items", "required", "enum")
