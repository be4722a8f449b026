"""What is wrong with a manifest, in words for people: the field, the line on which it is written,
the name that was meant.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping

from pydantic import ValidationError

from sigil.errors import UsageError, one_line
from sigil.protocol import NAME_LIMIT, TOOL_PREFIX, is_name

FEW = 8
"""So many fields are listed for whoever named none of them."""
Where = tuple[str | int, ...]
"""Names from the outside in; the number of an item in a list, from 0."""

_SAID = {
    "missing": "is missing",
    "extra_forbidden": "no such field",
    "tuple_type": "has to be a list",
    "string_type": "has to be a string",
}
_SAID |= {
    "bool_type": "has to be true or false",
    "int_type": "has to be a whole number",
    "dict_type": "has to be {table}",
}
_SAID |= {"model_type": _SAID["dict_type"]}


def first(
    problem: ValidationError, table: str, parts: Mapping[str | int, Collection[str]]
) -> tuple[Where, str, str]:
    """Where and what is wrong, and the field that was meant: a misspelt name goes first, since
    another is then missing for it.

    `parts`: the fields of the named sections, under "" the outer ones. `table`: what the form calls
    a table.
    """
    error = min(
        problem.errors(include_url=False), key=lambda error: error["type"] != "extra_forbidden"
    )
    where: Where = tuple(
        "test" if part == "tests" and not at else part for at, part in enumerate(error["loc"])
    )
    said = (
        _SAID.get(error["type"], error["msg"])
        .replace("{table}", table)
        .removeprefix("Value error, ")
    )
    fields = parts.get(where[0] if where[1:] else "", parts[""])
    hint = (
        _hint(str(where[-1]), fields)
        if error["type"] == "extra_forbidden"
        else _named(error["input"])
        if where == ("name",)
        else ""
    )
    return where, one_line(re.sub("^(Input|String|Tuple|Dictionary) should", "has to", said)), hint


def _hint(name: str, fields: Collection[str]) -> str:
    """The field that was meant; where none is near and there are few, all of them."""
    return meant(name, fields) or (
        f"the fields are {', '.join(fields)}" if len(fields) <= FEW else ""
    )


def _named(given: object) -> str:
    """The name that somebody means who writes names in another way: `roman_numerals`,
    `RomanNumerals`, `cap_roman_numerals`.
    """
    if not isinstance(given, str) or len(given) > NAME_LIMIT:
        return ""
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z0-9]+", given.removeprefix(TOOL_PREFIX), re.ASCII)
    name = "-".join(words).lower()
    return f"did you mean {name}?" if is_name(name) else ""


def meant(name: str, known: Iterable[str]) -> str:
    """A question after the known name that is nearest, empty when none is near."""
    return "".join(f"did you mean {near}?" for near in difflib.get_close_matches(name, [*known], 1))


def shown(where: Where) -> str:
    """`test[2].input`, counted from 1."""
    return "".join(
        f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in where
    ).removeprefix(".")


def wrong(place: str, text: str, where: Where, what: str, hint: str = "") -> UsageError:
    """The refusal of a manifest's text: `sigil.toml:3: description: is missing`."""
    line, field = (
        _line_of(text, where[:2] if where[:1] == ("test",) else where),
        shown(where) or "manifest",
    )
    return UsageError(
        "EMANIFEST",
        f"{place}:{line}: {field}: {what}",
        suggestion=hint or "docs/manifest.md lists every field",
    )


def placed(problem: UsageError, place: str, text: str) -> UsageError:
    """A refusal that names a field alone (`permissions.http: …`), with the line on which the field
    stands.
    """
    field, _, what = problem.message.partition(": ")
    return wrong(place, text, tuple(field.split(".")), what, problem.suggestion)


def _line_of(text: str, where: Where) -> int:
    """The line on which the innermost named part of `where` is written, each looked for within the
    one around it; 1 when none is.
    """
    ordinal, place = next((part for part in where if isinstance(part, int)), 0), 1
    for name in (part for part in where if isinstance(part, str)):
        pattern = re.compile(rf"\s*(?:\[+\s*)?(?:[\w.-]+\.)?\"?{re.escape(name)}\"?\s*(?:[=\].]|$)")
        if found := [
            number
            for number, line in enumerate(text.splitlines(), 1)
            if number >= place and pattern.match(line)
        ]:
            place = found[min(ordinal, len(found) - 1)] if name == "test" else found[0]
    return place
