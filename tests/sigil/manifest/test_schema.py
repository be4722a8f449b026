"""A message about an input writes values as JSON does, and names in quotes."""

from __future__ import annotations

import time
from itertools import count
from types import SimpleNamespace

import pytest

from sigil.errors import UsageError
from sigil.manifest import schema
from sigil.manifest.arguments import accept
from sigil.protocol import Json
from tests.tables import each_row


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ({"type": "string"}, ["Bern", "Basel"], 'x: ["Bern","Basel"] is not of type \'string\''),
        ({"type": "string"}, None, "x: null is not of type 'string'"),
        ({"type": ["integer", "null"]}, True, "x: true is not of type 'integer', 'null'"),
        ({"enum": ["a", None, True]}, "é'", 'x: "é\'" is not one of ["a",null,true]'),
        ({"const": {"a": None}}, {"a": False}, 'x: {"a":null} was expected'),
        ({"minimum": 3}, 2, "x: 2 is less than the minimum of 3"),
        ({"pattern": r"^a\d$"}, "b", r'x: "b" does not match ^a\d$'),
        ({"not": {"type": "null"}}, None, 'x: null should not be valid under {"type":"null"}'),
        ({"required": ["y"], "type": "object"}, {}, "x: 'y' is a required property"),
        (
            {"items": {"type": "string"}},
            ["a", {"b": None}],
            "x.1: {\"b\":null} is not of type 'string'",
        ),
    ],
)
def test_values_are_told_as_json(part: dict[str, Json], value: Json, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        accept(schema.check({"properties": {"x": part}, "required": ["x"]}), {"x": value})
    assert caught.value.message == said


def test_a_long_value_leaves_room_for_what_is_wrong_with_it() -> None:
    with pytest.raises(UsageError, match="… is not of type 'string'"):
        accept(schema.check({"properties": {"x": {"type": "string"}}}), {"x": ["long" * 100, "b"]})


def test_a_schema_that_is_wrong_is_told_with_its_place() -> None:
    with pytest.raises(
        UsageError, match=r"schema refused: properties\.x\.minItems: true is not of type"
    ):
        schema.check({"properties": {"x": {"minItems": True}}})


@each_row("hidden", ["\x1b[31m", "\u202e", "\u2066", "\U000e0041", "\u200b", "\x00"])
def test_nothing_in_a_schema_hides_or_turns_around_what_is_read(hidden: str) -> None:
    odd = f"obey{hidden}me"
    cleaned = schema.check(
        {
            "title": odd,
            "properties": {
                "x": {"description": odd},
                "default": {"type": "string", "description": odd},
            },
        }
    )
    assert hidden not in str(cleaned)
    assert cleaned["properties"]["x"]["description"].startswith("obey ")
    for part in (
        {"enum": [odd]},
        {"default": {odd: 1}},
        {"default": {"description": odd}},
        {"type": "object", "required": [odd]},
        {"type": "object", "properties": {odd: {}}},
        {"type": "object", "properties": {"two\nlines": {}}},
        {"pattern": odd},
        {"x-note": [odd]},
        {odd: 1},
    ):
        with pytest.raises(UsageError, match="nobody sees"):
            schema.check({"properties": {"x": part}})


def test_lines_and_joined_letters_stay_in_a_schema() -> None:
    part = {
        "description": "One line.\n\nمی\u200cخواهم 👩\u200d💻",
        "enum": ["\n", "\t", "👩\u200d💻", "می\u200cخواهم"],
    }
    assert schema.check({"properties": {"x": part}})["properties"]["x"] == part


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ("#/$defs/a", "a"),
        ("#/$defs/a b", "a b"),
        ("#/$defs/a%20b", "a b"),
        ("#/$defs/a~1b", "a/b"),
        ("#/$defs/a~0b", "a~b"),
    ],
)
def test_a_reference_is_a_pointer_into_the_definitions(ref: str, name: str) -> None:
    accepted = schema.check(
        {"properties": {"x": {"$ref": ref}}, "$defs": {name: {"type": "string"}}}
    )
    assert accept(accepted, {"x": "text"}) == {"x": "text"}
    with pytest.raises(UsageError, match="x: true is not of type 'string'"):
        accept(accepted, {"x": True})


@pytest.mark.parametrize(
    ("ref", "name", "reason"),
    [
        ("#/$defs/a~1b", "a~1b", "does not lead to its own"),
        ("#/$defs/a/b", "a/b", "does not lead to its own"),
        ("#/$defs/b", "a", "does not lead to its own"),
        ("https://example.com/schema", "a", "does not lead to its own"),
        ("#/$defs/r", "r", "refers to itself"),
    ],
)
def test_a_reference_to_anything_else_is_refused(ref: str, name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        schema.check(
            {
                "properties": {"x": {"$ref": ref}},
                "$defs": {name: {"anyOf": [{"type": "array"}, {"$ref": "#/$defs/r"}]}}
                if name == "r"
                else {name: {}},
            }
        )


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"items": {"allOf": [{"minimum": -1}] * 900}}, [0] * 20_000),
        ({"pattern": r"^(?=((a|aa)+)+c$)\1"}, "a" * 40 + "b"),
        (
            {"additionalProperties": {"anyOf": [{"maximum": -1}] * 400 + [{"minimum": 0}]}},
            {str(n): n for n in range(20_000)},
        ),
    ],
)
def test_a_validation_has_a_time_budget(
    part: dict[str, Json], value: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "VALIDATION_SECONDS", 0.05)
    accepted = schema.check({"properties": {"x": part}})
    with pytest.raises(UsageError, match=r"EINVAL: checking the input .* takes too long"):
        accept(accepted, {"x": value})


def test_a_validation_is_not_ended_because_the_machine_does_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    accepted = schema.check({"properties": {"x": {"items": {"type": "number"}}}})
    passing = SimpleNamespace(monotonic=count(0, 5).__next__, thread_time=time.thread_time)
    monkeypatch.setattr(schema, "time", passing)
    assert accept(accepted, {"x": [1, 2, 3]}) == {"x": [1, 2, 3]}


def test_nested_quantifiers_cost_nothing() -> None:
    accepted = schema.check({"properties": {"x": {"pattern": "^(a+)+$"}}})
    with pytest.raises(UsageError, match="does not match"):
        accept(accepted, {"x": "a" * 50 + "b"})


@pytest.mark.parametrize(
    "pattern",
    [
        "a{5000000}",
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(?x)[a-z]{ 1000000 , }",
        r"(?:\{x{50}|b){50}",
    ],
)
def test_a_pattern_that_takes_much_memory_is_refused_before_it_is_compiled(pattern: str) -> None:
    with pytest.raises(UsageError, match="repeats too much"):
        schema.check({"properties": {"x": {"type": "string", "pattern": pattern}}})
    with pytest.raises(UsageError, match="repeats too much"):
        schema.check({"patternProperties": {pattern: {}}})


def test_many_patterns_together_take_bounded_memory() -> None:
    parts = {f"x{each}": {"type": "string", "pattern": "a{1900}"} for each in range(10)}
    schema.check({"properties": parts})
    with pytest.raises(UsageError, match="its patterns repeat too much"):
        schema.check({"properties": {**parts, "y": {"type": "string", "pattern": "b{1900}"}}})


def test_patterns_that_people_write_are_taken() -> None:
    for pattern in (
        r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$",
        r"^\w[\]{]{0,5000}\{$",
        r"^(?:[A-Za-z0-9+/]{4}){1,4000}={0,2}$",
        r"^[a-z]{64}(,[a-z]{64}){0,9}$",
    ):
        schema.check({"properties": {"x": {"type": "string", "pattern": pattern}}})


def test_a_schema_may_contain_itself_and_ends_with_the_value() -> None:
    accepted = schema.check(
        {
            "properties": {"name": {"type": "string"}, "parts": {"items": {"$ref": "#"}}},
            "required": ["name"],
        }
    )
    right: Json = {"name": "a", "parts": [{"name": "b", "parts": []}]}

    assert accept(accepted, {"name": "all", "parts": [right]})
    with pytest.raises(UsageError, match=r"parts\.0\.parts\.0: 'name' is a required property"):
        accept(accepted, {"name": "a", "parts": [{"name": "b", "parts": [{}]}]})


def test_a_schema_that_branches_into_itself_has_a_time_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schema, "VALIDATION_SECONDS", 0.05)
    again = {"type": "object", "properties": {"n": {"$ref": "#/$defs/node"}}}
    node = {"anyOf": [again, {**again, "title": "the same"}, {"const": 1}]}
    accepted = schema.check(
        {"properties": {"x": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    )
    value: Json = "neither"
    for _ in range(40):
        value = {"n": value}

    with pytest.raises(UsageError, match="takes too long"):
        accept(accepted, {"x": value})
