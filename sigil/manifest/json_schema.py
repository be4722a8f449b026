"""The JSON Schema of `sigil.toml` is made of the manifest itself, so that editors complete and
check while somebody writes.
"""

from __future__ import annotations

from typing import Any

from sigil.manifest.languages import BINARY, SOURCES
from sigil.manifest.model import Manifest
from sigil.manifest.package import SECTIONS
from sigil.protocol import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_BUILD = ("lang",)
_RENAMED = {"tests": "test"}


def manifest_json_schema() -> dict[str, Json]:
    """Return a schema of the whole file: a table for each section, with its fields."""
    model = Manifest.model_json_schema(ref_template="#/$defs/{model}", mode="validation")
    fields: dict[str, Any] = model["properties"]
    sections = [section.strip("[]") for section in SECTIONS]
    own = {
        name: field
        for name, field in fields.items()
        if _RENAMED.get(name, name) not in sections and name not in _BUILD
    }
    return {
        "$schema": DIALECT,
        "title": "sigil.toml: what a capability says of itself",
        "type": "object",
        "required": ["capability"],
        "additionalProperties": False,
        "properties": {
            "capability": {
                "type": "object",
                "required": [name for name in model["required"] if name in own],
                "additionalProperties": False,
                "properties": own,
            },
            "build": _build_section(fields),
            **{section: fields[name] for section, name in _sections_of(fields, sections)},
        },
        "$defs": model.get("$defs", {}),
    }


def _sections_of(fields: dict[str, Any], sections: list[str]) -> list[tuple[str, str]]:
    return [
        (_RENAMED.get(name, name), name) for name in fields if _RENAMED.get(name, name) in sections
    ]


def _build_section(fields: dict[str, Any]) -> dict[str, Json]:
    usual = ", ".join(f"{SOURCES[lang]} for {lang}" for lang in SOURCES)
    source = {
        "type": "string",
        "description": (
            f"The file with the code (default: {usual}; {' and '.join(BINARY)} name a module)."
        ),
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {"lang": fields["lang"], "source": source},
    }
