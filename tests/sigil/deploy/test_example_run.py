"""A deploy without golden tests shows what one run gave, on the example of its schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from functions.wiring import AgentRuntime
from sigil.builtin_tools import deployed_row
from sigil.manifest.example_input import ExampleInput, make_example_input
from sigil.protocol import Caller, Json
from tests.tables import each_row

MODEL = Caller("main", "terminal:a", owner=True, author="model")
TEXT: Json = {"type": "string"}
INPUTS: tuple[tuple[dict[str, Json], ExampleInput], ...] = (
    ({"examples": [{"a": 1}], "properties": {"a": TEXT}}, ExampleInput({"a": 1}, True)),
    ({"default": {"a": 1}}, ExampleInput({"a": 1}, True)),
    (
        {"properties": {"a": {"example": 1}, "b": {"default": "x"}, "c": TEXT}},
        ExampleInput({"a": 1, "b": "x"}, True),
    ),
    (
        {"properties": {"a": {"enum": ["km"]}, "b": {"type": "number"}}, "required": ["b"]},
        ExampleInput({"a": "km", "b": 1}, False),
    ),
    (
        {
            "properties": {
                "a": {"type": "integer", "minimum": 5},
                "b": {"type": ["boolean", "null"]},
            }
        },
        ExampleInput({"a": 5, "b": True}, False),
    ),
    (
        {
            "properties": {
                "days": {"type": "array", "items": {"type": "string", "format": "date"}},
                "who": {"type": "object", "properties": {"name": TEXT}},
            }
        },
        ExampleInput({"days": ["2026-01-31"], "who": {"name": "example"}}, False),
    ),
    ({}, ExampleInput({}, True)),
)


@each_row(("schema", "example"), INPUTS)
def test_an_input_is_made_of_the_schemas_examples(
    schema: Mapping[str, Json], example: ExampleInput
) -> None:
    assert make_example_input(schema) == example


@pytest.fixture
def deploy(runtime: Callable[..., AgentRuntime]) -> Callable[..., dict[str, Json]]:
    """Deploys a body as a model does; returns what the model reads."""
    registry = runtime(deploy_cooldown=0.0).app.registry

    def deploy(execute: str, **spec: Json) -> dict[str, Json]:
        schema = {"type": "object", "properties": {"n": {"type": "integer", "examples": [4]}}}
        return deployed_row(registry.deploy({"schema": schema, "execute": execute, **spec}, MODEL))

    return deploy


def test_the_model_reads_what_the_example_gave(deploy: Callable[..., dict[str, Json]]) -> None:
    row = deploy("return input.n * 2")
    assert row["example"] == {"input": {"n": 4}, "output": 8}
    assert row["next"] == f"now call {row['tool']}"


def test_an_example_that_fails_refuses_nothing_and_is_told(
    deploy: Callable[..., dict[str, Json]],
) -> None:
    row = deploy("return input.m * 2")
    assert row["example"] == {
        "input": {"n": 4},
        "problem": "EOUTPUT (result is NaN, which is no number in JSON)",
    }
    assert row["next"] == (
        "if the example should work, correct execute and deploy again; else call "
        + str(row["tool"])
    )


def test_a_long_output_is_begun(deploy: Callable[..., dict[str, Json]]) -> None:
    example = deploy("return 'x'.repeat(5000)")["example"]
    assert isinstance(example, dict)
    assert example["output"] == f'"{"x" * 998}…'


@pytest.mark.parametrize(
    "spec",
    [
        {"tests": [{"input": {"n": 1}, "output": 1}]},
        {"permissions": {"kv": True}},
        {"permissions": {"http": ["GET api.example.com/"]}},
        # no example is given, and the code refuses the value that was made up
        {
            "execute": "throw { code: 'EINVAL', message: 'no' }",
            "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
    ],
)
def test_what_has_tests_or_effects_is_not_run(
    deploy: Callable[..., dict[str, Json]], spec: dict[str, Json]
) -> None:
    assert "example" not in deploy(**{"execute": "return input.n", **spec})


def test_time_and_chance_are_no_effects(deploy: Callable[..., dict[str, Json]]) -> None:
    row = deploy("return Date.now() > 0", permissions={"clock": True, "random": True})
    assert row["example"] == {"input": {"n": 4}, "output": True}
