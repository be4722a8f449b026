"""What the stories of whole servers share: a program that starts servers, and grounds for their stages, one a kind of store."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sigil.kv.dynamodb_table import create_table
from tests.e2e.ground import DATABASES, Lay, furnish, on_dynamodb, on_redis, on_sqlite
from tests.e2e.servers import AWS, Nursery
from tests.e2e.stage import Stage, staged
from tests.servers.ministack import Ministack
from tests.servers.valkey import Valkey


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


@pytest.fixture(scope="session")
def grounds(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Iterator[Callable[[str], Lay]]:
    """The ground of a kind of store; its server is started by the first who asks."""
    compiled.mkdir(exist_ok=True)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        for name, value in AWS.items():
            patch.setenv(name, value)

        def sqlite() -> Lay:
            folder = tmp_path_factory.mktemp("furnished")
            (folder / "compiled").symlink_to(compiled, target_is_directory=True)
            furnish({"data": str(folder), "store": f"sqlite:///{folder / 'uncaged.db'}"})
            return on_sqlite(folder)

        def redis() -> Lay:
            return on_redis(stack.enter_context(Valkey(databases=str(DATABASES))).address)

        def dynamodb() -> Lay:
            return on_dynamodb(stack.enter_context(Ministack()).url, create_table)

        yield cache(lambda kind: {"sqlite": sqlite, "redis": redis, "dynamodb": dynamodb}[kind]())


@pytest.fixture
def stage(
    nursery: Nursery, grounds: Callable[[str], Lay], compiled: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[..., AbstractContextManager[Stage]]:
    """Opens stages: `with stage(lease=1.0, workers=8) as scene: …`, one setting after the other. On SQLite, unless `on` says otherwise."""
    numbers = itertools.count()
    kind = getattr(request, "param", "sqlite")

    def opened(**settings: Any) -> AbstractContextManager[Stage]:
        return staged(nursery, grounds(kind), compiled, tmp_path / f"stage-{next(numbers)}", **settings)

    return opened
