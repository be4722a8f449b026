"""Deployed functions as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.deploy.runtime import Deployment, cloud, stages
from tests.servers.ministack import Ministack, pointed_at


@pytest.fixture
def deployed(tmp_path: Path, aws_here: Ministack) -> Iterator[Deployment]:
    """Functions over a table, a queue and a bucket of their own, with nothing in their folder."""
    with _deployment(tmp_path, aws_here) as made:
        yield made


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, ministack: Ministack) -> Iterator[Deployment]:
    """Functions that the tests of a file share, each started once, as they work on: a test has chats
    and numbers of updates of its own.
    """
    with (
        pointed_at(ministack),
        _deployment(tmp_path_factory.mktemp("running"), ministack) as made,
    ):
        yield made


@contextmanager
def _deployment(folder: Path, server: Ministack) -> Iterator[Deployment]:
    with ExitStack() as stack:
        made = Deployment(folder, cloud(server), stages(), stack)
        stack.enter_context(made.platform)
        stack.enter_context(made.model)
        yield made
