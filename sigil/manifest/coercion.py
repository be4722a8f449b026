"""Arguments as a schema means them: a query string knows texts alone, and a model writes a number
in quotes now and then.
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from sigil.protocol import Json

_READ = frozenset(("integer", "number", "boolean", "null", "array", "object"))
_BITS = {"1": True, "0": False}


def filled(schema: Mapping[str, Json], given: Mapping[str, Json]) -> dict[str, Json]:
    """`given` with the defaults of `schema`'s properties, and each value read as its property wants
    it, objects within as well.
    """
    properties = schema.get("properties")
    parts = properties if isinstance(properties, dict) else {}
    defaults = {
        name: part["default"]
        for name, part in parts.items()
        if isinstance(part, dict) and "default" in part
    }
    return {**defaults, **{name: coerced(parts.get(name), value) for name, value in given.items()}}


def coerced(part: Json, value: Json) -> Json:
    """A text where the schema wants a number, a boolean, null or JSON, read as that; one value for
    a list of one; else `value` itself.
    """
    if not isinstance(part, dict):
        return value
    kinds = _kinds(part)
    if isinstance(value, str) and kinds and "string" not in kinds:
        value = _read(part, kinds, value)
    if (
        "array" in kinds
        and not isinstance(value, list)
        and not any(_is(kind, value) for kind in kinds)
    ):
        value = [value] if isinstance(value, str | int | float) else value
    if isinstance(value, list):
        return [coerced(part.get("items"), element) for element in value]
    return filled(part, value) if isinstance(value, dict) and "properties" in part else value


def _kinds(part: Mapping[str, Json]) -> frozenset[str]:
    """The types that `part` allows, as far as it names them or lists its values."""
    wanted = part.get("type")
    if wanted is None:
        values = (
            part["enum"]
            if isinstance(part.get("enum"), list)
            else [part["const"]]
            if "const" in part
            else []
        )
        return frozenset(_kind(value) for value in values)
    return frozenset(
        kind for kind in (wanted if isinstance(wanted, list) else [wanted]) if isinstance(kind, str)
    )


def _read(part: Mapping[str, Json], kinds: frozenset[str], text: str) -> Json:
    if "boolean" in kinds and not kinds & {"integer", "number"} and text in _BITS:
        return _BITS[text]
    if not kinds & _READ:
        return text
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    return value if any(_is(kind, value) for kind in kinds) else text


def _kind(value: Json) -> str:
    return next(
        (
            kind
            for kind in ("string", "boolean", "integer", "number", "null", "array", "object")
            if _is(kind, value)
        ),
        "",
    )


def _is(kind: str, value: Json) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
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
