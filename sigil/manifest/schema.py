"""A capability's input: its JSON Schema checked when deployed, its defaults, coercion and
validation when called.

A schema comes from strangers and is evaluated in our own process, so it may not name other
documents or itself, its regular expressions run under a time limit, and one validation has a time
budget.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import regex
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend

from sigil.errors import UsageError, one_line
from sigil.manifest.coercion import filled
from sigil.manifest.readable_text import legible
from sigil.protocol import Json
from sigil.strict_json import canonical

SCHEMA_BYTES = 16 * 1024
SCHEMA_DEPTH = 16
EXPANDED_NODES = 4_000
VALIDATION_SECONDS = 1.0
PATTERN_SECONDS = 0.05
_REFUSED = ("unevaluatedProperties", "unevaluatedItems")
"""Keywords whose cost grows with the square of the input."""
_COMBINED = ("anyOf", "oneOf", "allOf", "not", "if", "enum", "const", "$ref")
"""What endpoints refuse at the top of a tool's parameters: one such tool would make them refuse a
whole chat.
"""
_NOTES = ("$defs", "$schema", "definitions", "default", "examples", "example")
_PROPERTY = regex.compile(r"[\p{L}\p{M}\p{N}_.-]{1,64}")
"""Of any script: `sigil.tool_parameters` tells models other names where they have to be ASCII."""
_FOREIGN = (
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
)
UNSUPPORTED = frozenset((*_FOREIGN, *_REFUSED))
"""Keywords with which a schema is refused."""

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


def check(given: Json) -> dict[str, Json]:
    """`given` as an object schema that we are ready to evaluate; `UsageError` with ESCHEMA and the
    reason otherwise.
    """
    if not isinstance(given, dict):
        raise _bad("a schema is a JSON object")
    schema: dict[str, Json] = {"type": "object", **given}
    if schema["type"] != "object":
        raise _bad('the input is an object: "type" has to be "object"')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise _bad('"properties" is an object')
    odd = next((name for name in properties if not _PROPERTY.fullmatch(name)), None)
    if odd is not None:
        raise _bad(
            f"property {one_line(odd, 60)!r}: a name has letters, digits, dot, hyphen and"
            " underscore, at most 64"
        )
    named = next(
        (
            key
            for key, part in given.items()
            if isinstance(part, dict) and key not in _KEYWORDS and key not in _NOTES
        ),
        None,
    )
    if named and not properties:
        raise _bad(f'"{one_line(named, 60)}" is no keyword: a property stands in "properties"')
    combined = next((key for key in _COMBINED if key in schema), None)
    if combined:
        raise _bad(f'"{combined}" cannot stand at the top, only inside a property')
    if len(canonical(schema)) > SCHEMA_BYTES:
        raise _bad(f"a schema has at most {SCHEMA_BYTES // 1024} KiB")
    _weigh(schema, schema, 0, (), _Counter())
    schema = legible(schema)
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as problem:
        raise _bad(
            _sentence(problem) if isinstance(problem, SchemaError) else "nested too deep"
        ) from None
    _compile_patterns(schema)
    for name, part in properties.items():
        if isinstance(part, dict) and "default" in part:
            _demand_default(schema, name, part["default"])
    return schema


def _demand_default(schema: Mapping[str, Json], name: str, default: Json) -> None:
    alone = {"$defs": schema.get("$defs", {}), "properties": {name: schema["properties"][name]}}
    problem = _first_problem(alone, {name: default})
    if problem:
        raise _bad(f"the default of {problem}")


def accept(
    schema: Mapping[str, Json], arguments: Mapping[str, Json], *, source: str = ""
) -> dict[str, Json]:
    """`arguments` with defaults filled and query-string types coerced, valid against `schema`;
    `UsageError` with EINVAL otherwise.
    """
    merged = filled(schema, arguments)
    problem = _first_problem(schema, merged)
    if problem:
        raise UsageError(
            "EINVAL", problem, source=source, suggestion="give what the schema asks for"
        )
    return merged


def _bad(why: str) -> UsageError:
    return UsageError(
        "ESCHEMA",
        f"schema refused: {why}",
        suggestion="a plain JSON Schema (2020-12) of an object, $ref only into its own $defs",
    )


class _Counter:
    """How many nodes were visited so far."""

    def __init__(self) -> None:
        self.nodes = 0

    def step(self) -> None:
        self.nodes += 1
        if self.nodes > EXPANDED_NODES:
            raise _bad(f"more than {EXPANDED_NODES} parts")


def _weigh(
    root: dict[str, Json], node: Json, depth: int, path: tuple[str, ...], counter: _Counter
) -> None:
    """Visit every node that evaluating `node` can reach, with each `$ref` written out; refuse as
    soon as there are too many.
    """
    counter.step()
    if depth > SCHEMA_DEPTH:
        raise _bad(f"nested deeper than {SCHEMA_DEPTH}")
    for child in (
        node if isinstance(node, list) else node.values() if isinstance(node, dict) else ()
    ):
        _weigh(root, child, depth + 1, path, counter)
    if isinstance(node, dict):
        foreign = next((key for key in (*_FOREIGN, *_REFUSED) if key in node), None)
        if foreign:
            raise _bad(f'"{foreign}" is not supported')
        if isinstance(node.get("$ref"), str):
            _weigh_ref(root, node["$ref"], depth, path, counter)


def _weigh_ref(
    root: dict[str, Json], ref: str, depth: int, path: tuple[str, ...], counter: _Counter
) -> None:
    name = ref.removeprefix("#/$defs/")
    target = root.get("$defs", {}).get(name) if isinstance(root.get("$defs"), dict) else None
    if name == ref or target is None:
        raise _bad(f'"$ref": {one_line(ref, 80)!r} does not lead to its own $defs')
    if name in path:
        raise _bad(f"$defs {name!r} refers to itself")
    _weigh(root, target, depth + 1, (*path, name), counter)


def _compile_patterns(node: Json) -> None:
    if isinstance(node, list):
        for child in node:
            _compile_patterns(child)
    elif isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            _pattern(node["pattern"])
        if isinstance(node.get("patternProperties"), dict):
            for pattern in node["patternProperties"]:
                _pattern(pattern)
        for child in node.values():
            _compile_patterns(child)


@lru_cache(maxsize=512)
def _pattern(text: str) -> regex.Pattern[str]:
    if len(text) > 500:
        raise _bad("a pattern has at most 500 characters")
    try:
        return regex.compile(text)
    except (regex.error, RecursionError, OverflowError, ValueError):
        raise _bad(f"{one_line(text, 80)!r} is not a regular expression") from None


def _matches(pattern: str, text: str) -> bool:
    try:
        return _pattern(pattern).search(text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        raise _Exhausted from None


class _Exhausted(Exception):
    """A validation used up its time."""


class _Budget:
    """When the validation in progress has to end; a validator carries it in its format checker's
    place.
    """

    __slots__ = ("end",)

    def __init__(self) -> None:
        self.end = time.monotonic() + VALIDATION_SECONDS

    def conforms(self, instance: object, format: str) -> bool:
        """Formats are notes for people here; nothing is refused by them."""
        return True

    def check(self, instance: object, format: str) -> None:
        """See `conforms`."""


def _timed(keyword: Keyword) -> Keyword:
    def bounded(
        validator: Any, value: Any, instance: Any, schema: Any
    ) -> Iterator[ValidationError]:
        _heed(validator)
        yield from keyword(validator, value, instance, schema) or ()

    return bounded


def _on_pattern(
    validator: Any, pattern: str, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"{_shown(instance)} does not match {one_line(pattern, 80)}")


def _on_pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for name, value in instance.items():
                _heed(validator)
                if _matches(pattern, name):
                    yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _on_additional(
    validator: Any, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for name, value in instance.items():
        _heed(validator)
        if name in schema.get("properties", {}) or any(
            _matches(pattern, name) for pattern in schema.get("patternProperties", {})
        ):
            continue
        if wanted is False:
            yield ValidationError(f"'{one_line(name, 80)}' is not expected")
        elif isinstance(wanted, dict):
            yield from validator.descend(value, wanted, path=name)


def _heed(validator: Any) -> None:
    """Leave when the validation has used up its time."""
    if time.monotonic() > validator.format_checker.end:
        raise _Exhausted


def _on_unique(
    validator: Any, unique: bool, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if (
        unique
        and isinstance(instance, list)
        and len({canonical(value) for value in instance}) < len(instance)
    ):
        yield ValidationError("has elements that are not unique")


_OWN: dict[str, Keyword] = {
    "pattern": _on_pattern,
    "patternProperties": _on_pattern_properties,
    "additionalProperties": _on_additional,
    "uniqueItems": _on_unique,
}
_KEYWORDS: Mapping[str, Any] = Draft202012Validator.VALIDATORS
_extend: Any = extend
_Validator: Any = _extend(
    Draft202012Validator,
    {name: _timed(_OWN.get(name, keyword)) for name, keyword in _KEYWORDS.items()},
)


def _first_problem(schema: Mapping[str, Json], instance: Json) -> str:
    validator = _Validator(dict(schema), format_checker=_Budget())
    try:
        error = next(validator.iter_errors(instance), None)
        return _sentence(error) if error else ""
    except (_Exhausted, RecursionError):
        return "checking the input against the schema takes too long"


def _sentence(error: SchemaError | ValidationError) -> str:
    place, words = ".".join(str(part) for part in error.absolute_path), _in_json(error)
    return one_line(f"{place}: {words}" if place else words)


def _in_json(error: SchemaError | ValidationError) -> str:
    """The library's words, with the values that Python spells written as JSON; names stay in single
    quotes.
    """
    words, given, wanted = error.message, repr(error.instance), repr(error.validator_value)
    if error.validator in _WANTED:
        before, found, after = words.rpartition(wanted)
        words = f"{before}{_shown(error.validator_value, 160)}{after}" if found else words
    if words.startswith(f"{given} ") and error.validator != "const":
        return _shown(error.instance) + words.removeprefix(given)
    return words


_WANTED = ("enum", "const", "not")


def _shown(value: Json, most: int = 80) -> str:
    return one_line(json.dumps(value, ensure_ascii=False, separators=(",", ":")), most)
