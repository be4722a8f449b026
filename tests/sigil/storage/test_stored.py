"""Stored values: fields of other versions stay, damage is told, a newer format is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import orjson
import pytest
from msgspec import Meta

from sigil.storage.evolve import evolve
from sigil.storage.stored import (
    KEPT_BYTES,
    NewerFormat,
    Shape,
    Stored,
    WrittenOften,
    dumps,
    later,
    row,
)
from tests.tables import each_row


@dataclass(frozen=True, slots=True)
class Leaf(Stored):
    text: str
    count: Annotated[int, Meta(ge=0, lt=100)] = 0
    added: str = later("")


@dataclass(frozen=True, slots=True)
class Tree(Stored):
    name: str
    first: Leaf | None = None
    leaves: tuple[Leaf, ...] = ()
    named: Mapping[str, Leaf] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)


TREE = Shape[Tree](Tree)
WRITTEN = {
    "name": "oak",
    "first": {"text": "a", "count": 1, "colour": "red"},
    "leaves": [{"text": "b", "count": 0}, {"text": "c", "count": 0, "age": [1, {"x": None}]}],
    "named": {"d": {"text": "d", "count": 0, "colour": "green"}},
    "data": {"colour": "a guest's own"},
    "height": 12,
}


def test_what_is_not_known_is_written_again_as_it_was() -> None:
    assert orjson.loads(dumps(TREE.read(orjson.dumps(WRITTEN)))) == WRITTEN


def test_it_stays_with_its_value_whatever_becomes_of_that() -> None:
    tree = TREE.convert(WRITTEN)
    changed = replace(tree, name="elm", first=None, leaves=(*tree.leaves[1:], Leaf("e")))

    assert orjson.loads(dumps(changed)) == {
        **WRITTEN,
        "name": "elm",
        "first": None,
        "leaves": [WRITTEN["leaves"][1], {"text": "e", "count": 0}],  # type: ignore[index]
    }


def test_people_do_not_see_it() -> None:
    assert row(TREE.convert({"name": "oak", "height": 12, "first": {"text": "a", "age": 1}}))[
        "first"
    ] == {
        "text": "a",
        "count": 0,
        "added": "",
    }


def test_a_later_field_is_written_when_it_says_something() -> None:
    assert orjson.loads(dumps((Leaf("a"), Leaf("b", added="x")))) == [
        {"text": "a", "count": 0},
        {"text": "b", "count": 0, "added": "x"},
    ]


def test_equal_values_are_equal_whoever_wrote_them() -> None:
    assert TREE.convert({"name": "oak", "height": 12}) == Tree("oak")


@each_row(
    "damage",
    [
        {"name": 3},
        {"name": None},
        {"first": []},
        {"first": {"text": "a", "count": -1}},
        {"first": {"text": "a", "count": 100}},
        {"first": {"text": "a", "count": True}},
        {"first": {"text": "a", "count": 1.5}},
        {"leaves": {}},
        {"leaves": [3]},
        {"named": [["d", {"text": "d"}]]},
    ],
)
def test_what_is_of_another_shape_is_told(damage: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        TREE.convert({**WRITTEN, **damage})


@each_row(
    "data",
    [b"", b"[]", b"null", b"3", b'{"name"', b'{"name": NaN}', b'{"name": "\\ud800"}', b"[" * 5000],
)
def test_what_is_no_value_is_told(data: bytes) -> None:
    with pytest.raises(ValueError):
        TREE.read(data)


@each_row("found", [2, 0, "2", None, 1.5, [1]])
def test_a_format_that_is_not_known_is_refused_and_said(found: object) -> None:
    with pytest.raises(NewerFormat) as refused:
        TREE.convert({**WRITTEN, "format": found})

    assert "format" in refused.value.message
    assert "nothing was changed" in refused.value.suggestion


def test_the_format_that_it_names_itself_is_kept() -> None:
    assert orjson.loads(dumps(TREE.convert({"name": "oak", "format": 1})))["format"] == 1


def test_a_mapping_by_names_may_hold_any_name() -> None:
    named = Shape[Mapping[str, Leaf]](Mapping[str, Leaf])

    assert named.convert({"format": {"text": "a"}, "_rest": {"text": "b"}}) == {
        "format": Leaf("a"),
        "_rest": Leaf("b"),
    }


FIRST_READS = """
import sys
import threading
from dataclasses import make_dataclass

from sigil.storage.stored import Shape

sys.setswitchinterval(1e-6)
for _ in range(40):
    inner = make_dataclass("Inner", [(f"part{n}", int) for n in range(20)], slots=True)
    outer = make_dataclass("Outer", [(f"parts{n}", tuple[inner, ...]) for n in range(20)], slots=True)
    raw = {f"parts{n}": [{f"part{m}": m for m in range(20)}] for n in range(20)}
    shape, again = Shape(outer), Shape(outer)
    readers = [threading.Thread(target=each.convert, args=(raw,)) for each in (shape, again) * 4]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
"""


def test_threads_that_read_a_type_for_the_first_time_at_once_do_not_crash_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FIRST_READS], check=False, capture_output=True, text=True
    )

    assert ended.returncode == 0, ended.stderr
    assert not ended.stderr


@dataclass(frozen=True, slots=True)
class Line(WrittenOften):
    text: str
    leaf: Leaf | None = None
    added: str = later("")


@pytest.mark.parametrize(
    "line",
    [
        Line("a"),
        Line("é", Leaf("b"), "c"),
        Shape[Line](Line).convert({"text": "a", "leaf": {"text": "b", "age": 3}, "colour": 1}),
        Line("long" * KEPT_BYTES),
    ],
)
def test_what_is_written_often_is_written_the_same_each_time(line: Line) -> None:
    """The JSON of a value stays with it, up to a bound, and never with a changed copy."""
    first = dumps((line, {"in": line}))

    assert dumps((line, {"in": line})) == first
    assert orjson.loads(first)[0] == orjson.loads(first)[1]["in"]
    assert orjson.loads(first)[0].keys() >= {"text", "leaf"}
    assert hasattr(line, "_json") == (len(line.text) < KEPT_BYTES)
    assert orjson.loads(dumps(replace(line, text="b")))["text"] == "b"
    assert orjson.loads(dumps(evolve(line, text="b")))["text"] == "b"
    assert evolve(line, text="b") == replace(line, text="b")
