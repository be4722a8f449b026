"""A waiting event in the store: its bytes, and what another version wrote beside it."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from functions.events import encode
from functions.queues.waiting_events import (
    decode_due,
    decode_waiting,
    encode_due,
    encode_waiting,
)
from sigil.errors import UsageError
from sigil.storage.kv import Item
from tests.functions.queues.workers import event

EVENT = replace(event(1), text="a \u2028 line")


def test_a_waiting_event_is_stored_as_every_version_reads_it() -> None:
    assert encode_waiting(EVENT) == b'{"due":0.0,"tries":0,"event":%s}' % encode(EVENT)


def test_what_another_version_wrote_beside_it_is_written_again() -> None:
    row = orjson.loads(encode_waiting(EVENT, 5.0, 2)) | {"note": {"a": 1}}
    row["event"]["colour"] = "red"
    stored = orjson.dumps(row)
    waiting = decode_waiting("1", Item(stored, "v"))
    assert (waiting.due, waiting.tries) == (5.0, 2)
    assert encode_waiting(waiting.event, 5.0, 2, waiting.rest) == stored


@pytest.mark.parametrize("place", ["record", "event"])
def test_a_newer_format_is_refused_by_name(place: str) -> None:
    row = orjson.loads(encode_waiting(EVENT))
    newer = row if place == "record" else row["event"]
    newer["format"] = 2
    with pytest.raises(UsageError) as refused:
        decode_waiting("1", Item(orjson.dumps(row), "v"))
    assert refused.value.code == "EFORMAT"


def test_a_mark_that_does_not_say_when_is_due_at_once() -> None:
    assert encode_due(7.5) == b'{"due":7.5}'
    assert [decode_due(data) for data in (b'{"due":7.5}', b"{}", b"[", b"1")] == [7.5, 0, 0, 0]
