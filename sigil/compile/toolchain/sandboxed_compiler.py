"""Runs a compiler in a child process, bounded in time and memory, and confined to its folders where
the kernel can do that; reads the module that it made.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from sigil.errors import Refused
from sigil.sandbox import spawn
from sigil.sandbox.module_scan import MODULE_BYTES

SECONDS = 10
MEMORY_BYTES = 768 << 20
WALL_SECONDS = 60.0
"""A compiler that has not used its processor time by then shares a busy machine."""
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""The folders in which the loader finds shared libraries."""


class CompiledSource(NamedTuple):
    """The module of a source, and its kind: one of the ABI `sigil/1`, or a command."""

    kind: Literal["sigil", "wasi"]
    wasm: bytes


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler and the folders that it may use: it reads (and executes) below `read`, and writes
    below `work` and `write`.

    `memory`: bytes of private memory. `variables`: its whole environment.
    """

    program: Path
    work: Path
    read: Sequence[Path] = ()
    write: Sequence[Path] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    memory: int = MEMORY_BYTES

    def run(
        self, arguments: Sequence[str], seconds: int = SECONDS, wall: float | None = None
    ) -> tuple[str, int]:
        """Run it for at most `seconds` of processor time; return its messages, of both streams, and
        its exit code, or a signal below zero.

        `BackendError` EBUSY when it got less than that in `wall` seconds: a minute, or twice
        `seconds` where that is more.
        """
        if wall is None:
            wall = max(WALL_SECONDS, seconds * 2)
        job = {
            "program": str(self.program),
            "arguments": list(arguments),
            "work": str(self.work),
            "read": [str(path) for path in (self.program.parent, *self.read)],
            "write": [str(path) for path in (self.work, *self.write)],
            "variables": dict(self.variables),
            "memory": self.memory,
            "seconds": seconds,
        }
        child = spawn.start("source_compiler", json.dumps(job), pipes=True)
        try:
            messages, _ = child.communicate(b"", timeout=wall)
            return messages.decode("utf-8", "replace"), child.returncode
        except subprocess.TimeoutExpired:
            raise spawn.make_starved_error("the compiler") from None
        finally:
            spawn.kill(child)


def library_folders() -> list[Path]:
    """Return the folders of this machine in which a program may find its shared libraries."""
    return [path for path in map(Path, _SYSTEM) if path.is_dir()]


def read_module(path: Path, status: int, reason: str, name: str) -> bytes:
    """Return the module at `path` when the compiler of the capability `name` ended well, with
    status 0; else raise `Refused` EMODULE with `reason`.
    """
    if status or not path.is_file():
        raise source_refusal(reason, name)
    if path.stat().st_size > MODULE_BYTES:
        raise source_refusal(
            f"the module is larger than {MODULE_BYTES} bytes", name, "let it hold less data"
        )
    return path.read_bytes()


def source_refusal(
    message: str, name: str, suggestion: str = "correct the source and deploy again"
) -> Refused:
    """Return the refusal of the source of the capability `name`."""
    return Refused("EMODULE", message, source=name, suggestion=suggestion)
