"""A fake DingTalk and a robot that talks to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.channels.dingtalk.channel import DingTalk
from tests.fakes.dingtalk import DingTalkServer, open_dingtalk


@pytest.fixture
def server() -> Iterator[DingTalkServer]:
    with DingTalkServer() as fake:
        yield fake


@pytest.fixture
def dingtalk(server: DingTalkServer) -> Iterator[DingTalk]:
    channel = open_dingtalk(server)
    yield channel
    channel.close()
