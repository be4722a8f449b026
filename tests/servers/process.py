"""A server in a process of its own, with everything that it starts: on a free port, gone when the
tests are.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.machine import within

WARDEN = Path(__file__).with_name("warden.py")
START_SECONDS = within(60.0)


class Process:
    """`command` under the warden, with `environment` and nothing else of ours."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WARDEN), *command],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    @property
    def output(self) -> str:
        """What it has written."""
        return os.pread(self._log.fileno(), 1 << 24, 0).decode(errors="replace")

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Return when it is `ready`; an assertion when it ended before, or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                output = self.output
                self.stop()
                raise AssertionError(f"the server did not start: {output}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End it and all that it started; again does nothing."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._log.close()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
