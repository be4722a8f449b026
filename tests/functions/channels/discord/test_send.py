"""Replies leave for Discord: into the interaction, behind it, or as messages of the bot."""

from __future__ import annotations

import logging
import time
from typing import Any

import httpx
import pytest

from functions.channels.base import AttachedFile, Busy, Reply
from functions.channels.discord.channel import Discord
from functions.channels.discord.reply_address import InteractionAddress
from functions.events import Button, Event, Sender
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import BackendError, Refused, UsageError
from tests.fakes.discord import DiscordServer, Interaction
from tests.fakes.server import Answer
from tests.pictures import make_png

LONG = "\n\n".join(f"{number} " + "leaf " * 300 for number in range(4))
KEY = "0123456789abcdef0123456789abcdef"


def ask(server: DiscordServer, **fields: Any) -> tuple[str, Interaction]:
    """Say something, to which the answer is "thinking…"; return the address of its reply."""
    sent = server.command("ask", "hi", **fields)
    server.take_answer(sent, 200, b'{"type":5}')
    address = InteractionAddress.read(sent)
    assert address
    return address.write(), server.find(sent)


def send(
    channel: Discord,
    text: str,
    to: str = "",
    *,
    start: int = 0,
    key: str = KEY,
    files: tuple[AttachedFile, ...] = (),
    buttons: tuple[Button, ...] = (),
) -> list[int]:
    left: list[int] = []
    reply = Reply("discord:5", text, to, files, buttons, key=key, start=start)
    channel.send(reply, left.append)
    return left


def make_event(reply_to: str) -> Event:
    sender = Sender("discord:42")
    return Event("e", "message", "main", "discord:5", sender, "hi", 0.0, "0", reply_to=reply_to)


def test_the_reply_takes_the_place_of_thinking_and_mentions_nobody(
    discord: Discord, discord_server: DiscordServer
) -> None:
    to, asked = ask(discord_server)
    assert send(discord, "it is **4**, @everyone", to) == []
    assert asked.original
    assert (asked.original["content"], asked.original["flags"]) == ("it is **4**, @everyone", 4)
    assert (asked.followups, discord_server.posted) == ([], [])
    patched = discord_server.requests[-1]
    assert patched.method == "PATCH"
    assert patched.json()["allowed_mentions"] == {"parse": []}
    assert "authorization" not in patched.headers


def test_the_parts_of_a_long_reply_follow_and_a_repeated_one_shows_once(
    discord: Discord, discord_server: DiscordServer
) -> None:
    to, asked = ask(discord_server)
    assert send(discord, LONG, to) == [1, 2, 3]
    whole = [message["content"] for message in discord_server.posted]
    assert len(whole) == 3
    for start in range(4):  # as after a crash between sending and marking
        send(discord, LONG, to, start=start)
    assert [message["content"] for message in discord_server.posted] == whole
    assert asked.original
    assert asked.original["content"].startswith("0 leaf")


def test_a_second_reply_to_one_interaction_does_not_replace_the_first(
    discord: Discord, discord_server: DiscordServer
) -> None:
    to, asked = ask(discord_server)
    send(discord, "first", to)
    send(discord, "second", to, key="f" * 32)
    assert asked.original
    assert asked.original["content"] == "first"
    assert [message["content"] for message in discord_server.posted] == ["second"]


def test_where_the_bot_may_not_write_the_parts_follow_the_interaction(
    discord: Discord, discord_server: DiscordServer
) -> None:
    discord_server.closed.add(5)
    to, asked = ask(discord_server)
    send(discord, LONG, to)
    assert len(asked.followups) == 3
    guest_to, guest = ask(discord_server, member=False)
    before = len(discord_server.requests)
    send(discord, LONG, guest_to)
    assert len(guest.followups) == 3
    assert not any("/channels/" in request.path for request in discord_server.requests[before:])


def test_when_the_interaction_is_over_the_bot_writes_into_the_channel(
    discord: Discord, discord_server: DiscordServer
) -> None:
    late, _ = ask(discord_server, at=time.time() - 901)
    send(discord, "late", late)
    to, asked = ask(discord_server)

    def mark(parts: int) -> None:  # it ends in the middle of an answer
        asked.over = True

    discord.send(Reply("discord:5", LONG, to, key="a" * 32), mark)
    assert [message["content"][:4] for message in discord_server.posted] == [
        "late",
        "1 le",
        "2 le",
        "3 le",
    ]
    discord_server.closed.add(5)
    with pytest.raises(Refused) as refused:
        send(discord, "late", late)
    assert refused.value.code == "EBLOCKED"


def test_an_answer_that_comes_before_discord_knows_the_interaction_is_tried_again(
    discord: Discord, discord_server: DiscordServer
) -> None:
    to, asked = ask(discord_server)
    discord_server.fail(404, 10015, part="/webhooks/", times=2)
    send(discord, "quick", to)
    assert asked.original
    assert asked.original["content"] == "quick"
    discord_server.fail(404, 10015, part="/webhooks/", times=9)
    send(discord, "lost", to, key="b" * 32)
    assert [message["content"] for message in discord_server.posted] == ["lost"]


def test_a_reply_to_no_interaction_is_a_message_of_the_bot(
    discord: Discord, discord_server: DiscordServer
) -> None:
    send(discord, "good morning")
    send(discord, "good morning")
    (message,) = discord_server.posted
    assert (message["content"], message["channel_id"]) == ("good morning", "5")
    with pytest.raises(UsageError, match="not a session of Discord"):
        discord.send(Reply("discord:x", "hi"), lambda _: None)


def test_buttons_stand_below_the_last_message(
    discord: Discord, discord_server: DiscordServer
) -> None:
    to, asked = ask(discord_server)
    buttons = (Button("Approve", "/approve 0123ab"), Button("Deny", "/deny 0123ab"))
    send(discord, LONG, to, buttons=buttons)
    assert asked.original
    assert asked.original["components"] == []
    (row,) = discord_server.posted[-1]["components"]
    assert [(each["label"], each["custom_id"]) for each in row["components"]] == [
        ("Approve", "/approve 0123ab"),
        ("Deny", "/deny 0123ab"),
    ]


def test_files_and_pictures_are_uploaded_and_a_lost_one_is_told(
    discord: Discord, discord_server: DiscordServer
) -> None:
    png = make_png()

    def lose() -> bytes:
        raise UsageError("ENOENT", "gone")

    to, asked = ask(discord_server)
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>'
    files = (
        AttachedFile("a.png", "image/png", lambda: png),
        AttachedFile("Übersicht.csv", "text/csv", lambda: b"a,b"),
        AttachedFile("old.txt", "text/plain", lose),
    )
    send(discord, f"look:\n```svg\n{svg}\n```", to, files=files)
    assert asked.original
    assert asked.original["content"] == "look:"
    sent = discord_server.posted
    assert [[file[0] for file in message["files"]] for message in sent[:3]] == [
        ["picture.svg"],
        ["a.png"],
        ["file.csv"],
    ]
    assert sent[3]["content"] == ENGLISH.file_is_gone.format(name="old.txt")


def test_a_very_long_answer_ends_as_a_file(discord: Discord, discord_server: DiscordServer) -> None:
    to, _ = ask(discord_server)
    text = "\n\n".join("leaf " * 300 for _ in range(12))
    send(discord, text, to)
    *_, last = discord_server.posted
    assert len(discord_server.posted) == 4
    ((name, content),) = last["files"]
    assert (name, content) == ("answer.md", text)


def test_a_file_that_is_too_large_for_discord_becomes_a_sentence(
    discord: Discord, discord_server: DiscordServer
) -> None:
    large = AttachedFile("a.bin", "application/octet-stream", lambda: bytes(10 * 1024 * 1024 + 1))
    send(discord, "", files=(large,))
    assert [message["content"] for message in discord_server.posted] == [ENGLISH.no_picture]


def test_a_text_that_discord_does_not_take_becomes_a_note(
    discord: Discord, discord_server: DiscordServer
) -> None:
    to, asked = ask(discord_server)
    discord_server.fail(400, 200000, method="PATCH")
    send(discord, "a word that a filter blocks", to)
    assert asked.original
    assert asked.original["content"] == ENGLISH.part_not_taken


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (Answer(429, b'{"message":"slow","retry_after":1.25,"global":false}'), 1.25),
        (Answer(429, b"<html>banned</html>", {"retry-after": "300"}), 300.0),
    ],
)
def test_discord_may_ask_to_slow_down(
    discord: Discord, discord_server: DiscordServer, answer: Answer, seconds: float
) -> None:
    discord_server.reply(answer)
    with pytest.raises(Busy) as busy:
        send(discord, "hi")
    assert busy.value.retry_after == seconds


@pytest.mark.parametrize("answer", [Answer(500), Answer(502, b"<html>"), Answer(cut=True)])
def test_trouble_at_discord_is_for_later(
    discord: Discord, discord_server: DiscordServer, answer: Answer
) -> None:
    to, asked = ask(discord_server)
    discord_server.reply(answer)
    with pytest.raises(BackendError) as failed:
        send(discord, "hi", to)
    assert failed.value.code == "EUNAVAILABLE"
    send(discord, "hi", to)
    assert asked.original
    assert asked.original["content"] == "hi"


def test_a_wrong_bot_token_says_where_to_find_it(discord_server: DiscordServer) -> None:
    channel = Discord("x" * 40, discord_server.public_key, discord_server.url)
    with pytest.raises(BackendError) as failed:
        channel.fetch_bot_name()
    assert "DISCORD_TOKEN" in failed.value.suggestion
    channel.close()
    with pytest.raises(UsageError):
        Discord("Bot abc", "")


def test_thinking_ends_where_nothing_was_said_and_a_reply_stays(
    discord: Discord, discord_server: DiscordServer
) -> None:
    to, asked = ask(discord_server)
    assert discord.show_waiting(make_event(to)) == 0.0
    discord.end_waiting(make_event(to))
    assert asked.original is None
    discord.end_waiting(make_event(to))
    to, asked = ask(discord_server)
    send(discord, "said", to)
    discord.end_waiting(make_event(to))
    assert asked.original
    asked.over = True
    before = len(discord_server.requests)
    discord.end_waiting(make_event(""))
    discord.end_waiting(make_event(ask(discord_server, at=time.time() - 901)[0]))
    assert len(discord_server.requests) == before


def test_a_file_is_fetched_up_to_its_limit(discord: Discord, discord_server: DiscordServer) -> None:
    path = "attachments/1/2/list.txt?ex=66&is=7&hm=8"
    discord_server.files[path] = b"milk"
    assert discord.fetch({"file_id": path}, 4) == b"milk"
    with pytest.raises(UsageError) as large:
        discord.fetch({"file_id": path}, 3)
    assert large.value.code == "ETOOBIG"
    with pytest.raises(BackendError):
        discord.fetch({"file_id": "attachments/1/3/gone.txt"}, 4)
    with pytest.raises(UsageError):
        discord.fetch({"file_id": "../users/@me"}, 4)


def test_no_log_has_the_token_of_an_interaction(
    discord: Discord, discord_server: DiscordServer, caplog: pytest.LogCaptureFixture
) -> None:
    to, asked = ask(discord_server)
    with caplog.at_level(logging.DEBUG, logger="httpx"):
        send(discord, "hi", to)
    assert "/messages/@original" in caplog.text
    assert asked.token not in caplog.text
    assert discord_server.token not in caplog.text


def test_a_transport_that_fails_is_no_answer(discord_server: DiscordServer) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route to host")

    channel = Discord(
        discord_server.token, "", discord_server.url, transport=lambda: httpx.MockTransport(refuse)
    )
    with pytest.raises(BackendError, match="ConnectError"):
        send(channel, "hi")
    channel.close()


def test_a_message_is_changed_where_it_stands_and_sent_once(
    discord: Discord, discord_server: DiscordServer
) -> None:
    first, again = (discord.send_editable("discord:5", "at work @everyone", KEY) for _ in range(2))
    assert first == again
    discord.edit("discord:5", first, "at rest @everyone")
    assert discord_server.texts() == ["at rest @everyone"]
    with pytest.raises(Refused):
        discord.edit("discord:5", "99", "gone")
