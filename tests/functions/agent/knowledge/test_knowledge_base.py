"""Documents are found by their words and shown with their source, on every store, by one scope
alone, and whole or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from functions.agent.knowledge import knowledge_base
from functions.agent.knowledge.earlier_versions import KEPT_SECONDS
from functions.agent.knowledge.knowledge_base import STALE_SECONDS, KnowledgeBase
from functions.agent.knowledge.record import Draft, make_draft
from functions.agent.knowledge.sweep import sweep_knowledge
from sigil.errors import BackendError, Conflict, Refused, UsageError
from sigil.storage.kv import KV, Expect, Key, keys
from sigil.storage.kv.memory import MemoryKV
from tests.functions.agent.knowledge.documents import (
    AGENT,
    HANDBOOK,
    TEAM,
    draft,
    find_titles,
    open_base,
)
from tests.selection import in_full
from tests.sigil.stores import Place, place, pytest_generate_tests
from tests.tables import each_row

__all__ = ["place", "pytest_generate_tests"]
TEA = "Tea is kept dry and dark, and green tea is brewed at seventy degrees."


class Killed(Exception):
    """The process ends here."""


class Dying(MemoryKV):
    """A store whose process is killed before its `left`-th write from now on."""

    def __init__(self, left: int = -1, **options: Any) -> None:
        super().__init__(**options)
        self.left = left

    def _count(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._count()
        return super().put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._count()
        super().delete(key, expect=expect)


def count_items(kv: KV, scope: str = AGENT) -> dict[str, int]:
    kinds = keys.list_knowledge_partitions(scope)
    return {kind.partition("#")[0]: len(kv.scan(kind, limit=10_000)) for kind in kinds}


def test_a_document_is_found_read_updated_and_dropped(place: Place) -> None:
    kv = place.open()
    base = open_base(kv)
    written = base.add(draft(tags=("Shop",), confidence=0.8, author="HR"), may_replace=False)
    assert (written.new, written.changed, written.record.chunks) == (True, True, 2)
    other = open_base(place.open())
    found = other.find("how many days of vacation are there", 3)[0]
    assert found.id == written.id
    assert found.chunk.place == "Handbook > Holidays, lines 12-16"
    assert (found.record.source, found.record.author) == ("people/handbook.md", "HR")
    assert (found.record.time, found.record.confidence) == (1e9, 0.8)
    assert found.record.tags == ("shop",)
    assert 0 < found.score <= 1
    assert other.read_text(written.id) == HANDBOOK
    changed = other.update(written.id, draft(text=HANDBOOK.replace("28", "30")))
    assert (changed.id, changed.new, changed.changed) == (written.id, False, True)
    assert "30 days of vacation" in base.find("days of vacation", 1)[0].chunk.text
    assert base.count_chunks() == 2
    assert [each.id for each in base.scan()] == [written.id]
    assert base.drop(written.id) == changed.record
    assert base.drop(written.id) is None
    assert find_titles(base, "days of vacation") == []
    assert base.count_chunks() == 0
    assert count_items(kv) == {"kb": 1, "kb-chunk": 0, "kb-index": 0} or all(
        item.value[4:6] == b"{}" for _, item in kv.scan(f"kb-index#{AGENT}", limit=5_000)
    )


def test_a_search_in_another_scope_finds_nothing() -> None:
    kv = MemoryKV()
    id = open_base(kv).add(draft(), may_replace=False).id
    for scope in (TEAM, "main.alice", "other"):
        other = open_base(kv, scope)
        assert find_titles(other, "refunds") == []
        with pytest.raises(UsageError, match="ENOENT"):
            other.read(id)
        assert other.drop(id) is None
    assert find_titles(open_base(kv), "refunds") == ["Handbook"]


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("what happens to vacation that is left in March?", "Handbook"),
        ("how hot is the water for green tea", "Tea"),
        ("退货要几天", "退货"),
        ("在哪里退货", "退货"),
        ("vacatoin days", "Handbook"),
    ],
)
def test_questions_in_plain_words_find_their_document(question: str, title: str) -> None:
    base = open_base(MemoryKV())
    base.add(draft(), may_replace=False)
    base.add(draft("Tea", TEA), may_replace=False)
    base.add(
        draft("退货", "商品在三十天内可以在任何一家商店退货，需要出示收据。"), may_replace=False
    )
    assert find_titles(base, question)[0] == title


@each_row("question", ["the price of platinum", "月亮", "", "?", "the of and", "x" * 900])
def test_what_nothing_speaks_of_is_not_found(question: str) -> None:
    base = open_base(MemoryKV())
    base.add(draft(), may_replace=False)
    assert find_titles(base, question) == []


def test_the_same_document_again_writes_nothing_and_another_text_needs_the_right() -> None:
    kv = Dying()
    base = open_base(kv)
    first = base.add(draft(), may_replace=False)
    kv.left = 0
    again = base.add(draft(), may_replace=False)
    assert (again.id, again.new, again.changed) == (first.id, False, False)
    kv.left = -1
    with pytest.raises(Refused, match="EEXIST"):
        base.add(draft(text=TEA), may_replace=False)
    assert base.read_text(first.id) == HANDBOOK
    assert base.add(draft(text=TEA), may_replace=True).changed
    assert base.read_text(first.id) == TEA
    assert find_titles(base, "days of vacation") == []


@each_row(
    ("fields", "code"),
    [
        ({"source": ""}, "EINVAL"),
        ({"source": " \n"}, "EINVAL"),
        ({"source": "\u200b"}, "EINVAL"),
        ({"source": "x" * 501}, "EINVAL"),
        ({"title": ""}, "EINVAL"),
        ({"title": "x" * 201}, "EINVAL"),
        ({"text": " \u200b\n"}, "EINVAL"),
        ({"text": "x" * 2_000_001}, "ETOOBIG"),
        ({"confidence": 1.01}, "EINVAL"),
        ({"confidence": float("nan")}, "EINVAL"),
        ({"time": -1.0}, "EINVAL"),
        ({"time": float("inf")}, "EINVAL"),
        ({"tags": ("a b",)}, "EINVAL"),
        ({"tags": ("../x",)}, "EINVAL"),
        ({"tags": tuple(f"t{number}" for number in range(21))}, "EINVAL"),
    ],
)
def test_a_document_without_source_or_sense_is_refused(fields: dict[str, Any], code: str) -> None:
    with pytest.raises(UsageError) as refused:
        draft(**fields)
    assert refused.value.code == code
    assert refused.value.suggestion


def test_what_nobody_sees_is_no_part_of_a_document() -> None:
    made = draft("Hand\x00book\n2", "one\r\ntwo\u202e\x07", source=" a\tb ")
    assert (made.title, made.text, made.source) == ("Handbook 2", "one\ntwo", "a b")


def test_a_full_knowledge_base_refuses_and_keeps_what_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(knowledge_base, "CHUNKS_MOST", 3)
    base = open_base(MemoryKV())
    base.add(draft(), may_replace=False)
    with pytest.raises(Refused, match="EQUOTA"):
        base.add(draft("Another"), may_replace=False)
    assert base.count_chunks() == 2
    base.add(draft("Tea", TEA), may_replace=False)
    with pytest.raises(Refused, match="EQUOTA"):
        base.add(draft("Milk", "Milk is kept cold."), may_replace=False)
    assert find_titles(base, "green tea") == ["Tea"]


def test_an_index_without_room_refuses_the_document_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kv = MemoryKV()
    base = open_base(kv)
    base.add(draft("Tea", TEA), may_replace=False)
    before = count_items(kv)["kb-chunk"]
    monkeypatch.setattr("functions.agent.memory.postings.BUCKET_BYTES", 10)
    with pytest.raises(Refused, match="EQUOTA"):
        base.add(draft(), may_replace=False)
    assert [each.record.title for each in base.scan()] == ["Tea"]
    assert base.count_chunks() == 1
    assert count_items(kv)["kb-chunk"] == before
    monkeypatch.undo()
    assert base.add(draft(), may_replace=False).new
    assert find_titles(base, "vacation") == ["Handbook"]


def replace_text(base: KnowledgeBase) -> None:
    base.add(draft(text=HANDBOOK.replace("vacation", "holidays")), may_replace=True)


CHANGES: dict[str, Callable[[KnowledgeBase], object]] = {
    "add": lambda base: base.add(draft("Tea", TEA), may_replace=False),
    "replace": replace_text,
    "drop": lambda base: base.drop(draft().id),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_a_kill_interrupts_no_half_document_is_found_and_nothing_stays(
    change: str,
) -> None:
    for writes in range(0, 400, 1 if in_full() else 3):
        now = [1e9]
        kv = Dying()
        base = open_base(kv, now=lambda now=now: now[0])
        base.add(draft(), may_replace=False)
        kv.left = writes
        try:
            CHANGES[change](base)
        except Killed:
            ended = False
        else:
            ended = True
        kv.left = -1
        check_whole(base)
        now[0] += STALE_SECONDS
        base.add(draft("Milk", "Milk is kept cold."), may_replace=False)
        check_whole(base)
        check_nothing_stays(kv, base)
        CHANGES[change](base)
        check_whole(base)
        check_nothing_stays(kv, base)
        if ended:
            assert writes > 10
            return
    pytest.fail("it never ended")


@pytest.mark.parametrize("change", ["add", "replace"])
def test_a_document_that_is_being_written_can_be_dropped_at_once(change: str) -> None:
    for writes in range(3, 200, 4):  # from the third on its record says that it is being written
        kv = Dying()
        base = open_base(kv)
        base.add(draft(), may_replace=False)
        kv.left = writes
        with suppress(Killed):
            CHANGES[change](base)
            assert writes > 10
            return
        kv.left = -1
        for each in list(base.scan_all_records()):
            base.drop(each.id)
        check_nothing_stays(kv, base)
    pytest.fail("it never ended")


def check_whole(base: KnowledgeBase) -> None:
    """Check that every document that is listed can be read and found, and no other is found."""
    there = {each.id: each.record for each in base.scan()}
    for id, record in there.items():
        assert len(base.read_text(id)) == record.characters
    for question in ("vacation", "holidays", "green tea", "refunds", "milk is kept"):
        for found in base.find(question, 10):
            assert there[found.id].serial == found.record.serial


def check_nothing_stays(kv: KV, base: KnowledgeBase) -> None:
    """Check that there are no chunks, entries or notes but those of the documents, and chunks of
    their earlier versions.
    """
    serials = {each.record.serial for each in base.scan()}
    earlier = {each.record.serial for each in base.scan_earlier()}
    chunks = {int(sort.partition("#")[0]) for sort, _ in kv.scan(f"kb-chunk#{AGENT}", limit=10_000)}
    assert chunks == serials | earlier
    # a write that was interrupted leaves the record of the newest, which the next one writes again
    assert earlier <= {each.record.serial for each in base._earlier.scan()} <= serials | earlier
    assert base.count_chunks() == sum(each.record.chunks for each in base.scan())
    assert base._read_totals().pending == {}
    entries = base._postings.find(["vacat", "holiday", "tea", "refund", "milk", "dry"])
    assert {entry >> 32 for each in entries.values() for entry in each} <= serials


def test_a_writer_who_is_late_does_not_bring_back_half_a_document() -> None:
    now = [1e9]
    kv = MemoryKV()

    class Slow(KnowledgeBase):
        def _put_chunks(self, *arguments: Any) -> None:
            super()._put_chunks(*arguments)
            now[0] += STALE_SECONDS
            other.add(draft("Milk", "Milk is kept cold."), may_replace=False)

    other = open_base(kv, now=lambda: now[0])
    slow = Slow(kv, AGENT, other._ranker, lambda: now[0])
    with pytest.raises(Conflict, match="somebody else wrote this document"):
        slow.add(draft("Tea", TEA), may_replace=False)
    assert [each.record.title for each in other.scan()] == ["Milk"]
    check_nothing_stays(kv, other)
    assert find_titles(other, "green tea") == []


def test_a_document_that_is_written_while_it_is_dropped_stays() -> None:
    kv = MemoryKV()

    class Slow(KnowledgeBase):
        def _begin(self, *arguments: Any) -> tuple[str, int]:
            other.add(draft("Tea", "Tea is kept dry."), may_replace=True)
            return super()._begin(*arguments)

    other = open_base(kv)
    written = other.add(draft("Tea", TEA), may_replace=False)
    slow = Slow(kv, AGENT, other._ranker, lambda: 1e9)
    with pytest.raises(Conflict, match="somebody else wrote this document"):
        slow.drop(written.id)
    assert other.read_text(written.id) == "Tea is kept dry."


def test_of_two_writers_of_one_document_one_text_is_there_and_the_other_is_told() -> None:
    for _ in range(5):
        kv = MemoryKV()
        base = open_base(kv)
        base.add(draft(), may_replace=False)
        outcomes: list[str] = []
        start = threading.Barrier(4)

        def write(
            name: str,
            own: KnowledgeBase = base,
            start: threading.Barrier = start,
            outcomes: list[str] = outcomes,
        ) -> None:
            start.wait()
            with suppress(Conflict):
                own.add(draft(text=f"{HANDBOOK}\n{name} was here."), may_replace=True)
                outcomes.append(name)

        writers = [
            threading.Thread(target=write, args=(name,)) for name in ("Ada", "Bob", "Cleo", "Dan")
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert outcomes
        last = base.read_text(draft().id).rstrip(".\n").rpartition("\n")[2].partition(" ")[0]
        assert last in outcomes
        check_whole(base)
        check_nothing_stays(kv, base)


def test_writers_of_different_documents_do_not_hinder_each_other(place: Place) -> None:
    def write(name: str) -> None:
        own = open_base(place.open())
        for number in range(8):
            own.add(draft(f"{name} {number}", f"{name} knows number {number}."), may_replace=False)

    writers = [threading.Thread(target=write, args=(name,)) for name in ("Ada", "Bob", "Cleo")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    base = open_base(place.open())
    assert len(list(base.scan())) == base.count_chunks() == 24
    assert find_titles(base, "Bob knows number 5")[0] == "Bob 5"


def test_damaged_records_are_found_by_nobody_and_written_anew() -> None:
    kv = MemoryKV()
    base = open_base(kv)
    id = base.add(draft(), may_replace=False).id
    base.add(draft("Tea", TEA), may_replace=False)
    kv.put(keys.knowledge_document(AGENT, id), b"\xff")
    assert find_titles(base, "days of vacation") == []
    assert [each.record.title for each in base.scan()] == ["Tea"]
    with pytest.raises(BackendError, match="EDAMAGED"):
        base.read(id)
    assert base.add(draft(), may_replace=False).new
    for sort, _ in kv.scan(f"kb-chunk#{AGENT}"):
        kv.put(Key(f"kb-chunk#{AGENT}", sort), b"{}")
    assert find_titles(base, "green tea") == []
    with pytest.raises(BackendError, match="EDAMAGED"):
        base.read_text(id)


def test_a_damaged_index_and_damaged_totals_are_made_anew() -> None:
    kv = MemoryKV()
    base = open_base(kv)
    base.add(draft(), may_replace=False)
    for sort, _ in kv.scan(f"kb-index#{AGENT}", limit=5_000):
        kv.put(Key(f"kb-index#{AGENT}", sort), b"\x00\x00\x00\xff")
    kv.put(keys.knowledge_totals(AGENT), b"[]")
    assert find_titles(base, "days of vacation")[0] == "Handbook"
    base.add(draft("Tea", TEA), may_replace=False)
    assert find_titles(base, "green tea") == ["Tea"]
    check_whole(base)
    assert base.count_chunks() == 3


def test_what_another_version_wrote_stays_in_the_record() -> None:
    kv = MemoryKV()
    base = open_base(kv)
    id = base.add(draft(), may_replace=False).id
    key = keys.knowledge_document(AGENT, id)
    item = kv.get(key)
    assert item
    kv.put(key, item.value.replace(b'{"title"', b'{"later":[1],"title"'))
    replace_text(base)
    item = kv.get(key)
    assert item
    assert b'"later":[1]' in item.value


def test_an_update_of_a_text_that_was_changed_meanwhile_is_told() -> None:
    base = open_base(MemoryKV())
    written = base.add(draft(), may_replace=False)
    replace_text(base)
    with pytest.raises(Conflict):
        base.update(written.id, draft(text=TEA), written.record.digest)
    with pytest.raises(UsageError, match="ENOENT"):
        base.update("0" * 16, draft(text=TEA))


def test_earlier_versions_are_bounded_by_count_size_and_age(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1e9]
    kv = MemoryKV()
    base = open_base(kv, now=lambda: now[0])
    id = base.add(draft("Tea", "Tea of round 0."), may_replace=False).id

    def replace_ten(first: int) -> list[int]:
        for number in range(first, first + 10):
            base.update(id, draft("Tea", f"Tea of round {number}."), str(number))
        return [each.version for each in base.list_versions(id)]

    assert replace_ten(1) == list(range(11, 0, -1))
    assert base.count_chunks() == 1
    now[0] += KEPT_SECONDS - 1
    replace_ten(11)
    assert replace_ten(21) == list(range(31, 10, -1))  # twenty earlier ones
    assert base.read_text_of(id, base.read_version(id, 11)) == "Tea of round 10."
    with pytest.raises(UsageError, match="ENOENT"):
        base.read_version(id, 10)
    now[0] += KEPT_SECONDS + 1
    assert sweep_knowledge(kv, "main", ["main"], lambda: now[0]) == 20
    assert [each.version for each in base.list_versions(id)] == [31]
    check_nothing_stays(kv, base)
    monkeypatch.setattr("functions.agent.knowledge.earlier_versions.TEXT_CHARACTERS", 40)
    assert replace_ten(31) == [41, 40, 39]
    check_nothing_stays(kv, base)


def test_a_search_reads_few_items(monkeypatch: pytest.MonkeyPatch) -> None:
    kv = MemoryKV()
    base = open_base(kv)
    for number in range(50):
        base.add(draft(f"Tea {number}", f"{TEA} It has the number {number}."), may_replace=False)
    asked: list[str] = []

    def get(key: Key, get: Any = kv.get) -> Any:
        asked.append(key.partition.partition("#")[0])
        return get(key)

    monkeypatch.setattr(kv, "get", get)
    monkeypatch.setattr(kv, "get_many", lambda wanted: [get(key) for key in wanted], raising=False)
    assert len(base.find("green tea number 7", 3)) == 3
    assert asked.count("kb-index") <= 4
    assert asked.count("kb-chunk") <= 6
    assert asked.count("kb") <= 7


def make_long(characters: int) -> Draft:
    words = [f"word{number % 3_000}" for number in range(characters // 8)]
    return make_draft(title="Long", source="test", text=" ".join(words), by="test", time=0.0)


def test_a_long_document_is_written_with_few_requests() -> None:
    kv = Dying(left=1_000_000)
    made = make_long(200_000)
    written = open_base(kv).add(made, may_replace=False)
    writes = 1_000_000 - kv.left
    assert written.record.chunks > 100
    assert writes <= written.record.chunks / 8 + 1_024 + 6
