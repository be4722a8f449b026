"""Payments that several sessions ask for at once, each over a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from threading import Barrier

import pytest

from functions.agent.policy.gate import PolicyRefusal
from functions.agent.policy.rules import Spending
from functions.agent.policy.spending import Payment, SpendingBook
from tests.selection import thorough
from tests.stories.backends import open_stores_of
from tests.stories.system import System

CAPS = Spending("USD", payment=100, day=450, task=10_000)
AT: float = 86_400.0 * 9
OpenSystem = Callable[..., AbstractContextManager[System]]


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_sessions_that_pay_at_once_stay_below_the_cap_of_the_day(open_system: OpenSystem) -> None:
    with open_system() as system:
        sessions = 4
        together = Barrier(sessions)

        def spend(session: int) -> int:
            """Return the hundredths that a session was allowed."""
            with open_stores_of(system.settings) as stores:
                book = SpendingBook(stores.kv, "main", "UTC")
                together.wait()
                allowed = 0
                for number in range(3):
                    id = f"{session}:{number}"
                    try:
                        book.book(Payment(id, 100, "USD", "acme", f"task {session}", AT), CAPS)
                    except PolicyRefusal:
                        continue
                    allowed += 100
                return allowed

        with ThreadPoolExecutor(sessions) as pool:
            assert sum(pool.map(spend, range(sessions))) == 400
