"""LINE's own SDK beside our channel: both read the same requests, and send the same."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from functions.channels.base import Reply
from functions.channels.line.channel import Line
from functions.channels.line.reply_address import LineReplyAddress
from functions.channels.webhooks import WebhookRegistration
from functions.events import Button
from tests.fakes.line import (
    GROUP,
    SECRET,
    TOKEN,
    LineServer,
    make_body,
    make_message,
    mention_us,
    sign,
)
from tests.fakes.server import Recorded
from tests.functions.channels.line import test_webhook as test_line_webhook
from tests.functions.channels.sdks.sdk import (
    RESTS_ON,
    ask,
    collect_requests,
    describe_requests,
    read_events,
)

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]


def test_the_same_requests_are_taken_and_read_alike() -> None:
    contract = test_line_webhook.TestLine()
    requests, taken = collect_requests(contract)
    theirs = ask("line", "receive", requests=describe_requests(requests), secret=SECRET)
    events = [*chain(*read_events(contract.open_channel(), requests, taken))]
    assert theirs["taken"] == taken
    assert len(theirs["events"]) == len(events) == 4
    for event, read in zip(events, theirs["events"], strict=True):
        assert event.id.endswith(f":{read['id']}")
        assert event.sender.id == f"line:{read['sender']}"
        assert event.session == f"line:{read['chat']}"
        assert event.at == read["at"]
        assert LineReplyAddress.parse(event.reply_to).token == read["token"]
        if read["type"] == "message":
            assert event.text == read["text"].removeprefix("@Sigil ")
            assert read["names us"] == (not event.private)


def test_the_client_sends_what_our_channel_sends() -> None:
    with LineServer() as server, LineServer() as second:
        server.files["500001"] = second.files["500001"] = b"a file"
        speak(server)
        ours = [describe(request) for request in server.requests]
        given = [[each[name] for name in ("method", "path", "body", "key")] for each in ours]
        answers = ask("line", "call", base=second.url, token=TOKEN, requests=given)
        theirs = [describe(request) for request in second.requests]
        assert second.messages == server.messages
    assert {(each["method"], each["path"].partition("/U")[0]) for each in ours} == {
        ("GET", "/v2/bot/channel/webhook/endpoint"),
        ("GET", f"/v2/bot/group/{GROUP}/member"),
        ("GET", "/v2/bot/info"),
        ("GET", "/v2/bot/message/500001/content"),
        ("GET", "/v2/bot/profile"),
        ("POST", "/v2/bot/channel/webhook/test"),
        ("POST", "/v2/bot/chat/loading/start"),
        ("POST", "/v2/bot/message/push"),
        ("POST", "/v2/bot/message/reply"),
        ("PUT", "/v2/bot/channel/webhook/endpoint"),
    }
    for our, their in zip(ours, theirs, strict=True):
        # the SDK says as well what holds if nothing is said
        assert their["body"] == (our["body"] and our["body"] | their["defaults"])
        assert {**their, "body": our["body"]} == {**our, "defaults": their["defaults"]}
    assert {"bytes": "a file"} in answers


def speak(server: LineServer) -> None:
    """Let our channel use each method of the API that it knows."""
    channel = Line(TOKEN, SECRET, server.url, now=lambda: test_line_webhook.NOW)
    named = make_message(2, "@Sigil hi", chat=GROUP, mention=mention_us("@Sigil"))
    received = channel.receive(sign(make_body(make_message(1), named)))
    channel.webhook.register(WebhookRegistration("https://sigil.example.com/webhook/line"))
    assert channel.webhook.read_state().error == ""
    assert channel.fetch({"file_id": "500001"}, 100) == b"a file"
    assert channel.fetch_bot_name() == "Sigil"
    for event in received.events:
        channel.close()
        channel = Line(TOKEN, SECRET, server.url)  # one that knows nobody yet
        accepted = channel.accept(event)
        assert accepted.sender.name == "Kerry"
        channel.show_waiting(accepted)
        buttons = (Button("Yes", "/approve 0123abcd"), Button("No", "/deny 0123abcd"))
        reply = Reply(event.session, "Hello **Kerry**", event.reply_to, buttons=buttons, key="a")
        channel.send(reply, lambda _: None)
        channel.send(replace(reply, key="b"), lambda _: None)  # the token is spent: a push
    channel.close()


def describe(request: Recorded) -> dict[str, Any]:
    """Return what counts of a request; the `defaults` are fields that say what holds anyway."""
    body = json.loads(request.body or b"null")
    defaults = {"notificationDisabled": False}
    return {
        "method": request.method,
        "path": request.path,
        "authorization": request.headers["authorization"],
        "key": request.headers.get("x-line-retry-key"),
        "body": body,
        "defaults": {name: value for name, value in defaults.items() if name in (body or {})},
    }
