"""The keywords of JSON Schema (draft 2020-12) below which another schema stands."""

from __future__ import annotations

from typing import Final

SUBSCHEMAS: Final = (
    "items",
    "additionalProperties",
    "propertyNames",
    "contains",
    "not",
    "if",
    "then",
    "else",
)
"""Those with one schema as their value."""
