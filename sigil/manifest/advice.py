"""Advises the caller whose arguments a schema refuses: what was given, where it belongs, or what to
give.

A model does what an advice shows it. So a call that is shown has the values that were given, all of
them but fillers, and no others; where they do not make a call, the advice asks for what is wrong or
missing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

import orjson

from sigil.builtin_tools import SUGGESTED_CALL
from sigil.errors import one_line
from sigil.manifest.second_reading import (
    NAMES_MOST,
    is_related_name,
    may_turn_around,
    read_clause,
)
from sigil.protocol import Json

CALL_CHARACTERS = 240
"""A longer call would be cut, and half a call loses values: it is said in words."""
DESCRIPTION_CHARACTERS = 60
NAME_CHARACTERS = 40
NAMED_MOST = 8
"""The most fields or choices that an advice names."""
DO_NOT_GUESS = "; ask rather than guess"
FILLERS = frozenset(
    ("", "string", "example", "null", "none", "undefined", "n/a", "...", "\N{HORIZONTAL ELLIPSIS}")
)
"""Texts that models write where they have nothing to give."""
_ARTICLES = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a bare number",
    "array": "a list",
    "object": "an object",
    "string": "a text",
}
_ELEMENTS = {
    "integer": "whole numbers",
    "number": "numbers",
    "array": "lists",
    "object": "objects",
    "string": "texts",
}

Read = Callable[[str, Json], Json]
"""Returns what a value means as the property of this name."""
IsRight = Callable[[str, Json], bool]
"""Returns whether the property of this name may have a value."""


@dataclass(frozen=True, slots=True)
class AcceptedArguments:
    """The properties that a call may give, and those that it must."""

    parts: Mapping[str, Json]
    required: Collection[str]
    read: Read
    is_right: IsRight
    fits: Callable[[Mapping[str, Json]], bool]
    """Returns whether the schema accepts a whole call."""


def is_filler(value: Json) -> bool:
    """Return whether a value stands where a model had nothing to give."""
    return value is None or (isinstance(value, str) and value.strip().casefold() in FILLERS)


def advise(accepted: AcceptedArguments, given: Mapping[str, Json]) -> str:
    """Return what the caller should do after a call that was `given`, in one line."""
    right: dict[str, Json] = {}
    wrong: dict[str, Json] = {}
    unknown: dict[str, Json] = {}
    for name, value in given.items():
        if name not in accepted.parts:
            if not is_filler(value):
                unknown[name] = value
            continue
        is_right = accepted.is_right(name, value)
        if is_filler(value) and not (is_right and name in accepted.required):
            continue
        (right if is_right else wrong)[name] = value
    moved = {} if wrong else _find_places(accepted, right, unknown)
    call = {**right, **{name: accepted.read(name, unknown[old]) for old, name in moved.items()}}
    if not wrong and len(moved) == len(unknown) and accepted.fits(call):
        return _show_call(call, given, moved)
    missing = [name for name in accepted.parts if name in accepted.required and name not in given]
    missing += [
        name
        for name, value in given.items()
        if name in accepted.required and name not in right and name not in wrong
    ]
    return _ask(accepted, wrong, missing, unknown, keeps=bool(right))


def _find_places(
    accepted: AcceptedArguments, right: Mapping[str, Json], unknown: Mapping[str, Json]
) -> dict[str, str]:
    """Return the property to which each value of an unknown name belongs, where one is meant.

    That is the property whose name or description says it, or for a list or an object the only
    one that may have it and is still needed.
    """
    absent = [name for name in accepted.parts if name not in right]
    places: dict[str, str] = {}
    if len(absent) * len(unknown) > NAMES_MOST:
        return places
    for given, value in unknown.items():
        fitting = [name for name in absent if accepted.is_right(name, accepted.read(name, value))]
        meant = [name for name in fitting if is_related_name(name, accepted.parts[name], given)]
        needed = [name for name in absent if name in accepted.required]
        is_only = len(unknown) == len(needed) == 1 and not may_turn_around(given)
        is_sure = needed == fitting and (isinstance(value, list | dict) or len(accepted.parts) == 1)
        if is_only and (is_sure or needed[0] in meant):
            places[given] = needed[0]
        elif len(meant) == 1:
            places[given] = meant[0]
    taken = list(places.values())
    return {given: name for given, name in places.items() if taken.count(name) == 1}


def _show_call(
    call: Mapping[str, Json], given: Mapping[str, Json], moved: Mapping[str, str]
) -> str:
    """Return the advice to make a call, which is described where it is too long to be shown."""
    text = orjson.dumps(call).decode()
    if len(text) <= CALL_CHARACTERS:
        return f"{SUGGESTED_CALL}{text}"
    changes = [f"{_name(old)} as {_name(name)}" for old, name in moved.items()]
    dropped = [_name(name) for name in given if name not in call and name not in moved]
    if dropped:
        changes.append(f"without {_list_names(dropped)}")
    return one_line(f"call it with the same values, {', '.join(changes)}")


def _ask(
    accepted: AcceptedArguments,
    wrong: Mapping[str, Json],
    missing: Iterable[str],
    unknown: Collection[str],
    *,
    keeps: bool,
) -> str:
    """Return the request for what is wrong or missing, beside the rest, if that `keeps` anything;
    it shows no value.
    """
    wanted = [f"{_name(name)} as {_describe(accepted.parts[name], wrong[name])}" for name in wrong]
    needed = []
    for name in list(missing)[:NAMED_MOST]:
        needed.append(f"{_name(name)}{_explain(accepted.parts[name])}")
    sentences = []
    if wanted or needed:
        verb = "keep the rest and give" if keeps else "give"
        sentences.append(f"{verb} {', '.join((*wanted, *needed))}")
    if unknown:
        sentences.append(f"there is no field {_list_names(unknown)}")
        if accepted.parts:
            which = "one of " if len(accepted.parts) > 1 else ""
            sentences[-1] += f": give what it says in {which}{_list_names(accepted.parts)}"
    if not sentences:
        return f"the fields are {_list_names(accepted.parts)}" if accepted.parts else ""
    text = "; ".join(sentences)
    if not needed:
        return one_line(text)
    return f"{one_line(text, CALL_CHARACTERS)}{DO_NOT_GUESS}"


def _describe(part: Json, wrong: Json) -> str:
    """Return in words what a property takes."""
    fields = part if isinstance(part, dict) else {}
    choices = fields.get("enum")
    if isinstance(choices, list) and choices:
        return f"one of {_list_choices(choices, wrong)}"
    if "const" in fields:
        return orjson.dumps(fields["const"]).decode()
    if fields.get("format") == "date":
        return "YYYY-MM-DD"
    kinds = fields.get("type")
    named = kinds if isinstance(kinds, list) else [kinds]
    words = [_ARTICLES[kind] for kind in named if isinstance(kind, str) and kind in _ARTICLES]
    items = fields.get("items")
    element = _ELEMENTS.get(str(items.get("type"))) if isinstance(items, dict) else None
    if kinds == "array" and element:
        words = [f"a list of {element}"]
    bounds = _describe_bounds(fields)
    if "number" in named:
        bounds += ", in the unit that it asks for"
    return f"{' or '.join(words) or 'its schema says'}{bounds}{_explain(fields)}"


def _describe_bounds(fields: Mapping[str, Json]) -> str:
    """Return the range of a number, in words."""
    least = _shorten_number(fields.get("minimum"))
    most = _shorten_number(fields.get("maximum"))
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" of at least {least}"
    return f" of at most {most}" if most is not None else ""


def _shorten_number(number: Json) -> Json:
    if isinstance(number, float) and number.is_integer():
        return int(number)
    return number


def _explain(part: Json) -> str:
    """Return what a property is, in brackets."""
    clause = read_clause(part)
    return f" ({one_line(clause, DESCRIPTION_CHARACTERS)})" if clause else ""


def _list_choices(choices: list[Json], wrong: Json) -> str:
    """Return the choices, those that are like the wrong value first where there are too many."""
    if len(choices) > NAMED_MOST:
        texts = [choice for choice in choices if isinstance(choice, str)]
        near = difflib.get_close_matches(str(wrong)[:80], texts, NAMED_MOST, 0.3)
        others = [choice for choice in choices if choice not in near]
        choices = [*near, *others][:NAMED_MOST]
        return f"{', '.join(map(_show_choice, choices))}, …"
    return ", ".join(map(_show_choice, choices))


def _show_choice(choice: Json) -> str:
    return one_line(orjson.dumps(choice).decode(), NAME_CHARACTERS)


def _list_names(names: Iterable[str]) -> str:
    listed = list(names)
    shown = [_name(name) for name in listed[:NAMED_MOST]]
    if len(listed) > NAMED_MOST:
        shown.append("…")
    return ", ".join(shown)


def _name(name: str) -> str:
    """Return a property's name, in quotes where it is no plain word."""
    short = one_line(name, NAME_CHARACTERS)
    return short if re.fullmatch(r"[\w.-]+", short) else orjson.dumps(short).decode()
