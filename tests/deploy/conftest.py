"""Deployed functions as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.deploy.runtime import Deployment, cloud, stages
from tests.servers.ministack import Ministack


@pytest.fixture
def deployed(tmp_path: Path, aws_here: Ministack) -> Iterator[Deployment]:
    """Functions over a table, a queue and a bucket of their own, with nothing in their folder."""
    with ExitStack() as stack:
        made = Deployment(tmp_path, cloud(aws_here), stages(), stack)
        stack.enter_context(made.platform)
        stack.enter_context(made.model)
        yield made
