"""Printing on a terminal: drawn tables, and no characters that control it."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.servers.programs import command_of
from tests.sigil.cli.conftest import Sigil

pytestmark = pytest.mark.usefixtures("fork_commands")

ROOT = Path(__file__).parents[3]


def show_on_terminal(*words: str, cwd: Path, columns: int = 100) -> str:
    """Return what the real command shows on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": f"{columns}"}
    with subprocess.Popen(
        [*command_of("sigil.cli"), *words],
        env=environment,
        cwd=cwd,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ):
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""  # the other side is closed


def test_a_terminal_gets_a_drawn_table_and_nothing_that_controls_it(
    shout: Sigil, place: Path
) -> None:
    assert "─" in show_on_terminal("list", cwd=place)
    steering = show_on_terminal("run", "shout", '{"text": "a\\u001b[2Jb\\u202e\\n\\tc"}', cwd=place)
    assert steering == "A [2JB\r\n    C\r\n"
    as_json = show_on_terminal("run", "shout", "--json", '{"text": "\\u202e"}', cwd=place)
    assert "\u202e" not in as_json


def test_a_terminal_that_is_too_narrow_cuts_nothing(shout: Sigil, place: Path) -> None:
    detail = shout("inspect", "shout", "--json").document
    for words in (("inspect", "shout"), ("versions", "shout")):
        shown = show_on_terminal(*words, cwd=place, columns=70)
        assert "…" not in shown
        assert detail["digest"].removeprefix("sha256:")[-8:] in "".join(shown.split())
    assert '"default":1}}}' in "".join(
        show_on_terminal("inspect", "shout", cwd=place, columns=70).split()
    )
