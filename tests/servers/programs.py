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
_MODULES = {"uncaged": "functions.cli", "sigil": "sigil.cli"}


def command_of(module: str) -> list[str]:
    """Return the command that runs a module as `python -m` does; forked where the environment has
    a `ProgramForker`'s variables.
    """
    return [sys.executable, "-I", "-S", _LAUNCHER, module]


class ProgramForker:
    """Forks what is asked for by `command_of`, or by the names of the commands in the folder
    `programs`. A context manager.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="forker-"))
        self._address = self._folder / "socket"
        self.programs = self._folder / "programs"
        self.programs.mkdir()
        for name, module in _MODULES.items():
            script = self.programs / name
            script.write_text(f'#!/bin/sh\nexec {" ".join(command_of(module))} "$@"\n')
            script.chmod(0o755)
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.program_forker", str(self._address)],
            cwd=ROOT,
            env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            stdin=subprocess.PIPE,
        )

    @property
    def children(self) -> set[int]:
        """The process ids of the commands that run."""
        number = self._program.pid
        return set(map(int, Path(f"/proc/{number}/task/{number}/children").read_text().split()))

    @property
    def environment(self) -> dict[str, str]:
        """What a command's environment needs, so that it is forked."""
        return {"TESTS_FORKER": str(self._address)}

    def __enter__(self) -> Self:
        deadline = time.monotonic() + START_SECONDS
        while not self._address.exists():
            assert self._program.poll() is None, "the forker of programs has ended"
            assert time.monotonic() < deadline, "the forker of programs does not start"
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._program.stdin is not None
        self._program.stdin.close()
        self._program.wait(START_SECONDS)
        shutil.rmtree(self._folder)
