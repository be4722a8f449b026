"""Checks the JSON Schema of a capability's input when it is deployed, and values against it.

A schema comes from strangers and is evaluated in our own process, so it may not name other
documents, nor itself without going deeper into the value, its regular expressions run under a time
limit, one validation has a time budget, and no text in it may hide or turn around what people and
models read.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import regex
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend

from sigil.errors import UsageError, one_line
from sigil.json_fields import as_mapping
from sigil.manifest.checked_schemas import is_checked
from sigil.protocol import Json
from sigil.strict_json import canonical

SCHEMA_BYTES = 16 * 1024
SCHEMA_DEPTH = 16
EXPANDED_NODES = 4_000
VALIDATION_SECONDS = 1.0
PATTERN_SECONDS = 0.05
TOO_SLOW = "checking the input against the schema takes too long"
"""The problem of a value whose check was ended."""
PATTERN_STEPS = 2_000
SCHEMA_PATTERN_STEPS = 20_000
STEPS_MOST = 10**9
PATTERN_CHARACTERS = 500
_PATTERN_PART = regex.compile(
    r"\\[pPN]\{[^}]*\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\s*(?P<least>[0-9]+)[^}]*\}|.",
    regex.DOTALL,
)
"""The parts of a regular expression: an escape, a class, how often something is repeated, or one
character.
"""
_PROPERTY_NAME = regex.compile(r"[\p{L}\p{M}\p{N}_.$@/:[\]-]{1,64}")
"""A property's name may be of any script: `sigil.tool_schemas` gives models other names where
they have to be ASCII.
"""
_REFUSED_AT_TOP = ("enum", "const", "$ref")
"""Keywords that make no sense at the top of an input, which has properties."""
_SAME_VALUE = frozenset(
    ("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "dependentSchemas", "$ref")
)
"""Keywords whose schemas are for the value itself: a schema that refers to itself by these alone
has no end. By others it refers to itself for a part of the value, and ends with that.
"""
_FOREIGN = (
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
    "$vocabulary",
)
_QUADRATIC = ("unevaluatedProperties", "unevaluatedItems")
"""Keywords whose cost grows with the square of the input."""
UNSUPPORTED = frozenset((*_FOREIGN, *_QUADRATIC))
"""Keywords for which a schema is refused."""
_NO_EVALUATION = ("$defs", "$schema", "definitions", "default", "examples", "example")
"""Keywords that no validator evaluates, and that may hold an object at the top of a schema."""

NOTES = ("description", "title", "$comment")
"""Keywords whose text decides nothing: it is cleaned, not refused. Its line breaks stay."""
_VALUES = ("default", "examples", "example", "enum", "const")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose keys are names that the author chose, not keywords."""
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e0fff]"
)
"""Characters that nobody sees or that turn text around. Line breaks, and characters that join or
separate letters, are not among them: a value may well have those.
"""

_TYPES: Mapping[str, str] = {
    **{name: name for name in ("string", "number", "integer", "boolean", "array", "object")},
    **dict.fromkeys(("str", "text"), "string"),
    **dict.fromkeys(("int", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    "bool": "boolean",
    **dict.fromkeys(("list", "tuple"), "array"),
    **dict.fromkeys(("dict", "map", "json"), "object"),
}
"""The types, and what other languages call them."""

Keyword = Callable[[Any, Any, object, Mapping[str, object]], Iterator[ValidationError] | None]
"""A keyword's check: the library's validator, the keyword's value, the instance, and the schema."""


# -- checks when a capability is deployed

_NO_FORMATS = FormatChecker(())


def check(value: Json) -> dict[str, Json]:
    """Return `value` as an object schema that is safe to evaluate.

    `UsageError` ESCHEMA names the reason when it is not.
    """
    if not isinstance(value, dict):
        raise _refusal("a schema is a JSON object")
    from sigil.manifest.older_drafts import modernize  # calls need it not

    schema: dict[str, Json] = {"type": "object", **modernize(value)}
    # models' endpoints take the top of it as a tool's parameters
    if schema["type"] != "object":
        raise _refusal('the input is an object: "type" has to be "object"')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise _refusal('"properties" is an object')
    for name in properties:
        if not _PROPERTY_NAME.fullmatch(name):
            raise _refusal(
                f"property {one_line(name, 60)!r}: a name has letters, digits and any of _.-$@/:[],"
                " at most 64 characters"
            )
    if not properties:
        for key, part in schema.items():
            is_property = isinstance(part, dict) or name_type(part) is not None
            if is_property and key not in _KEYWORDS and key not in _NO_EVALUATION:
                raise _refusal(
                    f'"{one_line(key, 60)}" is not a keyword: properties go into "properties"'
                )
    for key in _REFUSED_AT_TOP:
        if key in schema:
            raise _refusal(f'"{key}" is not allowed at the top: put it into "properties"')
    body = canonical(schema)
    if len(body) > SCHEMA_BYTES:
        raise _refusal(f"a schema has at most {SCHEMA_BYTES // 1024} KiB")
    _ExpandedSize(schema).add(schema, _Way())
    schema = clean_texts(schema)
    try:
        if not is_checked(body):
            # its format "regex" is Python's own; `_compile_patterns` knows more of them
            Draft202012Validator.check_schema(schema, format_checker=_NO_FORMATS)
    except SchemaError as problem:
        raise _refusal(_describe_error(problem)) from None
    except RecursionError:
        raise _refusal("nested too deep") from None
    _compile_patterns(schema)
    for name, part in properties.items():
        if isinstance(part, dict) and "default" in part:
            alone = {"$defs": schema.get("$defs", {}), "properties": {name: part}}
            problem_of_default = find_problem(alone, {name: part["default"]})
            if problem_of_default:
                raise _refusal(f"the default of {problem_of_default}")
    return schema


def name_type(value: Json) -> str | None:
    """Return the type that a text names, in whatever language; None when it names none."""
    return _TYPES.get(value.strip().casefold()) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class _Way:
    """The way to a part of a schema: its `keys`, the definitions that were `entered`, and those of
    them that are for the `same` value.
    """

    keys: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    entered: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        """Return the beginning of a message about the part."""
        return f"{one_line('.'.join(self.keys), 120)}: " if self.keys else ""


class _ExpandedSize:
    """Counts the nodes that evaluating a schema can reach, with each `$ref` written out, one that
    leads back to where it stands once; it refuses as soon as there are too many.
    """

    def __init__(self, root: dict[str, Json]) -> None:
        definitions = root.get("$defs")
        self._definitions = definitions if isinstance(definitions, dict) else {}
        self._nodes = 0

    def add(self, node: Json, way: _Way) -> None:
        """Count `node`, to which `way` leads, and what lies below it."""
        self._nodes += 1
        if self._nodes > EXPANDED_NODES:
            raise _refusal(f"more than {EXPANDED_NODES} parts")
        if len(way.keys) > SCHEMA_DEPTH:
            raise _refusal(f"nested deeper than {SCHEMA_DEPTH}")
        if isinstance(node, list):
            for number, child in enumerate(node):
                self.add(child, replace(way, keys=(*way.keys, str(number))))
        elif isinstance(node, dict):
            for key, child in node.items():
                same = way.same if key in _SAME_VALUE else ()
                self.add(child, replace(way, keys=(*way.keys, key), same=same))
            for key in (*_FOREIGN, *_QUADRATIC):
                if key in node:
                    raise _refusal(f'{way.place}"{key}" is not supported, leave it out')
            if isinstance(node.get("$ref"), str):
                self._follow(node["$ref"], way)

    def _follow(self, reference: str, way: _Way) -> None:
        """Count the definition that a reference leads to, unless it is being counted."""
        # A JSON pointer in a fragment: validators read %20 as a space, ~1 as a slash, ~0 as a
        # tilde.
        pointer = unquote(reference.removeprefix("#/$defs/"))
        name = pointer.replace("~1", "/").replace("~0", "~")
        is_own = reference.startswith("#/$defs/") and "/" not in pointer
        if not is_own or name not in self._definitions:
            shown = one_line(reference, 80)
            raise _refusal(
                f'{way.place}"$ref": {shown!r} does not lead to its own $defs: put there what it'
                " means"
            )
        if name in way.same:
            raise _refusal(f"{way.place}$defs {name!r} refers to itself without going deeper")
        if name not in way.entered:
            entered = way.entered | {name}
            keys = (*way.keys, "$ref")
            self.add(self._definitions[name], _Way(keys, (*way.same, name), entered))


def _compile_patterns(node: Json) -> None:
    """Compile every pattern in a schema; refuse those that take much memory."""
    steps = 0
    for pattern in _list_patterns(node):
        own = count_pattern_steps(pattern)
        steps += own
        if own > PATTERN_STEPS:
            raise _refusal(
                f"{one_line(pattern, 80)!r} repeats too much: written out, a pattern has at most"
                f" {PATTERN_STEPS:,} characters"
            )
        if steps > SCHEMA_PATTERN_STEPS:
            raise _refusal(
                "its patterns repeat too much: written out, they have more than"
                f" {SCHEMA_PATTERN_STEPS:,} characters together"
            )
        _compile_pattern(pattern)


def _list_patterns(node: Json) -> Iterator[str]:
    if isinstance(node, list):
        for child in node:
            yield from _list_patterns(child)
    elif isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            yield node["pattern"]
        if isinstance(node.get("patternProperties"), dict):
            yield from node["patternProperties"]
        for child in node.values():
            yield from _list_patterns(child)


def count_pattern_steps(pattern: str) -> int:
    """Return about how many characters a pattern has when its fixed repeats are written out.

    The engine does write them out, a quarter of a KiB each: `(a{1000}){1000}` takes 260 MiB.
    """
    groups = [0]
    last = 0
    for found in _PATTERN_PART.finditer(pattern):
        if found[0] == "(":
            groups.append(0)
            last = 0
        elif found[0] == ")" and len(groups) > 1:
            last = max(groups.pop(), 1)
            groups[-1] += last
        elif found["least"]:
            more = last * (min(int(found["least"][:8]), STEPS_MOST) - 1)
            groups[-1] = min(groups[-1] + max(more, 0), STEPS_MOST)
            last = min(last + max(more, 0), STEPS_MOST)
        else:
            last = 1
            groups[-1] += 1
    return sum(groups)


@lru_cache(maxsize=512)
def _compile_pattern(text: str) -> regex.Pattern[str]:
    if len(text) > PATTERN_CHARACTERS:
        raise _refusal(f"a pattern has at most {PATTERN_CHARACTERS} characters")
    try:
        return regex.compile(text)
    except (regex.error, RecursionError, OverflowError, ValueError):
        raise _refusal(f"{one_line(text, 80)!r} is not a regular expression") from None


def _refusal(why: str) -> UsageError:
    return UsageError(
        "ESCHEMA",
        f"schema refused: {why}",
        suggestion="a plain JSON Schema (2020-12) of an object, $ref only into the schema itself",
    )


# -- the texts in a schema


def clean_texts(schema: Mapping[str, Json]) -> dict[str, Json]:
    """Return a schema with clean notes.

    `UsageError` ESCHEMA when something else in it would deceive a reader. It must not be
    nested deep.
    """
    cleaned: dict[str, Json] = {}
    for key, part in schema.items():
        _require_readable_key(key)
        if key in NOTES and isinstance(part, str):
            cleaned[key] = _HIDDEN.sub(" ", part)
        elif key in _MAPS and isinstance(part, dict):
            nodes = part.items()
            cleaned[key] = {_require_readable_key(name): _clean_node(node) for name, node in nodes}
        elif key in _VALUES:
            _require_readable_value(part)
            cleaned[key] = part
        else:
            cleaned[key] = _clean_node(part)
    return cleaned


def _clean_node(node: Json) -> Json:
    if isinstance(node, dict):
        return clean_texts(node)
    if isinstance(node, list):
        return [_clean_node(part) for part in node]
    _require_readable_value(node)
    return node


def _require_readable_value(value: Json) -> None:
    """Refuse hidden characters in a value, which has to stay as it is."""
    if isinstance(value, str) and _HIDDEN.search(value):
        raise _hidden_characters(value)
    if isinstance(value, dict):
        for key, part in value.items():
            _require_readable_key(key)
            _require_readable_value(part)
    elif isinstance(value, list):
        for part in value:
            _require_readable_value(part)


def _require_readable_key(key: str) -> str:
    if _HIDDEN.search(key) or key.splitlines() not in ([], [key]):
        raise _hidden_characters(key)
    return key


def _hidden_characters(text: str) -> UsageError:
    return UsageError(
        "ESCHEMA",
        f"schema refused: {one_line(text, 40)!r} holds characters that nobody sees, or that turn a"
        " text around",
        suggestion="leave them out; a pattern may write them as \\u202e",
    )


# -- evaluation within a time budget


class _OutOfTime(Exception):
    """A validation used up its time."""


class _TimeLimit:
    """The processor's time that the validation in progress may use. A validator carries it in the
    place of its format checker.

    The time in which the machine did something else is not counted. It costs a system call to know,
    so it is looked at only when the limit would be over without it.
    """

    __slots__ = ("_cpu_end", "_end")

    def __init__(self) -> None:
        self._end = time.monotonic() + VALIDATION_SECONDS
        self._cpu_end = time.thread_time() + VALIDATION_SECONDS

    def require_time(self) -> None:
        """End the validation when it has used up its time."""
        now = time.monotonic()
        if now <= self._end:
            return
        left = self._cpu_end - time.thread_time()
        if left <= 0:
            raise _OutOfTime
        self._end = now + left

    def conforms(self, instance: object, format: str) -> bool:
        """Accept every value: formats are notes for people, and refuse nothing."""
        return True

    def check(self, instance: object, format: str) -> None:
        """Accept every value, as `conforms` does."""


def find_problem(schema: Mapping[str, Json], instance: Json) -> str:
    """Return what is wrong with a value, empty when it is valid against the schema."""
    validator = _Validator(dict(schema), format_checker=_TimeLimit())
    try:
        error = next(validator.iter_errors(instance), None)
    except (_OutOfTime, RecursionError):
        return TOO_SLOW
    return _describe_error(error) if error else ""


def _with_time_limit(keyword: Keyword) -> Keyword:
    """Return the keyword's check with a look at the clock before each evaluation."""

    def check_in_time(
        validator: Any, value: object, instance: object, schema: Mapping[str, object]
    ) -> Iterator[ValidationError]:
        validator.format_checker.require_time()
        yield from keyword(validator, value, instance, schema) or ()

    return check_in_time


def _matches(pattern: str, text: str) -> bool:
    try:
        return _compile_pattern(pattern).search(text, timeout=PATTERN_SECONDS) is not None
    except TimeoutError:
        raise _OutOfTime from None


def _validate_pattern(
    validator: Any, pattern: str, instance: object, schema: Mapping[str, object]
) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"{_as_json(instance)} does not match {one_line(pattern, 80)}")


def _validate_pattern_properties(
    validator: Any,
    patterns: Mapping[str, object],
    instance: object,
    schema: Mapping[str, object],
) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for pattern, subschema in patterns.items():
            for name, value in instance.items():
                validator.format_checker.require_time()
                if _matches(pattern, name):
                    yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _validate_additional_properties(
    validator: Any, additional: object, instance: object, schema: Mapping[str, object]
) -> Iterator[ValidationError]:
    if not isinstance(instance, dict):
        return
    for name, value in instance.items():
        validator.format_checker.require_time()
        if name in as_mapping(schema.get("properties")):
            continue
        patterns = as_mapping(schema.get("patternProperties"))
        if any(_matches(pattern, name) for pattern in patterns):
            continue
        if additional is False:
            yield ValidationError(f"'{one_line(name, 80)}' is not expected")
        elif isinstance(additional, dict):
            yield from validator.descend(value, additional, path=name)


def _validate_unique_items(
    validator: Any, unique: bool, instance: object, schema: Mapping[str, object]
) -> Iterator[ValidationError]:
    if not unique or not isinstance(instance, list):
        return
    # The library compares each element with each other.
    if len({canonical(value) for value in instance}) < len(instance):
        yield ValidationError("has elements that are not unique")


_OWN_KEYWORDS: dict[str, Keyword] = {
    "pattern": _validate_pattern,
    "patternProperties": _validate_pattern_properties,
    "additionalProperties": _validate_additional_properties,
    "uniqueItems": _validate_unique_items,
}
_KEYWORDS: Mapping[str, Keyword] = Draft202012Validator.VALIDATORS
_extend: Any = extend
_Validator: Any = _extend(
    Draft202012Validator,
    {
        name: _with_time_limit(_OWN_KEYWORDS.get(name, keyword))
        for name, keyword in _KEYWORDS.items()
    },
)


# -- messages

_WITH_EXPECTED_VALUE = ("enum", "const", "not")


def _describe_error(error: SchemaError | ValidationError) -> str:
    """Return one line: the place, and the library's message with the values in it written as JSON;
    names stay in single quotes.
    """
    message = error.message
    if error.validator in _WITH_EXPECTED_VALUE:
        before, found, after = message.rpartition(repr(error.validator_value))
        if found:
            message = f"{before}{_as_json(error.validator_value, 160)}{after}"
    instance = repr(error.instance)
    if message.startswith(f"{instance} ") and error.validator != "const":
        message = _as_json(error.instance) + message.removeprefix(instance)
    place = ".".join(str(part) for part in error.absolute_path)
    return one_line(f"{place}: {message}" if place else message)


def _as_json(value: Json, most: int = 80) -> str:
    return one_line(json.dumps(value, ensure_ascii=False, separators=(",", ":")), most)
