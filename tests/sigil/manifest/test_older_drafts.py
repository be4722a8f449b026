"""Forms of older drafts come in as those of 2020-12, and those of 2020-12 stay as they are."""

from __future__ import annotations

import tomllib

import pytest

from sigil.errors import UsageError
from sigil.manifest.older_drafts import modernize
from sigil.protocol import Json
from tests.project.tree import ROOT
from tests.tables import each_row


@each_row(
    ("older", "written"),
    [
        (
            {"properties": {"n": {"minimum": 1, "exclusiveMinimum": True}}},
            {"properties": {"n": {"exclusiveMinimum": 1}}},
        ),
        (
            {"properties": {"n": {"maximum": 1, "exclusiveMaximum": False}}},
            {"properties": {"n": {"maximum": 1}}},
        ),
        (
            {"properties": {"l": {"items": [{"type": "string"}], "additionalItems": False}}},
            {"properties": {"l": {"prefixItems": [{"type": "string"}], "items": False}}},
        ),
        (
            {"properties": {"x": {"type": "string", "nullable": True, "enum": ["a"]}}},
            {"properties": {"x": {"type": ["string", "null"], "enum": ["a", None]}}},
        ),
        (
            {"properties": {"x": {"type": "string", "maxLength": None, "default": None}}},
            {"properties": {"x": {"type": "string", "default": None}}},
        ),
        (
            {
                "properties": {"x": {"$ref": "#/definitions/A%20b"}},
                "definitions": {"A b": {"type": "string"}, "unused": {}},
            },
            {
                "properties": {"x": {"$ref": "#/$defs/A_b"}},
                "$defs": {"A_b": {"type": "string"}},
            },
        ),
        (
            {"$ref": "#/definitions/A", "definitions": {"A": {"properties": {"x": {}}}}},
            {"properties": {"x": {}}, "$defs": {"A": {"properties": {"x": {}}}}},
        ),
        (
            {"type": ["object", "null"], "properties": {"again": {"$ref": "#"}}},
            {
                "type": "object",
                "properties": {"again": {"$ref": "#/$defs/input"}},
                "$defs": {
                    "input": {
                        "type": ["object", "null"],
                        "properties": {"again": {"$ref": "#/$defs/input"}},
                    }
                },
            },
        ),
        (
            {"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}},
            {
                "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"type": "string"}},
            },
        ),
        (
            {"properties": {"x": {"$ref": "https://example.com/other.json"}}},
            {"properties": {"x": {"$ref": "https://example.com/other.json"}}},
        ),
    ],
)
def test_an_older_form_is_written_as_todays(older: dict[str, Json], written: Json) -> None:
    assert modernize(older) == written


def test_a_schema_of_today_stays_as_it_is() -> None:
    files = sorted((ROOT / "capabilities").glob("*/sigil.toml"))
    schemas = [tomllib.loads(file.read_text("utf-8")).get("input", {}) for file in files]

    assert len(schemas) > 80
    assert [modernize(each) for each in schemas] == schemas


def test_a_schema_that_is_nested_too_deep_is_refused() -> None:
    deep: dict[str, Json] = {}
    for _ in range(150):
        deep = {"items": deep}

    with pytest.raises(UsageError, match="nested too deep"):
        modernize(deep)
