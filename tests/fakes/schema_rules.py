"""What the endpoints of models refuse in a tool's name and the JSON Schema of its input, each in its
own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
Problems = Iterator[str]
"""The problems that an endpoint finds, in the order in which it looks for them."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NAME_WITH_LETTER_FIRST = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_UNIONS = ("oneOf", "anyOf", "allOf")
_MAPS = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_LISTS = (*_UNIONS, "prefixItems", "items")
_SINGLE = (
    "items",
    "additionalItems",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
)
_GEMINI_FIELDS = frozenset(
    "type format title description nullable enum items properties required anyOf minItems maxItems"
    " minLength maxLength pattern minimum maximum minProperties maxProperties propertyOrdering"
    " default example".split()
)
"""The fields of the message `Schema`; `additionalProperties`, `$ref`, `const` are none of them."""
_UNSUPPORTED_PATTERN = re.compile(r"\(\?[=!<]|\\[pPbB]")
_GRAMMAR_REPEATS = 2000
"""The grammar of llama.cpp repeats nothing so often."""


def list_parts(
    schema: Schema, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Yield every schema within a schema, itself first, with its path."""
    yield path, schema
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, Mapping):
            for name, part in value.items():
                if isinstance(part, Mapping):
                    yield from list_parts(part, (*path, key, name))
        elif key in _LISTS and isinstance(value, list):
            for place, part in enumerate(value):
                if isinstance(part, Mapping):
                    yield from list_parts(part, (*path, key, str(place)))
        elif key in _SINGLE and isinstance(value, Mapping):
            yield from list_parts(value, (*path, key))


def _types_of(part: Schema) -> list[str]:
    types = part.get("type")
    if isinstance(types, list):
        return types
    return [types] if isinstance(types, str) else []


def _find_openai_problems(name: str, schema: Schema) -> Problems:
    head = f"Invalid schema for function '{name}': "
    if schema.get("type") != "object":
        found = schema.get("type")
        yield f"{head}schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{found}\"'."
    if {*_UNIONS, "enum", "const", "not"} & schema.keys():
        yield (
            f"{head}schema must have type 'object' and not have"
            " 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level."
        )
    if not isinstance(schema.get("properties"), Mapping):
        yield f"{head}In context=(), object schema missing properties."
    for path, part in list_parts(schema):
        if "array" in _types_of(part) and "items" not in part:
            yield f"{head}In context={path}, array schema missing items."


def _find_gemini_problems(name: str, schema: Schema) -> Problems:
    """Yield what the OpenAI-compatible address of Gemini refuses."""
    for path, part in list_parts(schema):
        where = _gemini_path(path)
        for key in ("$ref", "$defs"):
            if key in part:
                yield _unknown_gemini_field(key, where)
        undefined = set(part.get("required") or ()) - set(part.get("properties") or {})
        if undefined:
            yield f"* GenerateContentRequest.{where}.required[0]: property is not defined"
        if "array" in _types_of(part) and "items" not in part:
            yield f"* GenerateContentRequest.{where}.items: missing field."


def _find_native_gemini_problems(name: str, schema: Schema) -> Problems:
    """Yield what Gemini's own field refuses, which proxies hand the schema on to."""
    for path, part in list_parts(schema):
        where = _gemini_path(path)
        for key in part:
            if key not in _GEMINI_FIELDS:
                yield _unknown_gemini_field(key, where)
        if isinstance(part.get("type"), list):
            yield (
                f"Invalid value at '{where}.type', Proto field is not repeating, cannot start list."
            )
        if "enum" in part and part.get("type") != "string":
            yield f"* GenerateContentRequest.{where}.enum: only allowed for STRING type"
        for place, choice in enumerate(part.get("enum") or ()):
            if not isinstance(choice, str):
                yield f"Invalid value at '{where}.enum[{place}]' (TYPE_STRING), {choice}"
    yield from _find_gemini_problems(name, schema)


def _gemini_path(path: tuple[str, ...]) -> str:
    return ".".join(("tools[0].function_declarations[0].parameters", *path))


def _unknown_gemini_field(key: str, where: str) -> str:
    return f"Invalid JSON payload received. Unknown name \"{key}\" at '{where}': Cannot find field."


def _find_kimi_problems(name: str, schema: Schema) -> Problems:
    if schema.get("type") != "object":
        yield 'tools.function.parameters.type is required and must be "object"'
    for path, part in list_parts(schema):
        where = ".".join(path) or "root"
        head = (
            "tools.function.parameters is not a valid moonshot flavored json schema, details:"
            f" <At path '{where}': "
        )
        reference = part.get("$ref")
        if reference is not None and not str(reference).startswith("#/$defs/"):
            yield f"{head}$ref must start with '#/$defs/'>"
        if reference is not None and len(part) > 1:
            yield (
                f"{head}when using $ref, type should be defined in the referenced schema instead"
                " of the parent schema>"
            )
        if "type" in part and {"anyOf", "oneOf"} & part.keys():
            yield (
                f"{head}when using anyOf, type should be defined in anyOf items instead of the"
                " parent schema>"
            )
        if not {"type", "anyOf", "oneOf", "$ref"} & part.keys():
            yield f"{head}type is not defined>"
        if isinstance(part.get("items"), list):
            yield f"{head}items must be an object, use prefixItems instead>"


def _find_anthropic_problems(name: str, schema: Schema) -> Problems:
    if set(_UNIONS) & schema.keys():
        yield (
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at"
            " the top level"
        )
    for key in schema.get("properties") or {}:
        if not _PROPERTY_NAME.fullmatch(key):
            yield (
                "tools.0.custom.input_schema.properties: Property keys should match pattern"
                " '^[a-zA-Z0-9_.-]{1,64}$'"
            )
    for _, part in list_parts(schema):
        bounds = (part.get("exclusiveMinimum"), part.get("exclusiveMaximum"))
        is_older = any(isinstance(bound, bool) for bound in bounds)
        if is_older or isinstance(part.get("items"), list):
            yield (
                "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema"
                " draft 2020-12"
            )


def _find_llamacpp_problems(name: str, schema: Schema) -> Problems:
    yield from _find_grammar_problems(schema, ("minLength", "minItems"))


def _find_older_llamacpp_problems(name: str, schema: Schema) -> Problems:
    """Yield what llama.cpp refused before August 2026."""
    yield from _find_grammar_problems(schema, ("minLength", "minItems", "maxLength", "maxItems"))


def _find_grammar_problems(schema: Schema, bounds: tuple[str, ...]) -> Problems:
    head = (
        "Unable to generate parser for this template. Automatic parser generation failed: JSON"
        " schema conversion failed:\n"
    )
    for _, part in list_parts(schema):
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            if not (pattern.startswith("^") and pattern.endswith("$")):
                yield f"{head}Pattern must start with '^' and end with '$'"
            if _UNSUPPORTED_PATTERN.search(pattern):
                yield f"{head}Unsupported pattern syntax"
        for key in bounds:
            bound = part.get(key)
            if isinstance(bound, int) and bound >= _GRAMMAR_REPEATS:
                yield "Failed to initialize samplers: failed to parse grammar"


def _find_minimax_problems(name: str, schema: Schema) -> Problems:
    if not schema:
        yield "invalid params, function parameters is empty (2013)"


_FINDERS: Mapping[str, Callable[[str, Schema], Problems]] = {
    "openai": _find_openai_problems,
    "azure": _find_openai_problems,
    "gemini": _find_gemini_problems,
    "gemini_native": _find_native_gemini_problems,
    "kimi": _find_kimi_problems,
    "anthropic": _find_anthropic_problems,
    "llamacpp": _find_llamacpp_problems,
    "llamacpp_old": _find_older_llamacpp_problems,
    "minimax": _find_minimax_problems,
}
DIALECTS = tuple(_FINDERS)
"""The names of the dialects that have rules of their own."""


def refusal_of(dialect: str, name: str, schema: Schema) -> str | None:
    """Return the words in which an endpoint of `dialect` refuses a tool of this name and schema;
    None when it takes it. `KeyError` for a dialect without rules.
    """
    is_strict = dialect in ("gemini", "gemini_native", "kimi")
    pattern = _NAME_WITH_LETTER_FIRST if is_strict else _NAME
    if not pattern.fullmatch(name):
        return (
            "Invalid 'tools[0].function.name': string does not match pattern. Expected a string"
            f" that matches the pattern '^{pattern.pattern}$'."
        )
    return next(_FINDERS[dialect](name, schema), None)
