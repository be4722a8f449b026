"""The names of a tool's parameters towards a model: safe, each its own, always the same, and read
back.
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sigil.strict_json import canonical
from sigil.tool_schemas.clean import clean, original_arguments

NAMES = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=70),
        st.sampled_from(["p_00000000", "城市", "größe", "a", "a b"]),
    ),
    unique=True,
    max_size=8,
)


def schema_of(names: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
    }


@given(NAMES)
def test_every_name_is_safe_and_each_comes_back_as_its_own(names: list[str]) -> None:
    schema = schema_of(names)
    told = clean(schema)

    safe = list(told["properties"])
    assert len(set(safe)) == len(names)
    assert all(re.fullmatch("[a-zA-Z0-9_.-]{1,64}", name) for name in safe)
    assert told.get("required", []) == safe
    assert original_arguments(schema, {name: number for number, name in enumerate(safe)}) == {
        name: number for number, name in enumerate(names)
    }
    assert all(original_arguments(schema, {name: 1}) == {name: 1} for name in names)


@given(NAMES)
def test_a_schema_is_told_the_same_whatever_its_order(names: list[str]) -> None:
    assert canonical(clean(schema_of(names))["properties"]) == canonical(
        clean(schema_of(names[::-1]))["properties"]
    )


def test_a_schema_of_plain_names_is_told_as_it_is() -> None:
    schema = schema_of(["text", "a.b-c_d"])
    assert clean(schema) == schema


def test_a_name_that_another_one_would_be_told_under_stays_with_its_owner() -> None:
    (taken,) = clean(schema_of(["城市"]))["properties"]
    schema = schema_of(["城市", taken])
    other, same = clean(schema)["properties"]
    assert same == taken != other
    assert original_arguments(schema, {taken: 1, other: 2}) == {taken: 1, "城市": 2}


def test_what_speaks_of_a_parameter_by_name_follows_it() -> None:
    schema = {
        **schema_of(["城市", "plain"]),
        "dependentRequired": {"城市": ["plain"], "plain": ["城市"]},
        "dependentSchemas": {"城市": {"required": ["plain"]}},
    }
    told = clean(schema)
    city = next(iter(told["properties"]))
    assert told["dependentRequired"] == {city: ["plain"], "plain": [city]}
    assert told["required"] == list(told["properties"])
    assert told["properties"][city]["description"] == "城市"
    assert told["description"] == "With 城市 give plain."
