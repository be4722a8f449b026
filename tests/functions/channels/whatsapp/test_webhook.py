"""What Meta sends to the webhook of WhatsApp."""

from __future__ import annotations

import pytest

from functions.channels.base import PlatformAnswer, PlatformRequest, Received, Undelivered
from functions.channels.whatsapp.channel import WhatsApp
from functions.events import Event, Quote, Sender
from sigil.errors import Refused, UsageError
from tests.fakes.graph_api import (
    NUMBER,
    PERSON,
    SECRET,
    TOKEN,
    VERIFY_TOKEN,
    make_body,
    make_message,
    sign,
)
from tests.functions.channels.contract import ChannelContract
from tests.tables import each_row

APPROVE = "/approve 0123abcd"


def open_whatsapp() -> WhatsApp:
    return WhatsApp(NUMBER, TOKEN, SECRET, VERIFY_TOKEN)


def read(body: bytes) -> tuple[Event, ...]:
    return open_whatsapp().receive(sign(body)).events


def read_one(**fields: object) -> Event:
    (event,) = read(make_body(make_message(**fields)))
    return event


def verification(**fields: str) -> PlatformRequest:
    query = {
        "hub.mode": "subscribe",
        "hub.verify_token": VERIFY_TOKEN,
        "hub.challenge": "1158201444",
    }
    return PlatformRequest({}, query=query | fields, method="GET")


class TestWhatsApp(ChannelContract):
    name = "whatsapp"
    proofs = ("x-hub-signature-256",)

    def open_channel(self) -> WhatsApp:
        return open_whatsapp()

    def sign(self, body: bytes, age: float = 0.0) -> PlatformRequest:
        return sign(body)

    def list_samples(self) -> dict[str, tuple[bytes, tuple[str, ...]]]:
        one = f"whatsapp:{NUMBER}:wamid.TEST1"
        two = f"whatsapp:{NUMBER}:wamid.TEST2"
        return {
            "a message": (make_body(make_message(1)), (one,)),
            "two messages": (make_body(make_message(1), make_message(2)), (one, two)),
        }

    def list_silent(self) -> dict[str, bytes]:
        status = {"id": "wamid.OUT1", "status": "read", "recipient_id": PERSON}
        reaction = {"message_id": "wamid.OUT1", "emoji": "👍"}
        other = {"phone_number_id": "999"}
        return {
            "receipts": make_body(statuses=[status]),
            "a reaction": make_body(make_message(type="reaction", reaction=reaction)),
            "an edit": make_body(make_message(type="edit", edit={"text": {"body": "new"}})),
            "a deletion": make_body(make_message(type="revoke", revoke={})),
            "a notice": make_body(make_message(type="system", system={"body": "new number"})),
            "a message to another number": make_body(make_message(), metadata=other),
            "a blank message": make_body(make_message(text=" \n")),
            "no sender": make_body(make_message(**{"from": ""})),
            "what is said in a group": make_body(make_message(group_id="Y2FwaV9ncm91cDo")),
            "a strange id": make_body(make_message(id="../1")),
        }

    def list_handshakes(self) -> list[tuple[PlatformRequest, PlatformAnswer]]:
        return [(verification(), PlatformAnswer(200, b"1158201444", "text/plain"))]

    def make_batch(self, count: int) -> bytes:
        return make_body(*(make_message(number) for number in range(count)))


@pytest.mark.parametrize(
    "fields",
    [
        {"hub.verify_token": "another"},
        {"hub.verify_token": ""},
        {"hub.mode": "unsubscribe"},
        {"hub.challenge": "<script>"},
    ],
)
def test_a_webhook_is_set_up_by_who_knows_the_token(fields: dict[str, str]) -> None:
    with pytest.raises(Refused):
        open_whatsapp().receive(verification(**fields))


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_other_methods_are_refused(method: str) -> None:
    signed = sign(make_body(make_message()))
    request = PlatformRequest(signed.headers, signed.body, method=method)
    with pytest.raises(Refused):
        open_whatsapp().verify_head(request)


def test_without_a_secret_nothing_passes() -> None:
    body = make_body(make_message())
    channel = WhatsApp(NUMBER, TOKEN, "", "")
    for request in (sign(body, ""), sign(body), verification(**{"hub.verify_token": ""})):
        with pytest.raises(Refused):
            channel.receive(request)


def test_a_message_is_an_event_with_its_senders_name() -> None:
    event = read_one(text="what is new?")
    assert event == Event(
        id=f"whatsapp:{NUMBER}:wamid.TEST1",
        kind="message",
        agent="main",
        session=f"whatsapp:{PERSON}",
        sender=Sender(f"whatsapp:{PERSON}", "Kerry"),
        text="what is new?",
        at=1_800_000_001.0,
        order=event.order,
        reply_to="wamid.TEST1",
        private=True,
    )


def test_who_hides_their_number_is_known_by_their_id() -> None:
    id = "US.13491208655302741918"
    contact = {"profile": {"name": "Pat"}, "user_id": id}
    message = make_message(from_user_id=id)
    del message["from"]
    (event,) = read(make_body(message, contacts=[contact]))
    assert event.session == event.sender.id == f"whatsapp:{id}"
    assert event.sender.name == "Pat"


def fail(**fields: object) -> dict[str, object]:
    error = {"code": 131047, "title": "Re-engagement message", "error_data": {"details": "24 h"}}
    own = {"id": "wamid.OUT1", "status": "failed", "recipient_id": PERSON, "errors": [error]}
    return own | fields


def test_a_message_of_ours_that_does_not_arrive_is_told() -> None:
    scoped = "US.13491208655302741918"
    statuses = [
        fail(),
        fail(recipient_id="", recipient_user_id=scoped, errors=[{"code": 131026, "title": "Lost"}]),
        fail(errors="no list"),
        fail(recipient_id="Y2FwaV9ncm91cDo="),
        fail(status="delivered"),
    ]
    received = open_whatsapp().receive(sign(make_body(statuses=statuses)))
    assert received == Received(
        undelivered=(
            Undelivered(f"whatsapp:{PERSON}", "131047 Re-engagement message", is_closed=True),
            Undelivered(f"whatsapp:{scoped}", "131026 Lost"),
            Undelivered(f"whatsapp:{PERSON}", "0"),
        )
    )


@pytest.mark.parametrize("mark", ["forwarded", "frequently_forwarded"])
def test_what_is_forwarded_is_no_word_of_its_sender(mark: str) -> None:
    event = read_one(text="/halt all", context={mark: True})
    assert (event.text, event.quotes) == ("", (Quote("forward", "/halt all", length=9),))
    photo = {"id": "7", "caption": "look", "mime_type": "image/jpeg"}
    event = read_one(type="image", image=photo, context={mark: True})
    assert (event.text, [quote.text for quote in event.quotes]) == ("", ["look"])
    assert len(event.attachments) == 1
    assert read_one(text="/halt", context={mark: False, "id": "wamid.OUT1"}).text == "/halt"


def test_messages_of_one_second_keep_their_order() -> None:
    messages = [make_message(number, timestamp="1800000000") for number in range(12)]
    orders = [event.order for event in read(make_body(*messages))]
    assert orders == sorted(orders)
    assert len(set(orders)) == 12


def test_a_press_of_a_button_is_its_command() -> None:
    reply = {"type": "button_reply", "button_reply": {"id": APPROVE, "title": "Approve"}}
    assert read_one(type="interactive", interactive=reply).text == APPROVE


def test_a_button_that_is_not_ours_says_what_stands_on_it() -> None:
    reply = {"type": "list_reply", "list_reply": {"id": "/policy allow all", "title": "Later"}}
    assert read_one(type="interactive", interactive=reply).text == "Later"
    assert read_one(type="button", button={"payload": "/halt", "text": "Yes"}).text == "Yes"


def test_a_form_is_what_was_filled_in_and_no_command() -> None:
    def fill(written: str) -> Event:
        reply = {"name": "flow", "body": "Sent", "response_json": written}
        return read_one(type="interactive", interactive={"type": "nfm_reply", "nfm_reply": reply})

    event = fill('{"/stop": "/halt", "flow_token": "s3cret", "days": ["Mon", 2], "note": "a\\nb"}')
    assert event.text == '[form, filled in]\n/stop: /halt\ndays: ["Mon",2]\nnote: a b'
    assert not event.looks_like_command
    for odd in ("no json", "[]", '{"flow_token": "s3cret"}'):
        assert (fill(odd).text, fill(odd).attachments[0]["kind"]) == ("", "interactive")


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (
            "image",
            {"id": "42", "mime_type": "image/jpeg", "caption": "see"},
            ("photo", "", "image/jpeg"),
        ),
        (
            "document",
            {"id": "42", "filename": "a\nb.pdf", "mime_type": "application/pdf"},
            ("document", "a b.pdf", "application/pdf"),
        ),
        (
            "audio",
            {"id": "42", "voice": True, "mime_type": "audio/ogg; codecs=opus"},
            ("voice", "", "audio/ogg"),
        ),
        ("video", {"id": "42", "mime_type": "not a type"}, ("video", "", "")),
    ],
)
def test_a_file_is_noted(
    kind: str, fields: dict[str, object], expected: tuple[str, str, str]
) -> None:
    event = read_one(type=kind, **{kind: fields})
    ((attached),) = event.attachments
    assert attached["file_id"] == "42"
    assert (attached["kind"], attached["name"], attached["mime"]) == expected
    assert event.text == fields.get("caption", "")


def test_what_cannot_be_read_is_noted() -> None:
    event = read_one(type="unsupported", errors=[{"code": 131051}])
    assert [attached["kind"] for attached in event.attachments] == ["unsupported"]


def test_a_place_and_a_contact_are_noted() -> None:
    place = {"latitude": 52.5, "longitude": 13.4, "name": "Café"}
    event = read_one(type="location", location=place)
    text = "Café\nlatitude 52.500000, longitude 13.400000"
    assert event.quotes == (Quote("venue", text, length=len(text)),)
    card = {"name": {"formatted_name": "Ann"}, "phones": [{"phone": "+49 30 1"}]}
    (quote,) = read_one(type="contacts", contacts=[card]).quotes
    assert (quote.relation, quote.text) == ("contact", "Ann\n+49 30 1")


@each_row("odd", [None, 5, "x", [], {}, [[]], True])
def test_odd_fields_count_as_absent(odd: object) -> None:
    message = make_message()
    for field in message:
        read(make_body({**message, field: odd}))
    for field in ("metadata", "contacts", "messages"):
        read(make_body(message, **{field: odd}))


@pytest.mark.parametrize(
    ("number", "api"), [("", "https://a"), ("12a", "https://a"), ("1", "ftp://a"), ("1", "")]
)
def test_settings_that_cannot_be_right_are_told(number: str, api: str) -> None:
    with pytest.raises(UsageError):
        WhatsApp(number, TOKEN, SECRET, VERIFY_TOKEN, api=api)
