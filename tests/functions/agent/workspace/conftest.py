"""A workspace on each kind of store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from functions.agent.workspace.files import Workspace
from functions.settings import Settings
from sigil.wiring import Stores, open_stores
from tests.fakes.clock import Clock
from tests.selection import thorough
from tests.servers.stores import empty_store

KINDS = ("memory", "sqlite", *thorough("redis", "dynamodb"))


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """An empty store of each kind, with its artifacts."""
    with empty_store(request.param, request, tmp_path) as store:
        yield open_stores(Settings(store=store, data=str(tmp_path)))


@pytest.fixture
def open_files(stores: Stores, clock: Clock) -> Callable[..., Workspace]:
    """Opens the workspace of a scope, anew each time."""

    def opened(scope: str = "main", kv: object = None) -> Workspace:
        return Workspace(kv or stores.kv, stores.artifacts, scope, clock)  # type: ignore[arg-type]

    return opened


@pytest.fixture
def files(open_files: Callable[..., Workspace]) -> Workspace:
    return open_files()
