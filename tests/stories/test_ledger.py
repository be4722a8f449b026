"""A server is killed at random moments, on three stores: the ledger has what began all the same, and each once."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from functions.agent.ledger.entry import UNKNOWN
from functions.agent.ledger.journal import read_journal
from functions.agent.ledger.ledger import Ledger
from sigil.json_fields import as_integer, as_mapping
from sigil.storage.kv import keys
from tests.machine import times, until, within
from tests.stories.system import OWNER, System, update

SESSION = keys.session_of("main", f"telegram:{OWNER}")
KILLS = (
    ("sqlite", 10),
    pytest.param("redis", 3, marks=pytest.mark.thorough),
    pytest.param("dynamodb", 2, marks=pytest.mark.thorough),
)
"""How often a server is killed on each store; `THOROUGH=20` makes it two hundred on SQLite."""
WORDS = ("task {}", "hello {}", "/btw what is {}?", "task {}")
THINKS = 0.05
LONGEST = 0.3
"""Seconds that the model takes for each answer, and within which the kill comes after a message."""


@pytest.mark.parametrize(("open_system", "most"), KILLS, indirect=["open_system"])
def test_after_random_kills_every_request_that_began_has_an_entry(
    open_system: Callable[..., AbstractContextManager[System]], most: int
) -> None:
    kills = times(most)
    chosen = random.Random(kills)
    with open_system(lease=within(0.5)) as system:
        # a request takes its time, so that a kill may come in its middle
        system.model.on_event = lambda *_: time.sleep(THINKS)
        server = system.start()
        for number in range(1, kills + 1):
            happened = update(number, chosen.choice(WORDS).format(number))
            system.deliver(server, happened)
            # a kill comes at any moment, which no event tells
            time.sleep(within(chosen.uniform(0.0, LONGEST)))
            system.forker.kill(server)
            server = system.start()
            assert server.post_update(happened)  # as the platform does without an answer
            until(system.is_idle, f"message {number} is answered")
        assert server.post_update(update(kills + 1, "hello"))
        until(system.is_idle, "the last message is answered")
        until(lambda: not system.document().outbox, "it has left")

        end = system.document().ledger
        ledger = Ledger(system.store, "main")
        checked = ledger.verify({end.name: end})
        rows = [row for _, row in ledger.scan()]
        # what memory asked since the last turn is taken over by the next one
        beside = system.store.get(keys.begun_requests(keys.memory_of(SESSION)))
        journal = read_journal(beside.value if beside else None)
        rows += journal.ended[end.adopted.get(journal.id, 0) :] if journal else ()
        entries = [as_mapping(row["facts"]) for row in rows if row["what"] == "request"]
        told = Counter(len(request.body) // 4 for request in system.model.requests if request.body)

    known = Counter(
        as_integer(facts.get("prompt"), 0) or 0 for facts in entries if UNKNOWN not in facts
    )
    unknown = sum(UNKNOWN in facts for facts in entries)
    assert checked.problem == ""
    assert checked.entries == end.count - len(end.pending)
    assert not known - told, "the ledger has a cost that the model never told"
    assert (told - known).total() <= unknown <= kills
