"""The capability that draws at random: every kind keeps its promise, and nothing comes more often
than it should.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.capabilities.conftest import Library
from tests.selection import examples

few = settings(max_examples=examples(20), deadline=None)


def test_uuids_are_of_version_4_and_all_different(library: Library) -> None:
    drawn = library("random-values", kind="uuid", count=200)
    assert len(set(drawn)) == 200
    assert {(uuid.UUID(one).version, str(uuid.UUID(one)) == one) for one in drawn} == {(4, True)}


@few
@given(low=st.integers(-(2**52), 2**52), size=st.integers(1, 2**52))
def test_whole_numbers_stay_between_their_bounds(library: Library, low: int, size: int) -> None:
    assert all(
        low <= one <= low + size - 1
        for one in library("random-values", kind="integer", min=low, max=low + size - 1, count=20)
    )


@pytest.mark.parametrize(
    "given_", [{"kind": "integer", "min": 1, "max": 7}, {"kind": "dice", "dice": "d7"}]
)
def test_every_number_comes_about_as_often(library: Library, given_: dict[str, object]) -> None:
    counts = Counter(
        one for _ in range(7) for one in library("random-values", **given_, count=1000)
    )
    assert set(counts) == set(range(1, 8))
    # chi square with 6 degrees: once in two million runs
    assert sum((seen - 1000) ** 2 / 1000 for seen in counts.values()) < 40


def test_every_order_comes_about_as_often(library: Library) -> None:
    counts = Counter(
        "".join(library("random-values", kind="shuffle", items=["a", "b", "c"])) for _ in range(300)
    )
    assert len(counts) == 6
    assert sum((seen - 50) ** 2 / 50 for seen in counts.values()) < 40


@few
@given(length=st.integers(8, 200), symbols=st.booleans())
def test_a_password_has_every_class_and_no_sign_that_looks_like_another(
    library: Library, length: int, symbols: bool
) -> None:
    for word in library("random-values", kind="password", length=length, symbols=symbols, count=5):
        assert len(word) == length
        classes = ["[a-z]", "[A-Z]", "[0-9]"] + (["[^a-zA-Z0-9]"] if symbols else [])
        assert all(re.search(one, word) for one in classes)
        assert not re.search("[l1IO0]" if symbols else "[l1IO0]|[^a-zA-Z0-9]", word)


@few
@given(items=st.lists(st.integers(), min_size=1, max_size=20, unique=True), data=st.data())
def test_a_pick_takes_each_item_once_and_a_shuffle_keeps_all(
    library: Library, items: list[int], data: st.DataObject
) -> None:
    items = [one % 2**50 for one in items]
    count = data.draw(st.integers(1, len(items)))
    picked = library("random-values", kind="pick", items=items, count=count)
    assert len(picked) == count
    assert Counter(items) >= Counter(picked)
    assert Counter(library("random-values", kind="shuffle", items=items)) == Counter(items)


def test_keys_and_shares_have_the_size_asked_for(library: Library) -> None:
    assert {
        len(bytes.fromhex(one)) for one in library("random-values", kind="hex", length=32, count=5)
    } == {32}
    shares = library("random-values", kind="number", count=1000)
    assert all(0 <= one < 1 for one in shares)
    assert 0.4 < sum(shares) / 1000 < 0.6
