"""Forms made of schemas: what is typed becomes arguments, or a sentence beside its field."""

from __future__ import annotations

from typing import Any

from sigil.http.page import figures
from sigil.http.page.capability_words import CapabilityWords
from sigil.http.page.schema_form import blame, make_fields, read_form
from tests.tables import each_row

WORDS = CapabilityWords()
HUGE = "9" * 40
GOOD: list[tuple[dict[str, Any], str, Any]] = [
    ({"type": "string"}, "  hi ", "hi"),
    ({"type": "string", "maxLength": 4_000}, "a\r\nb", "a\nb"),
    ({"type": "integer", "minimum": 1, "maximum": 5}, "5", 5),
    ({"type": "integer"}, "5.0", 5),
    ({"type": "number"}, "-1.5e3", -1_500.0),
    ({"type": "number", "minimum": 1_234_567.5, "maximum": 1e300}, "1234567.5", 1_234_567.5),
    ({"enum": ["a", 1, True]}, "1", 1),
    ({"enum": ["a", 1, True]}, "true", True),
    ({"type": "boolean"}, "on", True),
    ({"type": "boolean"}, "", False),
    ({"type": "array", "items": {"type": "string"}}, "one\r\n\r\n two", ["one", "two"]),
    ({"type": "array", "items": {"type": "integer"}}, "1\n2", [1, 2]),
    ({"type": "array", "items": {"type": "object"}}, '[{"a": 1}]', [{"a": 1}]),
    ({"type": ["string", "null"]}, "x", "x"),
    ({"type": ["string", "integer"]}, '"x"', "x"),
    ({}, "[1]", [1]),
]
BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "string"}, " ", "This field is needed."),
    ({"type": "string", "maxLength": 2}, "abc", "at most 2"),
    ({"type": "string", "minLength": 5}, "abc", "at least 5"),
    ({"type": "integer"}, "5.5", "whole number"),
    ({"type": "integer"}, "five", "whole number"),
    ({"type": "integer"}, HUGE, "whole number"),
    ({"type": "integer", "minimum": 1}, "0", "at least 1"),
    ({"type": "number", "maximum": 1.5}, "2", "at most 1.5"),
    ({"type": "number"}, "1e999", "Type a number"),
    ({"type": "number"}, "nan", "Type a number"),
    ({"enum": ["a", "b"]}, "c", "Choose one of: a, b."),
    ({"type": "array", "items": {"type": "integer"}}, "1\ntwo", "whole number"),
    ({"type": "object"}, "{", "This is no JSON."),
    ({"type": "object"}, "[" * 5_000, "This is no JSON."),
]


def read(schema: dict[str, Any], typed: str) -> Any:
    whole = {"type": "object", "required": ["it"], "properties": {"it": schema}}
    return read_form(make_fields(whole), {"a-it": typed}, WORDS)


@each_row("schema, typed, value", GOOD)
def test_what_is_typed_becomes_an_argument(schema: dict[str, Any], typed: str, value: Any) -> None:
    form = read(schema, typed)
    assert form.is_good, form.fields
    assert form.arguments == {"it": value}
    assert type(form.arguments["it"]) is type(value)


@each_row("schema, typed, said", BAD)
def test_what_is_wrong_is_said_beside_its_field(
    schema: dict[str, Any], typed: str, said: str
) -> None:
    [field] = read(schema, typed).fields
    assert said in field.error
    assert field.value == typed


def test_schemas_that_are_no_plain_object_are_typed_as_json() -> None:
    for schema in ({"anyOf": []}, {}, {"properties": {f"n{i}": {} for i in range(100)}}):
        [field] = make_fields(schema)
        assert field.kind == "json"
        assert read_form([field], {"a-": '{"x": 1}'}, WORDS).arguments == {"x": 1}
        assert not read_form([field], {"a-": "[1]"}, WORDS).is_good
    assert make_fields({"type": "object", "additionalProperties": False}) == ()


def test_a_default_stands_in_its_field_and_what_is_optional_may_be_left_out() -> None:
    schema: dict[str, Any] = {
        "properties": {"a": {"type": "integer", "default": 6}, "b": {"type": "string"}}
    }
    first, second = make_fields(schema)
    assert (first.value, second.value) == ("6", "")
    assert read_form([first, second], {}, WORDS).arguments == {}
    blamed = blame([first, second], "the text of b is no a")
    assert [each.error != "" for each in blamed] == [False, True]


@each_row(
    "made, shown",
    [
        (figures.span(4.1), "4.1 ms"),
        (figures.span(981), "981 ms"),
        (figures.span(10_000), "10 s"),
        (figures.span(59_700), "1 min 0 s"),
        (figures.span(3_600_000), "1 h 0 min"),
        (figures.count(4_761), "4,761"),
        (figures.count(0.5), "0.5"),
        (figures.size(3_400), "3.4 kB"),
        (figures.moment(0), ""),
        (figures.moment(1e30), ""),
        (figures.clean("a\x00\u202eb\r\nc"), "a\\u0000\\u202eb\nc"),
    ],
)
def test_figures_are_written_for_people(made: str, shown: str) -> None:
    assert made == shown
