"""A server in a process of its own that ends with the test run, however that ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_WATCH = """
exec 3<&0
log=$1 folder=$2
shift 2
"$@" >>"$log" 2>&1 3<&- </dev/null & server=$!
(read -r _ <&3; trap '' TERM; kill -9 $server; rm -rf "$folder") >/dev/null 2>&1 & watcher=$!
exec 3<&-
echo $server
exec >&-
wait $server; status=$?
kill $watcher 2>/dev/null
exit $status
"""
"""The shell holds the reading end of our pipe: once we are gone it reads the end, kills the server
and removes its folder.
"""


class Process:
    """`command` at work in `folder`, which goes when the test run is killed; what it says is
    appended to the file `log`.

    It is not bound to the thread that starts it.
    """

    def __init__(self, command: Sequence[str], log: Path, folder: Path) -> None:
        self.log = log
        self._shell = subprocess.Popen(
            ["sh", "-c", _WATCH, "watch", str(log), str(folder), *command],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # the shell's own word on how the server ended
            start_new_session=True,  # Ctrl-C is for the tests, not for it
        )
        assert self._shell.stdout is not None
        self.pid = int(self._shell.stdout.readline())

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._shell.poll() is None

    @property
    def said(self) -> str:
        """All that it wrote."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def signal(self, number: int) -> None:
        """Send it a signal; one that has ended gets none."""
        if self.running:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def stop(self, timeout: float = 5.0) -> int:
        """SIGTERM, and SIGKILL when that does not help within `timeout` seconds; its exit status
        (128 + the signal that ended it).
        """
        self.signal(signal.SIGTERM)
        try:
            return self._ended(timeout)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """SIGKILL; returns when it is gone."""
        self.signal(signal.SIGKILL)
        return self._ended(5.0)

    def _ended(self, timeout: float) -> int:
        status = self._shell.wait(timeout)
        for pipe in (self._shell.stdin, self._shell.stdout):
            if pipe:
                pipe.close()
        return status


def free_port(most: int = 65535) -> int:
    """A port of 127.0.0.1 that nobody listens on, at most `most`."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port <= most:
            return port
