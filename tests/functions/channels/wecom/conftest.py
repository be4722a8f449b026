"""A fake WeCom and an app that talks to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.channels.wecom.channel import WeCom
from tests.fakes.wecom import WeComServer, open_wecom


@pytest.fixture
def server() -> Iterator[WeComServer]:
    with WeComServer() as fake:
        yield fake


@pytest.fixture
def wecom(server: WeComServer) -> Iterator[WeCom]:
    channel = open_wecom(server)
    yield channel
    channel.close()
