"""A form made of a JSON Schema: its fields, what was typed into them, and what is wrong with it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import orjson

from sigil import strict_json
from sigil.errors import UsageError, one_line
from sigil.http.page.capability_words import CapabilityWords
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Json

Kind = Literal["text", "long", "number", "choice", "switch", "date", "time", "list", "json"]
FIELDS_MOST: Final = 60
"""A schema with more fields is typed as JSON."""
TYPED_CHARACTERS: Final = 64 << 10
LONG_CHARACTERS: Final = 500
"""A text that may be longer than this has several lines to be typed into."""
PREFIX: Final = "a-"
"""Stands before the name of an argument, which may be any, in the name of its input."""
ALL: Final = ""
"""The argument of a form that is one field of JSON."""
_LONG_NAMES: Final = re.compile(
    r"(text|body|code|content|markdown|html|csv|json|description|message|prompt|report|comment)s?"
)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form: the argument's `name`, what to type it into, and what was typed.

    `least` and `most` are bounds of a number, or of the characters of a text, as a browser takes
    them; empty for none. `schema` is that of its value.
    """

    name: str
    kind: Kind
    help: str = ""
    is_required: bool = False
    least: str = ""
    most: str = ""
    step: str = ""
    choices: tuple[str, ...] = ()
    value: str = ""
    error: str = ""
    schema: Mapping[str, Json] | None = None

    @property
    def input(self) -> str:
        """Return the name of its input."""
        return PREFIX + self.name


@dataclass(frozen=True, slots=True)
class Typed:
    """What a form came to: the arguments where `fields` have no error."""

    fields: tuple[Field, ...]
    arguments: dict[str, Json]

    @property
    def is_good(self) -> bool:
        """Return whether nothing is wrong with it."""
        return not any(field.error for field in self.fields)


def make_fields(
    schema: Mapping[str, Json], values: Mapping[str, Json] | None = None
) -> tuple[Field, ...]:
    """Return the fields of a form for an object of this schema, with these values in them."""
    properties = as_mapping(schema.get("properties"))
    if not properties and schema.get("additionalProperties") is False:
        return ()
    is_plain = not {"oneOf", "anyOf", "allOf", "$ref"} & set(schema)
    if not is_plain or not properties or len(properties) > FIELDS_MOST:
        value = "" if values is None else orjson.dumps(values).decode()
        return (Field(ALL, "json", value=value, schema=schema),)
    required = set(map(str, as_sequence(schema.get("required"))))
    fields = []
    for name, described in properties.items():
        field = _make_field(name, as_mapping(described), is_required=name in required)
        if values is not None and name in values:
            field = replace(field, value=_write(field, values[name]))
        fields.append(field)
    return tuple(fields)


def read_form(fields: Sequence[Field], form: Mapping[str, str], words: CapabilityWords) -> Typed:
    """Return what was typed into the fields, each with its error in these words."""
    read: list[Field] = []
    arguments: dict[str, Json] = {}
    for field in fields:
        typed = form.get(field.input, "")
        kept = replace(field, value=typed[:TYPED_CHARACTERS])
        if field.kind == "switch":
            kept = replace(kept, value="on" if typed else "")
            arguments[field.name] = bool(typed)
        elif not typed.strip() and field.kind != "list":
            if field.is_required:
                kept = replace(kept, error=words.field_missing)
        else:
            try:
                value = _read(field, typed, words)
            except ValueError as problem:
                kept = replace(kept, error=str(problem))
            else:
                if field.name == ALL:
                    arguments |= as_mapping(value)
                elif value != [] or field.is_required:
                    arguments[field.name] = value
        read.append(kept)
    return Typed(tuple(read), arguments)


def blame(fields: Sequence[Field], problem: str) -> tuple[Field, ...]:
    """Return the fields, with a problem beside the one that its message names first; none is
    changed where it names none.
    """
    places = {}
    for field in fields:
        found = re.search(rf"(?<![\w-]){re.escape(field.name)}(?![\w-])", problem)
        if field.name and found:
            places[found.start()] = field.name
    if not places:
        return tuple(fields)
    named = places[min(places)]
    error = one_line(problem)
    return tuple(replace(each, error=error) if each.name == named else each for each in fields)


def _make_field(name: str, schema: Mapping[str, Json], *, is_required: bool) -> Field:
    """Return the field of one property."""
    types = schema.get("type")
    named = [types] if isinstance(types, str) else [str(each) for each in as_sequence(types)]
    kinds = [each for each in named if each != "null"]
    kind = kinds[0] if len(kinds) == 1 else ""
    field = Field(name, "json", _describe(schema), is_required, schema=schema)
    if "default" in schema:
        field = replace(field, is_required=False)
    choices = as_sequence(schema.get("enum"))
    if choices and all(isinstance(each, str | int | float | bool) for each in choices):
        written = tuple(_write_choice(each) for each in choices)
        return _with_default(replace(field, kind="choice", choices=written))
    if kind in ("integer", "number"):
        least = _number(schema, "minimum", "exclusiveMinimum")
        most = _number(schema, "maximum", "exclusiveMaximum")
        step = "1" if kind == "integer" else "any"
        return _with_default(replace(field, kind="number", least=least, most=most, step=step))
    if kind == "boolean":
        return _with_default(replace(field, kind="switch", is_required=False))
    if kind == "string":
        return _with_default(_make_text(field, schema))
    if kind == "array" and as_mapping(schema.get("items")).get("type") in (
        "string",
        "integer",
        "number",
    ):
        return _with_default(replace(field, kind="list"))
    return _with_default(field)


def _make_text(field: Field, schema: Mapping[str, Json]) -> Field:
    written = {"date": "date", "date-time": "time"}.get(str(schema.get("format")))
    if written == "date":
        return replace(field, kind="date")
    least = _number(schema, "minLength")
    most = _number(schema, "maxLength")
    may_be_long = not most.isdecimal() or int(most) > LONG_CHARACTERS
    is_named = most == "" and _LONG_NAMES.fullmatch(field.name) is not None
    is_long = may_be_long and (is_named or (most != "" and "pattern" not in schema))
    return replace(field, kind="long" if is_long else "text", least=least, most=most)


def _with_default(field: Field) -> Field:
    schema = field.schema or {}
    return replace(field, value=_write(field, schema["default"])) if "default" in schema else field


def _describe(schema: Mapping[str, Json]) -> str:
    text = schema.get("description")
    return one_line(text, 400) if isinstance(text, str) else ""


def _number(schema: Mapping[str, Json], *names: str) -> str:
    for name in names:
        value = schema.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            is_whole = isinstance(value, int) or (value.is_integer() and abs(value) < 2**53)
            return str(int(value)) if is_whole else repr(value)
    return ""


def _write_choice(value: Json) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _write(field: Field, value: Json) -> str:
    """Return a value as it stands in its field."""
    if value is None:
        return ""
    if field.kind == "switch":
        return "on" if value else ""
    if field.kind == "list" and isinstance(value, list):
        return "\n".join(_write_choice(each) for each in value)
    return _write_choice(value)


def _read(field: Field, typed: str, words: CapabilityWords) -> Json:
    """Return the value that was typed; `ValueError` with a sentence for people."""
    if field.kind in ("text", "long", "date", "time"):
        text = typed.replace("\r\n", "\n")
        if field.kind != "long":
            text = text.strip()
        _require_length(field, text, words)
        return text
    if field.kind == "choice":
        return _read_choice(field, typed, words)
    if field.kind == "number":
        return _read_number(field, typed.strip(), words)
    if field.kind == "list":
        lines = [line.strip() for line in typed.splitlines() if line.strip()]
        items = as_mapping((field.schema or {}).get("items"))
        if items.get("type") == "string":
            return list(lines)
        item = replace(field, schema=items, step="1" if items.get("type") == "integer" else "any")
        return [_read_number(item, line, words) for line in lines]
    return _read_json(field, typed, words)


def _require_length(field: Field, text: str, words: CapabilityWords) -> None:
    if field.most.isdecimal() and len(text) > int(field.most):
        raise ValueError(words.field_long.format(most=field.most, count=len(text)))
    if field.least.isdecimal() and len(text) < int(field.least):
        raise ValueError(words.field_short.format(least=field.least))


def _read_choice(field: Field, typed: str, words: CapabilityWords) -> Json:
    for choice in as_sequence((field.schema or {}).get("enum")):
        if _write_choice(choice) == typed:
            return choice
    raise ValueError(words.field_choice.format(choices=one_line(", ".join(field.choices), 200)))


def _read_number(field: Field, typed: str, words: CapabilityWords) -> Json:
    is_whole = field.step == "1"
    sentence = words.field_whole if is_whole else words.field_number
    if not re.fullmatch(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", typed, re.ASCII):
        raise ValueError(sentence)
    value = float(typed)
    if not math.isfinite(value) or (is_whole and not value.is_integer()):
        raise ValueError(sentence)
    if field.least and value < float(field.least):
        raise ValueError(words.field_least.format(least=field.least))
    if field.most and value > float(field.most):
        raise ValueError(words.field_most.format(most=field.most))
    if "." not in typed and "e" not in typed.lower():
        return int(typed)
    return int(value) if is_whole else value


def _read_json(field: Field, typed: str, words: CapabilityWords) -> Json:
    try:
        value = strict_json.loads(typed.encode())
    except UsageError as problem:
        raise ValueError(f"{words.field_json} {problem.message}") from None
    except UnicodeError:
        raise ValueError(words.field_json) from None
    if field.name == ALL and not isinstance(value, dict):
        raise ValueError(words.field_object)
    return value
