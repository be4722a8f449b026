"""The commands `uncaged` and `sigil` for tests that run them often: processes of their own, forked
from one that has imported them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

from tests.machine import within

ROOT = Path(__file__).parents[2]
START_SECONDS = within(60.0)
_LAUNCHER = str(Path(__file__).with_name("forked_program.py"))
_SHARED = "TESTS_SHARED_FORKER"
"""Names the folder of the forker that another process has started."""
_MODULES = {"uncaged": "functions.cli", "sigil": "sigil.cli"}


def command_of(module: str) -> list[str]:
    """Return the command that runs a module as `python -m` does; forked where the environment has
    a `ProgramForker`'s variables.
    """
    return [sys.executable, "-I", "-S", _LAUNCHER, module]


def kill_program(process: subprocess.Popen[str]) -> str:
    """Kill a command whose errors are a pipe, and return the rest of them once it is gone.

    Of a forked one the process stands for another, which dies a moment later: only the end of its
    streams says so.
    """
    process.kill()
    process.wait(START_SECONDS)
    assert process.stderr
    with process.stderr:
        return process.stderr.read()


class ProgramForker:
    """Forks what is asked for by `command_of`, or by the names of the commands in the folder
    `programs`. A context manager.

    All workers of one run use the forker of the process that started them: what it imports takes
    longer than most commands.
    """

    def __init__(self) -> None:
        shared = os.environ.get(_SHARED)
        self._folder = Path(shared or tempfile.mkdtemp(prefix="forker-"))
        self._address = self._folder / "socket"
        self._number = self._folder / "pid"
        self.programs = self._folder / "programs"
        self._program = None if shared else self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        self.programs.mkdir()
        for name, module in _MODULES.items():
            script = self.programs / name
            script.write_text(f'#!/bin/sh\nexec {" ".join(command_of(module))} "$@"\n')
            script.chmod(0o755)
        program = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.program_forker", str(self._address)],
            cwd=ROOT,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            stdin=subprocess.PIPE,
        )
        self._number.write_text(str(program.pid))
        return program

    def share(self) -> None:
        """Let the processes that this one starts use the same."""
        os.environ[_SHARED] = str(self._folder)

    def find_child(self, folder: Path) -> int:
        """Return the process id of the command that runs in a folder."""
        forker = self._number.read_text()
        children = Path(f"/proc/{forker}/task/{forker}/children").read_text().split()
        return next(int(child) for child in children if Path(f"/proc/{child}/cwd").samefile(folder))

    @property
    def environment(self) -> dict[str, str]:
        """What a command's environment needs, so that it is forked."""
        return {"TESTS_FORKER": str(self._address)}

    def __enter__(self) -> Self:
        deadline = time.monotonic() + START_SECONDS
        while not self._address.exists():
            assert not self._program or self._program.poll() is None, "the forker has ended"
            assert time.monotonic() < deadline, "the forker of programs does not start"
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, if this process has started it."""
        if self._program is None:
            return
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(START_SECONDS)
        shutil.rmtree(self._folder)
