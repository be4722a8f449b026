"""Calls that somebody else's text describes, compared by their names and arguments.

A page may describe a call with its fields in another order or under other names, and a model that
only repeats the page writes the call as it writes calls. So what a text holds is read as JSON, and
compared without regard to order, to the names of a call's own fields, and to signs.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from functions.agent.model.answer_json import parse_answer
from sigil.protocol import TOOL_PREFIX, Json

MAX_READ: Final = 1_000_000
"""Characters of objects that turn out to be none; beyond them all is taken for a quote."""
MAX_NAME: Final = 100
_TRIED: Final = 100
"""What each of those counts in addition."""
_DEEP: Final = 10_000
"""What an object counts that is nested too deeply to be read."""
_DECODER: Final = json.JSONDecoder(strict=False)
_OPENING: Final = re.compile(r"\{(?=\s*[\"}])|\[(?=\s*[\"{\[])")
_LAYOUT: Final = re.compile(r"\\[bfnrt]")
"""White space as JSON writes it inside a string."""
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


@dataclass(frozen=True, slots=True)
class CallDescription:
    """A call as it is compared: the letters of its name, and of its arguments in one order."""

    name: str
    arguments: str


def reduce_to_letters(text: str) -> str:
    """Return the letters and digits of a text, its escapes of HTML and JSON undone."""
    text = _LAYOUT.sub("", _undo_escapes(text))
    return "".join(filter(str.isalnum, text.casefold()))


def describe_call(name: str, arguments: str) -> CallDescription:
    """Return the description of a call; arguments that are no JSON are compared as a text."""
    value = parse_answer(arguments.encode("utf-8", "replace"))
    return CallDescription(_reduce_name(name), _describe_value(value or arguments))


def is_quoted(wanted: Collection[CallDescription], texts: Iterable[str]) -> bool:
    """Return whether an object in one of the texts describes one of the calls."""
    names = {call.name for call in wanted}
    left = MAX_READ
    for text in dict.fromkeys(reading for each in texts for reading in _list_readings(each)):
        for value, cost in _scan_objects(text):
            left -= cost
            if left < 0:
                return True
            try:
                is_named = value is not None and not names.isdisjoint(_list_names(value))
                if is_named and any(_describes(value, call) for call in wanted):
                    return True
            except RecursionError:
                return True
    return False


def _list_readings(text: str) -> Iterator[str]:
    """Yield a text as it is, without its escapes, and with the quotes that JSON has."""
    yield text
    plain = _LAYOUT.sub("", _undo_escapes(text)).replace("\\", "")
    yield plain
    yield plain.replace("'", '"')


def _undo_escapes(text: str) -> str:
    return _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), html.unescape(text))


def _scan_objects(text: str) -> Iterator[tuple[Json, int]]:
    """Yield each outermost object or list of a text with 0, or None with what it cost to find that
    there is none.
    """
    opening = _OPENING.search(text)
    while opening:
        place = opening.start()
        try:
            value, end = _DECODER.raw_decode(text, place)
            yield value, 0
        except json.JSONDecodeError as problem:
            end = place + 1
            yield None, problem.pos - place + _TRIED
        except RecursionError:
            end = place + 1
            yield None, _DEEP
        opening = _OPENING.search(text, end)


def _describes(value: Json, call: CallDescription) -> bool:
    """Return whether a value, or one within it, describes a call: it has the name, and beside it
    the arguments, or it has them as fields of its own.
    """
    if isinstance(value, str):
        inner = _read_inner(value)
        return inner is not None and _describes(inner, call)
    fields = _list_fields(value)
    if not fields:
        return False
    beside = [*fields]
    for _, each in fields:
        beside += _list_fields(_read_inner(each))
    if any(call.name in (_reduce_name(name), _reduce_name(each)) for name, each in beside):
        given = [_read_inner(each) for _, each in beside]
        own = {name: each for name, each in fields if _reduce_name(each) != call.name}
        # what has no arguments is described where nothing else could be them
        objects = [each for each in given if isinstance(each, dict) and each]
        if any(_describe_value(each) == call.arguments for each in (*objects, own)):
            return True
        if call.arguments == "{}" and not objects and {} in given:
            return True
    return any(_describes(each, call) for _, each in fields)


def _list_fields(value: Json) -> list[tuple[str, Json]]:
    """Return the fields of an object, or the parts of a list without names."""
    if isinstance(value, dict):
        return [*value.items()]
    return [("", each) for each in value] if isinstance(value, list) else []


def _read_inner(value: Json) -> Json:
    """Return the object that a text is as JSON; another value as it is, a text as None."""
    if not isinstance(value, str):
        return value
    return parse_answer(value.encode("utf-8", "replace")) if value.lstrip()[:1] == "{" else None


def _list_names(value: Json) -> Iterator[str]:
    """Yield what could be the name of a call, wherever it is in a value."""
    if isinstance(value, str):
        yield _reduce_name(value)
        inner = _read_inner(value)
        if inner is not None:
            yield from _list_names(inner)
    for name, each in _list_fields(value):
        yield _reduce_name(name)
        yield from _list_names(each)


def _reduce_name(value: Json) -> str:
    """Return the letters of a name without the prefix of tools; empty for what is none."""
    if not isinstance(value, str) or not value or len(value) > MAX_NAME:
        return ""
    return reduce_to_letters(value).removeprefix(reduce_to_letters(TOOL_PREFIX))


def _describe_value(value: Json) -> str:
    """Return a value as text: objects in one order, all else by its letters."""
    if isinstance(value, Mapping):
        fields = (
            f"{reduce_to_letters(name)}:{_describe_value(each)}" for name, each in value.items()
        )
        return "{" + ",".join(sorted(fields)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_describe_value, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return reduce_to_letters(str(value))
