"""What consolidations came to beside a session's turns is adopted by the next turn, once."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from functions.agent.conversation.messages import Message
from functions.agent.session.document import Document, decode_document, encode_document
from functions.agent.session.memory_progress import MemoryProgress, adopt_progress, save_progress
from sigil.storage.kv import Item, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.stored import dumps

SESSION = keys.session_of("main", "telegram:7")
SAID = Document().add(*[Message("user", f"line {number}") for number in range(1, 42)])
OWING = replace(SAID, unheard=(2, 32), owed=41)


def stored(**fields: object) -> Item:
    return Item(dumps(MemoryProgress(**fields)), "1")  # type: ignore[arg-type]


def read(kv: MemoryKV) -> Item | None:
    return kv.get(keys.memory_progress(SESSION))


def test_the_next_turn_knows_what_memory_has_heard_of() -> None:
    adopted = adopt_progress(SESSION, OWING, stored(heard=31, chunks=(2,), tried=0))
    assert (adopted.consolidated, adopted.unheard, adopted.owed) == (31, (32,), 41)
    adopted = adopt_progress(SESSION, OWING, stored(heard=40, chunks=(2, 32), tried=41))
    assert (adopted.consolidated, adopted.unheard, adopted.owed) == (40, (), 0)
    assert not adopted.owes_memory


def test_to_adopt_the_same_again_changes_nothing() -> None:
    item = stored(heard=31, chunks=(2, 32), tried=41, notice="It was too long.", at=5.0)
    once = adopt_progress(SESSION, OWING, item)
    assert [(reply.session, reply.text) for reply in once.outbox] == [
        ("telegram:7", "It was too long.")
    ]
    assert adopt_progress(SESSION, once, item) == once
    assert adopt_progress(SESSION, replace(once, outbox=()), item).outbox == ()


def test_a_failed_try_is_no_longer_due_until_more_is_owed() -> None:
    failed = adopt_progress(SESSION, OWING, stored(tried=41, failures=1))
    assert (failed.failures, failed.owed, failed.unheard) == (1, 0, (2, 32))
    later = replace(failed, owed=60)
    assert adopt_progress(SESSION, later, stored(tried=41, failures=1)).owes_memory


@pytest.mark.parametrize("value", [b"", b"[]", b"{", b'{"heard":-1}', b'{"chunks":"all"}'])
def test_a_record_that_cannot_be_read_is_as_none(value: bytes) -> None:
    assert adopt_progress(SESSION, OWING, Item(value, "1")) == OWING
    kv = MemoryKV()
    kv.put(keys.memory_progress(SESSION), value)
    save_progress(kv, SESSION, OWING, MemoryProgress(heard=31, tried=41))
    assert adopt_progress(SESSION, OWING, read(kv)).consolidated == 31


def test_a_record_claims_no_more_than_was_said() -> None:
    assert adopt_progress(SESSION, OWING, stored(heard=10**9)).consolidated == 41


def test_what_no_turn_has_adopted_yet_is_kept_beside_what_came_since() -> None:
    kv = MemoryKV()
    save_progress(kv, SESSION, OWING, MemoryProgress(20, (2,), 0, 0, "Shortened.", 1.0))
    save_progress(kv, SESSION, OWING, MemoryProgress(40, (32,), 41, 0, "", 2.0))
    adopted = adopt_progress(SESSION, OWING, read(kv))
    assert (adopted.consolidated, adopted.unheard) == (40, ())
    assert [reply.text for reply in adopted.outbox] == ["Shortened."]

    save_progress(kv, SESSION, adopted, MemoryProgress(41, (), 60))
    again = adopt_progress(SESSION, replace(adopted, outbox=()), read(kv))
    assert (again.consolidated, again.outbox) == (41, ())


def test_a_worker_that_comes_late_takes_nothing_back() -> None:
    kv = MemoryKV()
    save_progress(kv, SESSION, OWING, MemoryProgress(40, (2, 32), 41))
    save_progress(kv, SESSION, OWING, MemoryProgress(31, (2,), 0))
    adopted = adopt_progress(SESSION, OWING, read(kv))
    assert (adopted.consolidated, adopted.unheard, adopted.owed) == (40, (), 0)


def test_what_another_version_wrote_beside_it_stays() -> None:
    kv = MemoryKV()
    kv.put(keys.memory_progress(SESSION), b'{"heard":20,"mood":"calm"}')
    save_progress(kv, SESSION, OWING, MemoryProgress(31))
    item = read(kv)
    assert item
    assert b'"mood":"calm"' in item.value


def test_version_0_1_0_reads_a_document_that_owes_a_consolidation() -> None:
    body = encode_document(OWING)
    assert decode_document(body) == OWING
    fields = orjson.loads(body)
    assert "owed" not in fields
    assert all(isinstance(first, int) for first in fields["unheard"])
    assert decode_document(encode_document(SAID)) == SAID
