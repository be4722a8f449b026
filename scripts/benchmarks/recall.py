"""Measures a chat's memory among 10,000 facts on SQLite: recalling, remembering, and searching the
history.
"""

from __future__ import annotations

import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from functions.agent.conversation.messages import Message
from functions.agent.memory.thing import Thing, check_thing
from functions.agent.services.call_context import CallContext
from functions.agent.services.search_history import search_history
from functions.agent.services.things import recall
from functions.agent.session.document import Document
from functions.settings import Settings
from functions.wiring import open_app
from scripts.benchmarks.measuring import median_call, time_call
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


_REQUESTS: Mapping[str, Callable[[Thing], dict[str, str]]] = {
    "recall by words": lambda fact: {
        "query": f"what does {fact.texts[0]} think of {fact.texts[-1]}"
    },
    "recall by words that thousands have": lambda fact: {
        "query": f"{fact.texts[1]} something red and old and quiet"
    },
    "recall by subject": lambda fact: {"subject": fact.texts[0]},
    "recall by key": lambda fact: {"key": fact.texts[0]},
    "recall without a word": lambda _: {},
}
"""The ways to ask for a fact, by name."""


def run(data: Path | None) -> Iterator[Row]:
    """Measure in milliseconds of wall time a call, p50 and p95."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=folder, library="none", llm_url="http://127.0.0.1:9")
        stores = open_stores(settings)
        app = open_app(settings, stores, later=True)
        context = CallContext(app, SESSION)
        chance = random.Random(7)
        facts = [_make_fact(chance, number) for number in range(FACTS)]
        writes = [time_call(partial(context.things.save, fact)) for fact in facts]
        assert isinstance(stores.kv, SqliteKV)
        with closing(stores.kv):
            yield Row(
                "remember, p50 of the last 1,000 of 10,000",
                statistics.median(writes[-1_000:]),
                "ms",
            )
            for name, make_arguments in _REQUESTS.items():
                chosen = [make_arguments(chance.choice(facts)) for _ in range(ROUNDS)]
                times = sorted(time_call(partial(recall, context, each)) for each in chosen)
                yield Row(f"{name}, 10,000 facts, p50", statistics.median(times), "ms", 5.0)
                yield Row(f"{name}, 10,000 facts, p95", times[int(ROUNDS * 0.95)], "ms")
            messages = []
            for number in range(MESSAGES):
                text = f"message {number} about {NOUNS[number % len(NOUNS)]} " + "and so on " * 30
                messages.append(Message("user", text))
            document = Document().add(*messages)
            for begin in range(0, MESSAGES, 30):
                app.sessions.archive(SESSION, document.messages[begin : begin + 30])
            app.sessions.save(app.sessions.open(SESSION), Document(next_seq=document.next_seq))
            query = {"query": "the northern noun17 of last year"}
            median = median_call(lambda: search_history(context, query), 5)
            yield Row("search-history, 10,000 messages, p50", median, "ms")


def _make_fact(chance: random.Random, number: int) -> Thing:
    """Return a fact; every fiftieth is a key and its value."""
    at = 1_700_000_000.0 + number
    subject = chance.choice(PEOPLE)
    verb = chance.choice(VERBS)
    objects = f"{chance.choice(NOUNS)} and {chance.choice(NOUNS)}"
    if number % 50 == 0:
        return check_thing(Thing("kv", (PEOPLE[number // 50], objects), "user", 1.0, at))
    return check_thing(Thing("fact", (subject, verb, objects), "user", 1.0, at))
