"""`uncaged channel` in this process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functions.cli import main

RunChannel = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_channel(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunChannel:
    """Runs `uncaged channel …` in this process, and returns its exit code and what it printed."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["uncaged", "channel", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return run
