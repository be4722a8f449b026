"""Fixtures for the stories of whole servers: a program that starts servers, and one backend for each
kind of store; and `uncaged channel`.
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
from tests.functions.cli.channel_command import run_channel
from tests.functions.queues.invoked import make_queue
from tests.servers.ministack import Ministack
from tests.servers.programs import ProgramForker
from tests.servers.valkey import Valkey
from tests.stories.backends import (
    DATABASES,
    Backend,
    DeployedCapabilities,
    deploy_capabilities,
    on_dynamodb,
    on_redis,
    on_sqlite,
)
from tests.stories.servers import AWS, ServerForker
from tests.stories.system import System, start_system

__all__ = ["run_channel"]


@pytest.fixture(scope="session")
def forker(forked: ProgramForker) -> Iterator[ServerForker]:
    """The program that starts servers, one for all tests of this process."""
    with ServerForker(forked) as opened:
        yield opened


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> DeployedCapabilities:
    """The capabilities of every story, deployed once."""
    compiled.mkdir(exist_ok=True)
    folder = tmp_path_factory.mktemp("deployed")
    (folder / "compiled").symlink_to(compiled, target_is_directory=True)
    return deploy_capabilities(folder)


@pytest.fixture(scope="session")
def backends(
    deployed: DeployedCapabilities, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], Backend]]:
    """The backend of a kind of store; its server is started by the first who asks."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        for name, value in AWS.items():
            patch.setenv(name, value)

        def open_dynamodb(queue: Callable[[], str] | None = None) -> Backend:
            server: Ministack = request.getfixturevalue("ministack")
            return on_dynamodb(deployed, server.url, server.pid, create_table, queue=queue)

        @cache
        def open_backend(kind: str) -> Backend:
            match kind:
                case "sqlite":
                    return on_sqlite(deployed)
                case "redis":
                    server = stack.enter_context(Valkey(databases=str(DATABASES)))
                    return on_redis(deployed, server.address, server.pid)
                case "dynamodb":
                    return open_dynamodb()
                case "sqs":
                    ministack: Ministack = request.getfixturevalue("ministack")
                    return open_dynamodb(queue=lambda: make_queue(ministack, visibility=2))
            raise ValueError(kind)

        yield open_backend


@pytest.fixture
def open_system_on(
    forker: ServerForker, compiled: Path, tmp_path: Path
) -> Callable[..., AbstractContextManager[System]]:
    """Opens systems on a backend: `with open_system_on(backend, lease=1.0) as system: …`; the
    settings are those of every server.
    """
    numbers = itertools.count()

    def opened(backend: Backend, **settings: Any) -> AbstractContextManager[System]:
        return start_system(
            forker, backend, compiled, tmp_path / f"system-{next(numbers)}", **settings
        )

    return opened


@pytest.fixture
def open_system(
    open_system_on: Callable[..., AbstractContextManager[System]],
    backends: Callable[[str], Backend],
    request: pytest.FixtureRequest,
) -> Callable[..., AbstractContextManager[System]]:
    """Opens systems on SQLite, or on the store that the test's parameter names: `with
    open_system(lease=1.0) as system: …`.
    """
    return partial(open_system_on, backends(getattr(request, "param", "sqlite")))
