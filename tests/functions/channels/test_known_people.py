"""Whom a platform has told of once is known for a day, also to the next process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from functions.channels.known_people import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    NAME_CHARACTERS,
    PEOPLE_MOST,
    KnownPeople,
    Profile,
)
from sigil.errors import BackendError
from sigil.storage.kv import KV, Expect, Item, Key, keys
from sigil.storage.kv.memory import MemoryKV

ADA, BOB, EVE = "slack:T1.U1", "slack:T1.U2", "slack:T1.U3"
RECORD = keys.known_person("main", ADA)


class WatchedKV(MemoryKV):
    """A store that counts its requests, and may answer none."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0
        self.is_down = False
        self.lifetimes: list[float | None] = []

    def _note(self) -> None:
        self.requests += 1
        if self.is_down:
            raise BackendError("EUNAVAILABLE", "the store is down")

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        self._note()
        return super().get_many(keys)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._note()
        self.lifetimes.append(ttl)
        return super().put(key, value, expect=expect, ttl=ttl)


class Platform:
    """A platform that tells names, and counts how often it is asked."""

    def __init__(self) -> None:
        self.names = {ADA: "Ada", BOB: "Bob"}
        self.languages = {ADA: "en"}
        self.asked: list[str] = []
        self.is_down = False

    def fetch(self, who: str) -> Profile:
        self.asked.append(who)
        if self.is_down:
            raise BackendError("EUNAVAILABLE", "no answer")
        return Profile(self.names.get(who, ""), self.languages.get(who, ""))


@pytest.fixture
def kv() -> WatchedKV:
    return WatchedKV()


@pytest.fixture
def platform() -> Platform:
    return Platform()


def start(kv: KV | None, now: Callable[[], float] = lambda: 0.0) -> KnownPeople:
    """What a process knows that has just started; `now` are seconds after some day."""
    people = KnownPeople("main", lambda: 1_780_000_000.0 + now())
    if kv is not None:
        people.use_store(kv)
    return people


def ask(people: KnownPeople, platform: Platform, who: str = ADA) -> str:
    return people.find(who, lambda: platform.fetch(who)).name


def test_the_store_is_asked_only_for_what_the_process_does_not_know(
    kv: WatchedKV, platform: Platform
) -> None:
    people = start(kv)
    assert [ask(people, platform) for _ in range(3)] == ["Ada"] * 3
    assert (platform.asked, kv.requests) == ([ADA], 2)
    other = start(kv)
    found = other.find_all((ADA, BOB, EVE, ADA), platform.fetch)
    assert {who: profile.name for who, profile in found.items()} == {
        ADA: "Ada",
        BOB: "Bob",
        EVE: "",
    }
    assert found[ADA].language == "en"
    # one request for the three, and one for each that was new
    assert (platform.asked, kv.requests) == ([ADA, BOB, EVE], 5)
    assert start(None).recall(ADA) is None


def test_a_day_later_the_platform_is_asked_again_and_what_was_known_serves_meanwhile(
    kv: WatchedKV, platform: Platform
) -> None:
    now = [0.0]
    people, other = (start(kv, lambda: now[0]) for _ in range(2))
    ask(people, platform)
    platform.names[ADA] = "Ada L."
    now[0] = FRESH_SECONDS - 1.0
    assert ask(people, platform) == ask(start(kv, lambda: now[0]), platform) == "Ada"
    assert platform.asked == [ADA]

    now[0] += 1.0
    platform.is_down = True
    assert ask(people, platform) == ask(other, platform) == "Ada"
    assert len(platform.asked) == 3
    # whoever has a name does not wait for another at each message
    assert ask(people, platform) == "Ada"
    assert len(platform.asked) == 3

    now[0] += 61.0
    platform.is_down = False
    assert ask(people, platform) == "Ada L."
    assert ask(start(kv, lambda: now[0]), platform) == "Ada L."


def test_without_an_answer_nobody_is_asked_for_again_in_that_message(
    kv: WatchedKV, platform: Platform
) -> None:
    people = start(kv)
    ask(people, platform, BOB)
    platform.is_down = True
    found = start(kv).find_all((ADA, BOB, EVE), platform.fetch)
    assert [profile.name for profile in found.values()] == ["", "Bob", ""]
    assert platform.asked == [BOB, ADA]
    platform.is_down = False
    assert ask(people, platform) == "Ada"


def test_whom_the_platform_does_not_know_is_asked_for_once_a_day(
    kv: WatchedKV, platform: Platform
) -> None:
    assert ask(start(kv), platform, EVE) == ask(start(kv), platform, EVE) == ""
    assert platform.asked == [EVE]
    ask(start(kv), platform, ADA)
    assert kv.lifetimes == [FRESH_SECONDS, KEPT_SECONDS]


@pytest.mark.parametrize("value", [b"", b"null", b'{"name":5}', b'{"format":9,"name":"x"}'])
def test_a_record_that_cannot_be_read_is_asked_for_anew(
    kv: WatchedKV, platform: Platform, value: bytes
) -> None:
    kv.put(RECORD, value)
    assert ask(start(kv), platform) == "Ada"
    platform.is_down = True
    assert ask(start(kv), platform) == "Ada"


def test_names_are_known_without_a_store(kv: WatchedKV, platform: Platform) -> None:
    kv.is_down = True
    people = start(kv)
    assert [ask(people, platform), ask(people, platform)] == ["Ada", "Ada"]
    assert platform.asked == [ADA]


def test_a_clock_that_was_set_back_makes_no_name_last(kv: WatchedKV, platform: Platform) -> None:
    now = [3 * FRESH_SECONDS]
    people = start(kv, lambda: now[0])
    ask(people, platform)
    now[0] = 0.0
    platform.names[ADA] = "Ada L."
    assert ask(start(kv, lambda: now[0]), platform) == "Ada L."
    assert ask(people, platform) == "Ada L."


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("A\u202eda\x00\n<<SYSTEM>>\u200b\r\n", "Ada <<SYSTEM>>"),
        ("x" * 10_000, "x" * (NAME_CHARACTERS - 1) + "…"),
        (" \u2066\u2069\n ", ""),
        ("李\ud800雷", "李雷"),
    ],
    ids=["marks", "long", "empty", "surrogate"],
)
def test_a_name_is_kept_clean_and_short(
    kv: WatchedKV, platform: Platform, told: str, kept: str
) -> None:
    platform.names[ADA] = told
    assert ask(start(kv), platform) == ask(start(kv), platform) == kept
    item = kv.get(RECORD)
    assert item is not None
    assert len(item.value) < 1_000


def test_a_language_that_is_told_in_private_alone_stays(kv: WatchedKV, platform: Platform) -> None:
    now = [0.0]
    ask(start(kv), platform)
    now[0] = FRESH_SECONDS
    platform.languages.clear()
    people = start(kv, lambda: now[0])
    assert people.find(ADA, lambda: platform.fetch(ADA)) == Profile("Ada", "en")


def test_nothing_is_kept_under_an_id_that_may_be_anothers(
    kv: WatchedKV, platform: Platform
) -> None:
    people = start(kv)
    foreign = Profile("Carol", is_theirs=False)
    assert people.find(EVE, lambda: foreign).name == "Carol"
    assert people.recall(EVE) == Profile("Carol")
    assert kv.get(keys.known_person("main", EVE)) is None


def test_a_process_knows_so_many_and_no_more(platform: Platform) -> None:
    people = start(None)
    crowd = [f"slack:T1.U9{number}" for number in range(PEOPLE_MOST + 2)]
    people.find_all(crowd, platform.fetch)
    assert people.recall(crowd[-1]) is not None
    assert people.recall(crowd[0]) is None
