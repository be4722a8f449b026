"""The real command as a process of its own, in a pipe or on a terminal; with the fixture
`fork_commands` it is forked.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from tests.machine import within
from tests.servers.programs import command_of
from tests.terminal import Terminal

ROOT = Path(__file__).parents[3]
PATIENCE = within(30.0)


def start_sigil(*words: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start `sigil` with these words; `environment` is added to this process's own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("environment", {})}
    return subprocess.Popen(
        [*command_of("sigil.cli"), *words],
        **{"env": environment, "stdout": -1, "stderr": -1, **options},
    )


def open_terminal(
    *words: str, columns: int = 80, environment: dict[str, str] | None = None
) -> Terminal:
    """Start `sigil` with these words on a terminal of its own."""
    own = {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": f"{columns}"}
    command = [*command_of("sigil.cli"), *words]
    return Terminal(command, {**os.environ, **own, **(environment or {})})
