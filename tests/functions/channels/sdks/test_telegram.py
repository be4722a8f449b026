"""A library for Telegram beside our channel: both read the same updates, and send the same."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from functions.channels.base import AttachedFile, Reply
from functions.channels.telegram.channel import Telegram
from functions.channels.webhooks import WebhookRegistration
from functions.events import PRESS, Button, Event, Sender
from tests.fakes.bot_api import TOKEN, BotApi, read_params
from tests.functions.channels.sdks.sdk import RESTS_ON, ask
from tests.functions.channels.telegram.test_webhook import SAMPLES

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]
GROUP = "telegram:-100200300400"


def test_updates_are_read_alike() -> None:
    channel = Telegram(TOKEN, "hush-hush", username="Sigil_Bot")
    found: list[tuple[dict[str, object], Event]] = []
    for path in sorted(set(SAMPLES.glob("*.json")) - {SAMPLES / "sparse.json"}):
        for event in channel.read_update(path.read_bytes()).events:
            found.append((json.loads(path.read_bytes()), event))
    theirs = ask("telegram", "read", updates=[update for update, _ in found])
    assert len(found) > 10
    for (_, event), read in zip(found, theirs, strict=True):
        # a change is named after its message and the time of it
        assert event.id.partition("~")[0].endswith(f":{read['id']}")
        assert event.sender.id == f"telegram:{read['sender']}"
        thread = "" if read["thread"] is None else f":{read['thread']}"
        assert event.session == f"telegram:{read['chat']}{thread}"
        assert event.private == read["private"]
        assert event.at == read["at"] or read["at"] is None
        # ours shows no hidden letters, and a command without the name of the bot that it is for
        written = re.sub("\u202e|(?<=[a-z])@[A-Za-z_]+", "", read["text"])
        assert event.text.split()[-1:] == written.split()[-1:]


def test_the_library_sends_what_our_channel_sends() -> None:
    with BotApi() as server, BotApi() as second:
        server.sent_files["AgAD"] = second.sent_files["AgAD"] = b"a file"
        speak(server)
        ours = [
            [request.path.rpartition("/")[2], read_params(request)]
            for request in server.requests
            if "/file/" not in request.path
        ]
        ask("telegram", "call", base=second.url, token=TOKEN, calls=ours)
        theirs = [
            [request.path.rpartition("/")[2], read_params(request)]
            for request in second.requests
            if "/file/" not in request.path
        ]
        assert theirs[0][0] == "getMe"  # by which the library begins
        assert theirs[1:] == ours
        assert {method for method, _ in ours} == {
            "answerCallbackQuery",
            "deleteWebhook",
            "getFile",
            "getMe",
            "getWebhookInfo",
            "sendChatAction",
            "sendDocument",
            "sendMessage",
            "setWebhook",
        }


def speak(server: BotApi) -> None:
    """Let our channel use the methods of the Bot API that it knows."""
    channel = Telegram(TOKEN, "hush-hush", api=server.url)
    sender = Sender("telegram:5", "Ada")
    event = Event("telegram:1", "message", "main", f"{GROUP}:31", sender, "hi", 0.0, "0")
    channel.show_waiting(event)
    channel.acknowledge(replace(event, data={PRESS: "4711"}))
    notes = AttachedFile("notes.md", "text/markdown", lambda: b"# Notes")
    buttons = (Button("Yes", "/approve 0123abcd"), Button("No", "/deny 0123abcd"))
    text = "It is **4**, see [this](https://example.com)\n\n```python\n2 + 2\n```"
    channel.send(Reply(f"{GROUP}:31", text, "29", (notes,), buttons), lambda _: None)
    assert channel.fetch({"file_id": "AgAD"}, 100) == b"a file"
    assert channel.fetch_bot_name()
    channel.webhook.register(WebhookRegistration("https://example.com/webhook/telegram"))
    channel.webhook.read_state()
    channel.webhook.remove(drop=True)
    channel.close()
