"""What tools ask for, in the forms that servers and generators write: it comes in, the endpoint of
every model takes what it is told of it, and calls are checked against what was written.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from sigil import builtin_tools
from sigil.compile.openapi.capability import import_operation
from sigil.compile.openapi.document import ApiDocument
from sigil.compile.openapi.examples import ExampleBudget
from sigil.compile.openapi.operations import list_operations
from sigil.errors import UsageError
from sigil.manifest import schema
from sigil.manifest.arguments import accept
from sigil.run.mcp_client.tools import clean_tools
from sigil.tool_schemas.clean import clean, original_arguments
from sigil.tool_schemas.parameter_names import find_new_names
from sigil.tool_schemas.portable import Untellable, portable
from tests.fakes.schema_rules import DIALECTS, list_parts, refusal_of
from tests.project.tree import ROOT
from tests.tables import each_row

ALWAYS = ("openai", "azure", "gemini", "anthropic", "minimax")
"""The dialects that take what every model is offered, without the portable form."""


@dataclass(frozen=True)
class Sample:
    """A tool's schema: `right` are arguments that it allows, `wrong` some that it does not."""

    form: str
    tool: str
    schema: dict[str, Any]
    right: dict[str, Any]
    wrong: dict[str, Any] | None = None


SAMPLES = [
    Sample(**json.loads(line))
    for line in (ROOT / "tests" / "data" / "tool_schemas.jsonl").read_text("utf-8").splitlines()
]


def refusals(name: str, given: Mapping[str, Any]) -> list[str]:
    """What the dialects have against the two forms of a schema."""
    cleaned = clean(given)
    told = portable(given)
    if isinstance(told, Untellable):
        return [told.reason]
    found = [(dialect, refusal_of(dialect, name, cleaned)) for dialect in ALWAYS]
    found += [(f"portable {dialect}", refusal_of(dialect, name, told)) for dialect in DIALECTS]
    found += [
        ("not stable", str(other) if other != told else None)
        for other in (portable(cleaned), portable(told))
    ]
    return [f"{dialect}: {problem}" for dialect, problem in found if problem]


@each_row("sample", SAMPLES)
def test_a_servers_tool_comes_in_and_every_endpoint_takes_it(sample: Sample) -> None:
    (tool,) = clean_tools([{"name": sample.tool, "inputSchema": sample.schema}], "odd")
    assert not tool.problem

    stored = schema.check(dict(tool.schema))
    assert stored == tool.schema
    assert not refusals("cap_odd", stored)

    names = find_new_names(clean_names(stored))
    told = {names.get(name, name): value for name, value in sample.right.items()}
    assert accept(stored, original_arguments(stored, told)).items() >= sample.right.items()
    if sample.wrong is not None:
        with pytest.raises(UsageError):
            accept(stored, sample.wrong)


def clean_names(stored: Mapping[str, Any]) -> set[str]:
    """The names of a tool's parameters, as it knows them."""
    found = {
        name
        for _, part in list_parts(stored)
        for name in (part["properties"] if isinstance(part.get("properties"), dict) else ())
    }
    told = set(clean(stored)["properties"])  # type: ignore[call-overload]
    return {name for name in found if find_new_names([name]).get(name, name) in told}


@each_row("sample", SAMPLES)
def test_a_capability_may_be_deployed_with_it(sample: Sample) -> None:
    stored = schema.check(sample.schema)

    assert schema.check(stored) == stored
    assert not refusals("cap_own", stored)


def test_the_operations_of_an_api_pass_every_endpoint() -> None:
    paths = {
        f"/{number}": {
            "post": {
                "requestBody": {"content": {"application/json": {"schema": sample.schema}}},
                "parameters": [
                    {"name": "filter[]", "in": "query", "schema": {"type": "array"}},
                    {"name": "城市", "in": "query", "schema": {"type": "string"}},
                ],
            }
        }
        for number, sample in enumerate(SAMPLES)
        if "$ref" not in json.dumps(sample.schema)
    }
    root = {"openapi": "3.1.0", "servers": [{"url": "https://a.example"}], "paths": paths}
    document = ApiDocument(root, "api.json")
    budget = ExampleBudget()
    imported = [
        import_operation(document, operation, prefix="api", budget=budget)
        for operation in list_operations(document, "api")
    ]

    assert len(imported) > 50
    assert not [each.problem for each in imported if each.problem]
    assert not [
        refusal
        for each in imported
        for refusal in refusals("cap_api", each.spec["schema"])  # type: ignore[arg-type]
    ]


def list_shipped() -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of the library, and of the tools that are always there."""
    for file in sorted((ROOT / "capabilities").glob("*/sigil.toml")):
        manifest = tomllib.loads(file.read_text("utf-8"))
        yield file.parent.name, {"type": "object", **manifest.get("input", {})}
    yield "query", builtin_tools.QUERY_SCHEMA
    yield "deploy", builtin_tools.DEPLOY_SCHEMA


def test_every_endpoint_takes_all_that_is_shipped() -> None:
    shipped = dict(list_shipped())

    assert len(shipped) > 80
    assert not {name: found for name, each in shipped.items() if (found := refusals(name, each))}


@each_row(
    ("part", "told"),
    [
        (
            {"type": "string", "pattern": "^a+$", "maxLength": 5000, "description": "Which"},
            {
                "type": "string",
                "description": "Which. Pattern: `^a+$`. At most 5,000 characters.",
            },
        ),
        (
            {"type": "number", "exclusiveMinimum": 0.5, "multipleOf": 0.5, "maximum": 9},
            {
                "type": "number",
                "maximum": 9,
                "description": "More than 0.5. A multiple of 0.5.",
            },
        ),
        (
            {"type": "integer", "exclusiveMinimum": 0, "enum": [1, 2]},
            {"type": "integer", "description": "One of: 1, 2."},
        ),
        (
            {"type": ["string", "null"], "format": "date", "default": None},
            {
                "default": None,
                "anyOf": [{"type": "string", "description": "Format: date."}, {"type": "null"}],
            },
        ),
        (
            {"type": "object", "additionalProperties": {"type": "number"}},
            {"type": "object", "description": 'Fields of any name: {"type":"number"}.'},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "number", "title": "x"}], "items": False},
            {
                "type": "array",
                "items": {"type": "number", "title": "x"},
                "maxItems": 1,
                "description": "Elements in this order: number (x).",
            },
        ),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
    ],
)
def test_what_has_no_keyword_everywhere_is_said_in_words(
    part: dict[str, Any], told: dict[str, Any]
) -> None:
    form = portable({"type": "object", "properties": {"x": part}})

    assert form == {"type": "object", "properties": {"x": told}}


def test_alternatives_at_the_top_become_one_object_that_says_what_belongs_together() -> None:
    branches = [
        {
            "properties": {"kind": {"const": "file"}, "path": {"type": "string"}},
            "required": ["kind", "path"],
        },
        {
            "properties": {"kind": {"const": "web"}, "url": {"type": "string"}},
            "required": ["kind", "url"],
        },
    ]

    assert clean({"type": "object", "oneOf": branches}) == {
        "type": "object",
        "properties": {
            "kind": {"enum": ["file", "web"]},
            "path": {"type": "string"},
            "url": {"type": "string"},
        },
        "required": ["kind"],
        "description": 'Give kind "file", path; or kind "web", url.',
    }


@pytest.mark.parametrize(
    ("reference", "definitions", "words"),
    [
        ("#", {}, "the whole input"),
        ("#/$defs/Node", {"Node": {"properties": {"in": {"$ref": "#/$defs/Node"}}}}, "the Node"),
    ],
)
def test_a_schema_within_itself_ends_with_words(
    reference: str, definitions: dict[str, Any], words: str
) -> None:
    given = {"properties": {"tree": {"$ref": reference}}, "$defs": definitions}
    told = clean(schema.check(given))
    tree = told["properties"]["tree"]  # type: ignore[index]
    inner = tree["properties"]["in"] if definitions else tree

    assert inner["type"] == "object"
    assert inner["description"].startswith(f"It has the same form as {words}")


def test_a_tool_that_takes_no_object_says_why_it_cannot_be_told() -> None:
    assert portable({"type": "string"}) == Untellable(
        "its input is string, and a tool takes an object"
    )


def test_many_references_to_each_other_are_told_in_bounded_size() -> None:
    names = [f"d{number}" for number in range(30)]
    link = {"type": "object", "properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    given = {"type": "object", **link, "$defs": dict.fromkeys(names, link)}

    assert len(json.dumps(clean(given))) < 1_000_000
