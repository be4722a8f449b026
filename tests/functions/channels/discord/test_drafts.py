"""The answer to a command of Discord is shown in the place of "thinking…" while it is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions import worker
from functions.channels.base import AttachedFile, Busy, Draft, Reply
from functions.channels.discord.channel import Discord
from functions.channels.discord.reply_address import InteractionAddress
from functions.events import Event, Sender
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, Refused, SigilError
from tests.fakes.discord import DiscordServer, Interaction, open_discord
from tests.fakes.server import Answer
from tests.fakes.speaking_model import SpeakingModel, Speech, Word, speak
from tests.fakes.virtual_time import VirtualTime
from tests.tables import each_row

LONG = " ".join(f"word{number:03d}" for number in range(230))
KEY = "0123456789abcdef0123456789abcdef"


def ask(server: DiscordServer, **fields: Any) -> tuple[Event, Interaction]:
    """A command, to which the answer is "thinking…"."""
    sent = server.command("ask", "hi", **fields)
    server.take_answer(sent, 200, b'{"type":5}')
    address = InteractionAddress.read(sent)
    assert address
    event = Event("e", "message", "main", "discord:5", Sender("discord:42"), "hi", 0.0, "0")
    return replace(event, reply_to=address.write()), server.find(sent)


def open_draft(channel: Discord, event: Event) -> Draft:
    draft = channel.open_draft(event)
    assert draft
    return draft


def send(channel: Discord, event: Event, text: str, **fields: Any) -> None:
    reply = Reply("discord:5", text, event.reply_to, key=KEY, **fields)
    channel.send(reply, lambda _: None)


def list_texts(server: DiscordServer, asked: Interaction) -> list[str]:
    original = [asked.original["content"]] if asked.original else []
    messages = [*asked.followups, *server.posted]
    return original + [each["content"] for each in messages]


def test_the_answer_takes_the_place_of_its_draft(
    discord: Discord, discord_server: DiscordServer
) -> None:
    event, asked = ask(discord_server)
    draft = open_draft(discord, event)
    draft.show("It is a **long** story, @everyone")
    draft.show("It is a **long** story, @everyone, and a sad one")
    assert asked.original
    assert asked.original["content"] == "It is a **long** story, @everyone, and a sad one"
    assert asked.original["components"]
    send(discord, event, "It is short.")
    assert list_texts(discord_server, asked) == ["It is short."]
    assert asked.original["components"] == []


def test_another_process_knows_a_draft_from_an_answer(
    discord: Discord, discord_server: DiscordServer
) -> None:
    event, asked = ask(discord_server)
    open_draft(discord, event).show("It is a long story")
    other = open_discord(discord_server)
    for _ in range(2):  # as after a crash between sending and marking
        send(other, event, "It is short.")
    other.end_waiting(event)
    other.close()
    assert list_texts(discord_server, asked) == ["It is short."]


def test_a_draft_goes_where_no_answer_comes(
    discord: Discord, discord_server: DiscordServer
) -> None:
    event, asked = ask(discord_server)
    open_draft(discord, event).show("It is a long story")
    discord.end_waiting(event)
    assert asked.original is None
    event, asked = ask(discord_server)
    draft = open_draft(discord, event)
    draft.show("It is a long story")
    draft.take_away()
    assert asked.original is None
    send(discord, event, "It is short.")
    assert [each["content"] for each in discord_server.posted] == ["It is short."]


def test_a_draft_that_may_still_be_on_its_way_never_takes_the_place_of_the_answer(
    discord: Discord, discord_server: DiscordServer
) -> None:
    event, asked = ask(discord_server)
    draft = open_draft(discord, event)
    discord_server.reply(Answer(cut=True), method="PATCH")
    with pytest.raises(BackendError):
        draft.show("It is a long story")
    late = discord_server.requests[-1]
    for _ in range(2):  # as after a crash between sending and marking
        send(discord, event, "It is short.")
    assert discord_server.answer(late).status == 404
    assert list_texts(discord_server, asked) == ["It is short."]
    with pytest.raises(Refused):
        draft.show("It is a long story")


def test_a_draft_that_comes_behind_its_answer_is_not_sent(
    discord: Discord, discord_server: DiscordServer
) -> None:
    event, asked = ask(discord_server)
    draft = open_draft(discord, event)
    draft.show("It is a long story")
    send(discord, event, "It is short.")
    before = len(discord_server.requests)
    with pytest.raises(Refused):
        draft.show("It is a long story, and a sad one")
    assert len(discord_server.requests) == before
    assert list_texts(discord_server, asked) == ["It is short."]


NO_DRAFTS = ["", "12345", "9|nothing"]


@each_row("reply_to", NO_DRAFTS)
def test_what_is_no_command_has_no_draft(discord: Discord, reply_to: str) -> None:
    event = Event("e", "message", "main", "discord:5", Sender("discord:42"), "hi", 0.0, "0")
    assert discord.open_draft(replace(event, reply_to=reply_to)) is None


def test_a_draft_ends_before_discord_takes_no_answer_any_more(
    discord: Discord, discord_server: DiscordServer
) -> None:
    old, _ = ask(discord_server, at=time.time() - 850)
    assert discord.open_draft(old) is None


@each_row("text", ["`*_~|<[" * 300, "😀" * 1_500, "> a\n" * 900, "# a\n" * 700])
def test_a_draft_is_no_longer_than_a_message(
    discord: Discord, discord_server: DiscordServer, text: str
) -> None:
    event, asked = ask(discord_server)
    open_draft(discord, event).show(text[:1_900])
    assert asked.original
    assert 0 < len(asked.original["content"].encode("utf-16-le")) // 2 <= 1_900


FAILURES: list[tuple[Callable[[DiscordServer], None], type[SigilError]]] = [
    (lambda server: server.fail(429, retry_after=3.5), Busy),
    (lambda server: server.fail(404, 10015), Refused),
    (lambda server: server.fail(401, 50027), Refused),
    (lambda server: server.fail(403, 50013), Refused),
    (lambda server: server.fail(500), BackendError),
]


@each_row("fail, error", FAILURES)
def test_a_failure_is_followed_by_no_other_call(
    discord: Discord,
    discord_server: DiscordServer,
    fail: Callable[[DiscordServer], None],
    error: type[SigilError],
) -> None:
    event, _ = ask(discord_server)
    before = len(discord_server.requests)
    fail(discord_server)
    with pytest.raises(error):
        open_draft(discord, event).show("It is a long story")
    assert len(discord_server.requests) == before + 1


def test_files_and_parts_follow_an_answer_in_the_place_of_a_draft(
    discord: Discord, discord_server: DiscordServer
) -> None:
    event, asked = ask(discord_server)
    open_draft(discord, event).show("It is a long story")
    file = AttachedFile("a.txt", "text/plain", lambda: b"all of it")
    text = "\n\n".join(f"{number} " + "leaf " * 300 for number in range(2))
    send(discord, event, text, files=(file,))
    first, second, third = list_texts(discord_server, asked)
    assert (first[:4], second[:4], third) == ("0 le", "1 le", "")


def test_a_command_is_answered_while_its_draft_grows(
    runtime: Callable[..., AgentRuntime], discord: Discord, discord_server: DiscordServer
) -> None:
    clock = VirtualTime({"draft"}).clock
    event, asked = ask(discord_server)
    seen: list[str] = []

    def speaking() -> Iterator[Word]:
        for each in speak(LONG, 20.0).words:
            yield each
            if asked.original and asked.original["content"]:
                seen.append(asked.original["content"])

    model = SpeakingModel(clock, [Speech(speaking())])
    opened = runtime(owners=("discord:42",), llm_url="http://127.0.0.1:9")
    app = replace(opened.app, clock=clock, model=model)
    home = replace(opened, channels={"discord": discord}, app=app)
    worker.handle_event(event, home)
    drafts = [
        each
        for each in discord_server.requests
        if each.method == "PATCH" and each.json()["components"]
    ]
    assert 10 <= len(drafts) <= 13
    assert all(LONG.startswith(text) for text in seen)
    assert list_texts(discord_server, asked) == [LONG]
