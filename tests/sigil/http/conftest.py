"""A server with one capability, `give`, which returns its input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sigil.web import Web, web


@pytest.fixture(scope="module")
def place(compiled: Path) -> Iterator[Web]:
    with web(compiled) as made:
        made.deploy("give", "return input;")
        yield made
