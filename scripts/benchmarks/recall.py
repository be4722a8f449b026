"""Measures a chat's memory among 10,000 facts on SQLite: recalling, remembering, and searching what
was said.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from functions.agent.memory.thing import Thing, check_thing
from functions.agent.messages import Message
from functions.agent.services.call_context import CallContext
from functions.agent.services.search_history import search_history
from functions.agent.services.things import recall
from functions.agent.session.document import Document
from functions.settings import Settings
from functions.wiring import open_app
from scripts.benchmarks.rows import Row
from sigil.storage.kv import keys
from sigil.storage.kv.sqlite import SqliteKV
from sigil.wiring import open_stores

FACTS: Final = 10_000
MESSAGES: Final = 10_000
ROUNDS: Final = 300
SESSION: Final = keys.session_of("main", "telegram:7")
PEOPLE: Final = [f"Person{number}" for number in range(200)]
VERBS: Final = (
    "likes",
    "works on",
    "lives in",
    "is allergic to",
    "met",
    "owns",
    "is afraid of",
    "plays",
    "has read",
    "wants",
)
NOUNS: Final = [
    f"{first} noun{number}"
    for first in "red old quiet northern wooden digital".split()
    for number in range(400)
]


def run(data: Path | None) -> Iterator[Row]:
    """Milliseconds of wall time a call, p50 and p95."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=folder, library="none", llm_url="http://127.0.0.1:9")
        stores = open_stores(settings)
        app = open_app(settings, stores, later=True)
        place, dice = CallContext(app, SESSION), random.Random(7)
        facts = [_fact(dice, number) for number in range(FACTS)]
        writes = [_timed(lambda fact=fact: place.things.save(fact)) for fact in facts]  # type: ignore[misc]
        assert isinstance(stores.kv, SqliteKV)
        with closing(stores.kv):
            yield Row(
                "remember, p50 of the last 1,000 of 10,000",
                statistics.median(writes[-1_000:]),
                "ms",
            )
            yield from _reads(place, facts, dice)
            yield from _history(place)


def _reads(place: CallContext, facts: list[Thing], dice: random.Random) -> Iterator[Row]:
    asked: dict[str, Callable[[Thing], dict[str, str]]] = {
        "recall by words": lambda fact: {
            "query": f"what does {fact.texts[0]} think of {fact.texts[-1]}"
        },
        "recall by words that stand in thousands": lambda fact: {
            "query": f"{fact.texts[1]} something red and old and quiet"
        },
        "recall by subject": lambda fact: {"subject": fact.texts[0]},
        "recall by key": lambda fact: {"key": fact.texts[0]},
        "recall without a word": lambda _: {},
    }
    for name, given in asked.items():
        chosen = [given(dice.choice(facts)) for _ in range(ROUNDS)]
        times = sorted(_timed(lambda each=each: recall(place, each)) for each in chosen)  # type: ignore[misc]
        yield Row(f"{name}, 10,000 facts, p50", statistics.median(times), "ms", 5.0)
        yield Row(f"{name}, 10,000 facts, p95", times[int(ROUNDS * 0.95)], "ms")


def _history(place: CallContext) -> Iterator[Row]:
    document = Document().add(
        *(
            Message("user", f"message {n} about {NOUNS[n % len(NOUNS)]} " + "and so on " * 30)
            for n in range(MESSAGES)
        )
    )
    for begin in range(0, MESSAGES, 30):
        place.app.sessions.archive(SESSION, document.messages[begin : begin + 30])
    place.app.sessions.save(place.app.sessions.open(SESSION), Document(next_seq=document.next_seq))
    times = sorted(
        _timed(lambda: search_history(place, {"query": "the northern noun17 of last year"}))
        for _ in range(5)
    )
    yield Row("search-history, 10,000 messages, p50", statistics.median(times), "ms")


def _fact(dice: random.Random, number: int) -> Thing:
    said = (
        dice.choice(PEOPLE),
        dice.choice(VERBS),
        f"{dice.choice(NOUNS)} and {dice.choice(NOUNS)}",
    )
    if number % 50 == 0:
        return check_thing(
            Thing("kv", (PEOPLE[number // 50], said[2]), "user", 1.0, 1_700_000_000.0 + number)
        )
    return check_thing(Thing("fact", said, "user", 1.0, 1_700_000_000.0 + number))


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000
