"""The parameters of a tool as a model is told them, and as its capability calls them.

Endpoints refuse a whole request when one tool has a parameter whose name is not of ASCII letters,
digits, dot, hyphen and underscore. So a name of another script is told as another one, the same in
every request, and read back before the call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from sigil.protocol import Json

_SAFE: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII)
_SHORTEST: Final = 8


def told_schema(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """The schema with names that every endpoint takes; what a parameter is really called begins its
    description.
    """
    told = _told_names(schema)
    if not told:
        return schema
    properties = {
        told.get(name, name): _described(name, part) if name in told else part
        for name, part in schema["properties"].items()
    }
    return {
        **{key: _renamed(key, value, told) for key, value in schema.items()},
        "properties": properties,
    }


def own_arguments(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments of a call under the names that the capability knows; one that came under its
    own name stays as it is.
    """
    own = {told: name for name, told in _told_names(schema).items()}
    return {own.get(name, name): value for name, value in arguments.items()}


def _told_names(schema: Mapping[str, Json]) -> dict[str, str]:
    """Parameter → what a model is told instead. No two are told alike, and none like a parameter
    that is told as it is.
    """
    properties = schema.get("properties")
    names = properties if isinstance(properties, dict) else {}
    odd = sorted(name for name in names if not _SAFE.fullmatch(name))
    taken = set(names)
    told: dict[str, str] = {}
    for name in odd:
        digits = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        sizes = (f"p_{digits[:size]}" for size in range(_SHORTEST, len(digits) - 2))
        told[name] = next(each for each in sizes if each not in taken)
        taken.add(told[name])
    return told


def _renamed(key: str, value: Json, told: Mapping[str, str]) -> Json:
    """A keyword of the top that speaks of parameters by name."""
    if key == "required" and isinstance(value, list):
        return [told.get(name, name) if isinstance(name, str) else name for name in value]
    if key == "dependentRequired" and isinstance(value, dict):
        return {
            told.get(name, name): _renamed("required", names, told) for name, names in value.items()
        }
    if key == "dependentSchemas" and isinstance(value, dict):
        return {told.get(name, name): part for name, part in value.items()}
    return value


def _described(name: str, part: Json) -> dict[str, Json]:
    fields = part if isinstance(part, dict) else {}
    about = fields.get("description")
    return {
        **fields,
        "description": f"{name}: {about}" if isinstance(about, str) and about else name,
    }
