"""What people of a group say to each other is kept in few places, each by one write."""

from __future__ import annotations

from dataclasses import replace

import pytest

from functions import overheard
from functions.events import Event, Quote, Sender, decode, encode, order_of
from functions.overheard import KEPT_SECONDS, SLOTS, make_overheard
from sigil.errors import BackendError
from sigil.storage.kv import Item, Key, keys
from sigil.storage.kv.memory import MemoryKV

SESSION = "telegram:-100"
S = keys.session_of("main", SESSION)


class CountingKV(MemoryKV):
    def __init__(self) -> None:
        super().__init__()
        self.reads: list[Key] = []
        self.writes: list[tuple[Key, float | None]] = []

    def get(self, key: Key) -> Item | None:
        self.reads.append(key)
        return super().get(key)

    def put(
        self, key: Key, value: bytes, *, expect: object = None, ttl: float | None = None
    ) -> str:
        self.writes.append((key, ttl))
        return super().put(key, value, expect=expect, ttl=ttl)  # type: ignore[arg-type]


def said(number: int, text: str = "hm") -> Event:
    return Event(
        f"telegram:1:{number}",
        "message",
        "main",
        SESSION,
        Sender("telegram:5", "Rui"),
        text,
        1_000.0 + number,
        order_of(1_000.0 + number, number),
        reply_to=str(number),
    )


def test_a_message_costs_one_read_and_one_write_that_ends() -> None:
    kv = CountingKV()
    overheard.keep_message(kv, make_overheard(said(1)))
    assert (len(kv.reads), kv.writes) == (1, [])

    overheard.start_listening(kv, S, "telegram:7", "")
    kv.reads.clear()
    kv.writes.clear()
    overheard.keep_message(kv, make_overheard(said(1)))
    assert kv.reads == [keys.listening(S)]
    assert kv.writes == [(keys.overheard_message(S, 1), KEPT_SECONDS)]


def test_messages_between_two_events_are_read_in_their_order() -> None:
    kv = MemoryKV()
    overheard.start_listening(kv, S, "telegram:7", "")
    for number in (3, 1, 2, 4, 2):
        overheard.keep_message(kv, make_overheard(said(number, f"number {number}")))
    found = overheard.read_messages(kv, S, said(1).order, said(4).order)
    assert [message.text for message in found] == ["number 2", "number 3"]


def test_a_new_message_takes_the_place_of_the_oldest() -> None:
    kv = MemoryKV()
    overheard.start_listening(kv, S, "telegram:7", "")
    for number in range(1, SLOTS + 11):
        overheard.keep_message(kv, make_overheard(said(number, f"number {number}")))
    found = overheard.read_messages(kv, S, "", said(999).order)
    assert [message.text for message in found] == [f"number {n}" for n in range(11, SLOTS + 11)]


def test_a_group_is_listened_to_from_an_event_on() -> None:
    kv = MemoryKV()
    overheard.pass_over(kv, S, said(2).order)
    assert overheard.find_start(kv.get(keys.listening(S))) == ""
    overheard.start_listening(kv, S, "telegram:7", said(1).order)
    assert overheard.find_start(kv.get(keys.listening(S))) == said(1).order
    overheard.pass_over(kv, S, said(2).order)
    assert overheard.find_start(kv.get(keys.listening(S))) == said(2).order
    kv.put(keys.listening(S), b"{")
    assert overheard.find_start(kv.get(keys.listening(S))) == order_of(0.0, 0)


def test_a_damaged_message_is_passed_over() -> None:
    kv = MemoryKV()
    kv.put(keys.overheard_message(S, 0), b"{")
    assert overheard.read_messages(kv, S, "", "z") == []


def test_a_store_that_is_away_costs_the_message_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kv = MemoryKV()

    def fail(key: Key) -> None:
        raise BackendError("EUNAVAILABLE", "away")

    monkeypatch.setattr(kv, "get", fail)
    overheard.keep_message(kv, make_overheard(said(1)))


def test_what_has_no_text_is_named() -> None:
    event = replace(
        said(1, ""),
        quotes=(Quote("reply", "no"), Quote("forward", "news"), Quote("sticker", "😀")),
        attachments=({"kind": "photo"},),
    )
    assert make_overheard(event).text == "(forward) news (sticker) 😀 (photo)"


def test_a_message_that_goes_through_the_queue_is_kept_as_it_was() -> None:
    message = make_overheard(said(57, "shall we\nplant  roses?" + "!" * 600))
    event = overheard.make_event(message)
    assert make_overheard(decode(encode(event))) == message
    assert event.is_overheard
    assert not replace(event, text="/stop").skips_queue


@pytest.mark.parametrize(("age", "ttl"), [(0.0, KEPT_SECONDS), (3_600.0, KEPT_SECONDS - 3_600.0)])
def test_a_message_that_waited_is_kept_for_the_rest_of_its_day(age: float, ttl: float) -> None:
    kv = CountingKV()
    overheard.start_listening(kv, S, "telegram:7", "")
    overheard.keep_message(kv, make_overheard(said(1)), age)
    assert kv.writes[1:] == [(keys.overheard_message(S, 1), ttl)]
    overheard.keep_message(kv, make_overheard(said(1)), KEPT_SECONDS)
    assert len(kv.writes) == 2
