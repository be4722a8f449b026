"""Whoever follows a page sees what it shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.machine import within
from tests.project.transcripts import File, Step, steps
from tests.project.tree import ROOT
from tests.servers.process import Process, free_port
from tests.servers.programs import ProgramForker

SECONDS = within(60)


def surroundings(
    folder: Path, forked: ProgramForker, compiled: Path, stocked: Path | None = None
) -> dict[str, str]:
    """The environment of a page's commands: `uncaged` and `sigil` are forked. The engine has been
    compiled; the library is there where `stocked` gives it, else the first command deploys it.
    """
    data = folder / "data"
    if stocked is None:
        data.mkdir()
    else:
        shutil.copytree(stocked, data)
    compiled.mkdir(exist_ok=True)
    (data / "compiled").symlink_to(compiled, target_is_directory=True)
    return {
        **forked.environment,
        "PATH": f"{forked.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "UNCAGED_DATA": str(folder / "data"),
        "LANG": "C.UTF-8",
    }


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """What both streams of a shell's command say: first the data, then the rest."""
    shell = ["bash", "-c", command]
    done = subprocess.run(
        shell,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return (done.stdout + done.stderr).decode()


def follow(page: str, folder: Path, environment: Mapping[str, str]) -> None:
    """Write the files of a page and run its commands."""
    found = list(steps(page))
    for step in found:
        if isinstance(step, File):
            (folder / step.path).parent.mkdir(exist_ok=True)
            (folder / step.path).write_text(step.text, encoding="utf-8")
            continue
        output = run(step.command, folder, environment)
        assert step.is_said_by(output), f"$ {step.command}\n{output}\nthe page has:\n{step.said}"

    assert sum(isinstance(step, Step) for step in found) > 5


PAGES = (
    "files.md",
    "knowledge.md",
    "moving.md",
    "permissions.md",
    "policy.md",
    "skills.md",
    "versions.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_what_happens(
    page: str, tmp_path: Path, forked: ProgramForker, compiled: Path, stocked: Path
) -> None:
    environment = surroundings(tmp_path, forked, compiled, stocked)

    follow((ROOT / "docs" / page).read_text(encoding="utf-8"), tmp_path, environment)


@pytest.mark.thorough  # it shows what the pages above show, once more
def test_the_chinese_quickstart_says_what_happens(
    tmp_path: Path, forked: ProgramForker, compiled: Path
) -> None:
    page = (ROOT / "docs" / "quickstart.zh-CN.md").read_text(encoding="utf-8")

    follow(page, tmp_path, surroundings(tmp_path, forked, compiled))


def test_a_registry_of_ones_own_is_set_up_as_its_page_says(
    tmp_path: Path, forked: ProgramForker, compiled: Path
) -> None:
    environment = surroundings(tmp_path, forked, compiled)
    page, port = (ROOT / "docs" / "self-hosting.md").read_text(encoding="utf-8"), free_port()
    server = Process(
        [str(Path(sys.executable).with_name("sigil")), "serve", "--port", str(port)],
        environment,
    )
    try:
        server.wait_until(lambda: f"http://127.0.0.1:{port}" in server.output)
        follow(page.replace("127.0.0.1:8000", f"127.0.0.1:{port}"), tmp_path, environment)
        assert "token: in " in server.output
        assert "from another machine: sigil login --url " in server.output
    finally:
        server.stop()
