"""An account that is polled gets what a homeserver would push, and nothing that was said before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from functions.channels.base import Received
from functions.channels.matrix.channel import Matrix
from sigil.errors import BackendError
from tests.fakes.matrix import (
    ADA,
    BOB,
    BOT,
    DIRECT,
    GROUP,
    NOW,
    SECRET,
    TOKEN,
    FakeRoom,
    Homeserver,
    invitation,
    make_event,
    text,
)
from tests.fakes.server import Answer

NEW = "!new:example.org"


@pytest.fixture
def polled(server: Homeserver) -> Iterator[Matrix]:
    channel = Matrix(server.url, BOT, TOKEN, now=lambda: NOW)
    yield channel
    channel.close()


def fetch(polled: Matrix, position: str) -> tuple[list[Received], str]:
    found = polled.fetch_updates(position, 1)
    return [polled.read_update(update.body) for update in found.items], found.position


def read_texts(received: list[Received]) -> list[str]:
    return [event.text for each in received for event in each.events]


def membership(kind: str, **fields: Any) -> dict[str, Any]:
    content = {"membership": kind}
    return make_event(content, BOT, NEW, "m.room.member", state_key=BOT, **fields)


def test_what_was_said_before_is_not_answered_and_what_is_new_is(
    polled: Matrix, server: Homeserver
) -> None:
    server.deliver(make_event(text("old")))
    received, position = fetch(polled, "")
    assert read_texts(received) == []
    first, second = make_event(text("one")), make_event(text("two"), BOB, GROUP)
    server.deliver(first, make_event({}, kind="m.reaction"), second)
    received, following = fetch(polled, position)
    assert read_texts(received) == ["one", "two"]
    events = [event for each in received for event in each.events]
    assert [event.id for event in events] == [f"matrix:{e['event_id']}" for e in (first, second)]
    assert [event.session for event in events] == [f"matrix:{DIRECT}", f"matrix:{GROUP}"]
    assert fetch(polled, position)[1] == following
    assert read_texts(fetch(polled, following)[0]) == []


def test_an_invitation_that_waits_is_taken_once(polled: Matrix, server: Homeserver) -> None:
    server.invite(NEW)
    [first], position = fetch(polled, "")
    [again], _ = fetch(polled, "")
    (event,) = first.events
    assert event.id == again.events[0].id
    accepted = polled.accept(event)
    assert accepted is not None
    assert (accepted.text, accepted.private) == ("/start", True)
    assert server.asked("/register") == []
    server.deliver(invitation(NEW), membership("join"))
    assert all(not each.events for each in fetch(polled, position)[0])
    server.rooms[NEW].members.pop(BOT)
    server.invite(NEW)
    (later,) = [event for each in fetch(polled, position)[0] for event in each.events]
    assert later.id != event.id


def test_what_was_said_before_somebody_invited_us_is_not_for_us(
    polled: Matrix, server: Homeserver
) -> None:
    server.rooms[NEW] = FakeRoom({BOT: None, ADA: None, BOB: None})
    _, position = fetch(polled, "")
    server.deliver(
        make_event({}, room=NEW, kind="m.room.encryption", state_key=""),
        make_event(text("sigil: before"), room=NEW),
        invitation(NEW),
        make_event(text("sigil: are you there?"), room=NEW),
        membership("join"),
        make_event(text("sigil: after"), room=NEW),
        membership("join", unsigned={"prev_content": {"membership": "join"}}),
    )
    assert read_texts(fetch(polled, position)[0]) == ["are you there?", "after"]


def test_a_gap_in_a_room_is_filled(polled: Matrix, server: Homeserver) -> None:
    _, position = fetch(polled, "")
    server.room_events = 3
    server.deliver(*(make_event(text(f"word {number}")) for number in range(10)))
    assert read_texts(fetch(polled, position)[0]) == [f"word {number}" for number in range(10)]
    server.fail("/messages", "M_FORBIDDEN", 403)
    assert read_texts(fetch(polled, position)[0]) == [f"word {number}" for number in range(7, 10)]


def test_a_position_that_is_forgotten_begins_anew(polled: Matrix, server: Homeserver) -> None:
    server.deliver(*(make_event(text("hi")) for _ in range(3)))
    server.oldest = 2
    received, position = fetch(polled, "s1")
    assert (received, position) == ([], "s3")


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b'{"rooms": {}}'),
        Answer(403, b'{"errcode":"M_FORBIDDEN","error":"no"}'),
        Answer(502, b"<html>"),
        Answer(200, b" " * 200),
        Answer(cut=True),
    ],
)
def test_a_homeserver_that_does_not_answer_is_tried_again(
    answer: Answer, polled: Matrix, server: Homeserver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.channels.matrix.sync.SYNC_BYTES", 100)
    server.reply("/sync", answer)
    with pytest.raises(BackendError):
        fetch(polled, "s1")


@pytest.mark.parametrize(
    "rooms",
    [
        b'{"join": [1], "invite": "x"}',
        b'{"join": {"#a:b": {}, "!r:e.org": {"timeline": {"events": [1, null, {"type": 5}]}}}}',
        b'{"invite": {"!r:e.org": {"invite_state": {"events": [{"type": "m.room.member"}]}}}}',
        b'{"invite": {"../": {"invite_state": null}}}',
    ],
)
def test_an_odd_answer_is_nothing(rooms: bytes, polled: Matrix, server: Homeserver) -> None:
    server.reply("/sync", Answer(200, b'{"next_batch": "s9", "rooms": ' + rooms + b"}"))
    received, position = fetch(polled, "s1")
    assert position == "s9"
    assert [each.events for each in received if each.events] == []


def test_an_account_whose_events_are_pushed_is_not_polled(server: Homeserver) -> None:
    assert Matrix(server.url, BOT, TOKEN).may_poll
    assert not Matrix(server.url, BOT, TOKEN, SECRET).may_poll
    assert not Matrix(server.url, BOT, "").may_poll
