"""What the commands of `uncaged` are run with in this process."""

from __future__ import annotations

import pytest

from tests.functions.cli.channel_command import run_channel

__all__ = ["run_channel"]


@pytest.fixture(autouse=True)
def without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command deploy the standard library, which takes a second: a test that needs it has
    it in its folder before.
    """
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
