"""A fake homeserver and an account of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.channels.matrix.channel import Matrix
from tests.fakes.matrix import BOT, NOW, SECRET, TOKEN, Homeserver


@pytest.fixture
def server() -> Iterator[Homeserver]:
    with Homeserver() as fake:
        yield fake


@pytest.fixture
def matrix(server: Homeserver) -> Iterator[Matrix]:
    channel = Matrix(server.url, BOT, TOKEN, SECRET, now=lambda: NOW)
    yield channel
    channel.close()
