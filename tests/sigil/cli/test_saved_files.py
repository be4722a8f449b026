"""Files that a run returned, saved where a person finds them."""

from __future__ import annotations

from pathlib import Path

from sigil.cli.saved_files import save_files
from sigil.protocol import KeptFile


def test_a_file_that_some_program_would_obey_gets_another_name(tmp_path: Path) -> None:
    names = ("conftest.py", "chart.svg", "Open.code-workspace")
    files = [KeptFile("0" * 32, name, "text/plain", 1, 0.0) for name in names]
    saved = save_files(files, [b"x"] * 3, tmp_path)
    expected = ["conftest.py.disabled", "chart.svg", "Open.code-workspace.disabled"]
    assert [path.name for path in saved] == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(expected)
