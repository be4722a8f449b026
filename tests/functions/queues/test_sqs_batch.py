"""The records of one Lambda invocation, worked on as a queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.queues import dead_letters
from functions.queues.sqs import SqsQueue
from functions.queues.sqs_batch import SqsBatch
from functions.queues.sqs_message import group_id
from sigil.storage.kv import KV
from sigil.storage.kv.memory import MemoryKV
from tests.functions.queues.invoked import Source, make_queue
from tests.functions.queues.watched import WatchedKV
from tests.functions.queues.workers import event, taken
from tests.servers.ministack import Ministack


@pytest.fixture
def source(aws_here: Ministack) -> Source:
    return Source(make_queue(aws_here), aws_here.url)


@pytest.fixture
def kv() -> KV:
    return MemoryKV()


@pytest.fixture
def queue(source: Source, kv: KV) -> SqsQueue:
    return SqsQueue(source.url, kv=kv)


def put(queue: SqsQueue, *numbers: int, session: str = "telegram:1") -> None:
    for number in numbers:
        queue.put(event(number, session))


def failed(batch: SqsBatch) -> set[str]:
    return {failure["itemIdentifier"] for failure in batch.report()["batchItemFailures"]}


def taken_of(batch: SqsBatch) -> Any:
    delivery = batch.take(0)
    assert delivery is not None
    return delivery


def test_what_ended_is_not_reported(queue: SqsQueue, source: Source) -> None:
    put(queue, 1)
    batch = SqsBatch(queue, source.receive())
    delivery = taken_of(batch)
    assert delivery.event == event(1)
    batch.done(delivery)
    assert batch.take(0) is None
    assert batch.report() == {"batchItemFailures": []}


def test_after_a_wait_the_later_ones_of_the_group_wait_too_and_other_groups_go_on(
    queue: SqsQueue, source: Source
) -> None:
    put(queue, 1, 2, 3)
    put(queue, 1, session="b")
    records = source.receive()
    names = [record["messageId"] for record in records["Records"]]
    batch = SqsBatch(queue, records)
    first = taken_of(batch)
    batch.done(first)
    second = taken_of(batch)
    batch.retry(second, 0.0)
    other = taken_of(batch)
    assert (second.event, other.event) == (event(2), event(1, "b"))
    batch.done(other)
    assert batch.take(0) is None
    assert failed(batch) == {names[1], names[2]}
    source.delete(records, keep=failed(batch))
    again = SqsBatch(queue, source.receive())
    for number in (2, 3):
        delivery = taken_of(again)
        assert delivery.event == event(number)
        again.done(delivery)


def test_a_record_that_nobody_answered_for_is_reported_and_holds_back_its_group(
    queue: SqsQueue, source: Source
) -> None:
    put(queue, 1, 2)
    put(queue, 1, session="b")
    records = source.receive()
    batch = SqsBatch(queue, records)
    taken_of(batch)
    other = taken_of(batch)
    assert other.event == event(1, "b")
    batch.done(other)
    assert batch.take(0) is None
    assert failed(batch) == {record["messageId"] for record in records["Records"][:2]}


def test_bytes_that_are_no_event_end_as_a_dead_letter(
    queue: SqsQueue, source: Source, kv: KV
) -> None:
    source.put_raw("?", group_id(event(1)))
    put(queue, 1)
    batch = SqsBatch(queue, source.receive())
    delivery = taken_of(batch)
    assert delivery.event == event(1)
    batch.done(delivery)
    assert failed(batch) == set()
    assert len(list(dead_letters.scan_dead_letters(kv))) == 1


def test_bytes_that_are_no_event_wait_for_a_store_that_is_away(source: Source, kv: KV) -> None:
    away = WatchedKV(kv)
    away.allowed = 0
    queue = SqsQueue(source.url, kv=away)
    source.put_raw("?", group_id(event(1)))
    put(queue, 1)
    records = source.receive()
    batch = SqsBatch(queue, records)
    assert batch.take(0) is None
    assert failed(batch) == {record["messageId"] for record in records["Records"]}


@pytest.mark.parametrize("records", [{}, {"Records": []}, {"Records": [{"eventSource": "aws:s3"}]}])
def test_what_brings_no_message_ends_at_once(queue: SqsQueue, records: dict[str, Any]) -> None:
    batch = SqsBatch(queue, records)
    assert batch.take(0) is None
    assert batch.report() == {"batchItemFailures": []}


def test_tries_are_those_of_the_queue_and_what_is_put_meanwhile_goes_there(
    queue: SqsQueue, source: Source
) -> None:
    put(queue, 1)
    source.receive(visibility=0)
    batch = SqsBatch(queue, source.receive())
    delivery = taken_of(batch)
    assert delivery.tries == 1
    batch.put(event(2, "b"))
    batch.renew()
    assert taken(queue).event == event(2, "b")


def test_a_record_is_answered_for_in_the_queue_that_it_came_from(
    source: Source, kv: KV, aws_here: Ministack
) -> None:
    background = Source(make_queue(aws_here), aws_here.url)
    queue = SqsQueue(source.url, work_url=background.url, kv=kv)
    own = replace(event(1, "own:main"), kind="wakeup")
    queue.put(own)
    put(queue, 2)
    for each, expected in ((background, own), (source, event(2))):
        for delay in (0.0, 30.0):
            records = each.receive()
            batch = SqsBatch(queue, records)
            delivery = taken_of(batch)
            assert delivery.event == expected
            batch.retry(delivery, delay)  # another queue would not know the message
            assert failed(batch) == {records["Records"][0]["messageId"]}
        assert each.receive() == {"Records": []}
