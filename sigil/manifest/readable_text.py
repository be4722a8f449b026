"""The texts in a schema as people and models may read them: whatever nobody sees, or turns what
stands beside it around, is not in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sigil.errors import UsageError, one_line
from sigil.protocol import Json

NOTES = ("description", "title", "$comment")
"""Keywords whose text says something and decides nothing: it is cleaned, not refused. Its lines
stay.
"""
VALUES = ("default", "examples", "example", "enum", "const")
MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose keys are names of somebody's own, and no keywords."""
_HIDDEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    r"\U000e0000-\U000e0fff]"
)
"""Without line breaks and what joins or parts letters, which a value may well have."""


def legible(schema: Mapping[str, Json]) -> dict[str, Json]:
    """A schema with clean notes; `UsageError` ESCHEMA when something else in it would deceive
    whoever reads it. It is not nested deep.
    """
    return {_key(key): _part(key, value) for key, value in schema.items()}


def _part(key: str, value: Json) -> Json:
    if key in NOTES and isinstance(value, str):
        return _HIDDEN.sub(" ", value)
    if key in MAPS and isinstance(value, dict):
        return {_key(name): _inside(part) for name, part in value.items()}
    return _value(value) if key in VALUES else _inside(value)


def _inside(node: Json) -> Json:
    if isinstance(node, dict):
        return legible(node)
    return [_inside(part) for part in node] if isinstance(node, list) else _value(node)


def _value(value: Json) -> Json:
    """A value, which has to stay as it is."""
    if isinstance(value, str):
        _demand(_HIDDEN.search(value) is None, value)
    for key in value if isinstance(value, dict) else ():
        _key(key)
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _value(part)
    return value


def _key(key: str) -> str:
    _demand(_HIDDEN.search(key) is None and key.splitlines() in ([], [key]), key)
    return key


def _demand(clean: bool, text: str) -> None:
    if not clean:
        why = (
            f"{one_line(text, 40)!r} holds characters that nobody sees, or that turn a text around"
        )
        raise UsageError(
            "ESCHEMA",
            f"schema refused: {why}",
            suggestion="leave them out; a pattern may write them as \\u202e",
        )
