"""Writes the messages about a manifest: they name the field that is wrong, its line, and the name
that was probably meant.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping

from pydantic import ValidationError

from sigil.errors import UsageError, one_line
from sigil.protocol import NAME_LIMIT, TOOL_PREFIX, is_name

FEW = 10
"""All fields are listed in a suggestion when there are at most so many."""
Where = tuple[str | int, ...]
"""The place of a field: names from the outside in, and the numbers of items in lists, from 0."""

_MESSAGES = {
    "missing": "is missing",
    "extra_forbidden": "no such field",
    "tuple_type": "has to be a list",
    "string_type": "has to be a string",
    "bool_type": "has to be true or false",
    "int_type": "has to be a whole number",
    "dict_type": "has to be {table}",
    "model_type": "has to be {table}",
}


def first_problem(
    problem: ValidationError, table: str, parts: Mapping[str | int, Collection[str]]
) -> tuple[Where, str, str]:
    """Return the place of the first problem, its message, and a suggestion (empty when there is
    none).

    A misspelt name goes first, since another is then missing for it. `parts`: the fields of the
    named sections, under "" the outer ones. `table`: the word of the file format for a table.
    """
    error = min(
        problem.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden"
    )
    where: Where = tuple(
        "test" if part == "tests" and not at else part for at, part in enumerate(error["loc"])
    )
    message = _MESSAGES.get(error["type"], error["msg"])
    message = message.replace("{table}", table).removeprefix("Value error, ")
    message = re.sub("^(Input|String|Tuple|Dictionary) should", "has to", message)
    hint = ""
    if error["type"] == "extra_forbidden":
        fields = parts.get(where[0] if where[1:] else "", parts[""])
        hint = suggest_name(str(where[-1]), fields)
        if not hint and len(fields) <= FEW:
            hint = f"the fields are {', '.join(fields)}"
    elif where == ("name",):
        hint = _suggest_capability_name(error["input"])
    return where, one_line(message), hint


def _suggest_capability_name(value: object) -> str:
    """Suggest `roman-numerals` for `roman_numerals`, `RomanNumerals` and `cap_roman_numerals`."""
    if not isinstance(value, str) or len(value) > NAME_LIMIT:
        return ""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", value.removeprefix(TOOL_PREFIX), re.ASCII)
    name = "-".join(words).lower()
    return f"did you mean {name}?" if is_name(name) else ""


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Ask whether the nearest known name was meant; empty when none is near."""
    return "".join(f"did you mean {near}?" for near in difflib.get_close_matches(name, [*known], 1))


def format_field(where: Where) -> str:
    """Write the place of a field as `test[2].input`, counted from 1."""
    return "".join(
        f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in where
    ).removeprefix(".")


def manifest_error(place: str, text: str, where: Where, problem: str, hint: str = "") -> UsageError:
    """Return the refusal of a manifest's text: `sigil.toml:3: description: is missing`.

    The line is that of the innermost named part of `where`. Each part is looked for behind the line
    of the one around it; 1 when none is found.
    """
    written = where[:2] if where[:1] == ("test",) else where
    ordinal = next((part for part in written if isinstance(part, int)), 0)
    line = 1
    for name in written:
        if isinstance(name, int):
            continue
        pattern = re.compile(rf"\s*(?:\[+\s*)?(?:[\w.-]+\.)?\"?{re.escape(name)}\"?\s*(?:[=\].]|$)")
        lines = [
            number
            for number, content in enumerate(text.splitlines(), 1)
            if number >= line and pattern.match(content)
        ]
        if lines:
            line = lines[min(ordinal, len(lines) - 1)] if name == "test" else lines[0]
    field = format_field(where) or "manifest"
    return UsageError(
        "EMANIFEST",
        f"{place}:{line}: {field}: {problem}",
        suggestion=hint or "docs/manifest.md lists every field",
    )


def with_line(problem: UsageError, place: str, text: str) -> UsageError:
    """Add the field's line to a refusal that names the field alone (`permissions.http: …`)."""
    field, _, message = problem.message.partition(": ")
    return manifest_error(place, text, tuple(field.split(".")), message, problem.suggestion)
