"""A search follows the store by what changed, from a snapshot at first, and is always right."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.catalog import changes
from sigil.catalog.expiry import Sweeper
from sigil.catalog.public import EVERYWHERE
from sigil.protocol import LIBRARY, Caller
from sigil.search import Index, IndexDocument, catalog_search, index_file, index_sync
from sigil.search.catalog_search import CatalogSearch
from sigil.search.file_documents import KINDS
from sigil.search.index_file import RULES, unpack
from sigil.storage.artifacts import MemoryArtifacts, artifact_name
from sigil.storage.artifacts.stored import StoredArtifacts
from sigil.storage.kv import Item, Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.machine import times, within
from tests.selection import examples, in_full, sample
from tests.sigil.searching import CROPS, MAIN, Counting, Garden, found, names
from tests.sigil.stores import SHARED, Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]

shared = pytest.mark.parametrize("place", SHARED, indirect=True)
BOB = Caller("bob")
MADE = Index().rules


@pytest.fixture
def clock() -> Clock:
    return Clock(1_780_000_000.0)


@pytest.fixture
def garden(clock: Clock) -> Garden:
    return Garden(MemoryKV(clock), clock)


def snapshot(garden: Garden, group: str = LIBRARY) -> dict[str, object]:
    item = garden.kv.get(keys.snapshot(group, MADE))
    assert item
    return dict(orjson.loads(item.value))


@shared
def test_a_process_that_begins_reads_a_snapshot_and_not_the_records(place: Place) -> None:
    garden = Garden(place.open(), artifacts=None)
    garden.artifacts = StoredArtifacts(garden.kv)
    garden.stock(40)
    first = names(garden.finder(), "how do I water a carrot")
    kv = Counting(place.open())
    fresh = garden.finder(kv)
    assert names(fresh, "how do I water a carrot") == first
    assert first[0] == "water-carrot"
    assert kv.asked["scan"] == kv.asked["put"] == 0
    assert kv.asked["get"] <= 20


@shared
def test_one_change_elsewhere_costs_one_document(place: Place) -> None:
    garden, kv = Garden(place.open()), Counting(place.open())
    garden.stock(40)
    finder = garden.finder(kv)
    assert names(finder, "a cactus") == []
    for number in range(3):
        garden.deploy("water-cactus", f"Water a cactus, rarely {number}.", LIBRARY)
        kv.asked.clear()
        assert found(finder, "a cactus") == [("water-cactus", number + 1)]
        assert kv.asked["scan"] == 0
        assert kv.asked["get"] <= 6
    garden.remove("water-cactus", LIBRARY)
    kv.asked.clear()
    assert names(finder, "a cactus") == []
    assert kv.asked["scan"] == 0


@shared
def test_deploys_of_several_processes_at_once_are_all_found(place: Place) -> None:
    finder = Garden(place.open()).finder()
    gardens = [Garden(place.open()) for _ in range(3)]

    def work(number: int) -> None:
        for crop in ("cactus", "bamboo", "lotus"):
            gardens[number].deploy(f"water-{crop}-{number}", f"Water the {crop} number {number}.")
            names(finder, "water the cactus")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(names(finder, "water the cactus bamboo lotus")) == 9
    assert len(names(Garden(place.open()).finder(), "water the cactus bamboo lotus")) == 9


def test_a_snapshot_that_lies_far_behind_is_followed_by_what_changed_since(
    garden: Garden, clock: Clock
) -> None:
    garden.stock(40)
    names(garden.finder(), "carrot")
    before = snapshot(garden)
    for number in range(100):
        garden.deploy(f"sow-{number % 5}", f"Sow kale, row {number}.", LIBRARY)
    kv = Counting(garden.kv)
    assert sorted(names(garden.finder(kv), "sow kale")) == [f"sow-{number}" for number in range(5)]
    assert kv.asked["scan"] == 0
    assert snapshot(garden) == before  # five documents are not worth a new one


def test_who_lies_too_far_behind_reads_the_namespace_again(
    garden: Garden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MOST", 10)
    garden.stock(20)
    kv = Counting(garden.kv)
    finder = garden.finder(kv)
    names(finder, "carrot")
    for number in range(20):
        garden.deploy(f"sow-{number}", "Sow kale.", LIBRARY)
    assert len(names(finder, "sow kale", limit=50)) == 20
    assert kv.asked["scan"] > 0


def test_pages_of_changes_that_are_gone_cost_a_walk_and_nothing_else(garden: Garden) -> None:
    garden.stock(20)
    finder = garden.finder()
    names(finder, "carrot")
    for number in range(200):
        garden.deploy(f"sow-{number % 10}", "Sow kale.", LIBRARY)
    for sort, _ in garden.kv.scan(keys.changes_page(LIBRARY, "", 0).partition, limit=100):
        garden.kv.delete(keys.changes_page(LIBRARY, "", 0)._replace(sort=sort))
    assert len(names(finder, "sow kale", limit=50)) == 10


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'{"epoch": 1}',
        b'{"epoch": "a", "number": -1, "recent": [], "open": {}}',
    ],
)
def test_a_log_that_makes_no_sense_is_no_log(garden: Garden, body: bytes) -> None:
    garden.stock(20)
    finder = garden.finder()
    names(finder, "carrot")
    garden.deploy("sow-kale", "Sow kale.", LIBRARY)
    garden.kv.put(keys.generation(LIBRARY), body)
    assert names(finder, "sow kale")[0] == names(garden.finder(), "sow kale")[0] == "sow-kale"
    garden.deploy("sow-leek", "Sow leek.", LIBRARY)
    assert names(finder, "sow leek")[0] == "sow-leek"


class CutError(Exception):
    """The process ended here."""


class Cut(MemoryKV):
    """A store whose writer dies after so many writes."""

    left = 1 << 30
    wrote: Callable[[], object] | None = None

    def put(self, *given: object, **named: object) -> str:
        if self.left <= 0:
            raise CutError
        self.left -= 1
        version = super().put(*given, **named)  # type: ignore[arg-type]
        if self.wrote:
            self.wrote()
        return version


@pytest.mark.parametrize("writes", range(9))
def test_a_deploy_that_dies_half_way_is_found_with_the_next_change_if_it_stands(
    clock: Clock, writes: int
) -> None:
    kv = Cut(clock)
    garden = Garden(kv, clock)
    garden.stock(20, "main")
    finder = garden.finder()
    names(finder, "carrot")
    kv.left = writes
    try:
        garden.deploy("sow-kale", "Sow kale.", public=True)
    except CutError:
        names(finder, "carrot")  # somebody asks in between
    kv.left = 1 << 30
    garden.deploy("sow-leek", "Sow leek.")
    stands = garden.catalog.load_active("main", "sow-kale") is not None
    assert ("sow-kale" in names(finder, "sow kale")) is stands
    assert names(garden.finder(), "sow kale") == names(finder, "sow kale")


def test_what_was_cut_short_long_ago_is_no_longer_open(garden: Garden, clock: Clock) -> None:
    with changes.announced_change(garden.kv, "main", "other", clock()):
        log = changes.log_of(garden.kv.get(keys.generation("main")))
        assert log
        assert list(log.open) == ["other"]
        clock.now += changes.OPEN_SECONDS + 1
        with changes.announced_change(garden.kv, "main", "sow", clock()):
            pass
    log = changes.log_of(garden.kv.get(keys.generation("main")))
    assert log
    assert (log.open, log.recent) == ({}, ("other", "sow", "other"))


def test_the_log_stays_small_whatever_is_open(garden: Garden, clock: Clock) -> None:
    for number in range(100):
        with (
            pytest.raises(CutError),
            changes.announced_change(Dying(garden.kv), "main", f"name-{number}", clock()),
        ):  # type: ignore[arg-type]
            pass
    item = garden.kv.get(keys.generation("main"))
    assert item
    assert len(item.value) < 8_000
    log = changes.log_of(item)
    assert log
    assert len(log.open) == changes.OPEN_MOST
    assert changes.names_since(garden.kv, "main", log, 0) == {
        f"name-{number}" for number in range(100)
    }


class Dying(Counting):
    """Writes once, then never again."""

    def put(self, key: Key, *given: object, **named: object) -> str:  # type: ignore[override]
        if self.asked["put"]:
            raise CutError
        if key.partition.startswith("changes#"):
            return self._kv.put(key, *given, **named)  # type: ignore[arg-type]
        return super().put(key, *given, **named)  # type: ignore[arg-type]


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.integers(0, 30), max_size=150), st.integers(0, 150))
def test_whoever_follows_the_log_learns_of_every_change_after_his(
    numbers: list[int], known: int
) -> None:
    kv = MemoryKV()
    for number in numbers:
        with changes.announced_change(kv, "main", f"n{number}", 0.0):
            pass
    log = changes.log_of(kv.get(keys.generation("main")))
    if log:
        expected = {f"n{number}" for number in numbers[known:]} if known <= len(numbers) else None
        assert changes.names_since(kv, "main", log, known) == expected


def test_what_ends_is_not_found_from_that_moment_on_though_nobody_says_so(
    garden: Garden, clock: Clock
) -> None:
    garden.stock(20)
    garden.deploy("sow-kale", "Sow kale by hand.")
    garden.deploy("sow-kale", "Sow kale by machine.", lifetime="ephemeral", ttl=60)
    running, _ = garden.finder(), names(garden.finder(), "carrot")
    assert found(running, "sow kale") == [("sow-kale", 2)]
    clock.now += 61
    for finder in (running, garden.finder()):
        assert found(finder, "sow kale") == [("sow-kale", 1)]
    Sweeper(garden.kv, clock).sweep()
    assert found(running, "sow kale") == [("sow-kale", 1)]


def test_an_end_survives_in_a_snapshot(garden: Garden, clock: Clock) -> None:
    garden.stock(20)
    garden.deploy("sow-kale", "Sow kale.", LIBRARY, lifetime="ephemeral", ttl=600)
    assert names(garden.finder(), "sow kale") == ["sow-kale"]
    clock.now += 500
    assert names(garden.finder(), "sow kale") == ["sow-kale"]
    clock.now += 200
    assert names(garden.finder(), "sow kale") == []


def test_snapshots_are_not_made_more_often_than_once_a_minute(garden: Garden, clock: Clock) -> None:
    garden.stock(20)
    finder = garden.finder()
    names(finder, "carrot")
    first = snapshot(garden)
    for number in range(20):
        garden.deploy(f"sow-{number}", "Sow kale.", LIBRARY)
    names(finder, "kale")
    assert snapshot(garden) == first
    clock.now += 61
    for number in range(20):
        garden.deploy(f"reap-{number}", "Reap kale.", LIBRARY)
    names(finder, "kale")
    assert snapshot(garden) != first


def test_a_large_snapshot_is_written_behind_the_answer(
    garden: Garden, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_sync, "AT_ONCE", 10)
    garden.stock(30)
    finder = garden.finder()
    assert names(finder, "weed a carrot")
    finder.close()
    kv = Counting(garden.kv)
    names(garden.finder(kv), "carrot")
    assert snapshot(garden)["number"] == 30
    assert kv.asked["scan"] == 0


def test_an_index_that_is_mostly_outdated_begins_anew(garden: Garden, clock: Clock) -> None:
    garden.stock(20)
    names(garden.finder(), "carrot")
    finder = garden.finder()
    for number in range(3):
        clock.now += 61
        for crop in CROPS:
            garden.deploy(
                f"plant-{crop}", f"Tell how to plant a {crop}, edition {number}.", LIBRARY
            )
        assert found(finder, "plant a carrot")[0] == ("plant-carrot", number + 2)
        assert finder._index.count_outdated(LIBRARY) * 4 <= finder._index.count_documents(LIBRARY)


def forge(garden: Garden, body: bytes, group: str = LIBRARY, **more: object) -> None:
    """Make bytes the newest snapshot, with the right name."""
    old = snapshot(garden, group)
    garden.artifacts.put(body)
    garden.kv.put(
        keys.snapshot(group, MADE), orjson.dumps({**old, "artifact": artifact_name(body), **more})
    )


def original(garden: Garden) -> bytes:
    return garden.artifacts.get(str(snapshot(garden)["artifact"]))


def foreign(garden: Garden) -> bytes:
    index = Index()
    index.add(IndexDocument("evil", "plant a carrot", "library/evil", group=LIBRARY))
    return index.write_file(index.copy_group(LIBRARY), {"group": "elsewhere", "log": ["x", 1]})


def of_other_rules(garden: Garden) -> bytes:
    return original(garden).replace(f'"made":"{RULES}-'.encode(), b'"made":"0-')


def flipped(place: int) -> Callable[[Garden], bytes]:
    def change(garden: Garden) -> bytes:
        body = bytearray(original(garden))
        at = place if place >= 0 else len(body) + place
        body[at] ^= 0xFF
        return bytes(body)

    return change


@pytest.mark.parametrize(
    "made",
    [
        lambda garden: b"",
        lambda garden: b"sigil index 1\r\n\0" + b"\xff" * 64,
        lambda garden: original(garden)[:-8],
        lambda garden: original(garden) + b"\0" * 8,
        lambda garden: original(garden).replace(b'["entries","B",', b'["entries","Q",'),
        lambda garden: original(garden).replace(b'["stamps","Q",20]', b'["stamps","Q",99]'),
        lambda garden: original(garden).replace(b"little", b"biggie"),
        of_other_rules,
        foreign,
        flipped(30),
    ],
    ids=[
        "empty",
        "garbage",
        "short",
        "long",
        "kinds",
        "counts",
        "order",
        "rules",
        "foreign",
        "header",
    ],
)
def test_a_snapshot_that_is_none_is_replaced_by_a_good_one(
    garden: Garden, clock: Clock, made: Callable[[Garden], bytes]
) -> None:
    garden.stock(20)
    expected = names(garden.finder(), "plant a carrot")
    forge(garden, made(garden))
    bad = snapshot(garden)["artifact"]
    assert names(garden.finder(), "plant a carrot") == expected
    assert expected[0] == "plant-carrot"
    assert snapshot(garden)["artifact"] != bad
    kv = Counting(garden.kv)
    assert names(garden.finder(kv), "plant a carrot") == expected
    assert kv.asked["scan"] == 0


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[1]", b'{"artifact": "../../etc", "epoch": "e", "number": 1, "at": 0}', b"\xff"],
)
def test_a_pointer_that_points_nowhere_costs_a_walk(garden: Garden, body: bytes) -> None:
    garden.stock(20)
    names(garden.finder(), "carrot")
    garden.kv.put(keys.snapshot(LIBRARY, MADE), body)
    assert names(garden.finder(), "plant a carrot")[0] == "plant-carrot"


def test_artifacts_that_are_lost_cost_a_walk(garden: Garden) -> None:
    garden.stock(20)
    names(garden.finder(), "carrot")
    garden.artifacts = MemoryArtifacts()
    assert names(garden.finder(), "plant a carrot")[0] == "plant-carrot"
    assert garden.artifacts.get(str(snapshot(garden)["artifact"]))


def speak_of(garden: Garden, ref: str, group: str) -> None:
    """Make a snapshot the newest in which this reference alone stands, for a document that
    answers.
    """
    index = Index()
    index.add(IndexDocument("plant-carrot", "Tell how to plant a carrot.", ref, group=group))
    old = snapshot(garden, group)
    forge(
        garden,
        index.write_file(
            index.copy_group(group), {"group": group, "log": [old["epoch"], old["number"]]}
        ),
        group,
        documents=1,
    )


ELSEWHERE = pytest.mark.parametrize(
    "ref",
    ["bob/secret", "plant-carrot", "", "/", "library/plant-carrot/x", "library//plant-carrot"],
)


@ELSEWHERE
def test_a_snapshot_that_speaks_of_another_namespace_is_none(garden: Garden, ref: str) -> None:
    garden.deploy("secret", "Tell how to plant a carrot in secret.", "bob")
    garden.stock(20)
    expected, around = (
        names(garden.finder(), "plant a carrot"),
        garden.finder().explore("carrot", MAIN, 5),
    )
    speak_of(garden, ref, LIBRARY)
    assert garden.finder().explore("carrot", MAIN, 5) == around
    speak_of(garden, ref, LIBRARY)
    assert names(garden.finder(), "plant a carrot") == expected


@ELSEWHERE
def test_a_snapshot_makes_nothing_public(garden: Garden, ref: str) -> None:
    garden.deploy("secret", "Tell how to plant a carrot in secret.", "bob")
    for number in range(9):
        garden.deploy(f"sow-{number}", f"Tell how to sow seed number {number}.", "eve", public=True)
    names(garden.finder(), "sow")
    speak_of(garden, ref, EVERYWHERE)
    assert names(garden.finder(), "plant a carrot") == []
    assert garden.finder().explore("plant a carrot", MAIN, 5) == ()


def test_an_answer_that_cannot_be_found_again_is_of_a_damaged_index(garden: Garden) -> None:
    garden.stock(20)
    expected = garden.finder().explore("plant a carrot", MAIN, 5)
    body = original(garden)
    _, parts = unpack(body, KINDS)
    hashes = parts["refs"].tobytes()
    assert body.count(hashes) == 1
    forge(garden, body.replace(hashes, bytes(len(hashes))))
    assert garden.finder().explore("plant a carrot", MAIN, 5) == expected


def test_no_byte_of_a_snapshot_breaks_a_search(garden: Garden) -> None:
    """Forged with the right name: whatever stands in it, a query ends, and what it says stands in
    the store.
    """
    garden.stock(12)
    names(garden.finder(), "carrot")
    body = original(garden)
    for at in sample(range(24, len(body), 61), 25):
        forged = bytearray(body)
        forged[at] ^= 0xA5
        forge(garden, bytes(forged))
        finder = garden.finder()
        for text in ("plant a carot", "plant-carrot", "water a pumpkin please"):
            assert all(garden.catalog.load_active(LIBRARY, name) for name in names(finder, text))
        assert len(finder.explore("", MAIN, 5)) <= 5


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "deploy",
                "deploy",
                "deploy",
                "brief",
                "remove",
                "idle",
                "yank",
                "wait",
                "sweep",
                "restart",
            )
        ),
        st.sampled_from(("plant-carrot", "water-carrot", "sow-kale", "reap-kale", "dry-basil")),
        st.sampled_from(("plant", "water", "sow", "reap", "dry")),
    ),
    max_size=15,
)
ASKED = ("water carrots", "sow kale", "dried basil", "plant-carrot")


@settings(max_examples=times(20 if in_full() else 7), deadline=None)
@given(STEPS)
def test_whatever_happens_a_running_process_finds_what_a_new_one_does(
    steps: list[tuple[str, str, str]],
) -> None:
    clock = Clock()
    garden = Garden(MemoryKV(clock), clock)
    garden.stock(10, "main")
    running, blind = garden.finder(), Garden(garden.kv, clock)
    for what, name, word in steps:
        act(garden, clock, (what, name, word))
        blind.artifacts = MemoryArtifacts()  # so that this one never sees a snapshot
        finders = (running, garden.finder(), blind.finder())
        for text in ASKED:
            answers = [
                (finder.find(text, MAIN, 5), finder.find(text, BOB, 5)) for finder in finders
            ]
            assert answers[0] == answers[1] == answers[2]
        if what == "restart":
            running = garden.finder()


def act(garden: Garden, clock: Clock, step: tuple[str, str, str]) -> None:
    match step:
        case "deploy", name, word:
            garden.deploy(name, f"It will {word} it: {name}.", public=word in ("sow", "dry"))
        case "brief", name, word:
            garden.deploy(name, f"It will {word} it soon: {name}.", lifetime="ephemeral", ttl=90)
        case "remove", name, _:
            garden.remove(name)
        case "idle", name, _:
            garden.idle(name)
        case "yank", name, _:
            garden.yank(name)
        case "wait", _, _:
            clock.now += 50
        case "sweep", _, _:
            Sweeper(garden.kv, clock).remove_expired()


def test_two_namespaces_may_make_the_same_name_public(garden: Garden) -> None:
    garden.deploy("sow-kale", "Sow kale.", "alice", public=True)
    garden.deploy("sow-kale", "Sow kale.", "carol", public=True)
    assert names(garden.finder(), "sow kale", BOB) == ["alice/sow-kale", "carol/sow-kale"]
    garden.remove("sow-kale", "alice")
    assert names(garden.finder(), "sow kale", BOB) == ["carol/sow-kale"]


def test_queries_and_changes_of_many_threads_end_well() -> None:
    garden = Garden(MemoryKV(time.time))
    garden.stock(20)
    finder, problems = garden.finder(), list[BaseException]()

    def ask(finder: CatalogSearch, own: int) -> None:
        try:
            for number in range(30):
                assert "plant-carrot" in names(finder, "plant a carrot")
                garden.deploy(f"sow-{own}-{number % 2}", f"Sow kale {number}.")
        except BaseException as problem:
            problems.append(problem)

    workers = [threading.Thread(target=ask, args=(finder, own)) for own in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems
    assert len(names(finder, "sow kale")) == 8


class Late(Counting):
    """A store whose reader of `slow` gets what stood there, but only when it is let go."""

    slow: Key | None = None

    def __init__(self, garden: Garden) -> None:
        super().__init__(garden.kv)
        self.read, self.go = threading.Event(), threading.Event()

    def get(self, key: Key) -> Item | None:
        item = super().get(key)
        if key == self.slow:
            self.slow, go = None, self.go
            self.read.set()
            go.wait(within(10))
        return item


def asking(finder: CatalogSearch, text: str) -> threading.Thread:
    thread = threading.Thread(target=names, args=(finder, text), daemon=True)
    thread.start()
    return thread


def test_a_snapshot_is_never_of_a_group_that_was_just_given_up(garden: Garden) -> None:
    garden.stock(20)
    kv = Late(garden)
    finder = garden.finder(kv)
    kv.slow = keys.snapshot(LIBRARY, MADE)
    opening = asking(finder, "carrot")  # looks for a snapshot to begin with
    assert kv.read.wait(within(10))
    opens, kv.go = kv.go, threading.Event()
    kv.read.clear()
    kv.slow = keys.snapshot(LIBRARY, MADE)
    opens.set()
    assert kv.read.wait(within(10))  # looks whether one is due
    finder._follower_of(LIBRARY).reject_snapshot()
    kv.go.set()
    opening.join(10)
    for each in (garden.finder(), finder):
        assert names(each, "plant-carrot")[:1] == ["plant-carrot"]


def test_of_one_group_one_snapshot_is_written_at_a_time(
    garden: Garden, monkeypatch: pytest.MonkeyPatch
) -> None:
    garden.stock(20)
    finder = garden.finder()
    sealed: list[str] = []
    write_file = finder._index.write_file

    def sealing(*given: Any) -> bytes:
        sealed.append(given[1]["group"])
        if len(sealed) == 1:
            for number in range(20):
                garden.deploy(f"sow-{number}", "Sow kale.", LIBRARY)
            garden.kv.delete(keys.snapshot(LIBRARY, MADE))
            asking(finder, "kale").join(10)
        return write_file(*given)

    monkeypatch.setattr(finder._index, "write_file", sealing)
    names(finder, "carrot")
    assert sealed == [LIBRARY]


def test_a_snapshot_with_another_number_of_documents_is_none(garden: Garden) -> None:
    garden.stock(20)
    names(garden.finder(), "carrot")
    index = Index()
    forge(
        garden,
        index.write_file(
            index.copy_group(LIBRARY),
            {"group": LIBRARY, "log": [snapshot(garden)["epoch"], snapshot(garden)["number"]]},
        ),
    )
    empty = snapshot(garden)["artifact"]
    assert names(garden.finder(), "plant-carrot")[:1] == ["plant-carrot"]
    assert snapshot(garden)["artifact"] != empty


def test_who_reads_the_log_late_walks_nowhere_and_forgets_nothing(garden: Garden) -> None:
    garden.stock(20)
    kv = Late(garden)
    finder = garden.finder(kv)
    names(finder, "carrot")
    garden.deploy("sow-kale", "Sow kale.", LIBRARY)
    kv.slow = keys.generation(LIBRARY)
    late = asking(finder, "carrot")
    assert kv.read.wait(within(10))
    garden.deploy("sow-leek", "Sow leek.", LIBRARY)
    assert names(finder, "sow leek")[0] == "sow-leek"
    kv.asked.clear()
    kv.go.set()
    late.join(10)
    assert kv.asked["scan"] == 0
    assert names(finder, "sow leek")[0] == "sow-leek"


def test_a_log_that_went_back_is_read_from_its_beginning(garden: Garden) -> None:
    garden.stock(20)
    finder = garden.finder()
    before = {sort: item.value for sort, item in garden.kv.scan(keys.generation("").partition)}
    head = garden.kv.get(keys.capability(LIBRARY, "plant-carrot"))
    assert head
    garden.deploy("plant-carrot", "Plant kale instead.", LIBRARY)
    assert found(finder, "plant carrot")[0] == ("plant-carrot", 2)
    garden.kv.put(keys.capability(LIBRARY, "plant-carrot"), head.value)
    garden.kv.put(
        keys.generation(LIBRARY), before[keys.generation(LIBRARY).sort]
    )  # somebody put a copy of the store back
    assert found(finder, "plant carrot")[0] == ("plant-carrot", 1)


@pytest.mark.parametrize("asked_first", [False, True])
@pytest.mark.parametrize("writes", range(7))
def test_what_was_public_is_shown_to_nobody_once_it_is_gone_wherever_its_writer_died(
    clock: Clock, writes: int, asked_first: bool
) -> None:
    kv = Cut(clock)
    garden = Garden(kv, clock)
    garden.stock(20, "main")
    garden.deploy("sow-kale", "Sow kale.", public=True)
    finder = garden.finder()
    assert (names(finder, "sow kale"), names(finder, "sow kale", BOB)) == (
        ["sow-kale"],
        ["main/sow-kale"],
    )
    if asked_first:
        kv.wrote = lambda: names(finder, "sow kale", BOB) and names(finder, "sow kale")
    kv.left = writes
    with suppress(CutError):
        garden.remove("sow-kale")
    kv.left, kv.wrote = 1 << 30, None
    stands = garden.catalog.load_active("main", "sow-kale") is not None
    for each in (finder, garden.finder()):
        assert names(each, "sow kale") == (["sow-kale"] if stands else [])
        assert names(each, "sow kale", BOB) == (["main/sow-kale"] if stands else [])


def test_what_is_half_changed_is_looked_at_for_an_hour_and_read_once(
    garden: Garden, clock: Clock
) -> None:
    garden.stock(20)
    with (
        pytest.raises(CutError),
        changes.announced_change(Dying(garden.kv), LIBRARY, "plant-carrot", clock()),
    ):  # type: ignore[arg-type]
        pass
    kv = Counting(garden.kv)
    finder = garden.finder(kv)
    names(finder, "no such thing")
    gets = []
    for _ in range(4):
        kv.asked.clear()
        names(finder, "no such thing")
        gets.append(kv.asked["get"])
        clock.now += changes.OPEN_SECONDS
    assert gets[0] == gets[1] == gets[2] == gets[3] + 1


def test_a_namespace_that_is_given_up_in_the_middle_of_a_query_is_read_again(
    garden: Garden, monkeypatch: pytest.MonkeyPatch
) -> None:
    garden.deploy("sow-kale", "Sow kale.")
    finder = garden.finder()
    search, interrupted = finder._index.search, list[bool]()

    def interrupting(*given: Any, **named: Any) -> Any:
        if not interrupted:
            interrupted.append(True)
            for number in range(catalog_search.NAMESPACES + 1):
                garden.deploy("sow-leek", "Sow leek.", f"other-{number}")
                finder._follower_of(f"other-{number}")
        return search(*given, **named)

    monkeypatch.setattr(catalog_search, "NAMESPACES", 4)
    monkeypatch.setattr(finder._index, "search", interrupting)
    assert names(finder, "sow kale") == ["sow-kale"]


def test_who_gave_a_namespace_up_takes_nothing_from_who_follows_it_next(garden: Garden) -> None:
    garden.deploy("sow-kale", "Sow kale.")
    finder = garden.finder()
    old = finder._follower_of("main")
    assert names(finder, "sow kale") == ["sow-kale"]
    finder._retire(old)
    assert names(finder, "sow kale") == ["sow-kale"]
    old.reject_snapshot()
    old.follow(garden.clock(), garden.kv.get(keys.generation(old.group)))
    finder._retire(old)
    assert names(finder, "sow kale") == ["sow-kale"]
    assert finder._follower_of("main") is not old


def test_a_clock_that_was_ahead_for_a_moment_hides_nothing(garden: Garden, clock: Clock) -> None:
    finder = garden.finder()
    garden.deploy("sow-kale", "Sow kale.", lifetime="ephemeral", ttl=3_600)
    assert names(finder, "sow kale") == ["sow-kale"]
    clock.now += 7_200
    assert names(finder, "sow kale") == []
    clock.now -= 7_200
    assert names(finder, "sow kale") == ["sow-kale"]


def test_programs_with_other_rules_keep_snapshots_of_their_own(
    garden: Garden, monkeypatch: pytest.MonkeyPatch
) -> None:
    garden.stock(20)
    names(garden.finder(), "carrot")
    first = snapshot(garden)
    with monkeypatch.context() as other:
        other.setattr(index_file, "RULES", RULES + 1)
        names(garden.finder(), "carrot")
        kv = Counting(garden.kv)
        names(garden.finder(kv), "carrot")
        assert kv.asked["scan"] == 0
    assert snapshot(garden) == first
