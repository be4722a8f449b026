"""`sigil schema`: every manifest that is valid keeps to it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sigil.manifest.json_schema import manifest_json_schema
from sigil.manifest.model import Manifest
from tests.sigil.cli.conftest import Sigil
from tests.tables import each_row

LIBRARY = sorted((Path(__file__).parents[4] / "capabilities").glob("*/sigil.toml"))


GOOD = {"capability": {"name": "a", "description": "Add."}}


@pytest.fixture(scope="module")
def schema() -> Any:
    made = manifest_json_schema()
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


@each_row("path", LIBRARY)
def test_every_manifest_of_the_library_keeps_to_the_schema(schema: Any, path: Path) -> None:
    assert [
        problem.message for problem in schema.iter_errors(tomllib.loads(path.read_text("utf-8")))
    ] == []


@each_row(
    "wrong",
    [
        {},
        {"capability": {"name": "a"}},
        {"capability": {**GOOD["capability"], "nmae": 1}},
        {**GOOD, "permission": {}},
        {**GOOD, "permissions": {"network": True}},
        {**GOOD, "build": {"lang": "cobol"}},
        {**GOOD, "limits": {"timeout_ms": 60_000}},
        {**GOOD, "test": [{"output": 1}]},
    ],
)
def test_the_schema_refuses_what_the_manifest_does(schema: Any, wrong: dict[str, Any]) -> None:
    assert schema.is_valid(GOOD)
    assert not schema.is_valid(wrong)


def test_every_field_of_a_manifest_has_a_place_in_the_schema(run_sigil: Sigil) -> None:
    made = run_sigil("schema").document
    placed = {
        *made["properties"],
        *made["properties"]["capability"]["properties"],
        *made["properties"]["build"]["properties"],
        *made["properties"]["bundle"]["properties"],
    }
    assert {"test" if name == "tests" else name for name in Manifest.model_fields} <= placed
    assert run_sigil("schema", "--json").document == made
