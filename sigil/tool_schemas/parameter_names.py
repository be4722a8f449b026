"""The names of a tool's parameters towards a model.

Model endpoints refuse a whole request when one tool has a parameter whose name is not of ASCII
letters, digits, dot, hyphen and underscore. So a parameter with a name of another script is shown
under a portable name, the same in every request, and its value goes back under the original one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final

from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

_PORTABLE_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII)
_DIGITS_LEAST: Final = 8


def find_new_names(names: Iterable[str]) -> dict[str, str]:
    """Return the portable name of each parameter that needs one.

    No two are alike, and none is like a parameter that keeps its name.
    """
    taken = set(names)
    new_names: dict[str, str] = {}
    for name in sorted(taken):
        if _PORTABLE_NAME.fullmatch(name):
            continue
        digits = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        candidates = (f"p_{digits[:size]}" for size in range(_DIGITS_LEAST, len(digits) - 2))
        new_names[name] = next(candidate for candidate in candidates if candidate not in taken)
        taken.add(new_names[name])
    return new_names


def rename_parameters(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a schema whose properties have portable names.

    The description of a renamed property begins with its original name.
    """
    parts = as_mapping(schema.get("properties"))
    new_names = find_new_names(parts)
    if not new_names:
        return schema
    properties: dict[str, Json] = {}
    for name, part in parts.items():
        if name not in new_names:
            properties[name] = part
            continue
        fields = as_mapping(part)
        description = as_string(fields.get("description"))
        description = f"{name}: {description}" if description else name
        properties[new_names[name]] = {**fields, "description": description}
    renamed = {key: _rename_in_keyword(key, value, new_names) for key, value in schema.items()}
    return {**renamed, "properties": properties}


def _rename_in_keyword(key: str, value: Json, new_names: Mapping[str, str]) -> Json:
    """Return the value of a top-level keyword, with new names where it names parameters."""
    if key == "required" and isinstance(value, list):
        return [new_names.get(name, name) if isinstance(name, str) else name for name in value]
    if key == "dependentRequired" and isinstance(value, dict):
        return {
            new_names.get(name, name): _rename_in_keyword("required", names, new_names)
            for name, names in value.items()
        }
    if key == "dependentSchemas" and isinstance(value, dict):
        return {new_names.get(name, name): part for name, part in value.items()}
    return value
