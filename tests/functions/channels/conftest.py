"""A fake Bot API and a bot that talks to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.channels.discord.channel import Discord
from functions.channels.telegram.channel import Telegram
from tests.fakes.bot_api import BotApi
from tests.fakes.discord import DiscordServer, open_discord


@pytest.fixture
def bot_api() -> Iterator[BotApi]:
    with BotApi() as api:
        yield api


@pytest.fixture
def telegram(bot_api: BotApi) -> Iterator[Telegram]:
    channel = Telegram(bot_api.token, "hush-hush", api=bot_api.url)
    yield channel
    channel.close()


@pytest.fixture
def discord_server() -> Iterator[DiscordServer]:
    with DiscordServer() as server:
        yield server


@pytest.fixture
def discord(discord_server: DiscordServer) -> Iterator[Discord]:
    channel = open_discord(discord_server)
    yield channel
    channel.close()
