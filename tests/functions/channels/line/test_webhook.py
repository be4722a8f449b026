"""What LINE sends to the webhook."""

from __future__ import annotations

from typing import Any

import pytest

from functions.channels.base import TAKEN, PlatformAnswer, PlatformRequest, Received
from functions.channels.line.channel import Line
from functions.events import ALBUM, Event, Quote, Sender
from sigil.errors import Refused
from tests.fakes.line import (
    BOT,
    GROUP,
    PERSON,
    ROOM,
    SECRET,
    TOKEN,
    make_body,
    make_event,
    make_message,
    mention_us,
    sign,
)
from tests.functions.channels.contract import ChannelContract

APPROVE = "/approve 0123abcd"
NOW = 1_800_000_000.0


def open_line() -> Line:
    return Line(TOKEN, SECRET, now=lambda: NOW)


def name_event(number: int) -> str:
    return f"line:{BOT}:{500_000 + number}"


def read(*events: dict[str, Any]) -> Received:
    return open_line().receive(sign(make_body(*events)))


def read_one(**message: object) -> Event:
    [event] = read(make_message(**message)).events
    return event


class TestLine(ChannelContract):
    name = "line"
    proofs = ("x-line-signature",)

    def open_channel(self) -> Line:
        return open_line()

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return sign(body)

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        named = make_message(2, "@Sigil hi", chat=GROUP, mention=mention_us("@Sigil"))
        both = make_body(make_message(1), named)
        again = make_event("message", 3, deliveryContext={"isRedelivery": True})
        again["message"] = make_message(3)["message"]
        return {
            "two messages": (both, (name_event(1), name_event(2))),
            "a message that is sent again": (make_body(again), (name_event(3),)),
            "a new friend": (make_body(make_event("follow", 4)), (f"line:{BOT}:01HTEST{4:019d}",)),
        }

    def list_silent(self) -> dict[str, bytes]:
        group = {"type": "group", "groupId": GROUP}
        members = [{"type": "user", "userId": PERSON}]
        events = {
            "who blocked us": make_event("unfollow"),
            "that we left": make_event("leave", source=group),
            "a new member": make_event("memberJoined", source=group, joined={"members": members}),
            "another button": make_event("postback", postback={"data": "/unlock"}),
            "a button of nobody": make_event("postback", source=group, postback={"data": APPROVE}),
            "a message of nobody": make_message(1) | {"source": group},
            "what another program answers": make_message(1) | {"mode": "standby"},
            "an empty message": make_message(1, ""),
            "a person with an odd id": make_message(1) | {"source": {"type": "user", "userId": 5}},
            "people among themselves": make_message(1, chat=GROUP),
        }
        return {name: make_body(event) for name, event in events.items()}

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        return [(sign(make_body()), TAKEN)]

    def make_batch(self, count: int) -> bytes:
        return make_body(*(make_message(number) for number in range(count)))


def test_the_signature_is_the_one_in_lines_documentation() -> None:
    body = b'{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[]}'
    headers = {"x-line-signature": "GhRKmvmHys4Pi8DxkF4+EayaH0OqtJtaZxgTD9fMDLs="}
    assert open_line().receive(PlatformRequest(headers, body)) == Received()
    with pytest.raises(Refused):
        Line(TOKEN, "").receive(sign(body, ""))
    with pytest.raises(Refused):
        open_line().receive(PlatformRequest(headers, body, method="PUT"))


def test_a_private_message_becomes_an_event() -> None:
    event = read_one(text="hello \u202eolleh")
    assert event.session == event.sender.id == f"line:{PERSON}"
    assert (event.text, event.private, event.addressed) == ("hello olleh", True, ())
    assert event.at == 1_800_000_000.001
    assert event.reply_to == "reply1|1800000050|quote1"
    assert "reply1" not in repr(event)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@Sigil what is new?", "what is new?"),
        ("\U0001f34e @Sigil hi", "\U0001f34e @Sigil hi"),
        ("@All @Sigil", "@All @Sigil"),
        ("/status", "/status"),
    ],
)
def test_a_message_of_a_group_is_for_us_when_it_names_us_or_is_a_command(
    text: str, said: str
) -> None:
    for chat in (GROUP, ROOM):
        received = read(make_message(1, text, chat=chat, mention=mention_us(text)))
        [event] = received.events
        assert (event.session, event.sender, event.text, event.private, event.addressed) == (
            f"line:{chat}",
            Sender(f"line:{PERSON}"),
            said,
            False,
            (),
        )


@pytest.mark.parametrize("text", ["I like @Sigil", "@All lunch?", "1/2", "/", "what is new?"])
def test_what_people_say_to_each_other_is_overheard(text: str) -> None:
    received = read(make_message(1, text, chat=GROUP))
    assert received.events == ()
    assert [each.text for each in received.overheard] == [text]


def test_a_press_of_our_button_is_its_command() -> None:
    group = {"type": "group", "groupId": GROUP, "userId": PERSON}
    for source, private in (({"type": "user", "userId": PERSON}, True), (group, False)):
        [event] = read(make_event("postback", source=source, postback={"data": APPROVE})).events
        assert (event.text, event.private, event.sender.id) == (APPROVE, private, f"line:{PERSON}")


def test_who_takes_us_as_a_friend_or_into_a_group_is_greeted() -> None:
    source = {"type": "group", "groupId": GROUP}
    received = read(make_event("follow", 1), make_event("join", 2, source=source))
    friend, group = received.events
    assert (friend.text, friend.private) == ("/start", True)
    assert (group.joined, group.session, group.private) == (True, f"line:{GROUP}", False)


def test_messages_of_one_moment_keep_their_order() -> None:
    rows = [make_message(number) | {"timestamp": 1_800_000_000_000} for number in (9, 10, 11)]
    orders = [event.order for event in read(*rows).events]
    assert orders == sorted(orders)


@pytest.mark.parametrize(
    ("message", "kind", "file_id", "name"),
    [
        ({"type": "image", "contentProvider": {"type": "line"}}, "photo", "500001", ""),
        ({"type": "image", "contentProvider": {"type": "external"}}, "photo", "", ""),
        ({"type": "audio", "duration": 900}, "audio", "500001", ""),
        ({"type": "video"}, "video", "500001", ""),
        ({"type": "file", "fileName": "a\nb.md", "fileSize": 9}, "document", "500001", "a b.md"),
    ],
)
def test_files_are_noted_to_be_fetched_later(
    message: dict[str, object], kind: str, file_id: str, name: str
) -> None:
    [file] = read_one(**message).attachments
    assert (file["kind"], file["file_id"], file["name"]) == (kind, file_id, name)


def test_pictures_that_are_sent_together_are_one_album() -> None:
    picture = {"type": "image", "contentProvider": {"type": "line"}}
    shown = {"id": "E005D41A7288F41B65593ED38FF6E9834B046AB36A37921A56BC236F13A91855"}
    assert read_one(**picture, imageSet=shown | {"index": 1, "total": 2}).data == {
        ALBUM: shown["id"]
    }
    assert read_one(**picture, imageSet={"id": "../x"}).data == {}


def test_places_and_stickers_are_read() -> None:
    place = {"type": "location", "title": "Office", "latitude": 35.65, "longitude": 139.7}
    [quote] = read_one(**place).quotes
    text = "Office\nlatitude 35.650000, longitude 139.700000"
    assert quote == Quote("venue", text, length=len(text))
    [sticker] = read_one(type="sticker", keywords=["Happy", "Cat"]).quotes
    assert (sticker.relation, sticker.text) == ("sticker", "Happy, Cat")


@pytest.mark.parametrize(
    "mention",
    [
        {"mentionees": 5},
        {"mentionees": [5, {"isSelf": "yes"}]},
        {"mentionees": [{"isSelf": True, "index": -9, "length": 10**18}]},
        {"mentionees": [{"isSelf": True, "index": 10**18}]},
    ],
)
def test_odd_mentions_are_survived(mention: object) -> None:
    received = read(make_message(1, "hello", chat=GROUP, mention=mention))
    assert len(received.events) + len(received.overheard) <= 1
