"""Makes the JSON Schema of `sigil.toml` from the manifest model, for editors that complete and
check a file while it is written.
"""

from __future__ import annotations

from sigil.manifest.languages import BINARY, SOURCES
from sigil.manifest.model import Manifest
from sigil.manifest.package import SECTIONS
from sigil.protocol import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TABLES = ("lang", "members")
"""Fields of the model that have tables of their own in the file, `[build]` and `[bundle]`."""
_RENAMED = {"tests": "test"}


def manifest_json_schema() -> dict[str, Json]:
    """Return a schema of the whole file: a table for each section, with its fields."""
    model = Manifest.model_json_schema(ref_template="#/$defs/{model}", mode="validation")
    fields: dict[str, Json] = model["properties"]
    section_names = [section.strip("[]") for section in SECTIONS]
    sections: dict[str, Json] = {}
    own: dict[str, Json] = {}
    for field, description in fields.items():
        name = _RENAMED.get(field, field)
        if name in section_names:
            sections[name] = description
        elif field not in _TABLES:
            own[field] = description
    default_files = ", ".join(f"{SOURCES[lang]} for {lang}" for lang in SOURCES)
    source = {
        "type": "string",
        "description": (
            f"The file with the code (default: {default_files};"
            f" {' and '.join(BINARY)} name a module)."
        ),
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
            "build": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"lang": fields["lang"], "source": source},
            },
            "bundle": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"members": fields["members"]},
            },
            **sections,
        },
        "$defs": model.get("$defs", {}),
    }
