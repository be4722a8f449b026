"""What the commands of `uncaged` are run with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.servers.programs import ProgramForker


@pytest.fixture
def unforked(tmp_path: Path, compiled: Path) -> dict[str, str]:
    """The environment of a command that Python starts itself, over an empty folder."""
    compiled.mkdir(exist_ok=True)
    if not (tmp_path / "compiled").exists():  # with a runtime over the same folder it is there
        (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    return {
        **kept,
        "UNCAGED_DATA": str(tmp_path),
        "SIGIL_RUNNERS": "1",
        "PYTHONPATH": os.getcwd(),
        "NO_COLOR": "1",
    }


@pytest.fixture
def environment(unforked: dict[str, str], forked: ProgramForker) -> dict[str, str]:
    """As `unforked`, for a command that is forked from one that has imported everything."""
    return {**unforked, **forked.environment}


@pytest.fixture
def stocked_environment(
    environment: dict[str, str], stocked: Path, tmp_path: Path
) -> dict[str, str]:
    """As `environment`, over a folder that has the standard library already."""
    shutil.copytree(stocked, tmp_path, dirs_exist_ok=True)
    return environment
