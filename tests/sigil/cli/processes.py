"""The real command as a process of its own, in a pipe or on a terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.machine import within

ROOT = Path(__file__).parents[3]
PATIENCE = within(30.0)


def start_sigil(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start `sigil` with these words; `environment` is added to this process's own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environment", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "sigil.cli", *words],
        **{"env": environment, "stdout": -1, "stderr": -1, **options},
    )


class Terminal:
    """The command with its output and its errors on one terminal."""

    def __init__(
        self, *words: str, columns: int = 80, environment: dict[str, str] | None = None
    ) -> None:
        self._ours, theirs = pty.openpty()
        shape = {"TERM": "xterm", "COLUMNS": f"{columns}", **(environment or {})}
        self.process = start_sigil(
            *words, stdin=theirs, stdout=theirs, stderr=theirs, environment=shape
        )
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text: str) -> str:
        """Return all that was shown, once `text` is among it; an assertion when it does not come."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.shown:
            more = self._read(deadline)
            assert more, f"{text!r} did not come: {self.shown!r}"
        return self.shown

    def wait_for_end(self) -> str:
        """Return all that was shown, once the command has ended."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            pass
        self.process.wait(PATIENCE)
        os.close(self._ours)
        return self.shown

    def _read(self, deadline: float) -> str:
        ready, _, _ = select.select([self._ours], [], [], max(deadline - time.monotonic(), 0.0))
        try:
            more = os.read(self._ours, 65_536).decode(errors="replace") if ready else ""
        except OSError:
            more = ""  # the other side is closed
        self.shown += more
        return more
