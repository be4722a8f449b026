"""Things are found again by their words, kept and forgotten as a whole, on every store, a crash in
between or not.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from functions.agent.memory.postings import MOST, StoredPostings
from functions.agent.memory.thing import Kind, Thing, check_thing
from functions.agent.memory.things import Things
from functions.wiring import make_helpers
from sigil.errors import Conflict, UsageError
from sigil.storage.kv import ABSENT, KV, Expect, Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.sigil.stores import Place, place, pytest_generate_tests
from tests.tables import each_row

__all__ = ["place", "pytest_generate_tests"]
S = keys.session_of("main", "telegram:7")
TERMS = make_helpers().terms


def fact(subject: str, predicate: str, object: str, **more: Any) -> Thing:
    return check_thing(
        Thing("fact", (subject, predicate, object), "user", 1.0, **{"at": 0.0, **more})
    )


def value(key: str, text: str, at: float = 0.0) -> Thing:
    return check_thing(Thing("kv", (key, text), "user", 1.0, at))


def texts(things: Things, words: str, kind: Kind | None = None) -> list[str]:
    return [found.thing.texts[-1] for found in things.find(words, 10, kind)]


def test_things_are_kept_found_replaced_and_forgotten_in_every_store(place: Place) -> None:
    things, again = Things(place.open(), S, TERMS), Things(place.open(), S, TERMS)
    assert things.save(fact("Ada", "is allergic to", "nuts")).new
    assert things.save(value("tea", "green, without sugar")).new
    assert not things.save(value("Tea", "black")).new
    assert things.save(fact("小明", "喜欢", "乌龙茶")).new

    assert texts(again, "allergies of Ada") == ["nuts"]
    assert texts(again, "乌龙茶") == ["乌龙茶"]
    assert texts(again, "green sugar") == []
    assert texts(again, "black", "fact") == []
    assert [thing.texts[-1] for thing in again.list_newest(9)] == ["乌龙茶", "black", "nuts"]
    assert again.get_value("TEA") == value("Tea", "black")
    assert [again.get(id) for id in again.list_about("ada")] == [
        fact("Ada", "is allergic to", "nuts")
    ]

    id = fact("Ada", "is allergic to", "nuts").id
    assert again.drop(id) is not None
    assert again.drop(id) is None
    assert texts(things, "allergies of Ada nuts") == []
    assert {thing.texts[-1] for thing in things.scan()} == {"black", "乌龙茶"}
    assert Things(place.open(), keys.session_of("main", "telegram:8"), TERMS).list_newest(9) == []


class Falling(MemoryKV):
    """A store whose process dies before its nth write."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 10**9

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._write()
        return super().put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._write()
        super().delete(key, expect=expect)

    def _write(self) -> None:
        if self.left <= 0:
            raise SystemExit
        self.left -= 1


@each_row("write", range(12))
def test_a_crash_at_any_write_leaves_the_old_thing_or_the_new_one_and_the_call_may_simply_run_again(
    write: int,
) -> None:
    kv = Falling()
    things = Things(kv, S, TERMS)
    things.save(value("motto", "carpe diem"))

    kv.left = write
    try:
        things.save(value("motto", "memento mori"))
    except SystemExit:
        left = things.get_value("motto")
        assert left is not None
        assert texts(things, left.texts[1]) == [left.texts[1]]
    kv.left = 10**9
    things.save(value("motto", "memento mori"))

    assert texts(things, "mori memento") == ["memento mori"]
    assert texts(things, "carpe diem") == []
    kv.left = write
    with suppress(SystemExit):
        things.drop(value("motto", "x").id)
    kv.left = 10**9
    assert texts(things, "mori memento") == [] or write == 0
    things.drop(value("motto", "x").id)
    assert things.get_value("motto") is None


def test_two_workers_that_write_at_once_lose_nothing() -> None:
    kv, failures = MemoryKV(), []

    def write(name: str) -> None:
        things = Things(kv, S, TERMS)
        for number in range(40):
            try:
                things.save(fact(name, "knows", f"the number {number}"))
            except Conflict as problem:
                failures.append(problem)

    workers = [threading.Thread(target=write, args=(name,)) for name in ("Ada", "Bob", "Cleo")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    things = Things(kv, S, TERMS)
    assert failures == []
    assert [len(things.list_about(name)) for name in ("Ada", "Bob", "Cleo")] == [40, 40, 40]
    assert len(things.find("Bob knows number 17", 3)) == 3
    assert things.find("Bob knows number 17", 3)[0].thing.texts == ("Bob", "knows", "the number 17")


def test_a_word_that_stands_in_everything_keeps_its_newest_things_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = StoredPostings(MemoryKV(), partial(keys.thing_index, S), list)
    for id in range(20):
        index.add(id, {"tea", f"word{id}"})
    monkeypatch.setattr("functions.agent.memory.postings.MOST", 5)
    index.add(20, {"tea"})

    assert MOST > 1_000
    assert index.find(["tea", "word3", "nothing"]) == {"tea": (16, 17, 18, 19, 20), "word3": (3,)}
    index.drop(18, {"tea", "word3"})
    assert index.find(["tea", "word3"]) == {"tea": (16, 17, 19, 20), "word3": (3,)}


def test_a_damaged_thing_is_not_recalled_and_can_be_forgotten_or_written_again() -> None:
    kv = MemoryKV()
    things, thing = Things(kv, S, TERMS), value("drink", "tea")
    things.save(thing)
    kv.put(keys.thing(S, thing.id), b"{}")
    kv.put(keys.thing_totals(S), b"nonsense")

    assert texts(things, "tea drink") == []
    assert things.drop(thing.id) is not None
    things.save(thing)
    assert texts(things, "tea drink") == ["tea"]


def test_what_is_forgotten_while_it_is_said_again_lends_its_source_to_nobody() -> None:
    kv = MemoryKV()
    sure, heard = (
        value("drink", "tea"),
        check_thing(Thing("kv", ("drink", "tea"), "https://tea.example/", 0.5, 1.0)),
    )
    Things(kv, S, TERMS).save(sure)

    class Forgotten:
        """A store in which somebody forgets the thing right before it is written over."""

        def __getattr__(self, verb: str) -> Any:
            return getattr(kv, verb)

        def put(self, key: Key, value: bytes, **given: Any) -> str:
            if key == keys.thing(S, sure.id) and given["expect"] is not ABSENT:
                Things(kv, S, TERMS).drop(sure.id)
            return kv.put(key, value, **given)

    assert Things(Forgotten(), S, TERMS).save(heard).thing == heard
    assert Things(kv, S, TERMS).get(sure.id) == heard


@pytest.mark.parametrize(
    "damage", [b"", b"nonsense", b"\x00\x00\x00\x02[]", b'\x00\x00\x00\x09{"tea":1}short']
)
def test_a_damaged_part_of_the_index_is_made_anew_from_the_things(damage: bytes) -> None:
    kv = MemoryKV()
    things = Things(kv, S, TERMS)
    drinks = [value(f"drink {number}", "tea") for number in range(30)]
    for drink in drinks:
        things.save(drink)
    found, about = texts(things, "tea drink"), things.list_about("drink 3")
    for sort, _ in kv.scan(keys.thing_index(S, 0).partition, limit=1000):
        kv.put(keys.thing_index(S, int(sort)), damage)

    assert texts(things, "tea drink") == found
    assert things.list_about("drink 3") == about
    for sort, _ in kv.scan(keys.thing_index(S, 0).partition, limit=1000):
        kv.put(keys.thing_index(S, int(sort)), damage)
    assert things.save(value("drink 30", "coffee")).new
    assert things.drop(drinks[3].id) is not None
    assert [each.thing.about for each in things.find("coffee", 5)] == ["drink 30"]
    assert not things.list_about("drink 3")


@each_row(
    "damage",
    [
        b"",
        b"[]",
        b'{"count": "a"}',
        b'{"count": -1}',
        b'{"recent": 5}',
        b'{"recent": [[5]]}',
        b'{"more": 1}',
    ],
)
def test_a_damaged_count_is_counted_anew(damage: bytes) -> None:
    kv = MemoryKV()
    things = Things(kv, S, TERMS)
    for number in range(5):
        things.save(value(f"k{number}", "tea"))
    kv.put(keys.thing_totals(S), damage)

    assert {thing.about for thing in things.list_newest(10)} == {
        f"k{number}" for number in range(5)
    }
    things.save(value("k5", "tea"))
    assert len(things.list_newest(10)) == 6


@pytest.mark.parametrize("source", ["", " ", "\u200b", "https://."])
def test_no_writer_keeps_anything_without_a_source(source: str) -> None:
    things = Things(MemoryKV(), S, TERMS)
    with pytest.raises(UsageError, match="source has to say"):
        things.save(Thing("kv", ("city", "Ghent"), source, 1.0, 0.0))
    assert list(things.scan()) == []


@pytest.mark.parametrize("text", ["", "\u202e\u200b", "x" * 2_001])
def test_a_text_that_says_nothing_or_too_much_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        value("key", text)


def test_texts_are_clean_and_names_are_one_line() -> None:
    thing = fact("A\nda\u202e", "says\x00", "line one\nline two\x1b[31m")

    assert thing.texts == ("A da", "says", "line one\nline two")


def test_the_terms_of_ten_thousand_things_are_in_items_that_any_store_takes() -> None:
    class Sizes(MemoryKV):
        largest = 0

        def put(
            self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
        ) -> str:
            self.largest = max(self.largest, len(value))
            return super().put(key, value, expect=expect, ttl=ttl)

    kv: KV = Sizes()
    index = StoredPostings(kv, partial(keys.thing_index, S), list)
    for id in range(MOST + 500):
        index.add(id, {"common", "also-common", f"word{id % 700}"})

    assert isinstance(kv, Sizes)
    assert kv.largest < 100_000
    assert len(index.find(["common"])["common"]) == MOST


def test_whoever_was_overtaken_looks_again_before_anything_is_replaced_or_forgotten() -> None:
    class Overtaken(MemoryKV):
        said = ""

        def _overtake(self, key: Key) -> None:
            if self.said and key == keys.thing(S, drink.id):
                said, self.said = self.said, ""
                Things(self, S, TERMS).save(value("drink", said))

        def put(
            self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
        ) -> str:
            self._overtake(key)
            return super().put(key, value, expect=expect, ttl=ttl)

        def delete(self, key: Key, *, expect: Expect = None) -> None:
            self._overtake(key)
            super().delete(key, expect=expect)

    kv, drink = Overtaken(), value("drink", "tea")
    things = Things(kv, S, TERMS)
    kv.said = "theirs"
    assert things.save(drink).before == value("drink", "theirs")
    kv.said = "newer"
    with pytest.raises(Conflict):
        things.drop(drink.id)
    assert things.get_value("drink") == value("drink", "newer")


def test_whoever_writes_the_index_at_the_same_time_is_in_it_too_and_nobody_twice() -> None:
    others = [2]

    class Overtaken(MemoryKV):
        def put(
            self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
        ) -> str:
            while others:
                StoredPostings(self, partial(keys.thing_index, S), list).add(others.pop(), {"tea"})
            return super().put(key, value, expect=expect, ttl=ttl)

    index = StoredPostings(Overtaken(), partial(keys.thing_index, S), list)
    for _ in range(2):
        index.add(1, {"tea"})
    assert index.find(["tea"]) == {"tea": (2, 1)}
