"""`uncaged setup` in this process, over a folder of its own for the user's settings."""

from __future__ import annotations

import io
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from functions.cli.app import run_words
from sigil.cli.printing import Printer

Run = subprocess.CompletedProcess[str]
Setup = Callable[..., Run]
VARIABLES = ("UNCAGED_DATA", "UNCAGED_STORE", "OPENAI_API_KEY", "DASHSCOPE_API_KEY", "LANG", "TZ")
DOCKER = """#!/bin/sh
cd "{folder}"
for word; do printf '%s\\037' "$word"; done >> calls
echo >> calls
case "$1 $2" in
    run*) echo running > mine ;;
    rm*) : > mine ;;
    container*)
        test -s mine || test -e foreign || exit 1
        case "$(test -s mine && echo "$*")" in
            *Health*) echo running healthy ;;
            ?*) echo running yes ;;
            *) echo running ;;
        esac ;;
    image*|version*) if test -e "$1"; then read -r why < "$1"; echo "$why" >&2; exit 1; fi ;;
esac
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own `uncaged.toml`, which is not there yet; the current folder is empty."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "config" / "uncaged" / "uncaged.toml"


@pytest.fixture
def setup(config: Path) -> Setup:
    """Runs `uncaged setup` with these words."""

    def run(*words: str) -> Run:
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with redirect_stdout(out), redirect_stderr(err):
            code = run_words(["setup", *words], Printer(json="--json" in words))
        written = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
        return Run(words, code, *written)

    return run


@pytest.fixture
def docker(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a `docker`; `calls` has what it was told, `image` and `version` why they fail."""
    folder = tmp_path / "docker"
    folder.mkdir()
    (folder / "docker").write_text(DOCKER.format(folder=folder))
    (folder / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))  # nothing of this machine is asked
    return folder
