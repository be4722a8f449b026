"""A program that runs another and leaves nothing of it behind: when nobody writes to its input any
more, all its descendants are killed.

`python -I -S warden.py COMMAND …`; it ends by itself, in the same way, when the command ends. It
runs without any package.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_SECONDS = 0.5


def main(command: list[str]) -> None:
    # whoever loses its parent becomes a child of this process, even one that leads a session of its
    # own
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    started = os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
    )
    while not _ended(started) and not _abandoned():
        pass
    while children := _children(
        os.getpid()
    ):  # whoever is killed leaves its own children to this process
        for child in children:
            _kill(child)
        _reap()


def _ended(started: int) -> bool:
    """Whether the command is over; reaps every other child that is."""
    return started in _reap()


def _reap() -> set[int]:
    dead: set[int] = set()
    with suppress(ChildProcessError):
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            dead.add(pid)
    if not dead:
        time.sleep(0.005)
    return dead


def _abandoned() -> bool:
    readable, _, _ = select.select([0], [], [], _LOOK_SECONDS)
    return bool(readable) and not os.read(0, 4096)


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    return []


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
