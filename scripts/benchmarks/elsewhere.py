"""A server in a process of its own, so that its work is not counted as ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def served(module: str) -> Iterator[str]:
    """The address that `module`, run as a program, prints first; it ends when its input does."""
    with subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()
