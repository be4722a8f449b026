"""A live registry on which the examples have been played, for the tests of the description."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sigil.http import app
from sigil.http.openapi import describe_routes
from tests.project.tree import ROOT
from tests.sigil.http.openapi import story


@dataclass(frozen=True, slots=True)
class Stage:
    """Where it listens, its tokens by their kind, and what every example was answered."""

    url: str
    tokens: dict[str, str]
    played: tuple[story.Played, ...]


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """The description."""
    return describe_routes(app.ROUTES, "0")


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of schemathesis and of the validator, which live in an environment of their
    own.
    """
    done = subprocess.run(
        ["scripts/tool", "schemathesis"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return Path(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def stage(compiled: Path) -> Iterator[Stage]:
    with _played(compiled) as played:
        yield played


@pytest.fixture
def fresh_stage(compiled: Path) -> Iterator[Stage]:
    """One of a test's own: wrong tokens are counted a minute for each address, and all tests have
    the same.
    """
    with _played(compiled) as played:
        yield played


@contextmanager
def _played(compiled: Path) -> Iterator[Stage]:
    with story.stage(compiled, rate=1e6) as (url, tokens, _):
        yield Stage(url, tokens, tuple(story.play(url, tokens)))
