"""A library for WhatsApp beside our channel: both read the same requests, and send the same."""

from __future__ import annotations

from email import message_from_bytes
from typing import Any

import pytest

from functions.channels.base import AttachedFile, Reply
from functions.channels.whatsapp.channel import WhatsApp
from functions.events import Button
from tests.fakes.graph_api import (
    NUMBER,
    PERSON,
    SECRET,
    TOKEN,
    VERIFY_TOKEN,
    GraphApi,
    make_body,
    make_message,
    sign,
)
from tests.fakes.server import Recorded
from tests.functions.channels.sdks.sdk import (
    RESTS_ON,
    ask,
    collect_requests,
    describe_requests,
    read_events,
)
from tests.functions.channels.whatsapp import test_webhook as test_whatsapp_webhook

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]


def test_the_same_requests_are_taken_and_read_alike() -> None:
    contract = test_whatsapp_webhook.TestWhatsApp()
    requests, taken = collect_requests(contract)
    reply = {"type": "button_reply", "button_reply": {"id": "/approve 0123abcd", "title": "Yes"}}
    photo = {"id": "9001", "mime_type": "image/jpeg", "sha256": "x", "caption": "look"}
    for message in (
        make_message(3, type="interactive", interactive=reply, context={"id": "wamid.OUT1"}),
        make_message(4, type="image", image=photo),
    ):
        requests.append(sign(make_body(message)))
        taken.append(True)
    given = describe_requests(requests)
    theirs = ask("whatsapp", "receive", requests=given, secret=SECRET, number=NUMBER)
    assert theirs["taken"] == taken
    # the library reads one message of each request
    events = [each[0] for each in read_events(contract.open_channel(), requests, taken)]
    assert len(theirs["messages"]) == len(events) == 4
    for event, read in zip(events, theirs["messages"], strict=True):
        assert event.id == f"whatsapp:{read['number']}:{read['id']}"
        assert event.sender.id == event.session == f"whatsapp:{read['sender']}"
        assert (event.sender.name, event.at) == (read["name"], read["at"])
        assert [each["file_id"] for each in event.attachments] == [read["file"]] * bool(
            read["file"]
        )
        assert event.text == (read["text"] or "look")


def test_the_library_sends_what_our_channel_sends() -> None:
    with GraphApi() as server, GraphApi() as second:
        server.sent_files["500001"] = second.sent_files["500001"] = b"a file"
        text = speak(server)
        ask(
            "whatsapp",
            "send",
            base=second.url,
            token=TOKEN,
            number=NUMBER,
            to=PERSON,
            text=text,
            file="500001",
        )
        assert list(map(describe, second.requests)) == list(map(describe, server.requests))
        assert second.uploads == server.uploads


def speak(server: GraphApi) -> str:
    """Let our channel send and fetch, and return the text that it sent."""
    channel = WhatsApp(NUMBER, TOKEN, SECRET, VERIFY_TOKEN, api=server.url)
    [event] = channel.receive(sign(make_body(make_message()))).events
    channel.show_waiting(event)
    channel.send(Reply(event.session, "Hello **Kerry**"), lambda _: None)
    buttons = (Button("Yes", "/approve 0123abcd"), Button("No", "/deny 0123abcd"))
    channel.send(Reply(event.session, "Hello **Kerry**", buttons=buttons), lambda _: None)
    picture = AttachedFile("cat.png", "image/png", lambda: b"pixels")
    notes = AttachedFile("notes.md", "text/markdown", lambda: b"# Notes")
    channel.send(Reply(event.session, "", files=(picture, notes)), lambda _: None)
    assert channel.fetch({"file_id": "500001"}, 100) == b"a file"
    channel.close()
    return str(server.messages[0]["text"]["body"])


def describe(request: Recorded) -> dict[str, Any]:
    """Return what counts of a request: a form by its parts."""
    kind = request.headers.get("content-type", "")
    body: Any = None
    if kind.startswith("multipart/"):
        form = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + request.body)
        body = sorted(
            (
                str(part.get_param("name", header="content-disposition")),
                str(part.get_filename()),
                part.get_payload(decode=True),
            )
            for part in form.get_payload()
        )
    elif request.body:
        body = request.json()
    return {
        "method": request.method,
        "path": request.path,
        "authorization": request.headers["authorization"],
        "body": body,
    }
