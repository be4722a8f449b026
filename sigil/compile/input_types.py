"""Writes the TypeScript types of a capability's input and output, for editors, from its schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_sequence
from sigil.manifest.model import Manifest
from sigil.protocol import Json

FILE = "input.d.ts"
COMMENT_CHARACTERS = 300
_MARK = "// Types of the schemas in sigil.toml: edit those, and `sigil types` writes this anew.\n"
_BODY = """
// What the body of the function in main.js finds.
declare const input: Input;
declare const env: Env;
"""
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_PLAIN = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}
_ANYTHING = "Json"


def write_types(manifest: Manifest) -> str:
    """Return the declarations of `Input` and, where the manifest has a schema of it, `Output`."""
    parts = [_MARK, _declare("Input", manifest.input)]
    if manifest.output:
        parts.append(f"\n{_declare('Output', manifest.output)}")
    if manifest.lang == "js":
        parts.append(_BODY)
    return "".join(parts)


def is_written_by_us(text: bytes) -> bool:
    """Return whether a file is one that `write_types` made, and no person's own."""
    return text.startswith(_MARK.encode())


def _declare(name: str, schema: Mapping[str, Json]) -> str:
    """Return the declaration of a type and of those that its schema defines."""
    writer = _TypeWriter(name, as_mapping(schema.get("$defs")))
    body = writer.type_of(schema, 0)
    is_object = body.startswith("{") and body.endswith("}") and not _joins_types(schema)
    lines = [f"interface {name} {body}\n" if is_object else f"type {name} = {body};\n"]
    for part in writer.definitions:
        text = writer.type_of(writer.definitions[part], 0)
        lines.append(f"type {writer.names[part]} = {text};\n")
    return "".join(lines)


def _joins_types(schema: Mapping[str, Json]) -> bool:
    return not schema.keys().isdisjoint({"anyOf", "oneOf", "allOf", "$ref", "enum", "const"})


@dataclass(slots=True)
class _TypeWriter:
    """Writes types; `definitions` are the `$defs`, each a type of its own name."""

    prefix: str
    definitions: Mapping[str, Json]
    names: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {}
        for part in self.definitions:
            words = re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") or "Part"
            name = f"{self.prefix}_{words}"
            while name in self.names.values():
                name += "_"
            self.names[part] = name

    def type_of(self, schema: Json, depth: int) -> str:
        """Return the type of the values that a schema allows; wider where TypeScript has none."""
        if schema is False:
            return "never"
        parts = as_mapping(schema)
        if not parts:
            return _ANYTHING
        return self._write_type(parts, depth)

    def _write_type(self, schema: Mapping[str, Json], depth: int) -> str:
        ref = schema.get("$ref")
        if isinstance(ref, str):
            return self.names.get(ref.removeprefix("#/$defs/"), _ANYTHING)
        if "const" in schema:
            return _literal(schema["const"])
        values = as_sequence(schema.get("enum"))
        if values:
            return _join(" | ", [_literal(value) for value in values])
        for keyword in ("anyOf", "oneOf"):
            choices = as_sequence(schema.get(keyword))
            if choices:
                return _join(" | ", [self.type_of(each, depth + 1) for each in choices])
        every = as_sequence(schema.get("allOf"))
        own = {name: value for name, value in schema.items() if name != "allOf"}
        if every:
            types = [self.type_of(each, depth + 1) for each in every]
            if "properties" in own:
                types.insert(0, self._write_type(own, depth))
            return _join(" & ", types)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            types = [self.type_of({**schema, "type": kind}, depth + 1) for kind in kinds]
            return _join(" | ", types)
        if kinds == "array":
            return self._write_array(schema, depth)
        if kinds == "object" or (kinds is None and "properties" in schema):
            return self._write_object(schema, depth)
        return _PLAIN.get(kinds, _ANYTHING) if isinstance(kinds, str) else _ANYTHING

    def _write_array(self, schema: Mapping[str, Json], depth: int) -> str:
        items = self.type_of(schema.get("items", {}), depth + 1)
        first = as_sequence(schema.get("prefixItems"))
        if first:
            types = [self.type_of(each, depth + 1) for each in first]
            rest = [] if schema.get("items") is False else [f"...{_group(items)}[]"]
            return f"[{', '.join([*types, *rest])}]"
        return f"{_group(items)}[]"

    def _write_object(self, schema: Mapping[str, Json], depth: int) -> str:
        properties = as_mapping(schema.get("properties"))
        required = as_sequence(schema.get("required"))
        others = schema.get("additionalProperties", True)
        if not properties:
            each = self.type_of(others, depth + 1)
            return "{}" if others is False else f"{{ [name: string]: {each} }}"
        indent = "  " * (depth + 1)
        lines = []
        for name, part in properties.items():
            described = as_mapping(part)
            comment = described.get("description")
            if isinstance(comment, str) and comment.strip():
                text = one_line(comment, COMMENT_CHARACTERS).replace("*/", "* /")
                lines.append(f"{indent}/** {text} */\n")
            # defaults are filled in before the code runs
            is_there = name in required or "default" in described
            label = name if _IDENTIFIER.fullmatch(name) else json.dumps(name, ensure_ascii=False)
            mark = "" if is_there else "?"
            lines.append(f"{indent}{label}{mark}: {self.type_of(part, depth + 1)};\n")
        if isinstance(others, dict) and others:
            lines.append(f"{indent}[name: string]: any;\n")
        return f"{{\n{''.join(lines)}{'  ' * depth}}}"


def _literal(value: Json) -> str:
    if value is None or isinstance(value, str | bool | int | float):
        return json.dumps(value, ensure_ascii=False)
    return _ANYTHING


def _join(operator: str, types: list[str]) -> str:
    """Return types joined by an operator, each once."""
    return operator.join(_group(each) for each in dict.fromkeys(types)) or "never"


def _group(text: str) -> str:
    """Return a type in brackets where an operator outside of its own brackets needs them."""
    depth = 0
    quoted = False
    for before, each in zip(" " + text, text, strict=False):
        if each == '"' and before != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif each in "{[(":
            depth += 1
        elif each in "}])":
            depth -= 1
        elif each in "|&" and not depth:
            return f"({text})"
    return text
