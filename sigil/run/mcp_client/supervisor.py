"""The supervisor runs one program and leaves nothing of it behind.

It kills all that the program started when the program ends, or when the process is gone that
started the supervisor.

`python -I -S supervisor.py PIPE COMMAND …`: PIPE is a file descriptor that is at its end once that
process is gone. Standard input, output and error are the program's. It runs without any package.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress

_DEATH_SIGNAL, _SUBREAPER = 1, 36  # linux/prctl.h
_LOOK_SECONDS = 0.5
_NOT_FOUND = 127


def main(pipe: int, command: list[str]) -> int:
    """Run `command` and return its exit code."""
    if sys.platform == "linux":
        # A process that loses its parent becomes a child of this one.
        ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(pipe, False)
    supervisor = os.getpid()
    started = os.fork()
    if started == 0:
        _exec_program(command, supervisor)
    # The standard pipes are the program's alone: they are at their end when it is.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    # Wait until the program ends, or `pipe` does: then the program is not needed any more.
    watched = [pipe]
    if hasattr(os, "pidfd_open"):
        with suppress(OSError):
            watched.append(os.pidfd_open(started))
    timeout = _LOOK_SECONDS if len(watched) == 1 else None
    while True:
        readable, _, _ = select.select(watched, [], [], timeout)
        ended, status = os.waitpid(started, os.WNOHANG)
        if ended or pipe in readable:
            break
    _kill_children()
    return os.waitstatus_to_exitcode(status) & 0xFF if ended else 0


def _exec_program(command: list[str], supervisor: int) -> None:
    """Become the program, in the child; this never returns.

    The program is killed with its supervisor, should something else end that.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(_NOT_FOUND)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        os.write(2, f"{command[0]}: {problem.strerror}\n".encode())
    os._exit(_NOT_FOUND)


def _kill_children() -> None:
    """Kill everything that is left, also what leads a session of its own.

    A process that is killed leaves its own children to this one. Where the system does not list
    children, only the group of this process is killed.
    """
    path = f"/proc/self/task/{os.getpid()}/children"
    while True:
        children: list[int] = []
        with suppress(OSError), open(path, encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
        if not children:
            break
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
    if sys.platform != "linux":
        os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
