"""Reads the arguments of a call as the schema of its capability means them.

Defaults are filled, the texts of a query string become what the schema describes, and what a model
wrote a little wrong is taken where it has one meaning: null for what is optional, an enum's value
in another case, "10,000" for a number, "pear, apple" for a list. A value that is right already
stays as it is. Whatever has no meaning, or two, is refused with an advice that invents no value.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import orjson

from sigil import lenient_json
from sigil.errors import UsageError
from sigil.json_fields import as_sequence
from sigil.manifest.numerals import read_numeral
from sigil.manifest.schema import TOO_SLOW, VALIDATION_SECONDS, find_problem
from sigil.manifest.units import Mentions, is_percent, is_share, means_unit
from sigil.protocol import Json

NUMBER_CHARACTERS = 64
"""A longer text is read as no number."""
EXACT_MOST = 2**53
"""Up to here a float is a whole number for sure."""
ELEMENTS_MOST = 1_000
ELEMENT_WORDS = 5
"""A text with longer elements than so many words is prose, and not a list."""
_TYPES = ("string", "boolean", "integer", "number", "null", "array", "object")
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_LEFT_OUT = frozenset(("", "null", "none", "undefined"))
"""Texts that mean an argument that is not given, where a text is not asked for."""
_THEN = ("then", "else")
_BRANCHES = frozenset(("allOf", "anyOf", "oneOf", *_THEN))
"""Keywords that hold further descriptions of the same object."""
_WRAPPERS = frozenset(
    ("input", "arguments", "args", "parameters", "params", "kwargs", "properties", "payload")
)
_BESIDE_WRAPPER = frozenset(("name", "tool", "function", "type", "required"))
_SCHEMA_WORDS = frozenset(("type", "title", "description", "value"))
_LIST_NAMES = frozenset(("items", "item", "list", "values", "elements", "array"))
_ANY_NAME = frozenset(
    "input value text string data content query q arg argument number num n x s"
    " values numbers nums list items array texts strings".split()
)
"""Names that say nothing: where one argument is asked for, it is meant."""
READINGS_MOST = 20
"""A call is read a second time in so many ways at most."""
_SPACES = re.compile(r"[\s_-]+")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\s_-]+(?=\d)")
_IGNORED = re.compile(
    r"[\s_'\"`()]+|(?<!\d)[-./:,]+(?!\d)|(?<=\d)[-./:,]+(?!\d)|(?<=[^\W\d])-+(?=\d)"
)
_BULLET = re.compile(r"\A\s*(?:[-*•]|\d{1,3}[.)])\s+")
_GROUPED = re.compile(r"\d{1,3}(?:[, '.]\d{3})+")
_BARS = re.compile(r"\t|\s\|\s")
_AND = re.compile(r"\s(?:and|und|et|or|oder|&)\s", re.IGNORECASE)
_AND_FIRST = re.compile(r"\A(?:and|und|et|or|oder|&)\s", re.IGNORECASE)
_MAY_JOIN = re.compile(rf"{_AND.pattern}|\w和\w", re.IGNORECASE)
"""What stands between two elements, or within one; 和 is a part of many words as well."""


def accept(
    schema: Mapping[str, Json], arguments: Mapping[str, Json], *, source: str = ""
) -> dict[str, Json]:
    """Return `arguments` as `schema` means them, valid against it.

    `UsageError` EINVAL says what is wrong with them otherwise, and shows a call that is right.
    """
    described = _join_branches(schema)
    merged = fill(described, arguments)
    problem = find_problem(schema, merged)
    if not problem:
        return merged
    if problem == TOO_SLOW:
        # what a hostile schema makes slow is not checked again for every argument
        raise UsageError("EINVAL", problem, source=source)
    repaired = _repair(described, _unwrap(described, arguments))
    filled = fill(described, repaired)
    if filled != merged and not find_problem(schema, filled):
        return filled
    raise UsageError(
        "EINVAL",
        problem,
        source=source,
        suggestion=_advise(schema, _choose_branch(described, merged), repaired),
    )


def fill(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return `arguments` with the defaults of `schema`'s properties, and each value read as its
    property describes it, within objects as well.
    """
    return _fill(schema, _unwrap(schema, arguments), _definitions_of(schema))


def _advise(
    schema: Mapping[str, Json], described: Mapping[str, Json], arguments: Mapping[str, Json]
) -> str:
    """Return what the caller should do, see `advise`; `described` is the alternative meant."""
    from sigil.manifest.advice import AcceptedArguments, advise

    definitions = _definitions_of(described)
    parts = _properties_of(described)
    resolved = {name: _resolve(part, definitions) for name, part in parts.items()}
    end = time.monotonic() + VALIDATION_SECONDS

    def read(name: str, value: Json) -> Json:
        if time.monotonic() > end:
            return value
        return _coerce(resolved[name], value, _Context(name, parts, arguments, definitions))

    def is_right(name: str, value: Json) -> bool:
        if time.monotonic() > end:
            return False
        alone = {"$defs": definitions, "properties": {name: parts[name]}}
        return not find_problem(alone, {name: value})

    def fits(call: Mapping[str, Json]) -> bool:
        return not find_problem(schema, fill(described, call))

    needed = as_sequence(described.get("required"))
    required = [name for name in parts if name in needed]
    advice = advise(AcceptedArguments(resolved, required, read, is_right, fits), arguments)
    # what was not checked in time is not known to be wrong
    return advice if time.monotonic() <= end else ""


# -- what a first reading left wrong


def _repair(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """Return the arguments with each wrong one read a second time, more freely.

    This is for a call that would fail, so nothing that is right is read so. What is optional may
    be empty.
    """
    from sigil.manifest.second_reading import list_readings, match_near_names, says_why

    definitions = _definitions_of(schema)
    parts = _properties_of(schema)
    needed = as_sequence(schema.get("required"))
    names = match_near_names(schema, arguments)
    repaired: dict[str, Json] = {}
    left = READINGS_MOST
    end = time.monotonic() + VALIDATION_SECONDS
    for given, sent in arguments.items():
        name = names.get(given, given)
        part = _resolve(parts.get(name), definitions)
        if name not in parts and says_why(schema, name, sent):
            continue
        if not isinstance(part, dict) or left <= 0 or time.monotonic() > end:
            repaired[name] = sent
            continue
        value = _coerce(part, sent, _Context(name, parts, arguments, definitions))
        repaired[name] = value
        alone = {"$defs": definitions, "properties": {"x": part}}
        left -= 1
        if not find_problem(alone, {"x": value}):
            continue
        is_empty = isinstance(value, str) and value.strip().casefold() in _LEFT_OUT
        if is_empty and name not in needed:
            del repaired[name]
            continue
        readings = list_readings(name, part, value)
        left -= len(readings)
        for reading in readings:
            if not find_problem(alone, {"x": reading}):
                repaired[name] = reading
                break
    return repaired


# -- objects


@dataclass(frozen=True, slots=True)
class _Context:
    """The surroundings of a value, by which its meaning is found.

    `name` is its property's, `parts` describe that property and the others of the object, and
    `others` are the object's values.
    """

    name: str
    parts: Mapping[str, Json]
    others: Mapping[str, Json]
    definitions: Mapping[str, Json]


def _fill(
    schema: Mapping[str, Json], arguments: Mapping[str, Json], definitions: Mapping[str, Json]
) -> dict[str, Json]:
    parts = _properties_of(schema)
    filled = {
        name: part["default"]
        for name, part in parts.items()
        if isinstance(part, dict) and "default" in part
    }
    needed = as_sequence(schema.get("required"))
    names = _match_names(schema, arguments)
    is_padded = False
    for given, value in arguments.items():
        name = names.get(given, given)
        part = _resolve(parts.get(name), definitions)
        is_optional = name not in needed or name in filled
        if is_optional and _is_left_out(schema, name, part, value, definitions):
            is_padded = is_padded or value == ""
            continue
        filled[name] = _coerce(part, value, _Context(name, parts, arguments, definitions))
    if is_padded:
        # who gives one argument an empty text that cannot be meant gives it to all that are absent
        for name, part in parts.items():
            if filled.get(name) == "" and name not in needed and not _means_empty(part):
                del filled[name]
    return filled


def _means_empty(part: Json) -> bool:
    """Return whether an empty text means something else than none, as far as a property says."""
    fields = part if isinstance(part, dict) else {}
    return "default" in fields or "empty" in str(fields.get("description", "")).casefold()


def _properties_of(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else {}


def _join_branches(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a schema that also describes the properties of the alternatives at its top, so that
    their values are read as well.

    Which alternative is meant is open, so none of their defaults is filled, and a property that
    two of them describe in different ways has no description.
    """
    if _BRANCHES.isdisjoint(schema):
        return schema
    definitions = _definitions_of(schema)
    listed = [part for key in ("allOf", "anyOf", "oneOf") for part in as_sequence(schema.get(key))]
    branches = [_resolve(part, definitions) for part in (*listed, *map(schema.get, _THEN))]
    found: dict[str, Json] = {}
    for branch in branches:
        for name, part in _properties_of(branch if isinstance(branch, dict) else {}).items():
            described = dict(part) if isinstance(part, dict) else {}
            described.pop("default", None)
            found[name] = described if found.get(name, described) == described else {}
    return {**schema, "properties": {**found, **_properties_of(schema)}}


def _choose_branch(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a schema that asks for what one of its alternatives asks for: of the first that the
    fewest arguments contradict.
    """
    definitions = _definitions_of(schema)
    listed = [part for key in ("anyOf", "oneOf") for part in as_sequence(schema.get(key))]
    chosen = schema
    least = READINGS_MOST
    for branch in (_resolve(part, definitions) for part in listed[:READINGS_MOST]):
        if not isinstance(branch, dict):
            continue
        parts = _properties_of(branch)
        alone = {"$defs": definitions, "properties": parts}
        given = {name: value for name, value in arguments.items() if name in parts}
        wrong = sum(bool(find_problem(alone, {name: value})) for name, value in given.items())
        if wrong < least:
            least = wrong
            required = [*as_sequence(schema.get("required")), *as_sequence(branch.get("required"))]
            properties = {**_properties_of(schema), **parts}
            chosen = {**schema, "properties": properties, "required": required}
    return chosen


def _definitions_of(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    definitions = schema.get("$defs")
    return definitions if isinstance(definitions, dict) else {}


def _resolve(part: Json, definitions: Mapping[str, Json]) -> Json:
    """Return the part of a schema that describes a value: what a reference leads to, and of "this
    or null" this.
    """
    if not isinstance(part, dict):
        return part
    ref = part.get("$ref")
    if isinstance(ref, str):
        found = definitions.get(ref.removeprefix("#/$defs/"))
        if isinstance(found, dict) and "$ref" not in found:
            part = {**found, **{key: value for key, value in part.items() if key != "$ref"}}
    for key in ("anyOf", "oneOf"):
        branches = part.get(key)
        if isinstance(branches, list) and "type" not in part:
            described = [each for each in branches if each != {"type": "null"}]
            if len(described) == 1 and isinstance(described[0], dict):
                return {**part, **described[0]}
    return part


def _is_left_out(
    schema: Mapping[str, Json],
    name: str,
    part: Json,
    value: Json,
    definitions: Mapping[str, Json],
) -> bool:
    """Return whether a value says that an optional argument is not given."""
    if isinstance(value, str):
        if value.strip().casefold() not in _LEFT_OUT or not isinstance(part, dict):
            return False
        types = _find_types(part)
        listed = part.get("enum")
        if isinstance(listed, list):
            return _match_choice(part, value) not in listed
        return bool(types) and types.isdisjoint(("string", "null"))
    if value is not None:
        return False
    original = _properties_of(schema).get(name)
    if original is None:
        return schema.get("additionalProperties") is False
    return bool(find_problem({"$defs": definitions, "properties": {"x": original}}, {"x": None}))


def _match_names(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, str]:
    """Return the property that each argument of an unknown name means, where it means one."""
    parts = _properties_of(schema)
    unknown = [name for name in arguments if name not in parts]
    is_open = schema.get("additionalProperties", False) is not False
    if not unknown or is_open or "patternProperties" in schema:
        return {}
    names: dict[str, str] = {}
    for given in unknown:
        meant = [name for name in parts if _fold_name(name) == _fold_name(given)]
        if len(meant) == 1 and meant[0] not in arguments and meant[0] not in names.values():
            names[given] = meant[0]
    required = as_sequence(schema.get("required"))
    needed = [name for name in parts if name in required or not required]
    is_nameless = len(arguments) == 1 and _fold_name(unknown[0]) in _ANY_NAME
    if not names and is_nameless and len(needed) == 1:
        names[unknown[0]] = needed[0]
    return names


def _unwrap(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the arguments that a model put into an object of their own, as `{"input": {…}}`."""
    parts = _properties_of(schema)
    wrappers = [name for name in arguments if name in _WRAPPERS]
    if len(wrappers) != 1 or wrappers[0] in parts:
        return arguments
    beside = arguments.keys() - wrappers
    if not beside <= _BESIDE_WRAPPER or any(name in parts for name in beside):
        return arguments
    inner = arguments[wrappers[0]]
    if isinstance(inner, str):
        with suppress(orjson.JSONDecodeError):
            inner = lenient_json.read_json(inner)
    if not isinstance(inner, dict):
        return arguments
    known = {_fold_name(name) for name in parts}
    return inner if any(_fold_name(name) in known for name in inner) else arguments


def _fold_name(name: str) -> str:
    """Return what `from_unit`, `fromUnit` and `From unit` have in common."""
    return _SPACES.sub("", name).casefold()


# -- values


def _coerce(part: Json, value: Json, context: _Context) -> Json:
    """Return `value` as the schema `part` means it; as it is where that is right, or unknown."""
    if not isinstance(part, dict):
        return value
    types = _find_types(part)
    if not types:
        branch = _find_branch(part, value)
        return value if branch is None else _coerce(branch, value, context)
    if not _has_type(value, types):
        # One value may be alone in a list, or in a piece of schema, where neither is asked for.
        inner: Json = None
        if isinstance(value, list):
            if len(value) == 1 and "array" not in types:
                inner = value[0]
        elif isinstance(value, dict) and "object" not in types and value.keys() <= _SCHEMA_WORDS:
            inner = value.get("value")
        if inner is not None and not isinstance(inner, list | dict):
            value = inner
        value = _read_value(part, value, types, context)
    elif isinstance(value, str):
        if "enum" in part or "const" in part:
            value = _match_choice(part, value)
        elif part.get("format") == "date":
            value = _read_date(value, context.name)
    if isinstance(value, float) and "integer" in types and "number" not in types:
        return int(value) if _is_type(value, "integer") else value
    if isinstance(value, list):
        items = _resolve(part.get("items"), context.definitions)
        return [_coerce(items, element, context) for element in value]
    if isinstance(value, dict) and "properties" in part:
        return _fill(part, value, context.definitions)
    return value


def _find_branch(part: Mapping[str, Json], value: Json) -> Json:
    """Return the only alternative of a schema that is a list, an object or neither, as the value
    is; None without one.
    """
    branches = part.get("anyOf", part.get("oneOf"))
    if not isinstance(branches, list):
        return None
    shape = "array" if isinstance(value, list) else "object" if isinstance(value, dict) else ""
    alike: list[Json] = []
    for branch in branches:
        types = _find_types(branch) if isinstance(branch, dict) else frozenset[str]()
        if types and (shape in types if shape else types.isdisjoint(("array", "object"))):
            alike.append(branch)
    return alike[0] if len(alike) == 1 else None


def _read_value(
    part: Mapping[str, Json], value: Json, types: frozenset[str], context: _Context
) -> Json:
    """Return a value of the wrong type as one of `types`, where it means one."""
    if isinstance(value, str):
        value = _match_choice(part, _read_text(part, value, types, context))
    elif isinstance(value, bool):
        pass
    elif isinstance(value, int):
        if "boolean" in types and value in (0, 1):
            value = bool(value)
        elif "string" in types:
            value = _match_choice(part, str(value))
    if "array" in types and not _has_type(value, types):
        return _read_list(part, value, context)
    return value


def _find_types(part: Mapping[str, Json]) -> frozenset[str]:
    """Return the types that `part` allows, as far as it names them or lists its values."""
    declared = part.get("type")
    if isinstance(declared, list):
        return frozenset(name for name in declared if isinstance(name, str))
    if declared is not None:
        return frozenset([declared] if isinstance(declared, str) else ())
    values: list[Json] = []
    listed = part.get("enum")
    if isinstance(listed, list):
        values = listed
    elif "const" in part:
        values = [part["const"]]
    return frozenset(
        next((name for name in _TYPES if _has_type(value, (name,))), "") for value in values
    )


def _has_type(value: Json, types: Iterable[str]) -> bool:
    return any(_is_type(value, name) for name in types)


def _is_type(value: Json, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            if isinstance(value, float):
                return value.is_integer() and abs(value) <= EXACT_MOST
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
    return False


# -- texts


def _match_choice(part: Mapping[str, Json], value: Json) -> Json:
    """Return the one listed value that a text means, in whatever case and punctuation."""
    listed = part.get("enum", [part["const"]] if "const" in part else None)
    if not isinstance(value, str) or not isinstance(listed, list) or value in listed:
        return value
    choices = [choice for choice in listed if isinstance(choice, str)]
    for fold in (str.strip, _fold_case, _fold_choice):
        folded = fold(value)
        meant = [choice for choice in choices if fold(choice) == folded]
        if len(meant) == 1 and folded:
            return meant[0]
    return value


def _fold_case(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip().casefold()


def _fold_choice(text: str) -> str:
    """Return what `SHA-256`, `sha_256` and "sha256" have in common.

    A sign, and what is between two digits, distinguishes values, and is kept.
    """
    return _IGNORED.sub("", _BETWEEN_DIGITS.sub("-", _fold_case(text)))


def _read_text(
    part: Mapping[str, Json], text: str, types: frozenset[str], context: _Context
) -> Json:
    """Return the number, the boolean, null or the JSON that a text is."""
    if types.isdisjoint(_TYPES) or "string" in types:
        return text
    is_numeric = not types.isdisjoint(("integer", "number"))
    if "boolean" in types and not is_numeric:
        read = _BOOLEANS.get(text.strip().casefold())
        if read is not None:
            return read
    with suppress(orjson.JSONDecodeError):
        value = lenient_json.read_json(text)
        if _has_type(value, types):
            return value
    if is_numeric and len(text) <= NUMBER_CHARACTERS:
        number = _read_number(part, text, context)
        if number is not None and _has_type(number, types):
            return number
    return text


def _read_number(part: Mapping[str, Json], text: str, context: _Context) -> int | float | None:
    """Return the number that a text says, None when it says none or may say two.

    A unit is dropped where the name, the description or another argument says the same one.
    """
    numeral = read_numeral(text)
    if numeral is None:
        return None
    if not numeral.unit:
        return numeral.value
    description = part.get("description")
    said = f"{context.name} {description if isinstance(description, str) else ''}"
    if is_percent(numeral.unit):
        most = part.get("maximum")
        shares = is_share(said) or (isinstance(most, int | float) and 0 < most <= 1)
        if shares and not is_percent(said):
            return round(numeral.value / 100, 12)
        return numeral.value if is_percent(said) and not shares else None
    schema_texts = [
        f"{name} {other.get('description', '')}"
        for name, other in context.parts.items()
        if isinstance(other, dict) and name != context.name
    ]
    values = [value for value in context.others.values() if isinstance(value, str)]
    if means_unit(numeral.unit, Mentions(said, values, schema_texts)):
        return numeral.value
    return None


def _read_date(text: str, name: str) -> str:
    """Return the date that a text is, as ISO 8601 writes it; what is not written like a date stays
    as it is.

    Formats refuse nothing, but a day that may be another one, or that there is not, is no day:
    `UsageError` EINVAL.
    """
    from sigil.manifest.dates import is_iso, list_dates

    if is_iso(text):
        return text
    dates = list_dates(text)
    if dates is None:
        return text
    if len(dates) == 1:
        return dates[0]
    meant = f"may be {' or '.join(dates)}" if dates else "is no certain day"
    raise UsageError(
        "EINVAL",
        f"{name}: {orjson.dumps(text).decode()} {meant}",
        suggestion=f"give {name} as YYYY-MM-DD; ask rather than guess",
    )


# -- lists


def _read_list(part: Mapping[str, Json], value: Json, context: _Context) -> Json:
    """Return a value as the list that it means; one value is a list of one."""
    items = _resolve(part.get("items"), context.definitions)
    types = _find_types(items) if isinstance(items, dict) else frozenset[str]()
    if isinstance(value, dict):
        inner = next(iter(value.values())) if len(value) == 1 else None
        names = {context.name.casefold(), *_LIST_NAMES}
        if isinstance(inner, list) and next(iter(value)).casefold() in names:
            is_element = isinstance(items, dict) and next(iter(value)) in _properties_of(items)
            return [value] if is_element else inner
        if value and list(value) == [str(number) for number in range(len(value))]:
            return list(value.values())
        return [value] if "object" in types else value
    if isinstance(value, str) and value.strip() and types <= {"string", "integer", "number"}:
        return _split_text(value, is_numeric=bool(types) and "string" not in types)
    return [value] if isinstance(value, str | int | float) else value


def _split_text(text: str, *, is_numeric: bool) -> Json:
    """Return the elements that a text lists; the text itself where it may be read in two ways."""
    inner = text.strip()
    if inner[0] == "[" and inner[-1] == "]":
        inner = inner[1:-1].strip()
    if "\n" in inner:
        elements = [_BULLET.sub("", line, count=1) for line in inner.splitlines()]
    elif ";" in inner:
        elements = inner.split(";")
    elif _BARS.search(inner):
        elements = _BARS.split(inner)
    elif is_numeric and _GROUPED.fullmatch(inner):
        return text  # 10,200 is one number or two
    elif is_numeric:
        elements = re.split(r",\s+" if re.search(r",\s", inner) else r"[,\s]+", inner)
    else:
        elements = re.split(r"[,，、]", inner)
    elements = [element.strip().strip("\"'").strip() for element in elements]
    if len(elements) > 1 and "\n" not in inner:
        elements[-1:] = _split_last(elements)
    elements = [element for element in elements if element]
    is_prose = inner[-1:] in (".", "!", "?") or any(
        len(element.split()) > ELEMENT_WORDS for element in elements
    )
    if not elements:
        return [text]
    if len(elements) == 1:
        # salt and pepper are one or two
        return text if _MAY_JOIN.search(inner) else list[Json](elements)
    if len(elements) > ELEMENTS_MOST or (is_prose and "\n" not in inner):
        return text
    return list[Json](elements)


def _split_last(elements: list[str]) -> list[str]:
    """Return the last of several elements, which is two where the text ends with `B and C`."""
    last = elements[-1]
    begun = _AND_FIRST.sub("", last)
    if begun != last or any(_AND.search(each) for each in elements[:-1]):
        return [begun.strip()]
    return [element.strip() for element in _AND.split(last, maxsplit=1)]
