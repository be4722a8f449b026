"""Slack's own SDK beside our channel: both take the same requests, and send the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.channels.base import AttachedFile, Reply
from functions.channels.slack.channel import Slack
from functions.channels.slack.reply_address import SlackReplyAddress
from functions.events import Button, Event, Sender
from tests.fakes import slack as fake
from tests.fakes.slack import ADA, CHAT, SECRET, TEAM, TOKEN, SlackWorkspace, read_params
from tests.fakes.slack_socket import APP_TOKEN, SlackSocket
from tests.functions.channels.sdks.sdk import RESTS_ON, ask, collect_requests, describe_requests
from tests.functions.channels.slack import test_receive as test_slack_receive

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]
THREAD = "1779999999.000200"
MARKDOWN = (
    "# Title\n\nSome **text** with ~~strikes~~, `code` and [a link](https://example.com).\n\n"
    "- one\n- two\n\n> quoted\n\n```python\nif a < b:\n    pass\n```\n| a | b |\n|---|---|\n| 1 | 2 |"
)


def test_the_verifier_takes_the_same_requests() -> None:
    requests, taken = collect_requests(test_slack_receive.TestSlack())
    given = describe_requests(requests)
    assert ask("slack", "verify", requests=given, secret=SECRET, now=test_slack_receive.AT) == taken


def test_the_client_sends_what_our_channel_sends() -> None:
    with SlackWorkspace() as workspace:
        speak(workspace)
        ours = list_calls(workspace)
        assert {method for method, _ in ours} >= {
            "assistant.threads.setStatus",
            "chat.postMessage",
            "conversations.open",
            "files.completeUploadExternal",
            "files.getUploadURLExternal",
            "reactions.add",
            "reactions.remove",
            "users.info",
        }
        workspace.requests.clear()
        rows = ask("slack", "call", base=workspace.api, token=TOKEN, calls=ours)
        theirs = list_calls(workspace)
    assert theirs == ours
    for (method, params), row in zip(ours, rows, strict=True):
        assert row == {"unknown": [], "blocks": params.get("blocks", []), "ok": True}, method


def speak(workspace: SlackWorkspace) -> None:
    """Let our channel use each method of the Web API that it knows."""
    channel = Slack(TOKEN, SECRET, workspace.api)
    file = AttachedFile("notes.md", "text/markdown", lambda: b"# Notes")
    event = Event(
        id="slack:1",
        kind="message",
        agent="main",
        session=f"slack:{CHAT}",
        sender=Sender(f"slack:{TEAM}.{ADA}", ADA),
        text="hi",
        at=1.0,
        order="1",
        reply_to=SlackReplyAddress(CHAT, THREAD).encode(),
    )
    accepted = channel.accept(event)
    assert accepted
    assert accepted.sender.name == "Ada"
    channel.show_waiting(event)
    channel.end_waiting(event)
    asked = SlackReplyAddress(CHAT, "1780000000.000300").encode()
    in_thread = replace(event, session=f"slack:{CHAT}:{THREAD}", reply_to=asked)
    channel.show_waiting(in_thread)
    channel.end_waiting(in_thread)
    buttons = (Button("Yes", "/approve 0123abcd"), Button("No", "/deny 0123abcd"))
    for session in (f"slack:{CHAT}:{THREAD}", f"slack:{TEAM}.{ADA}"):
        reply = Reply(session, MARKDOWN, files=(file,), buttons=buttons)
        channel.send(reply, lambda _: None)
    channel.close()


def list_calls(workspace: SlackWorkspace) -> list[list[Any]]:
    """Return the methods that were called, with their parameters."""
    return [
        [request.path.removeprefix("/api/"), read_params(request)]
        for request in workspace.requests
        if request.path.startswith("/api/")
    ]


def test_the_client_uploads_and_listens_as_our_fake_has_it() -> None:
    with SlackWorkspace() as workspace, SlackSocket(workspace) as socket:
        place = {"channel": CHAT, "thread": THREAD}
        assert ask("slack", "upload", base=workspace.api, token=TOKEN, content="text", **place)
        uploaded = {"name": "notes.md", "length": 4, "content": b"text", "comment": "Here"}
        assert workspace.files == [uploaded | place]

        payload = fake.event_payload(fake.message("hi", "1780000000.000100"))
        socket.emit("events_api", payload)
        socket.emit("slash_commands", fake.command("status"))
        heard = ask("slack", "listen", base=workspace.api, app_token=APP_TOKEN, count=2)
        # the client hears each envelope in a thread of its own
        assert dict(heard) == {"events_api": payload, "slash_commands": fake.command("status")}
        socket.wait_for_acknowledgement()
