"""An event travels through SQS as a message."""

from __future__ import annotations

import re
import tracemalloc
import zlib
from base64 import b64encode
from dataclasses import replace
from hashlib import shake_128

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.queues import sqs_message
from functions.queues.sqs_message import (
    BODY_MOST,
    deduplication_id,
    group_id,
    pack,
    parse_record,
    unpack,
)
from sigil.errors import UsageError
from tests.functions.queues.workers import event
from tests.tables import each_row

ALLOWED = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
"""https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html"""
RECORD = {
    "messageId": "m",
    "receiptHandle": "h",
    "body": "b",
    "attributes": {"ApproximateReceiveCount": "3", "MessageGroupId": "g"},
}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_whatever_people_write_travels_in_characters_that_sqs_allows(text: str) -> None:
    body = pack(event(1, text=text))
    assert ALLOWED.fullmatch(body)
    assert unpack(body) == event(1, text=text)


@pytest.mark.parametrize(
    "text",
    ["\ufffe", "\uffff", "\x00", "\x7f\x80", "x" * 300_000],
    ids=["fffe", "ffff", "nul", "c1", "large"],
)
def test_what_sqs_would_refuse_is_packed(text: str) -> None:
    body = pack(event(1, text=text))
    assert ALLOWED.fullmatch(body)
    assert len(body) < 2_000
    assert unpack(body) == event(1, text=text)


def test_an_event_that_does_not_fit_is_refused_before_it_is_sent() -> None:
    noise = b64encode(shake_128(b"noise").digest(BODY_MOST)).decode()
    assert len(noise) > BODY_MOST
    with pytest.raises(UsageError, match="does not fit into a message of SQS"):
        pack(event(1, text=noise))


def test_a_body_that_unpacks_to_more_than_any_event_is_refused_in_little_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sqs_message, "EVENT_MOST", most := 200_000)
    bomb = "zlib:" + b64encode(zlib.compress(b" " * (most * 4), 9)).decode()
    tracemalloc.start()
    with pytest.raises(UsageError):
        unpack(bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most * 2.5


@given(st.text())
def test_no_body_breaks_the_one_who_reads_it(text: str) -> None:
    for body in (text, "zlib:" + text):
        with pytest.raises(UsageError):
            unpack(body)


def test_control_events_and_sessions_have_groups_of_their_own_and_agents_share_no_names() -> None:
    ordinary, stop, elsewhere = (
        event(1),
        event(1, text="/stop"),
        replace(event(1), agent="somebody"),
    )
    assert len({group_id(each) for each in (ordinary, stop, elsewhere)}) == 3
    assert len({deduplication_id(each) for each in (ordinary, elsewhere, event(2))}) == 3
    assert deduplication_id(ordinary) == deduplication_id(event(1, text="edited"))
    assert all(
        re.fullmatch("[0-9a-f]{64}", name) for name in (group_id(stop), deduplication_id(stop))
    )


def test_a_record_of_lambda_is_a_message() -> None:
    message = parse_record(RECORD)
    assert (message.id, message.handle, message.body, message.group, message.receives) == (
        "m",
        "h",
        "b",
        "g",
        3,
    )


@each_row(
    "record",
    [
        {},
        [],
        None,
        "?",
        {**RECORD, "attributes": None},
        {**RECORD, "attributes": {"ApproximateReceiveCount": "many"}},
        {"body": "{}"},
    ],
)
def test_what_is_no_record_is_refused(record: object) -> None:
    with pytest.raises(UsageError):
        parse_record(record)  # type: ignore[arg-type]
