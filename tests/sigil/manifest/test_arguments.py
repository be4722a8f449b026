"""Texts of a query string, and what else a caller writes a little wrong, are read as the schema
means them; what has no meaning, or two, is answered with a call that is right.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sigil.builtin_tools import read_arguments
from sigil.errors import UsageError
from sigil.manifest import schema
from sigil.manifest.arguments import accept, fill
from sigil.manifest.package import parse_toml
from sigil.protocol import Json
from tests.sigil.manifest.near_misses import NEAR_MISSES, NearMiss
from tests.tables import each_row

JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-5, 5) | some.text("1[]{}ntf", max_size=4),
    lambda inner: (
        some.lists(inner, max_size=3)
        | some.dictionaries(some.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=8,
)
KINDS = ("string", "integer", "number", "boolean", "null", "array", "object")


@each_row(
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
    assert fill({"properties": {"x": part}}, {"x": value}) == {"x": read}


@given(some.sampled_from(KINDS), JSON)
def test_what_is_right_already_is_left_as_it_is(kind: str, value: Json) -> None:
    accepted = schema.check({"properties": {"x": {"type": kind}}})
    if not schema.find_problem(accepted, {"x": value}):
        assert accept(accepted, {"x": value}) == {"x": value}


LIBRARY = Path(__file__).parents[3] / "capabilities"


def read_schema(capability: str) -> dict[str, Json]:
    """Return the schema of a capability of the library."""
    manifest, _ = parse_toml((LIBRARY / capability / "sigil.toml").read_text(encoding="utf-8"))
    return manifest.input


@each_row("miss", [miss for miss in NEAR_MISSES if miss[2] is not None])
def test_a_near_miss_with_one_meaning_is_taken(miss: NearMiss) -> None:
    capability, sent, meant = miss
    accepted = read_schema(capability)
    assert meant is not None
    assert accept(accepted, read_arguments(sent)) == accept(accepted, meant)


def test_forty_two_of_forty_six_near_misses_are_taken() -> None:
    assert len(NEAR_MISSES) == 46
    assert sum(meant is not None for _, _, meant in NEAR_MISSES) >= 42


CALLS = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "near_calls.jsonl").read_text().splitlines()
]
"""Calls that two people wrote who had seen the schemas alone; `meant` is null for what has two
meanings or none.
"""
NOT_TAKEN = ("US Dollar", "4.2 m")
"""Values of the two that are refused although a person would know what is meant."""


@each_row("sent_call", CALLS)
def test_calls_that_a_stranger_wrote_are_taken_or_refused(sent_call: dict[str, Any]) -> None:
    accepted = read_schema(sent_call["capability"])
    arguments = read_arguments(json.dumps(sent_call["sent"]), accepted)
    is_taken = sent_call["meant"] is not None and not any(
        value in NOT_TAKEN for value in arguments.values()
    )
    if is_taken:
        assert accept(accepted, arguments) == accept(accepted, sent_call["meant"])
        return
    with pytest.raises(UsageError, match="EINVAL"):
        accept(accepted, arguments)


@pytest.mark.parametrize(
    ("part", "value", "read"),
    [
        ({"type": "string", "pattern": "^[A-Z]{3}$"}, " eur ", "EUR"),
        ({"enum": ["km", "mi"]}, "miles", "mi"),
        ({"enum": ["snake", "kebab"]}, "kebab-case", "kebab"),
        ({"enum": ["comma", "tab"]}, "\\t", "tab"),
        (
            {"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "array"}]}},
            ["1"],
            [1],
        ),
    ],
)
def test_what_would_fail_is_read_a_second_time(part: Json, value: Json, read: Json) -> None:
    assert accept({"properties": {"x": part}}, {"x": value}) == {"x": read}


def test_an_empty_text_leaves_out_what_is_optional_and_has_a_form() -> None:
    part = {"type": "string", "pattern": "^[0-9-]+$"}
    for text in ("", " ", "none"):
        assert accept({"properties": {"x": part}}, {"x": text}) == {}
        with pytest.raises(UsageError, match="EINVAL"):
            accept({"properties": {"x": part}, "required": ["x"]}, {"x": text})


def test_a_longer_name_is_a_property_s_where_no_other_argument_means_it() -> None:
    number: Json = {"type": "number"}
    closed: dict[str, Json] = {
        "properties": {"from": number, "to": number},
        "additionalProperties": False,
    }
    assert accept(closed, {"from_unit": 1, "toUnit": 2}) == {"from": 1, "to": 2}
    for sent in ({"from_to": 1}, {"from_unit": 1, "from_code": 2}, {"from": 1, "from_unit": 2}):
        with pytest.raises(UsageError, match="EINVAL"):
            accept(closed, sent)


@each_row(
    "sent",
    [
        {"no_delete": True},
        {"delete_value": True},
        {"exclude_path": "/keep"},
        {"on_path": "a"},
        {"reply_path": "a"},
        {"anything": "a"},
        {"max_index": 1},
        {"index": "first"},
        {"index": "2nd"},
    ],
)
def test_a_name_or_a_word_that_may_mean_the_opposite_is_refused(sent: dict[str, Json]) -> None:
    closed: dict[str, Json] = {
        "properties": {
            "path": {"type": "string"},
            "_": {"type": "string"},
            "delete": {"type": "boolean"},
            "index": {"type": "integer", "description": "Zero-based"},
        },
        "additionalProperties": False,
    }
    with pytest.raises(UsageError, match="EINVAL"):
        accept(closed, sent)


@each_row(
    ("capability", "sent", "shown"),
    [
        (
            "unit-convert",
            {"value": "26.2 miles", "to": "km"},
            'call it with {"value":26.2,"from":"…","to":"km"}',
        ),
        (
            "case-convert",
            {"text": "a b", "to": "snake with dots"},
            'call it with {"text":"a b","to":"snake"}',
        ),
        ("hash", {}, 'call it with {"text":"…"}'),
        (
            "hash",
            {"text": "x" * 100, "algorithm": "sha"},
            f'call it with {{"text":"{"x" * 39}…","algorithm":"sha1"}}',
        ),
        ("statistics", {"x": "10,200"}, 'call it with {"x":[1]}'),
        (
            "loan-plan",
            {"amount": "ten thousand", "rate": 5, "months": 12},
            'call it with {"amount":1,"rate":5,"months":12}',
        ),
    ],
)
def test_what_is_not_taken_is_answered_with_a_call_that_is_right(
    capability: str, sent: dict[str, Json], shown: str
) -> None:
    with pytest.raises(UsageError, match="EINVAL") as caught:
        accept(read_schema(capability), sent)
    assert caught.value.suggestion == shown


@each_row(
    ("part", "value"),
    [
        ({"enum": ["m", "M"]}, "μ"),
        ({"enum": ["1.5", "15"]}, "1-5"),
        ({"enum": ["a-b", "a_b"]}, "A B"),
        ({"enum": ["c"]}, "c++"),
        ({"enum": ["1", "2"]}, "-1"),
        ({"type": "number", "description": "The distance in km"}, "5 miles"),
        ({"type": "number", "description": "How long it is"}, "5 in"),
        ({"type": "number", "description": "The rate"}, "6%"),
        ({"type": "number"}, "1 2"),
        ({"type": "number"}, "3 to 5"),
        ({"type": "integer"}, "2.5"),
        ({"type": "integer"}, "9" * 30),
        ({"type": "array", "items": {"type": "number"}}, "10,200"),
        ({"type": "string"}, 1.10),
        ({"type": "string"}, True),
        ({"type": "string"}, ["a", "b"]),
        ({"type": "object"}, "a"),
        ({"type": "boolean"}, "maybe"),
        ({"type": "boolean"}, 2),
    ],
)
def test_a_value_with_two_meanings_or_none_is_refused(part: Json, value: Json) -> None:
    accepted = schema.check({"properties": {"x": part}, "required": ["x"]})
    with pytest.raises(UsageError, match="EINVAL"):
        accept(accepted, {"x": value})


def test_a_currency_stays_where_an_argument_asks_for_one() -> None:
    accepted = read_schema("currency-rates")
    with pytest.raises(UsageError, match="amount"):
        accept(accepted, {"amount": "$100", "from": "EUR"})


def test_a_text_of_a_list_is_split_where_it_lists_and_not_where_it_is_prose() -> None:
    accepted = {"properties": {"x": {"type": "array", "items": {"type": "string"}}}}
    split = {
        "pear": ["pear"],
        "pear, apple, and fig": ["pear", "apple", "fig"],
        "梨、苹果": ["梨", "苹果"],
        "a b; c": ["a b", "c"],
        "Dear Sir, I write to you today about it.": ["Dear Sir, I write to you today about it."],
    }
    for text, elements in split.items():
        assert accept(accepted, {"x": text}) == {"x": elements}


def test_null_is_left_alone_where_it_is_a_value_and_refused_where_one_is_needed() -> None:
    nullable = {"properties": {"x": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}
    assert accept(nullable, {"x": None}) == {"x": None}
    assert accept(nullable, {"x": "1,000"}) == {"x": 1000}
    needed = {"properties": {"x": {"type": "integer"}}, "required": ["x"]}
    with pytest.raises(UsageError, match="null is not of type 'integer'"):
        accept(needed, {"x": None})
    assert accept({"properties": {"x": {}}}, {"x": None}) == {"x": None}


def test_a_name_of_its_own_is_kept_where_a_schema_lets_any_name_in() -> None:
    closed = {"properties": {"max_items": {"type": "integer"}}}
    assert accept(closed, {"maxItems": 3}) == {"max_items": 3}
    assert accept({**closed, "additionalProperties": True}, {"maxItems": 3}) == {"maxItems": 3}
    assert accept(closed, {"maxItems": 3, "max_items": 4}) == {"maxItems": 3, "max_items": 4}


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


@pytest.mark.parametrize(
    ("sent", "read"),
    [({"a": "5"}, {"a": 5}), ({"bC": "yes"}, {"b_c": True}), ({"a": 1, "b_c": False}, None)],
)
def test_the_arguments_of_alternatives_at_the_top_are_read_as_well(
    sent: dict[str, Json], read: Json
) -> None:
    accepted = schema.check(
        {
            "oneOf": [
                {"properties": {"a": {"type": "integer", "default": 3}}, "required": ["a"]},
                {"properties": {"b_c": {"type": "boolean"}}, "required": ["b_c"]},
            ]
        }
    )

    if read:
        assert accept(accepted, sent) == read
    else:
        with pytest.raises(UsageError, match="EINVAL"):
            accept(accepted, sent)


def test_a_call_that_fits_no_alternative_is_answered_with_one_that_does() -> None:
    kinds = [
        {
            "properties": {"kind": {"const": kind}, key: {"type": "string"}},
            "required": ["kind", key],
        }
        for kind, key in (("file", "path"), ("web", "url"))
    ]
    with pytest.raises(UsageError) as caught:
        accept(schema.check({"oneOf": kinds}), {"kind": "web"})
    assert caught.value.suggestion == 'call it with {"kind":"web","url":"…"}'
