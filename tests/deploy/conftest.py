"""Deployed functions as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.deploy.runtime import Deployment, Packages, cloud
from tests.servers.ministack import Ministack, pointed_at


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Packages:
    """The packages of all functions, each made at its first use."""
    return Packages(tmp_path_factory.mktemp("packages"), compiled)


@pytest.fixture
def deployed(tmp_path: Path, packages: Packages, aws_here: Ministack) -> Iterator[Deployment]:
    """Functions over a table, a queue and a bucket of their own, with nothing in their folder."""
    with _deployment(tmp_path, packages, aws_here) as made:
        yield made


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, packages: Packages, ministack: Ministack
) -> Iterator[Deployment]:
    """Functions that the tests of a file share, each started once, as they work on: a test has chats
    and numbers of updates of its own.
    """
    with (
        pointed_at(ministack),
        _deployment(tmp_path_factory.mktemp("running"), packages, ministack) as made,
    ):
        yield made


@contextmanager
def _deployment(folder: Path, packages: Packages, server: Ministack) -> Iterator[Deployment]:
    with ExitStack() as stack:
        made = Deployment(folder, cloud(server), packages, stack)
        stack.enter_context(made.platform)
        stack.enter_context(made.model)
        yield made
