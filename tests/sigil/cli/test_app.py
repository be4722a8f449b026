"""The command as a whole: its start, and how it reports a mistake of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from sigil.cli import main
from sigil.cli.app import app
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import ROOT


def test_help_imports_nothing_heavy() -> None:
    script = "import sys; from sigil.cli import main; main(['--help']); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {
        "rich",
        "pydantic",
        "fastapi",
        "httpx",
        "wasmtime",
        "sqlite3",
        "jsonschema",
        "orjson",
        "sigil.registry",
    }


def test_a_mistake_of_ours_is_one_line_and_no_traceback(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr("sigil.wiring.open_stores", broken)
    result = run_sigil("list")
    assert result.code == 1
    assert result.err.startswith("error: unexpected RuntimeError at test_app.py:")


def test_main_returns_the_code_and_never_exits_by_itself(place: Path) -> None:
    assert main(["version", "--quiet"]) == 0
    assert isinstance(typer.main.get_command(app), object)


def test_verbose_shows_where_a_mistake_of_ours_is(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("the inside")

    monkeypatch.setattr("sigil.wiring.open_stores", broken)
    assert "Traceback" not in run_sigil("list").err
    assert "RuntimeError: the inside" in run_sigil("list", "-v").err
