"""A homeserver's transactions are verified by its token, and read as events."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from functions.channels.base import PlatformAnswer, PlatformRequest
from functions.channels.matrix.channel import Matrix
from functions.channels.matrix.identifiers import MatrixChat
from functions.events import Event
from sigil.errors import Refused, UsageError
from tests.fakes.matrix import (
    ADA,
    BOB,
    BOT,
    DIRECT,
    GROUP,
    NOW,
    SECRET,
    answer_to,
    encode,
    in_thread,
    invitation,
    make_event,
    pill,
    push,
    text,
)
from tests.functions.channels.contract import ChannelContract, Door
from tests.tables import each_row

ROOT = "$threadroot"


def open_channel() -> Matrix:
    return Matrix("", BOT, "", SECRET, now=lambda: NOW)


def read(event: dict[str, Any]) -> Event:
    (found,) = open_channel().receive(push(encode(event))).events
    return found


class TestMatrix(ChannelContract):
    name = "matrix"
    proofs = ("authorization",)
    signs_body = False

    def open_channel(self) -> Matrix:
        return open_channel()

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return push(body)

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        mention = make_event(text("sigil: hi", BOT), BOB, GROUP)
        thread = make_event(text("and now?", **in_thread(ROOT)), BOB, GROUP)
        sticker = {"body": "a cat", "url": "mxc://example.org/abc", "info": {}}
        samples = {
            "private": [make_event(text("hi"))],
            "two": [mention, thread],
            "invitation": [invitation("!new:example.org")],
            "room of version 12": [make_event(text("hi"), room="!31hneApxJ_1o-63DmFrpeqnkFfWp")],
            "a client of before 2023": [make_event({"msgtype": "m.text", "body": "hi"})],
            "sticker": [make_event(sticker, kind="m.sticker")],
            "encrypted": [make_event({"ciphertext": "AwgA"}, kind="m.room.encrypted")],
        }
        return {
            name: (encode(*events), tuple(f"matrix:{event['event_id']}" for event in events))
            for name, events in samples.items()
        }

    def list_silent(self) -> dict[str, bytes]:
        hi = make_event(text("hi"))
        edit = {"rel_type": "m.replace", "event_id": "$older"}
        member = {"membership": "join", "displayname": "Ada"}
        events: list[Any] = [
            hi | {"sender": BOT},
            hi | {"content": text("hi", msgtype="m.notice")},
            hi | {"content": text("hi", msgtype=["m.text"])},
            hi | {"content": text("* hi", **{"m.relates_to": edit, "m.new_content": text("hi")})},
            hi | {"content": {}},
            hi | {"content": text("   ")},
            hi | {"content": [1]},
            hi | {"unsigned": {"redacted_because": {}}},
            hi | {"state_key": ""},
            hi | {"event_id": "../x"},
            hi | {"event_id": None},
            hi | {"room_id": "#alias:example.org"},
            hi | {"sender": "ada"},
            hi | {"sender": "@ada:example.org:" + "x" * 300},
            make_event({"redacts": "$x"}, kind="m.room.redaction"),
            make_event({"m.relates_to": {"rel_type": "m.annotation"}}, kind="m.reaction"),
            make_event({"membership": "leave"}, kind="m.room.member", state_key=ADA),
            make_event(member, kind="m.room.member", state_key=ADA)
            | {"unsigned": {"prev_content": member}},
            invitation(DIRECT, user=BOB),
            "no event",
            None,
        ]
        bodies = {str(event)[:200]: encode(event) for event in events}
        return bodies | {"odd events": b'{"events": {"a": 1}}', "ephemeral": b'{"ephemeral": [1]}'}

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        def ask(method: str, path: str, body: bytes = b"") -> PlatformRequest:
            return replace(push(body), method=method, path=path)

        app = "_matrix/app/v1"
        empty = PlatformAnswer(200, b"{}")
        refused = {"errcode": "M_NOT_FOUND", "error": "none of ours"}
        not_ours = PlatformAnswer(404, json.dumps(refused, separators=(",", ":")).encode())
        return [
            (ask("POST", f"{app}/ping", b'{"transaction_id":"mautrix-1"}'), empty),
            (ask("POST", "_matrix/app/unstable/fi.mau.msc2659/ping", b"{}"), empty),
            (ask("GET", f"{app}/users/%40sigil%3Aexample.org"), empty),
            (ask("GET", f"{app}/users/%40else%3Aexample.org"), not_ours),
            (ask("GET", f"{app}/rooms/%23room%3Aexample.org"), not_ours),
            (ask("GET", "users/%40sigil%3Aexample.org"), empty),
            (ask("PUT", "transactions/7", b'{"events":[]}'), empty),
        ]

    def make_batch(self, count: int) -> bytes:
        rooms = [f"!room{number % 7}:example.org" for number in range(count)]
        return encode(*(make_event(text("hi"), room=room) for room in rooms))


@pytest.mark.parametrize("query", ["", "forged", SECRET + SECRET])
def test_the_older_form_of_the_token_proves_the_homeserver_as_well(query: str) -> None:
    body = encode(make_event(text("hi")))
    older = replace(push(body), headers={}, query={"access_token": SECRET})
    assert len(open_channel().receive(older).events) == 1
    for headers in ({}, push(body).headers):
        with pytest.raises(Refused):
            open_channel().receive(replace(older, headers=headers, query={"access_token": query}))


def test_without_its_token_everything_is_refused_as_a_homeserver_expects() -> None:
    closed = Door(Matrix("", BOT, "", ""), "matrix")
    for door, secret in ((closed, ""), (closed, SECRET), (Door(open_channel(), "matrix"), "no")):
        answer = door.send(push(encode(make_event(text("hi"))), secret=secret))
        assert answer.status == 403
        assert json.loads(answer.body)["errcode"] == "M_FORBIDDEN"
        assert door.waiting() == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "_matrix/app/v1/transactions/1", 405),
        ("PUT", "_matrix/app/v1/ping", 405),
        ("GET", "_matrix/app/v1/thirdparty/user/irc", 404),
        ("POST", "", 404),
        ("PUT", "_matrix/app/v1/transactions/..%2F..", 200),
    ],
)
def test_an_address_that_is_none_is_told_so(method: str, path: str, status: int) -> None:
    answer = Door(open_channel(), "matrix").send(replace(push(b"{}"), method=method, path=path))
    assert answer.status == status
    if status != 200:
        assert json.loads(answer.body)["errcode"] == "M_UNRECOGNIZED"


def test_a_transaction_of_a_hundred_large_events_is_taken() -> None:
    rows = [make_event(text("x" * 12_000), room=f"!r{number}:e.org") for number in range(100)]
    door = Door(open_channel(), "matrix")
    assert door.send(push(encode(*rows))).status == 200
    assert len(door.waiting()) == 100


def test_who_speaks_where_is_read() -> None:
    event = read(make_event(text("hi", **in_thread(ROOT)), BOB, GROUP))
    assert event.session == f"matrix:{GROUP}:{ROOT}"
    assert MatrixChat.parse(event.session) == MatrixChat(GROUP, ROOT)
    assert event.sender.id == f"matrix:{BOB}"
    assert event.reply_to.startswith("$")
    assert not event.private


@pytest.mark.parametrize("session", ["matrix:", "matrix:#a:b", "slack:C1", f"matrix:{GROUP}:x"])
def test_no_other_session_is_taken_for_one_of_ours(session: str) -> None:
    with pytest.raises(UsageError):
        MatrixChat.parse(session)


@each_row(
    ("content", "seen"),
    [
        (text("!stop", BOT), "/stop"),
        (text("sigil: !stop"), "/stop"),
        (text("@sigil:example.org !stop"), "/stop"),
        (text("The Bot: help", **pill(BOT, "The Bot", ": help")), "help"),
        (text("The Bot help", **pill("%40sigil%3Aexample.org", "The Bot", " help")), "help"),
        (text("ask Sigil, please", BOT), "ask Sigil, please"),
        (text("!nice", BOT), "!nice"),
        (text("/status", BOT), "/status"),
    ],
)
def test_whoever_names_us_means_us(content: dict[str, Any], seen: str) -> None:
    event = read(make_event(content, room=GROUP))
    assert (event.addressed, event.text) == ((), seen)


@each_row(
    "content",
    [
        text("sigil is good"),
        text("@sigil:other.org hi"),
        text("sigil:8080 is open"),
        text("@sigilla hi"),
        text("ask @sigil:example.org", BOB),
        text("hi", **pill(BOB, "sigil", "")),
    ],
)
def test_what_names_nobody_or_others_is_addressed_to_the_room(content: dict[str, Any]) -> None:
    event = read(make_event(content, room=GROUP))
    assert (event.addressed, event.text) == ((GROUP,), content["body"])


def test_the_message_that_older_clients_repeat_above_an_answer_is_left_out() -> None:
    older = make_event(text("when?"))
    body = "> <@ada:example.org> when?\n> really\n\nat four\n> not this"
    assert read(make_event(text(body, **answer_to(older)))).text == "at four\n> not this"
    assert read(make_event(text(body))).text == body


def test_a_file_is_noted_with_the_words_below_it() -> None:
    image = {
        "msgtype": "m.image",
        "body": "what is this?",
        "filename": "cat.png",
        "url": "mxc://example.org/AbC_1-2",
        "info": {"mimetype": "image/png", "size": 1234, "w": 2, "h": 2},
    }
    event = read(make_event(image))
    assert event.text == "what is this?"
    assert event.attachments == (
        {
            "kind": "photo",
            "file_id": "mxc://example.org/AbC_1-2",
            "name": "cat.png",
            "size": 1234,
            "mime": "image/png",
        },
    )
    del image["filename"]
    assert read(make_event(image | {"body": "cat.png"})).text == ""
    voice = {"msgtype": "m.audio", "body": "voice", "org.matrix.msc3245.voice": {}}
    odd = voice | {"url": "mxc://../../etc/passwd", "info": {"size": -1, "mimetype": "x\n"}}
    (attachment,) = read(make_event(odd)).attachments
    assert (attachment["kind"], attachment["file_id"]) == ("voice", "")
    assert (attachment["size"], attachment["mime"]) == (0, "")


def test_a_place_is_read() -> None:
    place = {"msgtype": "m.location", "body": "Big Ben", "geo_uri": "geo:51.5008,0.1247"}
    (quote,) = read(make_event(place)).quotes
    assert (quote.relation, quote.text) == ("location", "Big Ben\ngeo:51.5008,0.1247")


@each_row("stamp", [int(NOW * 1000) + 10**9, 10**30, -5, "now", None, True])
def test_a_foreign_clock_cannot_put_a_message_behind_all_others(stamp: object) -> None:
    event = read(make_event(text("hi"), origin_server_ts=stamp))
    assert 0 <= event.at <= NOW
