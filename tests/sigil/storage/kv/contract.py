"""What every store must do. A back-end's test module inherits `KVContract` and gives it a `kv` that
reads `clock`.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigil.errors import Conflict, UsageError
from sigil.storage.kv import ABSENT, KV, Item, Key
from sigil.storage.kv.base import (
    KEYS_MOST,
    ReadsMany,
    get_many,
    list_partitions,
    scan_everything,
)
from tests.sigil.storage.kv.model import STEPS, Clock, Comparison
from tests.sigil.storage.kv.processes import increment
from tests.threads import in_parallel

ODD = [
    "#",
    "%",
    "_",
    "a\nb",
    "a\0b",
    "a b",
    "'; DROP TABLE item; --",
    "é",
    "語",
    "\U0001f98a",
    "\uffff",
    "\u200b",
    "x" * 1000,
    "~",
    "\x7f",
]


class KVContract:
    """Needs a fixture `kv: KV` built on the fixture `clock`. A slow or narrow store has numbers of
    its own.
    """

    largest = 1_000_000
    """Bytes of a value that fits under the key `p`, `s`."""
    lives = 1100
    """Items that expire one after the other."""
    examples = 60
    """Histories that are compared with a dict's."""
    attempts = 10
    """Items that several threads try to create."""
    writes = 50
    """Of one item, one after the other; and of each of several threads that count."""

    def test_a_written_item_is_read_with_its_version(self, kv: KV) -> None:
        version = kv.put(Key("p", "s"), b"value")
        assert kv.get(Key("p", "s")) == Item(b"value", version)

    def test_the_partitions_that_begin_alike_are_listed_once_each(self, kv: KV) -> None:
        names = ["a#1", "a#2", "a*1", "a%1", "a{1", "a}1", "b", *(f"a#{odd}" for odd in ODD)]
        for name in names:
            for number in range(2):
                kv.put(Key(name, f"s{number}"), b"value")
        gone = Key("a#gone", "s")
        kv.put(gone, b"value")
        kv.delete(gone)
        for prefix in ("", "a#", "a*", "a%", "a{", "a}"):
            found = list(list_partitions(kv, prefix))
            assert sorted(found) == sorted(name for name in names if name.startswith(prefix))

    def test_everything_is_scanned_once_with_the_time_at_which_it_ends(
        self, kv: KV, clock: Clock
    ) -> None:
        written: dict[Key, tuple[bytes, float | None]] = {}
        keys = [Key(name, sort) for name in ("a#1", "a}1", "b") for sort in ("head", *ODD)]
        for number, key in enumerate([*keys, *(Key(odd, odd) for odd in ODD)]):
            ttl = (None, 1000.0, 5.5)[number % 3]
            kv.put(key, b"%d" % number, ttl=ttl)
            written[key] = b"%d" % number, None if ttl is None else clock.now + ttl
        large = bytes(range(256)) * (min(self.largest, 300_000) // 256)
        for number in range(7):
            kv.put(Key("large", str(number)), large)
            written[Key("large", str(number))] = large, None
        kv.delete(Key("b", "head"))
        del written[Key("b", "head")]
        clock.now += 6.0
        live = {key: row for key, row in written.items() if row[1] is None or row[1] > clock.now}

        found = [(row.key, (row.value, row.expires)) for row in scan_everything(kv)]

        assert len(live) < len(written)
        assert len(found) == len(live)
        assert dict(found) == live

    def test_several_items_are_read_at_once_in_the_order_of_their_keys(
        self, kv: KV, clock: Clock
    ) -> None:
        one, other = kv.put(Key("p", "s"), b"1"), kv.put(Key("q", "é"), b"2")
        kv.put(Key("p", "over"), b"3", ttl=1.0)
        clock.now += 2.0
        keys = [Key("q", "é"), Key("p", "none"), Key("p", "s"), Key("p", "over"), Key("p", "s")]
        first = Item(b"1", one)
        assert get_many(kv, keys) == [Item(b"2", other), None, first, None, first]
        assert get_many(kv, []) == []

    def test_many_items_are_read_at_once(self, kv: KV) -> None:
        keys = [Key(f"p{number}", "s") for number in range(KEYS_MOST)]
        for number, key in enumerate(keys):
            kv.put(key, b"%d" % number)
        found = get_many(kv, keys)
        assert [item.value for item in found if item] == [b"%d" % n for n in range(KEYS_MOST)]
        assert isinstance(kv, ReadsMany)

    def test_what_was_never_written_is_none(self, kv: KV) -> None:
        kv.put(Key("p", "s"), b"value")
        assert kv.get(Key("p", "t")) is None
        assert kv.get(Key("q", "s")) is None

    def test_any_bytes_come_back_as_they_were(self, kv: KV) -> None:
        for value in (b"", b"\0", bytes(range(256)), b"\xff\xfe"):
            kv.put(Key("p", "s"), value)
            item = kv.get(Key("p", "s"))
            assert item is not None
            assert item.value == value

    def test_the_largest_value_comes_back_as_it_was(self, kv: KV) -> None:
        value = random.Random(0).randbytes(self.largest)  # nothing makes it smaller
        kv.put(Key("p", "s"), value)
        item = kv.get(Key("p", "s"))
        assert item is not None
        assert item.value == value

    def test_odd_keys_are_keys_like_any_other(self, kv: KV) -> None:
        for odd in ODD:
            version = kv.put(Key(odd, odd), b"1")
            assert kv.get(Key(odd, odd)) == Item(b"1", version)
            assert kv.scan(odd, prefix=odd) == [(odd, Item(b"1", version))]
            kv.delete(Key(odd, odd), expect=version)
            assert kv.get(Key(odd, odd)) is None

    def test_a_key_that_no_store_can_hold_is_refused(self, kv: KV) -> None:
        for bad in ("", "\ud800", "a\udfffb", "x" * 2049, "語" * 683):
            for key in (Key(bad, "s"), Key("p", bad)):
                with pytest.raises(UsageError):
                    kv.get(key)
                with pytest.raises(UsageError):
                    kv.put(key, b"")
                with pytest.raises(UsageError):
                    kv.delete(key)

    def test_a_scan_with_a_lone_surrogate_is_refused(self, kv: KV) -> None:
        for arguments in (("\ud800",), ("p", "\ud800"), ("p", "", "\ud800")):
            with pytest.raises(UsageError):
                kv.scan(*arguments)

    def test_every_write_has_a_version_of_its_own_even_of_the_same_value(self, kv: KV) -> None:
        versions = set()
        for _ in range(self.writes):
            versions.add(kv.put(Key("p", "s"), b"same"))
            kv.delete(Key("p", "s"))
        assert len(versions) == self.writes

    def test_absent_holds_only_where_nothing_is(self, kv: KV) -> None:
        kv.put(Key("p", "s"), b"first", expect=ABSENT)
        with pytest.raises(Conflict):
            kv.put(Key("p", "s"), b"second", expect=ABSENT)
        with pytest.raises(Conflict):
            kv.delete(Key("p", "s"), expect=ABSENT)
        kv.delete(Key("p", "t"), expect=ABSENT)
        item = kv.get(Key("p", "s"))
        assert item is not None
        assert item.value == b"first"

    def test_a_version_holds_until_the_next_write(self, kv: KV) -> None:
        first = kv.put(Key("p", "s"), b"1")
        second = kv.put(Key("p", "s"), b"2", expect=first)
        with pytest.raises(Conflict):
            kv.put(Key("p", "s"), b"3", expect=first)
        with pytest.raises(Conflict):
            kv.delete(Key("p", "s"), expect=first)
        kv.delete(Key("p", "s"), expect=second)
        assert kv.get(Key("p", "s")) is None

    def test_a_version_does_not_come_back_with_a_new_item(self, kv: KV) -> None:
        version = kv.put(Key("p", "s"), b"same")
        kv.delete(Key("p", "s"))
        with pytest.raises(Conflict):
            kv.put(Key("p", "s"), b"same", expect=version)
        kv.put(Key("p", "s"), b"same")
        with pytest.raises(Conflict):
            kv.delete(Key("p", "s"), expect=version)

    def test_deleting_what_is_not_there_is_fine_unless_a_version_was_expected(self, kv: KV) -> None:
        kv.delete(Key("p", "s"))
        with pytest.raises(Conflict):
            kv.delete(Key("p", "s"), expect="0" * 32)
        with pytest.raises(Conflict):
            kv.put(Key("p", "s"), b"", expect="")

    def test_an_expired_item_is_gone_at_once_for_every_verb(self, kv: KV, clock: Clock) -> None:
        version = kv.put(Key("p", "s"), b"1", ttl=10.0)
        clock.advance(9.5)
        assert kv.get(Key("p", "s")) == Item(b"1", version)
        clock.advance(0.5)
        assert kv.get(Key("p", "s")) is None
        assert kv.scan("p") == []
        with pytest.raises(Conflict):
            kv.put(Key("p", "s"), b"2", expect=version)
        with pytest.raises(Conflict):
            kv.delete(Key("p", "s"), expect=version)
        kv.delete(Key("p", "s"), expect=ABSENT)
        kv.put(Key("p", "s"), b"3", expect=ABSENT)

    def test_a_write_replaces_the_lifetime_too(self, kv: KV, clock: Clock) -> None:
        kv.put(Key("p", "s"), b"1", ttl=10.0)
        kv.put(Key("p", "s"), b"2")
        clock.advance(1e9)
        assert kv.get(Key("p", "s")) is not None

    def test_a_lifetime_that_is_no_number_of_seconds_is_refused(self, kv: KV) -> None:
        for ttl in (float("nan"), float("inf")):
            with pytest.raises(UsageError):
                kv.put(Key("p", "s"), b"", ttl=ttl)

    def test_a_lifetime_that_is_over_leaves_nothing(self, kv: KV) -> None:
        kv.put(Key("p", "s"), b"1")
        kv.put(Key("p", "s"), b"2", ttl=0.0)
        assert kv.get(Key("p", "s")) is None

    def test_many_short_lives_do_not_pile_up_before_those_that_last(
        self, kv: KV, clock: Clock
    ) -> None:
        for number in range(self.lives):
            kv.put(Key("p", f"{number:04d}"), b"", ttl=1.0)
            clock.advance(1.0)
        kv.put(Key("p", "last"), b"stays")
        assert [sort for sort, _ in kv.scan("p")] == ["last"]

    def test_a_scan_goes_by_utf_8_bytes(self, kv: KV) -> None:
        sorts = [
            "",
            "~",
            "\x7f",
            "é",
            "\ud7ff",
            "\ue000",
            "\uffff",
            "\U00010000",
            "\U0010ffff",
            "a",
            "a\0",
            "a\0b",
            "aa",
            "B",
            "0",
        ][1:]
        for sort in sorts:
            kv.put(Key("p", sort), b"")
        assert [sort for sort, _ in kv.scan("p")] == sorted(sorts, key=str.encode)

    def test_a_scan_turns_pages_without_gap_or_repeat(self, kv: KV) -> None:
        for number in range(25):
            kv.put(Key("p", f"{number:02d}"), str(number).encode())
        kv.put(Key("o", "00"), b"")
        kv.put(Key("q", "00"), b"")
        seen: list[str] = []
        for _ in range(4):
            seen += [sort for sort, _ in kv.scan("p", after=seen[-1] if seen else "", limit=10)]
        assert seen == [f"{number:02d}" for number in range(25)]

    def test_a_prefix_is_taken_literally(self, kv: KV) -> None:
        for sort in (
            "a%",
            "a%b",
            "a_",
            "a_b",
            "ab",
            "a*",
            "a\U0010ffff",
            "a\U0010ffffz",
            "A%",
            "b",
        ):
            kv.put(Key("p", sort), b"")
        assert [sort for sort, _ in kv.scan("p", prefix="a%")] == ["a%", "a%b"]
        assert [sort for sort, _ in kv.scan("p", prefix="a_")] == ["a_", "a_b"]
        assert [sort for sort, _ in kv.scan("p", prefix="a\U0010ffff")] == [
            "a\U0010ffff",
            "a\U0010ffffz",
        ]
        assert [sort for sort, _ in kv.scan("p", prefix="a", after="a_b")] == [
            "ab",
            "a\U0010ffff",
            "a\U0010ffffz",
        ]
        assert [sort for sort, _ in kv.scan("p", prefix="a%", after="0")] == ["a%", "a%b"]
        assert kv.scan("p", prefix="a%", after="b") == []

    def test_a_scan_without_room_is_empty(self, kv: KV) -> None:
        kv.put(Key("p", "s"), b"")
        assert kv.scan("p", limit=0) == []
        assert kv.scan("p", limit=-1) == []

    def test_of_many_that_create_one_item_one_wins(self, kv: KV) -> None:
        for attempt in range(self.attempts):
            results = create_in_parallel(kv, Key("p", str(attempt)))
            winners = [result for result in results if isinstance(result, str)]
            assert len(winners) == 1
            assert all(isinstance(result, Conflict) for result in results if result not in winners)
            assert kv.get(Key("p", str(attempt))) == Item(
                b"%d" % results.index(winners[0]), winners[0]
            )

    def test_of_many_that_delete_one_version_one_wins(self, kv: KV) -> None:
        version = kv.put(Key("p", "s"), b"")
        results = in_parallel(8, lambda _: kv.delete(Key("p", "s"), expect=version))
        assert results.count(None) == 1

    def test_counting_by_compare_and_set_loses_nothing(self, kv: KV) -> None:
        kv.put(Key("p", "count"), b"0")
        in_parallel(4, lambda _: increment(kv, Key("p", "count"), times=self.writes))
        item = kv.get(Key("p", "count"))
        assert item is not None
        assert item.value == b"%d" % (4 * self.writes)

    def test_it_behaves_like_a_dict(self, kv: KV, clock: Clock) -> None:
        @settings(max_examples=self.examples, deadline=None)
        @given(steps=st.lists(STEPS, max_size=40))
        def compare(steps: list[tuple[Any, ...]]) -> None:
            comparison = Comparison(kv, clock)
            for verb, *arguments in steps:
                getattr(comparison, verb)(*arguments)
            comparison.scan("", "", 100)

        compare()


def create_in_parallel(kv: KV, key: Key) -> list[Any]:
    """What each of eight writers gets that create the same item with their own number."""
    return in_parallel(8, lambda number: kv.put(key, b"%d" % number, expect=ABSENT))
