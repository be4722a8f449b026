"""What the stories of whole servers share: a program that starts servers, and a store that holds two capabilities."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from functions.settings import Settings
from functions.wiring import open_house
from sigil.protocol import Caller
from tests.e2e.servers import Nursery
from tests.e2e.stage import Stage, staged

SCHEMA = {"type": "object", "properties": {"spin": {"type": "integer", "description": "how long to work, in milliseconds or so"}}}
WORK = "let x = 0; for (let i = 0; i < input.spin * 20000; i++) x += i; return 'done'"


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory, compiled: Path) -> Path:
    """A data folder with the capabilities `double`, which is pure, and `note`, which is not: it may write to the log."""
    folder = tmp_path_factory.mktemp("furnished")
    compiled.mkdir(exist_ok=True)
    (folder / "compiled").symlink_to(compiled, target_is_directory=True)
    house = open_house(Settings(data=str(folder), library="none", runners=1))
    for name, permissions in (("double", {}), ("note", {"log": True})):
        spec = {"name": name, "description": f"{name} a number", "schema": SCHEMA, "execute": WORK, "permissions": permissions}
        house.app.registry.deploy(spec, Caller("main"))
    house.close()
    return folder


@pytest.fixture
def stage(nursery: Nursery, furnished: Path, tmp_path: Path) -> Callable[..., AbstractContextManager[Stage]]:
    """Opens stages: `with stage(lease=1.0, workers=8) as scene: …`, one setting after the other."""
    numbers = itertools.count()

    def opened(**settings: Any) -> AbstractContextManager[Stage]:
        return partial(staged, nursery, furnished)(tmp_path / f"stage-{next(numbers)}", **settings)

    return opened
