"""A fake Bot API and a bot that talks to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.channels.telegram import Telegram
from tests.fakes.bot_api import BotApi


@pytest.fixture
def bot_api() -> Iterator[BotApi]:
    with BotApi() as api:
        yield api


@pytest.fixture
def telegram(bot_api: BotApi) -> Iterator[Telegram]:
    channel = Telegram(bot_api.token, "hush-hush", api=bot_api.url)
    yield channel
    channel.close()
