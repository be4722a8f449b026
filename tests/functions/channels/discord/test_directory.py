"""Names that Discord tells only when it is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions.channels.discord.channel import Discord
from functions.channels.discord.directory import (
    ASKED_A_MINUTE,
    ASKED_MOST,
    FRESH_SECONDS,
    Directory,
)
from functions.events import Event, Quote, Sender
from tests.fakes.discord import DiscordServer, make_user, open_discord

GUILD = 900
VIEW = str(1 << 10)


@pytest.fixture
def server() -> Iterator[DiscordServer]:
    with DiscordServer() as fake:
        fake.users[99] = make_user(99, "bob", "Bob")
        fake.roles[GUILD] = [
            {"id": str(GUILD), "name": "@everyone", "permissions": VIEW},
            {"id": "77", "name": "cooks", "permissions": "0"},
        ]
        for id, name in ((55, "general"), (56, "board"), (57, "elsewhere")):
            fake.channels[id] = make_channel(id, name)
        denied = {"id": str(GUILD), "type": 0, "deny": VIEW, "allow": "0"}
        fake.channels[56]["permission_overwrites"] = [denied]
        fake.channels[57]["guild_id"] = "901"
        yield fake


@pytest.fixture
def discord(server: DiscordServer) -> Iterator[Discord]:
    channel = open_discord(server)
    yield channel
    channel.close()


def make_channel(id: int, name: str) -> dict[str, Any]:
    return {
        "id": str(id),
        "type": 0,
        "guild_id": str(GUILD),
        "name": name,
        "permission_overwrites": [],
    }


def make_event(text: str, **fields: Any) -> Event:
    return Event(
        "discord:1:2", "message", "main", "discord:5", Sender("discord:42"), text, 0.0, "", **fields
    )


def read(discord: Discord, text: str, guild: int = GUILD) -> str:
    data = {"guild": str(guild)} if guild else {}
    found = discord.accept(make_event(text, data=data))
    assert found
    return found.text


def count_asked(server: DiscordServer) -> int:
    return len([each for each in server.requests if each.method == "GET"])


def test_names_are_asked_for_once_and_a_quote_has_them_as_well(
    discord: Discord, server: DiscordServer
) -> None:
    text = "<@99> see <#55>, ask <@&77>"
    for _ in range(2):
        assert read(discord, text) == "@Bob see #general, ask @cooks"
    assert count_asked(server) == 3
    event = make_event("well?", quotes=(Quote("reply", text),), data={"guild": str(GUILD)})
    found = discord.accept(event)
    assert found == replace(event, quotes=(Quote("reply", "@Bob see #general, ask @cooks"),))
    assert discord.accept(make_event("no names")) == make_event("no names")
    assert count_asked(server) == 3


def test_a_channel_that_not_everybody_may_see_is_not_named(discord: Discord) -> None:
    # one of the same server, one of another, and one that is not there
    assert read(discord, "<#56> <#57> <#58> <@&78>") == "#channel #channel #channel @role"
    assert read(discord, "<#55> <@&77> <@98>", guild=0) == "#channel @role @98"


def test_a_server_that_hides_its_channels_has_none_named_but_the_open_ones(
    discord: Discord, server: DiscordServer
) -> None:
    server.roles[GUILD][0]["permissions"] = "0"
    allowed = {"id": str(GUILD), "type": 0, "deny": "0", "allow": VIEW}
    server.channels[58] = make_channel(58, "lobby") | {"permission_overwrites": [allowed]}
    assert read(discord, "<#55> <#58>") == "#channel #lobby"


def test_nobody_waits_for_a_name(discord: Discord, server: DiscordServer) -> None:
    server.fail(500, part="/users", times=9)
    assert read(discord, "<@99> <@98> <#55>") == "@99 @98 #channel"
    assert count_asked(server) == 1
    many = " ".join(f"<@{id}>" for id in range(1, 50))
    assert read(discord, many).startswith("@1 @2")
    assert count_asked(server) <= 2 + ASKED_MOST


def test_a_name_is_asked_for_again_after_an_hour(discord: Discord, server: DiscordServer) -> None:
    now = 0.0
    directory = Directory(lambda: now)
    for at in (0.0, FRESH_SECONDS - 1, FRESH_SECONDS + 1):
        now = at
        found = directory.find_names(discord.api, 0, [("person", 99)])
        assert found == {("person", 99): "Bob"}
    assert count_asked(server) == 2


def test_nobody_lets_us_ask_for_any_number_of_names(
    discord: Discord, server: DiscordServer
) -> None:
    now = 0.0
    directory = Directory(lambda: now)
    for id in range(1_000, 1_000 + 2 * ASKED_A_MINUTE):
        directory.find_names(discord.api, 0, [("person", id)])
    assert count_asked(server) == ASKED_A_MINUTE
    now = 60.0
    assert directory.find_names(discord.api, 0, [("person", 99)]) == {("person", 99): "Bob"}
