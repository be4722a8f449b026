"""There are never more agents below a root than there may be, however many are made at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from functions.agent.agents.lifecycle import create_agent, reserve_seat
from functions.agent.agents.record import AgentRecord, change_state, scan_agents
from sigil.errors import Refused
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]
MOST = 5
THREADS = 32
RECORD = AgentRecord("agent", "enabled", 1_800_000_000.0, "terminal:local")


def test_of_32_that_are_made_at_once_as_many_are_made_as_there_may_be(place: Place) -> None:
    kv = place.open()
    begin = threading.Barrier(THREADS)

    def make(number: int) -> str:
        begin.wait()
        try:
            create_agent(kv, "main", f"a{number}", RECORD, most=MOST)
        except Refused as problem:
            return problem.code
        return "made"

    with ThreadPoolExecutor(THREADS) as threads:
        results = list(threads.map(make, range(THREADS)))
    assert sorted(results) == ["ELIMIT"] * (THREADS - MOST) + ["made"] * MOST
    assert len(list(scan_agents(kv, "main"))) == MOST


def test_a_seat_is_free_again_when_its_agent_ended_or_was_never_made() -> None:
    kv: KV = MemoryKV()
    now = RECORD.since
    for name in ("a", "b"):
        create_agent(kv, "main", name, RECORD, most=2)
        change_state(kv, "main", name, "archived", now)
    create_agent(kv, "main", "c", RECORD, most=2)
    reserve_seat(kv, "main", "d", 2, now)  # killed before it was made
    with pytest.raises(Refused, match="2 of 2 agents below main are taken"):
        reserve_seat(kv, "main", "e", 2, now + 59)
    reserve_seat(kv, "main", "d", 2, now + 59)  # whoever repeats it has its seat
    late = replace(RECORD, since=now + 120)
    create_agent(kv, "main", "e", late, most=2)
