"""A snapshot reads each item once, and what it writes is read anew."""

from __future__ import annotations

import pytest

from sigil.errors import Conflict
from sigil.storage.kv import Key
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.snapshot import SnapshotKV

KEY = Key("partition", "sort")


def test_an_item_is_read_once_and_found_by_what_it_was_then() -> None:
    kv = MemoryKV()
    kv.put(KEY, b"first")
    snapshot = SnapshotKV(kv)
    first = snapshot.get(KEY)
    kv.put(KEY, b"second")
    assert snapshot.get(KEY) == first


def test_what_was_not_there_stays_so() -> None:
    kv = MemoryKV()
    snapshot = SnapshotKV(kv)
    assert snapshot.get(KEY) is None
    kv.put(KEY, b"later")
    assert snapshot.get(KEY) is None


def test_a_write_over_what_was_overtaken_is_refused_and_the_item_is_read_anew() -> None:
    kv = MemoryKV()
    kv.put(KEY, b"first")
    snapshot = SnapshotKV(kv)
    first = snapshot.get(KEY)
    assert first
    kv.put(KEY, b"second")
    with pytest.raises(Conflict):
        snapshot.put(KEY, b"third", expect=first.version)
    again = snapshot.get(KEY)
    assert again
    assert again.value == b"second"


def test_what_it_writes_and_removes_stands_in_the_store() -> None:
    kv = MemoryKV()
    snapshot = SnapshotKV(kv)
    snapshot.put(KEY, b"one")
    assert snapshot.scan("partition")[0][1].value == b"one"
    snapshot.delete(KEY)
    assert kv.get(KEY) is None
    assert snapshot.get(KEY) is None
