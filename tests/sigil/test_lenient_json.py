"""JSON as language models write it is read where it has one meaning, and as it is otherwise."""

from __future__ import annotations

import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as some

from sigil.lenient_json import read_json
from tests.machine import within
from tests.tables import each_row

JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | some.text(max_size=9),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(JSON)
def test_json_is_read_as_it_is(value: Any) -> None:
    assert read_json(orjson.dumps(value).decode()) == value


@each_row(
    ("text", "value"),
    [
        ("{'a': 'it\\'s \"x\"', }", {"a": 'it\'s "x"'}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("{a: 1, b_2: [True, None,],}", {"a": 1, "b_2": [True, None]}),
        ('```json\n{"a": "True"}\n```', {"a": "True"}),
        ("```\n[1]```", [1]),
        ("{'a': '语'}", {"a": "语"}),
    ],
)
def test_what_models_write_is_read_as_they_mean_it(text: str, value: Any) -> None:
    assert read_json(text) == value


@each_row(
    "text",
    ["{bad", "hello", "{'a': 'don't'}", '{"a": "x', "'x", "NaN", '{"a": 1 "b": 2}', "{a: b}", ""],
)
def test_what_has_no_meaning_is_refused(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        read_json(text)


@pytest.mark.parametrize("part", ["'\\", '"\\', ",", ", ", "a", "a ", "`", "```", "{'", "\\'"])
def test_a_long_text_is_read_in_time(part: str) -> None:
    started = time.monotonic()
    with pytest.raises(orjson.JSONDecodeError):
        read_json(part * 100_000)
    # a reader that goes back for each of its places takes minutes
    assert time.monotonic() - started < within(5)
