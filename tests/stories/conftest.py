"""What the stories of whole servers share: a program that starts servers, and grounds for their
stages, one a kind of store.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from sigil.storage.kv.dynamodb_table import create_table
from tests.functions.queues.invoked import make_queue
from tests.servers.ministack import Ministack
from tests.servers.valkey import Valkey
from tests.stories.ground import (
    DATABASES,
    Furnished,
    Ground,
    furnish,
    on_dynamodb,
    on_redis,
    on_sqlite,
)
from tests.stories.servers import AWS, Nursery
from tests.stories.stage import Stage, staged


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


@pytest.fixture(scope="session")
def grounds(
    tmp_path_factory: pytest.TempPathFactory, compiled: Path
) -> Iterator[Callable[[str], Ground]]:
    """The ground of a kind of store; its server is started by the first who asks."""
    compiled.mkdir(exist_ok=True)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        for name, value in AWS.items():
            patch.setenv(name, value)

        @cache
        def furnished() -> Furnished:
            folder = tmp_path_factory.mktemp("furnished")
            (folder / "compiled").symlink_to(compiled, target_is_directory=True)
            return furnish(folder)

        def sqlite() -> Ground:
            return on_sqlite(furnished())

        def redis() -> Ground:
            server = stack.enter_context(Valkey(databases=str(DATABASES)))
            return on_redis(furnished(), server.address, server.pid)

        @cache
        def emulator() -> Ministack:
            return stack.enter_context(Ministack())

        def dynamodb() -> Ground:
            return on_dynamodb(furnished(), emulator().url, emulator().pid, create_table)

        def sqs() -> Ground:
            return on_dynamodb(
                furnished(),
                emulator().url,
                emulator().pid,
                create_table,
                queue=lambda: make_queue(emulator(), visibility=2),
            )

        yield cache(
            lambda kind: {"sqlite": sqlite, "redis": redis, "dynamodb": dynamodb, "sqs": sqs}[
                kind
            ]()
        )


@pytest.fixture
def staged_on(
    nursery: Nursery, compiled: Path, tmp_path: Path
) -> Callable[..., AbstractContextManager[Stage]]:
    """Opens stages on a ground: `with staged_on(ground, lease=1.0, workers=8) as scene: …`, one
    setting after the other.
    """
    numbers = itertools.count()

    def opened(ground: Ground, **settings: Any) -> AbstractContextManager[Stage]:
        return staged(nursery, ground, compiled, tmp_path / f"stage-{next(numbers)}", **settings)

    return opened


@pytest.fixture
def stage(
    staged_on: Callable[..., AbstractContextManager[Stage]],
    grounds: Callable[[str], Ground],
    request: pytest.FixtureRequest,
) -> Callable[..., AbstractContextManager[Stage]]:
    """Opens stages on SQLite, or on the store that the test's parameter names: `with
    stage(lease=1.0) as scene: …`.
    """
    return partial(staged_on, grounds(getattr(request, "param", "sqlite")))
