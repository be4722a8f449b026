"""The store in memory."""

from __future__ import annotations

import pytest

from sigil.storage.kv import KV, Key
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.storage.kv.contract import KVContract
from tests.sigil.storage.kv.model import Clock


class TestMemoryKV(KVContract):
    @pytest.fixture
    def kv(self, clock: Clock) -> KV:
        return MemoryKV(clock)


def test_a_sweep_drops_what_has_expired_and_nothing_else() -> None:
    clock = Clock()
    kv = MemoryKV(clock)
    kv.put(Key("p", "short"), b"", ttl=1.0)
    kv.put(Key("p", "long"), b"", ttl=100.0)
    kv.put(Key("q", "short"), b"", ttl=1.0)
    kv.put(Key("p", "for good"), b"")
    clock.advance(1.0)
    assert kv.sweep() == 2
    assert [sort for sort, _ in kv.scan("p")] == ["for good", "long"]
    assert kv.sweep() == 0


def test_a_value_cannot_be_changed_from_outside() -> None:
    kv, value = MemoryKV(), bytearray(b"before")
    kv.put(Key("p", "s"), value)  # type: ignore[arg-type]  # what an untyped caller may do
    value[:] = b"after!"
    item = kv.get(Key("p", "s"))
    assert item is not None
    assert item.value == b"before"
