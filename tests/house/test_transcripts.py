"""Whoever follows a page sees what it shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.transcripts import File, Step, steps
from tests.house.tree import ROOT

SECONDS = 60


def run(command: str, folder: Path, data: Path) -> str:
    """What both streams of a shell's command say: first the data, then the rest."""
    surroundings = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "UNCAGED_DATA": str(data),
        "LANG": "C.UTF-8",
    }
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=surroundings, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
    )
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize("page", ["permissions.md", "versions.md"])
def test_a_page_says_what_happens(page: str, tmp_path: Path) -> None:
    run("sigil list", tmp_path, tmp_path / "data")  # the library is there when the first command of the page runs
    found = list(steps((ROOT / "docs" / page).read_text(encoding="utf-8")))

    for step in found:
        if isinstance(step, File):
            (tmp_path / step.path).parent.mkdir(exist_ok=True)
            (tmp_path / step.path).write_text(step.text, encoding="utf-8")
            continue
        output = run(step.command, tmp_path, tmp_path / "data")
        assert step.is_said_by(output), f"$ {step.command}\n{output}\nthe page has:\n{step.said}"

    assert sum(isinstance(step, Step) for step in found) > 5
