"""What an author is told whose deploy is refused: enough to correct it at the next try."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from functions.wiring import AgentRuntime
from sigil.errors import SigilError
from sigil.protocol import Caller

MODEL = Caller("main", "terminal:a", owner=True, author="model")
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TESTS = [{"input": {"n": 10}, "output": "X"}]


@pytest.fixture
def refusal(runtime: Callable[..., AgentRuntime]) -> Callable[..., SigilError]:
    registry = runtime(deploy_cooldown=0.0).app.registry

    def refused(**spec: Any) -> SigilError:
        with pytest.raises(SigilError) as caught:
            registry.deploy(
                {
                    "name": "roman",
                    "description": "Roman.",
                    "schema": SCHEMA,
                    "execute": "return 'X'",
                    "tests": TESTS,
                    **spec,
                },
                MODEL,
            )
        return caught.value

    return refused


def test_code_that_returns_nothing_is_told_to_return(refusal: Callable[..., SigilError]) -> None:
    never = refusal(execute="const roman = 'X'")
    assert (never.code, never.message) == (
        "EMODULE",
        "it returns nothing: it is the body of a function of input, which ends with return and the"
        " value",
    )

    mine = refusal(execute="const roman = String(input.n);\nroman.at(0)")
    assert mine.code == "ETESTS"
    assert "nothing was returned: end the body with return and the value" in mine.message

    null = refusal(execute="const roman = { 1: 'I' };\nreturn roman[input.n]")
    assert null.suggestion == "each call returned null: return the value that the test expects"


def test_a_test_that_wants_null_or_fails_otherwise_is_not_told_to_return(
    refusal: Callable[..., SigilError],
) -> None:
    wrong = [*TESTS, {"input": {"n": 1}, "output": "Y"}]

    assert refusal(tests=wrong).suggestion == "fix the code or the test and deploy again"
    assert (
        refusal(execute="return input.n === 1 ? null : 'Z'", tests=wrong).suggestion
        == "fix the code or the test and deploy again"
    )


def test_of_long_outputs_the_place_is_shown_where_they_differ(
    refusal: Callable[..., SigilError],
) -> None:
    rows = [
        {"name": "Ada Lovelace", "city": "London", "note": f"the note of row {n}"}
        for n in (1, 2, 3)
    ]
    code = (
        "return [1, 2, 4].map((n) => ({ name: 'Ada Lovelace', city: 'London', note: `the note of"
        " row ${n}` }))"
    )

    message = refusal(execute=code, tests=[{"input": {"n": 1}, "output": rows}]).message

    assert (
        message
        == '1 of 1 test failed: test 1: {"n":1} gave …e":"the note of row 4"}], expected …e":"the'
        ' note of row 3"}]'
    )


def test_the_beginning_and_the_end_of_outputs_are_shown_when_they_differ_there(
    refusal: Callable[..., SigilError],
) -> None:
    assert 'gave "X", expected "Y"' in refusal(tests=[{"input": {"n": 1}, "output": "Y"}]).message
    long = refusal(
        execute="return 'a'.repeat(200)", tests=[{"input": {"n": 1}, "output": "a" * 201}]
    ).message
    assert long.endswith(f'gave …{"a" * 20}", expected …{"a" * 20}a"')
    assert refusal(
        execute="return 'b'.repeat(200)", tests=[{"input": {"n": 1}, "output": "a"}]
    ).message.endswith('…, expected "a"')


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("roman_numerals", "did you mean roman-numerals?"),
        ("RomanNumerals", "did you mean roman-numerals?"),
        ("cap_roman_numerals", "did you mean roman-numerals?"),
        ("Roman numerals!", "did you mean roman-numerals?"),
        ("ROMAN", "did you mean roman?"),
        ("罗马数字", "correct the field"),
        ("a" * 61, "correct the field"),
        ("_", "correct the field"),
    ],
)
def test_a_name_in_another_spelling_is_told_in_ours(
    refusal: Callable[..., SigilError], name: str, meant: str
) -> None:
    assert refusal(name=name).suggestion == meant


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (
            {"n": "integer"},
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        ),
        (
            {"n": {"type": "Int", "description": "The number"}},
            {
                "type": "object",
                "properties": {"n": {"type": "integer", "description": "The number"}},
                "required": ["n"],
            },
        ),
        (
            {"type": "object", "properties": {"n": {"type": "number", "required": True}}},
            {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]},
        ),
        (
            {"type": "object", "properties": {"n": "str"}, "required": "n"},
            {"type": "object", "required": ["n"], "properties": {"n": {"type": "string"}}},
        ),
        (
            {"properties": {"n": {"type": "list", "items": "float"}}},
            {
                "type": "object",
                "properties": {"n": {"type": "array", "items": {"type": "number"}}},
            },
        ),
    ],
)
def test_a_schema_in_another_form_is_answered_with_ours(
    refusal: Callable[..., SigilError], sent: dict[str, Any], meant: dict[str, Any]
) -> None:
    problem = refusal(schema=sent)
    told = problem.as_dict()["suggestion"].removeprefix("send schema as ")
    assert json.loads(told) == meant


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ({"input": {"n": 10}, "expected": "X"}, {"input": {"n": 10}, "output": "X"}),
        ({"args": {"n": 10}, "result": "X"}, {"input": {"n": 10}, "output": "X"}),
        ({"n": 10, "output": "X"}, {"input": {"n": 10}, "output": "X"}),
        ({"input": 10, "output": "X"}, {"input": {"n": 10}, "output": "X"}),
        ({"input": {"n": 0}, "error": "not positive"}, {"input": {"n": 0}, "error": "EINVAL"}),
    ],
)
def test_a_golden_test_in_another_form_is_answered_with_ours(
    refusal: Callable[..., SigilError], sent: dict[str, Any], meant: dict[str, Any]
) -> None:
    told = refusal(tests=[sent]).as_dict()["suggestion"].removeprefix("send the test as ")
    assert json.loads(told) == meant


def test_a_golden_test_that_cannot_pass_as_it_is_written_says_how_it_could(
    refusal: Callable[..., SigilError],
) -> None:
    wrong_input = refusal(tests=[{"input": {"m": 10}, "output": "X"}])
    assert wrong_input.suggestion == (
        'the schema refuses the input of test 1: write "input": {"n":10}'
    )
    wrong_type = refusal(execute="return 5", tests=[{"input": {"n": 1}, "output": "5"}])
    assert wrong_type.suggestion == ('test 1 expects another type than it gets: write "output": 5')
    unrounded = refusal(execute="return 0.1 + 0.2", tests=[{"input": {"n": 1}, "output": 0.3}])
    assert "Math.round(x * 100) / 100" in unrounded.suggestion


def test_who_names_no_field_of_a_test_is_told_its_fields(
    refusal: Callable[..., SigilError],
) -> None:
    problem = refusal(tests=[{"input": {"n": 10}, "outcome": "X"}])

    assert (problem.message, problem.suggestion) == (
        "tests[1].outcome: no such field",
        "the fields are input, output, error, http",
    )
    assert refusal(tests=[{"inputs": {"n": 10}, "output": "X"}]).suggestion == "did you mean input?"
    assert refusal(permissions={"network": True}).suggestion.startswith(
        "the fields are http, secrets, call, "
    )
