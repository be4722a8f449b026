"""The stores that Sigil's records live in, each as every process has it that opens it for
itself.

What one store does, all do: `tests/sigil/storage/kv/contract.py` proves it. So a test of records
runs on SQLite; one that takes the store itself, or opens registries as several processes do, runs
in memory and on SQLite, and in scripts/check-all on Redis and DynamoDB too.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sigil.storage.kv import KV
from sigil.storage.kv.dynamodb import DynamoKV
from sigil.storage.kv.dynamodb_table import create_table
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.redis import RedisKV
from sigil.storage.kv.sqlite import SqliteKV
from tests.selection import thorough
from tests.servers.ministack import unique
from tests.servers.valkey import shared

Clock = Callable[[], float]
EMULATED = ("redis", "dynamodb")
"""What costs many times as much as SQLite, and does the same."""
SHARED = ("sqlite", *thorough(*EMULATED))
"""What several processes can share."""
EVERYWHERE = ("memory", *SHARED)


class Place:
    """A fresh store. `url`: how settings name it, empty for one that this process alone has."""

    def __init__(self, url: str, opened: Callable[[Clock], KV], stack: ExitStack) -> None:
        self.url = url
        self._opened = opened
        self._stack = stack

    def open(self, clock: Clock = time.time) -> KV:
        """The store as one more process has it, closed after the test. The one in memory is the
        first one again.
        """
        kv = self._opened(clock)
        if isinstance(kv, SqliteKV | RedisKV):
            self._stack.callback(kv.close)
        return kv


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marks = metafunc.definition.iter_markers("parametrize")
    if "place" not in metafunc.fixturenames or any(mark.args[0] == "place" for mark in marks):
        return
    own = inspect.signature(metafunc.function).parameters
    stores = EVERYWHERE if {"place", "opened"} & own.keys() else ("sqlite",)
    metafunc.parametrize("place", stores, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A fresh store of the kind that the test is run with."""
    with ExitStack() as stack:
        yield Place(*_store(request, tmp_path), stack)


def _store(request: pytest.FixtureRequest, folder: Path) -> tuple[str, Callable[[Clock], KV]]:
    match request.param:
        case "sqlite":
            path = folder / "store.db"
            return f"sqlite:///{path}", lambda clock: SqliteKV(path, clock)
        case "redis":
            shared().do("FLUSHALL")
            return shared().url, lambda clock: RedisKV(shared().url, clock)
        case "dynamodb":
            endpoint = _aws(request)
            create_table(name := unique("store"), endpoint)
            return f"dynamodb://{name}?endpoint={endpoint}", lambda clock: DynamoKV(
                name, endpoint=endpoint, clock=clock
            )
    memory: list[MemoryKV] = []
    return "", lambda clock: (memory or memory.append(MemoryKV(clock)) or memory)[0]


def _aws(request: pytest.FixtureRequest) -> str:
    """Where AWS is for this test. Its clients are kept for the next one, since making one takes as
    long as a test.
    """
    server, patch = request.getfixturevalue("ministack"), request.getfixturevalue("monkeypatch")
    for name, value in server.environment.items():
        patch.setenv(name, value)
    return str(server.url)
