"""A workspace on each kind of store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from functions.agent.workspace.files import Workspace
from functions.settings import Settings
from sigil.storage import aws
from sigil.storage.kv.dynamodb_table import create_table
from sigil.wiring import Stores, open_stores
from tests.fakes.clock import Clock
from tests.selection import thorough
from tests.servers.ministack import unique
from tests.servers.valkey import shared

KINDS = ("memory", "sqlite", *thorough("redis", "dynamodb"))


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """An empty store of each kind, with its artifacts."""
    kind = request.param
    settings = {"data": str(tmp_path)}
    if kind == "redis":
        server = shared()
        server.do("FLUSHALL")
        yield open_stores(Settings(store=f"redis://{server.address}", **settings))
    elif kind == "dynamodb":
        request.getfixturevalue("aws_here")
        table = unique("workspace")
        create_table(table)
        yield open_stores(Settings(store=f"dynamodb://{table}", **settings))
        aws.client("dynamodb").delete_table(TableName=table)
    else:
        store = "memory://" if kind == "memory" else f"sqlite:///{tmp_path / 'files.db'}"
        yield open_stores(Settings(store=store, **settings))


@pytest.fixture
def open_files(stores: Stores, clock: Clock) -> Callable[..., Workspace]:
    """Opens the workspace of a scope, anew each time."""

    def opened(scope: str = "main", kv: object = None) -> Workspace:
        return Workspace(kv or stores.kv, stores.artifacts, scope, clock)  # type: ignore[arg-type]

    return opened


@pytest.fixture
def files(open_files: Callable[..., Workspace]) -> Workspace:
    return open_files()
