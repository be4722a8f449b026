"""A compiler at work: in a child of its own, bounded in time and memory, and shut into its folders
where the kernel can.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sigil.sandbox import spawn

SECONDS = 10
MEMORY_BYTES = 768 << 20
WALL_SECONDS = 20
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""Where the loader finds what a program is linked to."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A program and what it may touch: it reads (and executes) below `read`, and writes below
    `work` and `write`.

    `memory`: bytes of private memory. `variables`: its whole environment.
    """

    program: Path
    work: Path
    read: Sequence[Path] = ()
    write: Sequence[Path] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    memory: int = MEMORY_BYTES

    def run(self, arguments: Sequence[str], seconds: int = SECONDS) -> tuple[str, int]:
        """What it says, on either stream, and how it ends: an exit code, or a signal below zero.
        `seconds`: of processor time.
        """
        child = spawn.start(
            "source_compiler", json.dumps(self._order(arguments, seconds)), pipes=True
        )
        try:
            words, _ = child.communicate(b"", timeout=max(WALL_SECONDS, seconds * 2))
            return words.decode("utf-8", "replace"), child.returncode
        except subprocess.TimeoutExpired:
            return "", -9
        finally:
            spawn.kill(child)

    def _order(self, arguments: Sequence[str], seconds: int) -> dict[str, object]:
        return {
            "program": str(self.program),
            "arguments": list(arguments),
            "work": str(self.work),
            "read": [str(path) for path in (self.program.parent, *self.read)],
            "write": [str(path) for path in (self.work, *self.write)],
            "variables": dict(self.variables),
            "memory": self.memory,
            "seconds": seconds,
        }


def system() -> list[Path]:
    """The folders of shared libraries that a program of this machine may need."""
    return [path for path in map(Path, _SYSTEM) if path.is_dir()]
