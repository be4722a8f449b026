"""Makes an input of a schema's own examples, for the run of a capability that has no tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json

NESTED_MOST = 8
_FORMATS: Mapping[str, str] = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com/",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
}
"""A text of each format that schemas ask for most."""
_TEXT = "example"


@dataclass(frozen=True, slots=True)
class ExampleInput:
    """An input, and whether each value in it is one that the schema's author gave."""

    fields: Mapping[str, Json]
    given: bool


def make_example_input(schema: Mapping[str, Json]) -> ExampleInput:
    """Return an input for `schema`: its own example, or one with the examples of its properties.

    A required property without an example, and every property where none is required or has one,
    gets a value of its type. It need not fit what else the schema asks for.
    """
    whole = _given_example(schema)
    if isinstance(whole, dict):
        return ExampleInput(whole, True)
    properties = as_mapping(schema.get("properties"))
    required = as_sequence(schema.get("required"))
    examples = {name: _given_example(as_mapping(part)) for name, part in properties.items()}
    shown = [name for name in properties if name in required or examples[name] is not None]
    fields: dict[str, Json] = {}
    for name in shown or properties:
        example = examples[name]
        if example is None:
            example = _make_value(as_mapping(properties[name]), NESTED_MOST)
        fields[name] = example
    return ExampleInput(fields, all(examples[name] is not None for name in fields))


def _given_example(schema: Mapping[str, Json]) -> Json:
    """Return the example that the schema states, None when it states none."""
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        return examples[0]
    for keyword in ("example", "default", "const"):
        if schema.get(keyword) is not None:
            return schema[keyword]
    choices = as_sequence(schema.get("enum"))
    return choices[0] if choices else None


def _make_value(schema: Mapping[str, Json], depth: int) -> Json:
    """Return a value of the schema's type, with the examples that it states inside."""
    given = _given_example(schema)
    if given is not None or depth == 0:
        return given
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    if kind in ("integer", "number"):
        least = schema.get("minimum")
        return least if isinstance(least, int | float) and least > 1 else 1
    if kind == "boolean":
        return True
    if kind == "array":
        return [_make_value(as_mapping(schema.get("items")), depth - 1)]
    if kind == "object":
        properties = as_mapping(schema.get("properties"))
        return {name: _make_value(as_mapping(part), depth - 1) for name, part in properties.items()}
    return _FORMATS.get(str(schema.get("format")), _TEXT)
