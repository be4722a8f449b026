"""Measures what is asked before a request: the budget of a period in which many sessions spent
tokens, and the budget of a chain of events.

The store is SQLite. The floors are the same reads and writes of the store alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

from functions.agent.conversation.messages import Usage
from functions.agent.runs.event_chain import RUNS_MOST, ChainBudget
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.safety.budget import SafetyLimits
from functions.agent.safety.status import SafetyStatus
from functions.agent.session.document import Turn
from functions.events import Event, Sender, order_of
from functions.time.clock import SYSTEM
from scripts.benchmarks.measuring import compare_calls, time_call
from scripts.benchmarks.rows import Row
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.sqlite import SqliteKV

SESSIONS: Final = 20_000
CALLS: Final = 300
CHECK_MS: Final = 0.3
AGENT: Final = "main"
FIRST: Final = "telegram:1:1"
BEGAN: Final = 1_800_000_000.0


def run(data: Path | None) -> Iterator[Row]:
    """Measure checks in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        kv = SqliteKV(Path(folder) / "store.db")
        yield from _measure_period(kv)
        yield from _measure_chain(kv, 8)
        yield from _measure_chain(kv, RUNS_MOST)
        yield _measure_turn_alone(kv)
        kv.close()


def _open_breakers(kv: KV) -> Breakers:
    session = keys.session_of(AGENT, "bench:1")
    return make_breakers(session, kv, AGENT, SafetyLimits(tokens=10**12), SYSTEM)


def _measure_period(kv: KV) -> Iterator[Row]:
    """Measure the check of a process that knows nothing yet, beside reading its records."""
    breakers = _open_breakers(kv)
    period = breakers.current_period()
    for number in range(SESSIONS):
        session = keys.session_of(AGENT, f"bench:{number}")
        kv.put(breakers.budget.key(period, session), b"1000")
    status = breakers.load_current(SafetyStatus())
    name = f"{SESSIONS:,} sessions"
    summed = time_call(lambda: breakers.find_stop_reason(status))
    yield Row(f"their sum, once an hour, {name}", summed, "ms")

    def check() -> None:
        assert not _open_breakers(kv).find_stop_reason(status)

    wanted = breakers.list_keys()
    ours, least = compare_calls(check, lambda: get_many(kv, wanted), 3, CALLS)
    yield Row(f"the budget's check, {name}", ours / 1e3, "ms", CHECK_MS, floor=least / 1e3)


def _measure_chain(kv: KV, runs: int) -> Iterator[Row]:
    """Measure the check of a turn that has used something since it last asked: one write; and of
    one that only looks, with what it reads together with all else.
    """
    for number in range(1, runs):
        child = _make_turn(f"{FIRST}:{runs}", number)
        _open_chain(kv, child).close(child, ())
    turn = _make_turn(f"{FIRST}:{runs}", runs)
    budget = _open_chain(kv, turn)
    used = count(1)

    def spend() -> None:
        assert not budget.find_excess(replace(turn, usage=Usage(prompt=next(used))))

    spend()
    key = keys.event_chain(AGENT, turn.event.root)
    item = kv.get(key)
    assert item is not None
    value = item.value
    place = Key("floor", "1")
    known = [kv.put(place, value)]

    def write() -> None:
        known[0] = kv.put(place, value, expect=known[0])

    name = f"a chain of {runs} runs"
    ours, least = compare_calls(spend, write, 3, CALLS)
    yield Row(f"{name}, check after a request", ours / 1e3, "ms", 2.0, floor=least / 1e3)
    fresh = _make_turn(turn.event.root, runs + 1)

    def look() -> None:
        found = kv.get(key)
        assert isinstance(found, Item)
        chain = ChainBudget(kv, AGENT, fresh.event, 10**12, found)
        assert not chain.find_excess(fresh)

    ours, least = compare_calls(look, lambda: kv.get(key), 3, CALLS)
    yield Row(f"{name}, first check of a turn", ours / 1e3, "ms", 2.0, floor=least / 1e3)
    yield Row(f"{name}, bytes of its record", len(value), "B")


def _measure_turn_alone(kv: KV) -> Row:
    """Measure the check of a turn that belongs to no chain."""
    alone = _make_turn(FIRST, 0)

    def check() -> None:
        assert not _open_chain(kv, alone).find_excess(alone)

    ours, _ = compare_calls(check, lambda: None, 3, CALLS)
    return Row("a turn in no chain", ours, "us", 20.0)


def _open_chain(kv: KV, turn: Turn) -> ChainBudget:
    return ChainBudget(kv, AGENT, turn.event, 10**12)


def _make_turn(first: str, number: int) -> Turn:
    """Return a turn of the chain that the event `first` began; number 0 is the first one."""
    event = Event(
        id=f"mail:{first}:{number}:0" if number else first,
        kind="mail",
        agent=AGENT,
        session="own:main",
        sender=Sender("agent:main"),
        text="",
        at=BEGAN,
        order=order_of(BEGAN, number),
        root=first if number else "",
    )
    return Turn(event, began=BEGAN + number, usage=Usage(prompt=100 if number else 0))
