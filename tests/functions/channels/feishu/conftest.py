"""A fake Feishu and a bot that talks to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.channels.feishu.channel import Feishu
from tests.fakes.feishu import APP, APP_SECRET, NOW, SECRETS, FeishuServer


@pytest.fixture
def server() -> Iterator[FeishuServer]:
    with FeishuServer() as fake:
        yield fake


@pytest.fixture
def feishu(server: FeishuServer) -> Iterator[Feishu]:
    channel = Feishu(APP, APP_SECRET, SECRETS, server.url, now=lambda: NOW + 1.0)
    yield channel
    channel.close()
