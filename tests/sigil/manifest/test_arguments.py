"""Texts of a query string, and what else a caller writes a little wrong, are read as the schema
means them; of what has no meaning, or two, the advice invents nothing.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from sigil.builtin_tools import read_arguments
from sigil.errors import UsageError
from sigil.manifest import schema
from sigil.manifest.advice import is_filler
from sigil.manifest.arguments import accept, fill
from sigil.manifest.package import parse_toml
from sigil.protocol import Json
from tests.selection import examples
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


@cache
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
        ({"type": "array", "items": {"type": "integer"}}, {"items": [1, 2]}, [1, 2]),
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


ASK = "; ask rather than guess"


@each_row(
    ("capability", "sent", "meant"),
    [
        ("statistics", {"numbers": [1, 2, 3]}, {"x": [1, 2, 3]}),
        ("statistics", {"data": "1, 2, 3"}, {"x": [1, 2, 3]}),
        ("statistics", {"x": "10,200"}, "give x as a list of numbers (The numbers)"),
        (
            "sort-list",
            {"items": ["b", "a"], "order": "desc"},
            {"items": ["b", "a"], "order": "descending"},
        ),
        (
            "time-zone",
            {"timezone": "Asia/Tokyo"},
            "give time (The date and time); there is no field timezone: give what it says in one of"
            f" time, from, to{ASK}",
        ),
        (
            "time-zone",
            {"time": "2024-03-05T15:00", "timezone": "Asia/Tokyo"},
            "there is no field timezone: give what it says in one of time, from, to",
        ),
        (
            "time-zone",
            {"time": "2024-03-05T15:00", "from_tz": "New York", "to_tz": "Tokyo"},
            {"time": "2024-03-05T15:00", "from": "New York", "to": "Tokyo"},
        ),
        ("weather-now", {"city": "Oslo", "country": None}, {"place": "Oslo"}),
        (
            "weather-now",
            {"city": "Oslo", "country": "NO"},
            "give place (A city); there is no field city, country: give what it says in one of"
            f" place, days, language, units{ASK}",
        ),
        (
            "currency-rates",
            {"from": "USD", "to": "EUR", "date": "28.03.2024"},
            {"from": "USD", "to": "EUR", "date": "2024-03-28"},
        ),
        (
            "currency-rates",
            {"from": "USD", "date": "03/04/2024"},
            "keep the rest and give date as a text (The day of the rate)",
        ),
        ("calculate", {"formula": "2+2"}, {"expression": "2+2"}),
        ("hash", {"text": "x", "reason": "the user asked"}, {"text": "x"}),
        (
            "case-convert",
            {"text": "a b", "to": "snake with dots"},
            'keep the rest and give to as one of "snake", "dot", "camel", "pascal", "constant",'
            ' "kebab", "train", "title", …',
        ),
        ("hash", {}, f"give text (The text to hash){ASK}"),
        (
            "text-replace",
            {"text": "a-b", "find": "-", "replace": "", "most": ""},
            {"text": "a-b", "find": "-", "replace": ""},
        ),
        (
            "loan-plan",
            {"amount": "ten thousand", "rate": 5, "months": 12},
            "keep the rest and give amount as a bare number from 0.01 to 1000000000000, in the unit"
            " that it asks for (What is borrowed)",
        ),
        (
            "unit-convert",
            {"value": "26.2 miles", "to": "km"},
            "keep the rest and give value as a bare number, in the unit that it asks for (The"
            f" number to convert), from (The unit it is in){ASK}",
        ),
        (
            "unit-convert",
            {"value": 5, "unit": "km", "to": "mi"},
            {"value": 5, "from": "km", "to": "mi"},
        ),
        ("read-page", {"link": "https://example.org"}, {"url": "https://example.org"}),
        ("web-search", {"q": "cats", "num_results": 5}, 'call it with {"query":"cats","count":5}'),
        (
            "invest-value",
            {"calculate": "irr", "cash_flows": [-100, 60, 60]},
            'call it with {"calculate":"irr","flows":[-100,60,60]}',
        ),
        (
            "random-values",
            {"kind": "pick", "items": "a, b and c"},
            {"kind": "pick", "items": ["a", "b", "c"]},
        ),
        (
            "random-values",
            {"kind": "pick", "items": "heads or tails"},
            "keep the rest and give items as a list (What to pick from)",
        ),
        (
            "hash",
            {"text": "x" * 300, "foo": "example"},
            "call it with the same values, without foo",
        ),
    ],
)
def test_a_call_of_the_library_is_taken_as_it_was_meant_or_asked_about(
    capability: str, sent: dict[str, Json], meant: dict[str, Json] | str
) -> None:
    accepted = read_schema(capability)
    if isinstance(meant, dict):
        assert accept(accepted, sent) == accept(accepted, meant)
        return
    with pytest.raises(UsageError, match="EINVAL") as caught:
        accept(accepted, sent)
    assert caught.value.suggestion == meant


NAMES = ("x", "input", "values", "numbers", "colour", "color", "tz", "timezone", "start", "no_x")
PARTS: list[dict[str, Json]] = [
    {"type": "string"},
    {"type": "string", "description": "The numbers: such as 7"},
    {"type": "number", "description": "The start"},
    {"type": "integer", "minimum": 2},
    {"type": "boolean", "default": True},
    {"enum": ["red", "green"]},
    {"type": "array", "items": {"type": "number"}, "examples": [[42]]},
    {"type": "array", "items": {"type": "string"}},
    {"type": "string", "format": "date"},
]
SCALARS = some.sampled_from(
    (
        *(None, "", "string", "example", "pear", "pear, apple", "salt and pepper", "RED", "12"),
        *("3, 4", "yes", "maybe", "2.12.2026", 0, 1, 5, 2.5, True, False),
    )
)
WORD = re.compile(r"-?\d+(?:\.\d+)?|[^\W\d_]+")
BOOLEANS = {"true": "1", "yes": "1", "false": "0", "no": "0"}


def list_words(value: Json) -> set[str]:
    """Return the words and numbers in a value, alike in each form that it may be converted to."""
    words = WORD.findall(json.dumps(value).casefold().replace("2.12.2026", "2026-12-02"))
    return {BOOLEANS.get(word, word.removesuffix(".0")) for word in words} - {"and"}


@settings(max_examples=examples(30), deadline=None)
@given(
    some.dictionaries(some.sampled_from(NAMES), some.sampled_from(PARTS), min_size=1, max_size=4),
    some.sets(some.sampled_from(NAMES)),
    some.dictionaries(
        some.sampled_from(NAMES), SCALARS | some.lists(SCALARS, max_size=3), max_size=4
    ),
)
def test_a_call_that_is_shown_has_all_that_was_given_and_nothing_else(
    parts: dict[str, Json], required: set[str], sent: dict[str, Json]
) -> None:
    needed: list[Json] = [name for name in parts if name in required]
    described: dict[str, Json] = {"properties": parts, "required": needed}
    accepted = schema.check({"type": "object", **described, "additionalProperties": False})
    advice = ""
    call: dict[str, Json] = {}
    added: list[Json] = []
    try:
        call = accept(accepted, sent)
        added = [part["default"] for part in parts.values() if "default" in part]
    except UsageError as problem:
        advice = problem.suggestion
    if advice and not advice.startswith("call it with {"):
        assert not re.search(r"42|7|…|[{}]|call it", advice)
        return
    if advice:
        call = json.loads(advice.removeprefix("call it with "))
        assert accept(accepted, call) is not None
    meant = [
        value
        for value in sent.values()
        if not is_filler(value[0] if isinstance(value, list) and len(value) == 1 else value)
    ]
    assert list_words(list(call.values())) <= list_words([*sent.values(), *added])
    assert list_words(meant) <= list_words(list(call.values()))


def test_a_right_call_costs_no_more_than_one_reading_and_one_check() -> None:
    text: Json = {"type": "string"}
    closed: dict[str, Json] = {
        "properties": {"value": {"type": "number"}, "from": text, "to": text},
        "required": ["value", "from", "to"],
        "additionalProperties": False,
    }
    accept(closed, {"value": 5, "from": "km", "to": "mi"})
    called: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith("sigil."):
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        accept(closed, {"value": 5, "from": "km", "to": "mi"})
    finally:
        sys.setprofile(None)
    assert called.count("find_problem") == called.count("_fill") == 1
    assert len(called) <= 59


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
        "bread, salt and pepper": ["bread", "salt", "pepper"],
        "a | b": ["a", "b"],
    }
    for text, elements in split.items():
        assert accept(accepted, {"x": text}) == {"x": elements}
    for text in ("Dear Sir, I write to you today about it.", "salt and pepper", "盐和胡椒"):
        with pytest.raises(UsageError) as caught:
            accept(accepted, {"x": text})
        assert caught.value.suggestion == "give x as a list of texts"


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


def test_a_call_that_fits_no_alternative_is_asked_for_what_one_needs() -> None:
    kinds = [
        {
            "properties": {"kind": {"const": kind}, key: {"type": "string"}},
            "required": ["kind", key],
        }
        for kind, key in (("file", "path"), ("web", "url"))
    ]
    with pytest.raises(UsageError) as caught:
        accept(schema.check({"oneOf": kinds}), {"kind": "web"})
    assert caught.value.suggestion == f"keep the rest and give url{ASK}"
