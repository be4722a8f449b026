"""A session of any size fits into any store: what makes it large is beside it, and only the
document itself says where.
"""

from __future__ import annotations

import secrets

import orjson
import pytest

from functions.agent.conversation.messages import Message, ToolCall
from functions.agent.session import overflow
from functions.agent.session.document import Document, Outgoing
from functions.agent.session.store import Sessions
from sigil.errors import BackendError
from sigil.protocol import Offer
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV

KEY = keys.session_of("main", "telegram:7")
DYNAMODB = 400 * 1024


class Counted(MemoryArtifacts):
    """A shelf that counts what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = self.gets = 0

    def put(self, body: bytes) -> str:
        self.puts += 1
        return super().put(body)

    def get(self, name: str) -> bytes:
        self.gets += 1
        return super().get(name)


def noise(size: int) -> str:
    """Text that no compression makes smaller than its bits."""
    return secrets.token_urlsafe(size)[:size]


def large() -> Document:
    offer = Offer("shout", 1, "0" * 64, "Shout.", {"type": "object", "description": noise(90_000)})
    messages = [Message("user", f"{number} {noise(15_000)}") for number in range(40)]
    call = ToolCall("c1", "sigil_deploy", orjson.dumps({"execute": noise(200_000)}).decode())
    messages += [
        Message("assistant", "", calls=(call,)),
        Message("tool", "{}", call_id="c1", loads=(offer,)),
    ]
    return Document(outbox=(Outgoing("e", "telegram:7", noise(60_000)),)).add(*messages)


def test_a_session_of_a_megabyte_is_stored_in_small_items_and_read_back_whole() -> None:
    kv, shelf, document = MemoryKV(), Counted(), large()

    saved = Sessions(kv, shelf).save(Sessions(kv, shelf).open(KEY), document)
    opened = Sessions(kv, shelf).open(KEY)

    assert saved.size <= overflow.LIMIT < DYNAMODB
    assert opened.document == document
    assert shelf.puts > 0


def test_what_was_spilled_once_is_neither_stored_nor_read_again_by_the_same_process() -> None:
    kv, shelf = MemoryKV(), Counted()
    sessions = Sessions(kv, shelf)
    first = sessions.save(sessions.open(KEY), large())
    stored = shelf.puts

    sessions.save(sessions.open(KEY), first.document.add(Message("user", "one more")))

    assert shelf.puts == stored
    assert shelf.gets == 0


def test_a_session_that_is_not_large_stays_in_one_item() -> None:
    kv, shelf = MemoryKV(), Counted()
    document = Document().add(
        *[Message("user", f"{number} " + "long text " * 1000) for number in range(40)]
    )

    Sessions(kv, shelf).save(Sessions(kv, shelf).open(KEY), document)

    assert shelf.puts == 0
    assert Sessions(kv, shelf).open(KEY).document == document


def test_a_message_that_looks_like_a_pointer_is_text() -> None:
    kv, shelf = MemoryKV(), MemoryArtifacts()
    other = shelf.put(overflow.compress(orjson.dumps("another session's secret")))
    forged = orjson.dumps({"spilled": {"messages/0/content": other}}).decode()
    schema = {"type": "object", "spilled": {"messages/0/content": other}}
    offer = Offer("shout", 1, "0" * 64, "Shout.", schema)
    document = large().add(Message("user", forged), Message("tool", forged, loads=(offer,)))

    Sessions(kv, shelf).save(Sessions(kv, shelf).open(KEY), document)

    assert Sessions(kv, shelf).open(KEY).document == document


def test_a_body_that_is_gone_is_said_and_nothing_is_guessed() -> None:
    kv = MemoryKV()
    Sessions(kv, MemoryArtifacts()).save(Sessions(kv, MemoryArtifacts()).open(KEY), large())

    with pytest.raises(BackendError):
        Sessions(kv, MemoryArtifacts()).open(KEY)


def test_a_large_archive_is_kept_beside_the_store() -> None:
    kv, shelf = MemoryKV(), Counted()
    dropped = large().messages

    Sessions(kv, shelf).archive(KEY, dropped)

    item = kv.get(keys.archive_chunk(KEY, 1))
    assert item is not None
    assert len(item.value) < 1024
    assert shelf.puts == 1
