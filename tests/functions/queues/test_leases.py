"""A lease in the store: its bytes, and the takeover of one that ended."""

from __future__ import annotations

import orjson
import pytest

from functions.queues.leases import Leases
from functions.time.clock import Clock
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV

STILL = Clock(now=lambda: 100.0, monotonic=lambda: 1.0)
KEY = keys.session_claim("main#telegram:7")


@pytest.fixture
def kv() -> MemoryKV:
    return MemoryKV()


def open_leases(kv: MemoryKV) -> Leases:
    return Leases(kv, STILL, seconds=30.0, hold=300.0)


def test_a_lease_is_stored_as_every_version_reads_it(kv: MemoryKV) -> None:
    lease = open_leases(kv).take("main#telegram:7")
    item = kv.get(KEY)
    assert lease
    assert item
    assert item.value == b'{"until":130.0,"lost":0,"owner":"%s"}' % lease.owner.encode()


def test_a_lease_that_ended_is_taken_over_and_counts_as_lost(kv: MemoryKV) -> None:
    ended = {"until": 99.5, "lost": 2, "owner": "another", "of a later version": True}
    kv.put(KEY, orjson.dumps(ended))
    lease = open_leases(kv).take("main#telegram:7")
    assert lease
    assert lease.lost == 3


def test_a_lease_that_goes_on_is_left_to_its_owner(kv: MemoryKV) -> None:
    kv.put(KEY, b'{"until":101.0,"lost":0,"owner":"another"}')
    assert open_leases(kv).take("main#telegram:7") is None


def test_a_lease_whose_holder_is_known_to_be_dead_is_taken_over_at_once(kv: MemoryKV) -> None:
    session = "main#telegram:7"
    Leases(kv, STILL, seconds=30.0, hold=300.0, name="dead.").take(session)
    assert open_leases(kv).take(session) is None
    lease = Leases(
        kv, STILL, seconds=30.0, hold=300.0, is_gone=lambda other: other.owner.startswith("dead.")
    ).take(session)
    assert lease
    assert lease.lost == 1
