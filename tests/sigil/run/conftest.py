"""A sandbox that keeps what calls within calls need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sigil.sandbox.engine import ENGINE
from sigil.sandbox.pool import Sandbox


@pytest.fixture(scope="module")
def sandbox(compiled: Path) -> Iterator[Sandbox]:
    """As in all other tests, but as many processes stay as calls are deep: of one, each call within
    a call would start another, and end it.
    """
    opened = Sandbox(engine=ENGINE, cache=compiled, children=8)
    yield opened
    opened.close()
