"""Two memories become one, whatever each of them has."""

from __future__ import annotations

import pytest

from functions.agent.memory.documents import Documents
from functions.agent.memory.helpers import split_words
from functions.agent.memory.joining import Memories
from functions.agent.memory.outline import Outline
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Things
from sigil.storage.kv import keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.memory import MemoryKV

HERE, THERE = (keys.session_of("main", name) for name in ("telegram:1", "telegram:2"))


@pytest.fixture
def kv() -> MemoryKV:
    return MemoryKV()


def things(kv: MemoryKV, scope: str) -> Things:
    return Things(kv, scope, split_words)


def join(kv: MemoryKV) -> int:
    documents = Documents(kv, "main", lambda: 9.0)
    return Memories(kv, documents, split_words).join(THERE, HERE, THERE, 5, 9.0)


def fact(number: int, at: float, words: str = "blooms", source: str = "user") -> Thing:
    confidence = 1.0 if source == "user" else 0.5
    return Thing("fact", (f"rose {number}", words, "red"), source, confidence, at)


def test_the_newest_of_both_stand_in_the_outline(kv: MemoryKV) -> None:
    for number in range(60):
        things(kv, HERE if number % 2 else THERE).save(fact(number, float(number)))
    join(kv)
    outline = Outline(kv, HERE, "main", split_words)
    lines = outline.write([kv.get(key) for key in outline.list_keys()]).split("\n")
    shown = [line for line in lines if line.startswith("- ")]
    assert [line.split()[2] for line in shown] == [str(60 - place) for place in range(1, 31)]


def test_things_that_came_are_found_and_counted_once(kv: MemoryKV) -> None:
    for number in range(150):
        things(kv, THERE).save(fact(number, float(number)))
    things(kv, HERE).save(fact(3, 3.0))
    things(kv, THERE).count_uses([fact(7, 7.0).id], 9.0)
    assert join(kv) == 149
    assert join(kv) == 0
    here = things(kv, HERE)
    assert [found.thing.about for found in here.find("rose 149", 1)] == ["rose 149"]
    totals = kv.get(keys.thing_totals(HERE))
    assert totals
    assert b'"count":150' in totals.value
    assert fact(7, 7.0).id in here.list_outline(totals, 1, 1)
    assert list(list_partitions(kv, "thing")) == [
        name for name in list_partitions(kv, "thing") if HERE in name or name == "things"
    ]
    assert not kv.get(keys.thing_totals(THERE))


def test_what_a_person_said_stands_over_what_a_page_claims(kv: MemoryKV) -> None:
    said = Thing("kv", ("city", "Rome"), "user", 1.0, 1.0)
    read = Thing("kv", ("city", "Oslo"), "https://a.example/", 0.5, 2.0)
    for first, second in ((said, read), (read, said)):
        kv = MemoryKV()
        things(kv, HERE).save(first)
        things(kv, THERE).save(second)
        join(kv)
        assert [each.texts[1] for each in things(kv, HERE).list_values("city")] == ["Rome", "Oslo"]


def test_the_same_fact_keeps_its_surer_source(kv: MemoryKV) -> None:
    things(kv, HERE).save(fact(1, 1.0))
    things(kv, THERE).save(fact(1, 2.0, source="https://a.example/"))
    join(kv)
    (kept,) = things(kv, HERE).scan()
    assert (kept.source, kept.confidence, kept.at) == ("user", 1.0, 2.0)


def test_a_damaged_thing_is_left_where_it_is(kv: MemoryKV) -> None:
    things(kv, THERE).save(fact(1, 1.0))
    damaged = keys.thing(THERE, "0" * 16)
    kv.put(damaged, b"{")
    assert join(kv) == 1
    assert kv.get(damaged)
