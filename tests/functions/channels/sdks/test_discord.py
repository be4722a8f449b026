"""Discord's verifier and discord.py beside our channel: all read the same, and send the same."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from functions.channels.base import AttachedFile, Reply
from functions.channels.discord.interactions import read_interaction
from functions.channels.discord.messages import Reader, read_message
from functions.channels.discord.reply_address import InteractionAddress
from functions.events import Button, Event
from tests.fakes.discord import (
    APPLICATION,
    TOKEN,
    DiscordServer,
    make_public_key,
    open_discord,
    read_fields,
)
from tests.fakes.discord_gateway import BOT, DiscordGateway
from tests.fakes.server import Recorded
from tests.functions.channels.discord import test_interactions as test_discord_interactions
from tests.functions.channels.sdks.sdk import RESTS_ON, ask, collect_requests, describe_requests
from tests.machine import until

pytestmark = [pytest.mark.thorough, pytest.mark.rests_on(*RESTS_ON)]
TEXT = "Hello **you**"
KEY = "0123456789abcdef0123456789abcdef"


def test_the_verifier_takes_the_same_requests() -> None:
    contract = test_discord_interactions.TestDiscord()
    requests, taken = collect_requests(contract)
    # it does not look at the time, as ours does
    taken[-2:] = [True, True]
    given = describe_requests(requests)
    assert ask("discord", "verify", requests=given, key=make_public_key()) == taken


def test_the_client_reads_and_sends_what_our_channel_does() -> None:
    with (
        DiscordServer() as server,
        DiscordServer() as second,
        DiscordGateway(second) as gateway,
        ThreadPoolExecutor(1) as pool,
    ):
        place = {"base": second.url, "token": TOKEN}
        conversation = pool.submit(ask, "discord", "converse", count=3, text=TEXT, **place)
        until(lambda: gateway.sessions or conversation.done(), "a session or a failure")
        private = gateway.say("hello", channel=5)
        public = gateway.say(f"<@{BOT}> hello", channel=6, guild=900, mentions=(BOT,))
        command = second.command("ask", "what is new?", channel=7, member=False)
        gateway.emit("INTERACTION_CREATE", command)
        theirs = {read["id"]: read for read in conversation.result()}
        reader = Reader("discord", "main", APPLICATION, BOT)
        events = [
            *read_message(private, reader).events,
            *read_message(public, reader).events,
            *read_interaction(json.dumps(command).encode(), "discord", "main").events,
        ]
        assert len(events) == len(theirs) == 3
        for event in events:
            compare_event(event, theirs[int(event.id.rpartition(":")[2])])
        speak(server, events)
        sent = {describe_place(request): read_fields(request) for request in second.requests}
        ours = [request for request in server.requests if request.method != "GET"]
        assert len(ours) == 5
        for request in ours:
            fields = read_fields(request)
            if request.method == "PATCH":
                # the library cannot say this of a message that takes the place of another
                assert fields.pop("flags") == 4
            if fields.get("content") == "":
                del fields["content"]
            assert_holds(sent[describe_place(request)], fields)


def compare_event(event: Event, read: dict[str, Any]) -> None:
    """Assert that an event says what the library has read."""
    assert event.session == f"discord:{read['chat']}"
    assert event.sender.id == f"discord:{read['sender']}"
    assert event.sender.name == read["name"]
    assert event.text == read["text"].removeprefix(f"<@{BOT}> ")
    assert event.private == read["private"]
    assert event.private or read["named"] == [BOT]
    assert event.at == pytest.approx(read["at"], abs=0.001)


def speak(server: DiscordServer, events: list[Event]) -> None:
    """Let our channel answer two messages with buttons, and an interaction with a text and a
    file.
    """
    channel = open_discord(server)
    buttons = (Button("Yes", "/approve 0123abcd"), Button("No", "/deny 0123abcd"))
    for event in events[:2]:
        reply = Reply(event.session, TEXT, event.reply_to, buttons=buttons, key=KEY)
        channel.send(reply, lambda _: None)
    asked = server.command("ask", "what is new?", channel=7, member=False)
    address = InteractionAddress.read(asked)
    assert address
    channel.api.answer_first(address, {"type": 5})
    notes = AttachedFile("notes.md", "text/markdown", lambda: b"# Notes")
    channel.send(Reply("discord:7", TEXT, address.write(), files=(notes,), key=KEY), lambda _: None)
    channel.close()


def describe_place(request: Recorded) -> str:
    """Return the method and the path of a request, without what is an interaction's own."""
    path = urlsplit(request.path).path
    return f"{request.method} {re.sub('[0-9]{15,}|aW50ZXJhY3Rpb24-[0-9]+', '…', path)}"


def assert_holds(whole: Any, part: Any) -> None:
    """Assert that everything which one JSON value says is said by another."""
    if isinstance(part, dict):
        assert part.keys() <= whole.keys()
        for name, value in part.items():
            assert_holds(whole[name], value)
    elif isinstance(part, list) and part:
        assert len(part) == len(whole)
        for one, other in zip(whole, part, strict=True):
            assert_holds(one, other)
    elif isinstance(part, tuple):
        assert_holds(list(whole), list(part))
    elif not (isinstance(part, str) and part.isdigit()):  # an id
        assert whole == part
