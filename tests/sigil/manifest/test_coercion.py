"""Texts of a query string, and what else a caller writes a little wrong, read as the schema means
them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sigil.errors import UsageError
from sigil.manifest import schema
from sigil.protocol import Json

JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-5, 5) | some.text("1[]{}ntf", max_size=4),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=8,
)
KINDS = ("string", "integer", "number", "boolean", "null", "array", "object")


@pytest.mark.parametrize(
    ("part", "value", "read"),
    [
        ({"type": "integer"}, "12", 12),
        ({"type": "integer"}, "1.5", "1.5"),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "1", True),
        ({"type": "boolean"}, "0", False),
        ({"type": ["boolean", "integer"]}, "1", 1),
        ({"type": ["string", "integer"]}, "1", "1"),
        ({"type": "null"}, "null", None),
        ({"type": "object"}, '{"a":1}', {"a": 1}),
        ({"type": "array", "items": {"type": "integer"}}, "[1,2]", [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, ["1", "2"], [1, 2]),
        ({"type": "array", "items": {"type": "integer"}}, "1", [1]),
        ({"type": "array", "items": {"type": "string"}}, "a", ["a"]),
        ({"type": "array"}, None, None),
        ({"type": ["array", "string"]}, "a", "a"),
        ({"enum": [1, 2, 3]}, "2", 2),
        ({"enum": ["1", 2]}, "2", "2"),
        ({"const": True}, "true", True),
        ({"properties": {"k": {"type": "integer", "default": 4}}, "type": "object"}, {}, {"k": 4}),
        ({"properties": {"k": {"type": "integer"}}, "type": "object"}, '{"k":"3"}', {"k": 3}),
        (
            {
                "type": "array",
                "items": {"type": "object", "properties": {"k": {"type": "boolean"}}},
            },
            [{"k": "true"}],
            [{"k": True}],
        ),
        (True, "1", "1"),
        ({}, "1", "1"),
    ],
)
def test_a_value_is_read_as_its_property_wants_it(part: Json, value: Json, read: Json) -> None:
    assert schema.fill({"properties": {"x": part}}, {"x": value}) == {"x": read}


@given(some.sampled_from(KINDS), JSON)
def test_what_is_right_already_is_left_as_it_is(kind: str, value: Json) -> None:
    accepted = schema.check({"properties": {"x": {"type": kind}}})
    try:
        schema.accept(accepted, {"x": value})
    except UsageError:
        return
    if not isinstance(value, str | int | bool) or kind == "string":
        assert schema.accept(accepted, {"x": value}) == {"x": value}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"properties": {"x": {"type": "integer", "default": "x"}}},
            "the default of x: \"x\" is not of type 'integer'",
        ),
        (
            {
                "properties": {"x": {"$ref": "#/$defs/n", "default": 0}},
                "$defs": {"n": {"minimum": 1}},
            },
            "the default of x: 0 is less than",
        ),
        ({"a": {"type": "string"}}, '"a" is not a keyword: properties go into "properties"'),
    ],
)
def test_a_schema_by_which_no_call_could_pass_or_fail_is_refused(wrong: Json, said: str) -> None:
    with pytest.raises(UsageError, match="ESCHEMA") as caught:
        schema.check(wrong)
    assert said in caught.value.message
