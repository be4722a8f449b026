"""The compare-and-set loop and the pager."""

from __future__ import annotations

import pytest

from sigil.errors import Conflict
from sigil.storage.kv import Key
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.update import TRIES, scan_all, update

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
