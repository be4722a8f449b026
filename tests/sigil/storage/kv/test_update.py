"""The compare-and-set loop and the pager."""

from __future__ import annotations

import pytest

from sigil.errors import Conflict
from sigil.storage.kv import ABSENT, Item, Key
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.update import (
    DELETE,
    TRIES,
    retry_conflicts,
    scan_all,
    update,
    update_item,
)

KEY = Key("p", "s")


def test_an_update_decides_again_when_another_writer_came_first() -> None:
    kv, seen = MemoryKV(), []

    def decide(value: bytes | None) -> tuple[bytes, str]:
        seen.append(value)
        if len(seen) == 1:
            kv.put(KEY, b"theirs")
        return (value or b"") + b"+mine", "done"

    assert update(kv, KEY, decide) == "done"
    assert seen == [None, b"theirs"]
    assert kv.get(KEY).value == b"theirs+mine"  # type: ignore[union-attr]


def test_an_update_that_loses_every_race_says_so() -> None:
    kv, tries = MemoryKV(), []

    def decide(value: bytes | None) -> tuple[bytes, None]:
        tries.append(value)
        kv.put(KEY, b"%d" % len(tries))
        return b"mine", None

    with pytest.raises(Conflict):
        update(kv, KEY, decide)
    assert len(tries) == TRIES


def test_nothing_is_written_when_nothing_was_decided() -> None:
    kv = MemoryKV()
    assert update(kv, KEY, lambda value: (None, value)) is None
    assert kv.get(KEY) is None


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 7])
def test_a_scan_of_everything_yields_each_item_once_in_order(count: int) -> None:
    kv = MemoryKV()
    for number in range(count):
        kv.put(Key("p", f"a{number}"), b"")
    kv.put(Key("p", "b"), b"")
    assert [sort for sort, _ in scan_all(kv, "p", "a", page=2)] == [f"a{n}" for n in range(count)]
    assert [sort for sort, _ in scan_all(kv, "p", "a", "a1", 2)] == [
        f"a{n}" for n in range(2, count)
    ]


def test_an_update_of_an_item_begins_with_the_one_that_is_known() -> None:
    kv = MemoryKV()
    known = Item(b"one", kv.put(KEY, b"one"))
    kv.put(KEY, b"two")
    seen: list[Item | None] = []

    def decide(item: Item | None) -> tuple[bytes, str]:
        seen.append(item)
        return b"three", "done"

    done = update_item(kv, KEY, decide, known=known)
    assert seen[0] == known
    assert [item.value for item in seen if item] == [b"one", b"two"]
    assert (done.item, done.answer, done.lost) == (kv.get(KEY), "done", 1)
    assert update_item(kv, Key("p", "new"), decide, known=ABSENT).lost == 0


def test_an_update_deletes_an_item_that_nobody_changed_meanwhile() -> None:
    kv = MemoryKV()
    kv.put(KEY, b"one")
    assert update_item(kv, KEY, lambda item: (DELETE, item and item.value)).answer == b"one"
    assert kv.get(KEY) is None
    assert update_item(kv, KEY, lambda item: (DELETE, item)).item is None


@pytest.mark.parametrize(("conflicts", "is_done"), [(0, True), (4, True), (5, False)])
def test_a_change_of_several_items_is_tried_again_after_a_conflict(
    conflicts: int, is_done: bool
) -> None:
    tries = []

    def attempt() -> str:
        tries.append(1)
        if len(tries) <= conflicts:
            raise Conflict("somebody else")
        return "done"

    if is_done:
        assert retry_conflicts(attempt, 5) == "done"
    else:
        with pytest.raises(Conflict):
            retry_conflicts(attempt, 5)
    assert len(tries) == min(conflicts + 1, 5)
