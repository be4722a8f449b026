"""A library for Matrix beside our channel: both read the same events, and send the same."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from functions.channels.base import AttachedFile, Reply
from functions.channels.matrix.channel import Matrix
from tests.fakes.matrix import (
    ADA,
    BOB,
    BOT,
    GROUP,
    NOW,
    TOKEN,
    Homeserver,
    make_event,
    text,
)
from tests.fakes.server import Recorded
from tests.functions.channels.sdks.sdk import RESTS_ON, ask

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]
NEW = "!new:example.org"
ACCOUNT = {"user": BOT, "token": TOKEN}


def test_what_sync_tells_is_read_alike() -> None:
    with Homeserver() as server:
        channel = Matrix(server.url, BOT, TOKEN, now=lambda: NOW)
        start = channel.fetch_updates("", 1).position
        server.deliver(make_event(text("one")), make_event(text("two"), BOB, GROUP))
        server.invite(NEW)
        updates = channel.fetch_updates(start, 1).items
        channel.close()
        events = [event for each in updates for event in channel.read_update(each.body).events]
        theirs = ask("matrix", "follow", base=server.url, **ACCOUNT)
    invited = [event for event in events if event.session == f"matrix:{NEW}"]
    said = [event for event in events if event not in invited]
    assert theirs["invited"] == [[NEW, ADA]]
    assert [event.sender.id for event in invited] == [f"matrix:{ADA}"]
    assert theirs["is_later_empty"]
    assert theirs["stands"]
    assert len(said) == len(theirs["messages"]) == 2
    for event, read in zip(said, theirs["messages"], strict=True):
        assert event.id == f"matrix:{read['id']}"
        assert (event.session, event.text) == (f"matrix:{read['room']}", read["text"])
        assert event.sender.id == f"matrix:{read['sender']}"
        assert event.at == read["at"]


def test_the_library_sends_what_our_channel_sends() -> None:
    with Homeserver() as server, Homeserver() as second:
        event = speak(server)
        prepare(second, event)
        message, document = (each["content"] for each in server.messages)
        sent = [
            unquote(each.path).rpartition("/")[2] for each in server.asked("/send/m.room.message/")
        ]
        calls: list[list[Any]] = [
            ["joined_members", GROUP],
            ["room_typing", GROUP, True, 30_000],
            ["room_send", GROUP, "m.room.message", message, sent[0]],
            ["upload", "# Notes", "text/markdown", "file"],
            ["room_send", GROUP, "m.room.message", document, sent[1]],
            ["download", "mxc://example.org/Ada1"],
        ]
        ask("matrix", "call", base=second.url, calls=calls, **ACCOUNT)
        ours = list(map(describe, server.requests))
        for their in map(describe, second.requests):
            assert their in ours
        assert [each["content"] for each in second.messages] == [message, document]


def prepare(server: Homeserver, event: dict[str, Any]) -> None:
    """Let the server know what was said, and a file."""
    server.say(event)
    server.files["mxc://example.org/Ada1"] = b"pixels"


def speak(server: Homeserver) -> dict[str, Any]:
    """Let our channel answer a message in a group; return the message."""
    said = make_event(text("sigil: hello", BOT), room=GROUP)
    prepare(server, said)
    channel = Matrix(server.url, BOT, TOKEN, now=lambda: NOW)
    body = json.dumps({"events": [said]}).encode()
    [event] = channel.read_update(body).events
    accepted = channel.accept(event)
    assert accepted
    channel.show_waiting(accepted)
    notes = AttachedFile("notes.md", "text/markdown", lambda: b"# Notes")
    reply = Reply(event.session, "Hello **Ada**", event.reply_to, files=(notes,), key="k1")
    channel.send(reply, lambda _: None)
    assert channel.fetch({"file_id": "mxc://example.org/Ada1"}, 100) == b"pixels"
    channel.close()
    return said


def describe(request: Recorded) -> dict[str, Any]:
    """Return what counts of a request; a file by its bytes."""
    parts = urlsplit(request.path)
    is_json = request.headers.get("content-type", "").startswith("application/json")
    return {
        "method": request.method,
        "path": unquote(parts.path),
        # what holds anyway may be said
        "query": dict(set(parse_qsl(parts.query)) - {("allow_remote", "true")}),
        "authorization": request.headers.get("authorization"),
        "body": json.loads(request.body) if is_json and request.body else request.body,
    }
