"""The capabilities that compare and check JSON, make tables and read the calendar, against Python's
own.
"""

from __future__ import annotations

import calendar
import json
import unicodedata
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from sigil.errors import SigilError
from sigil.protocol import Json
from tests.capabilities.conftest import Library
from tests.selection import examples
from tests.tables import each_row

quick = settings(max_examples=examples(30), deadline=None)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", "a", "b/c", "~", "__proto__", "中"])
)
keys = st.sampled_from(["", "a", "b", "a/b", "~1", "0", "-", "__proto__", "constructor"])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
goods = st.lists(st.sampled_from([1, 2, 3, {"a": 1}, {"a": 2}, []]), max_size=12)

# ---- json-diff


@quick
@given(pair=st.tuples(values, values) | st.tuples(goods, goods))
def test_a_patch_makes_the_second_document_of_the_first(
    library: Library, pair: tuple[Json, Json]
) -> None:
    a, b = map(json.dumps, pair)
    told = library("json-diff", a=a, b=b)
    assert (
        told["equal"]
        is (json.dumps(pair[0], sort_keys=True) == json.dumps(pair[1], sort_keys=True))
        is (told["patch"] == [])
    )
    assert library("json-diff", a=a, patch=told["patch"])["result"] == pair[1]


def test_what_keeps_its_order_in_a_list_is_not_touched(library: Library) -> None:
    patch = library("json-diff", a=[1, 2, 3, 4, 5, 6], b=[1, 9, 3, 5, 6, 7])["patch"]
    assert len(patch) == 3
    rows = [{"id": i, "name": f"row {i}"} for i in range(300)]
    changed = [dict(row, name="x") if row["id"] == 150 else row for row in rows if row["id"] != 7]
    assert len(library("json-diff", a=rows, b=changed)["patch"]) == 2
    many = list(range(20_000))
    assert library("json-diff", a=many, b=[*many[:10_000], -1, *many[10_000:]])["patch"] == [
        {"op": "add", "path": "/10000", "value": -1}
    ]


@each_row(
    ("patch", "code"),
    [
        ([{"op": "remove", "path": "/list/3"}], "EPATCH"),
        ([{"op": "remove", "path": "/list/01"}], "EPATCH"),
        ([{"op": "add", "path": "/list/4", "value": 1}], "EPATCH"),
        ([{"op": "replace", "path": "/list/-", "value": 1}], "EPATCH"),
        ([{"op": "remove", "path": "/constructor"}], "EPATCH"),
        ([{"op": "remove", "path": ""}], "EPATCH"),
        ([{"op": "move", "from": "/list", "path": "/list/0"}], "EPATCH"),
        ([{"op": "copy", "from": "/none", "path": "/x"}], "EPATCH"),
        ([{"op": "add", "path": "x", "value": 1}], "EINVAL"),
        ([{"op": "add", "path": "/~2", "value": 1}], "EINVAL"),
        ([{"op": "add", "path": "/x"}], "EINVAL"),
        ([{"op": "toString", "path": "/x"}], "EINVAL"),
        ([7], "EINVAL"),
        ({"op": "test"}, "EINVAL"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(library: Library, patch: Json, code: str) -> None:
    assert library.code_of("json-diff", a={"list": [1, 2, 3]}, patch=json.dumps(patch)) == code


def test_copies_share_nothing(library: Library) -> None:
    patch = [
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/-", "value": 2},
        {"op": "test", "path": "/a", "value": [1]},
    ]
    assert library("json-diff", a={"a": [1]}, patch=patch)["result"] == {"a": [1], "b": [1, 2]}


# ---- json-validate

schemas: st.SearchStrategy[Json] = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                [
                    "null",
                    "boolean",
                    "object",
                    "array",
                    "number",
                    "string",
                    "integer",
                    ["string", "integer"],
                ]
            ),
            "enum": st.lists(values, max_size=3),
            "const": values,
            "minimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "multipleOf": st.integers(1, 3),
            "maxLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b", "^$"]),
            "minItems": st.integers(0, 3),
            "uniqueItems": st.booleans(),
            "required": st.lists(keys, max_size=2),
            "maxProperties": st.integers(0, 3),
            "dependentRequired": st.dictionaries(keys, st.lists(keys, max_size=1), max_size=2),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(keys, inner, max_size=3),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": inner,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "contains": inner,
            "maxContains": st.integers(0, 2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "if": inner,
            "then": inner,
            "else": inner,
            "dependentSchemas": st.dictionaries(keys, inner, max_size=2),
        },
    ),
    max_leaves=8,
)


@settings(max_examples=examples(50), deadline=None)
@given(value=values, schema=schemas)
def test_a_document_is_valid_where_the_python_validator_says_so(
    library: Library, value: Json, schema: Json
) -> None:
    told = library("json-validate", json=json.dumps(value), schema=json.dumps(schema))
    assert told["valid"] is Draft202012Validator(schema).is_valid(value)
    assert told["valid"] is (told["problems"] == [])


def test_references_are_followed_but_not_in_circles(library: Library) -> None:
    tree = {
        "$defs": {
            "a/b": {"type": ["null", "object"], "properties": {"next": {"$ref": "#/$defs/a~1b"}}}
        },
        "$ref": "#/$defs/a~1b",
    }
    assert library("json-validate", json='{"next": {"next": null}}', schema=tree)["valid"]
    assert [
        one["path"]
        for one in library("json-validate", json='{"next": {"next": 5}}', schema=tree)["problems"]
    ] == ["/next/next"]
    doubling = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)} | {
        "d40": {}
    }
    with pytest.raises(SigilError, match="too much work"):
        library("json-validate", json="1", schema={"$defs": doubling, "$ref": "#/$defs/d0"})


@each_row(
    "schema",
    [
        {"unevaluatedItems": False},
        {"$ref": "#/nowhere"},
        {"$ref": "#/constructor"},
        {"required": "a"},
        {"pattern": "("},
        {"not": 5},
        7,
        [],
    ],
)
def test_a_schema_that_it_cannot_read_is_refused_rather_than_passed(
    library: Library, schema: Json
) -> None:
    assert library.code_of("json-validate", json='"a"', schema=json.dumps(schema)) == "EINVAL"


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 101 + "]" * 101, '{"a":' * 101 + "1" + "}" * 101]
)
def test_what_is_nested_too_deep_is_refused_before_it_is_read(library: Library, text: str) -> None:
    for name, arguments in (
        ("json-diff", {"a": text, "b": "1"}),
        ("json-validate", {"json": text, "schema": True}),
    ):
        with pytest.raises(SigilError, match="nested deeper than 100") as caught:
            library(name, **arguments)
        assert caught.value.code == "EINVAL"


def test_what_is_nested_as_deep_as_allowed_is_read(library: Library) -> None:
    deep = "[" * 100 + "]" * 100
    assert library("json-diff", a=deep, b="[" * 99 + "1" + "]" * 99)["patch"] == [
        {"op": "replace", "path": "/0" * 99, "value": 1}
    ]
    assert library("json-validate", json="[" * 50 + "]" * 50, schema={"items": {"$ref": "#"}})[
        "valid"
    ]


# ---- markdown-table


@quick
@given(
    rows=st.lists(
        st.lists(st.text("ab |\\\n\r*中é", max_size=8), min_size=2, max_size=2), max_size=5
    )
)
def test_no_cell_breaks_out_of_its_table(library: Library, rows: list[list[str]]) -> None:
    lines = library("markdown-table", rows=rows, columns=["x", "y"]).split("\n")
    assert len(lines) == len(rows) + 2
    for line, row in zip(lines[2:], rows, strict=True):
        cells = line.replace("\\\\", "\0").replace("\\|", "\1")[2:-2].split(" | ")
        read = [cell.strip().replace("\0", "\\").replace("\1", "|") for cell in cells]
        assert read == [
            cell.strip().replace("\r\n", "\n").replace("\r", "\n").replace("\n", "<br>").strip()
            for cell in row
        ]
    assert (
        len(
            {
                sum(2 if unicodedata.east_asian_width(one) == "W" else 1 for one in line)
                for line in lines
            }
        )
        == 1
    )


# ---- date-calendar

dates = st.dates(date(1583, 1, 1), date(9998, 12, 31))


@quick
@given(
    day=dates,
    span=st.integers(-400, 400),
    off=st.sets(st.integers(0, 6), max_size=6),
    feasts=st.sets(st.integers(-400, 400), max_size=5),
)
def test_business_days_are_counted_one_by_one(
    library: Library, day: date, span: int, off: set[int], feasts: set[int]
) -> None:
    weekend = [calendar.day_name[one] for one in sorted(off)]
    holidays = [(day + timedelta(one)).isoformat() for one in feasts]
    end = day + timedelta(span)
    first, last = sorted((day, end))
    every = [first + timedelta(i) for i in range((last - first).days + 1)]
    working = [one for one in every if one.weekday() not in off and one.isoformat() not in holidays]
    given_ = {
        "show": "business-days",
        "date": day.isoformat(),
        "weekend": weekend,
        "holidays": holidays,
    }
    assert library("date-calendar", **given_, until=end.isoformat()) == {
        "business_days": len(working),
        "days": len(every),
    }
    ahead = [one for one in working if one != day]
    if ahead:
        reached = library("date-calendar", **given_, days=len(ahead) if span > 0 else -len(ahead))
        assert reached["date"] == (ahead[-1] if span > 0 else ahead[0]).isoformat()


@quick
@given(day=dates)
def test_weeks_months_and_weekdays_are_python_s(library: Library, day: date) -> None:
    year, number, _ = day.isocalendar()
    told = library("date-calendar", show="week", date=day.isoformat())
    assert told == library("date-calendar", show="week", year=year, week=number)
    assert (told["week"], told["monday"]) == (
        f"{year}-W{number:02d}",
        date.fromisocalendar(year, number, 1).isoformat(),
    )
    assert told["weeks_in_year"] == date(year, 12, 28).isocalendar().week
    page = calendar.TextCalendar().formatmonth(day.year, day.month).rstrip().split("\n")
    assert library("date-calendar", show="month", year=day.year, month=day.month)["calendar"].split(
        "\n"
    ) == [line.rstrip() for line in page[1:]]
    same = [
        one for week in calendar.monthcalendar(day.year, day.month) if (one := week[day.weekday()])
    ]
    place, asked = (
        same.index(day.day),
        {"year": day.year, "month": day.month, "weekday": calendar.day_name[day.weekday()]},
    )
    for nth in (place + 1, place - len(same)):
        assert (
            library("date-calendar", show="nth-weekday", **asked, nth=nth)["date"]
            == day.isoformat()
        )


@each_row(
    ("year", "western", "orthodox"),
    [
        (1818, "03-22", "04-26"),
        (1886, "04-25", "04-25"),
        (1943, "04-25", "04-25"),
        (2000, "04-23", "04-30"),
        (2008, "03-23", "04-27"),
        (2011, "04-24", "04-24"),
        (2016, "03-27", "05-01"),
        (2025, "04-20", "04-20"),
        (2038, "04-25", "04-25"),
    ],
)
def test_easter_is_when_the_churches_have_it(
    library: Library, year: int, western: str, orthodox: str
) -> None:
    told = library("date-calendar", show="easter", year=year)
    assert (told["easter"], told["orthodox_easter"]) == (f"{year}-{western}", f"{year}-{orthodox}")
