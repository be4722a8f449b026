"""Programs of this machine that setup runs: a service manager, a container engine."""

from __future__ import annotations

import subprocess
from typing import Final

COMMAND_SECONDS: Final = 90.0
"""A server that ends may finish its turns first."""


def run_program(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of these words to its end, without input; one that cannot be run, or takes too
    long, has failed.
    """
    try:
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return subprocess.CompletedProcess(words, 1, "", type(problem).__name__)
