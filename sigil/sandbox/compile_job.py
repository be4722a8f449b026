"""A compile job compiles a foreign module in a child process of its own: compiling cannot be
interrupted, but a process can be ended. The code that comes out fits one runtime, one set of
settings and one kind of processor.
"""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Literal

from sigil.errors import BackendError, one_line
from sigil.sandbox import spawn
from sigil.sandbox.module_scan import UnfitModule
from sigil.sandbox.runtime import config
from sigil.sandbox.sealed_memory import CodeDraft, SealedCode
from sigil.sandbox.tenants import SOLE_TENANT, FairQueue, Tenant

_BASELINE = "x86_64-unknown-linux-gnu"


def choose_target() -> str:
    """Return the target of stored code: on x86-64 Linux one that every such processor has, else
    empty, which is this processor.
    """
    if sys.platform == "linux" and platform.machine() == "x86_64":
        return _BASELINE
    return ""


def fingerprint() -> bytes:
    """Return 32 bytes that change when code compiled before must not be used any more."""
    library = Path(spawn.library())
    # The name of the wheel's metadata folder holds its version.
    versions = sorted(path.name for path in library.parents[2].glob("wasmtime-*.dist-info"))
    target = choose_target()
    if not target:
        # The line in which the kernel names this processor's features.
        try:
            lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
            target = next((line for line in lines if line.startswith(("flags", "Features"))), "")
        except OSError:
            target = platform.processor()
    parts = (
        *versions,
        str(library.stat().st_size),
        repr((config.STACK_BYTES, config.OFF, config.ON)),
        sys.platform,
        platform.machine(),
        target,
    )
    return sha256("\n".join(parts).encode()).digest()


PROCESSOR_SECONDS = 10
WALL_SECONDS = 60.0
"""A job that has not used its processor time by then shares a busy machine."""
PATIENCE_SECONDS = 30.0
_CHILDREN = 3
_TOO_LONG = "the module takes too long to compile"
_TOO_MUCH = "the module takes too much memory to compile"
_DEATHS = {
    -6: _TOO_MUCH,  # SIGABRT: the allocator gave up
    -9: _TOO_MUCH,  # SIGKILL: so did the kernel
    -24: _TOO_LONG,  # SIGXCPU
    -31: _TOO_MUCH,  # SIGSYS: the allocator gave up, under the filter of system calls
}
_LOCATION = re.compile(r"--> <anon>:(\d+):(\d+)", re.ASCII)


class CompileJobs:
    """Compiles modules and assembles their text form, each in a child process of its own: at most
    three at a time, and two of one namespace.

    A child has `seconds` of processor time (10) and 768 MiB of memory. After `wall` seconds (60)
    it is ended, however little of that time it got.
    """

    def __init__(self, seconds: int = PROCESSOR_SECONDS, wall: float = WALL_SECONDS) -> None:
        self._seconds = seconds
        self._wall = wall
        self._children = FairQueue(_CHILDREN, most=_CHILDREN - 1)

    @contextmanager
    def hold_turn(self, tenant: Tenant = SOLE_TENANT) -> Iterator[None]:
        """Hold the right to `run` one job; `BackendError` EBUSY after a wait of 30 s."""
        if not self._children.acquire(tenant, PATIENCE_SECONDS):
            raise BackendError(
                "EBUSY",
                "every compiler is busy",
                source="sandbox",
                suggestion="try again in a moment",
            )
        try:
            yield
        finally:
            self._children.release(tenant)

    def run(self, task: Literal["compile", "assemble"], data: bytes) -> SealedCode:
        """Return the result of `task` on `data`; call it while holding a turn. `UnfitModule` says
        why a module was refused; `BackendError` EBUSY that the machine is too busy.
        """
        try:
            draft = CodeDraft()
        except OSError as problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"compiled code cannot be stored: {problem.strerror}",
                source="sandbox",
            ) from None
        with draft:
            end = draft.descriptor
            child = spawn.start(
                "module_compiler",
                task,
                str(end),
                choose_target(),
                str(self._seconds),
                passing=(end,),
                pipes=True,
            )
            try:
                output, _ = child.communicate(data, timeout=self._wall)
            except subprocess.TimeoutExpired:
                raise spawn.make_starved_error("the compiler") from None
            finally:
                status = spawn.kill(child)
            if output == b"ok" and status == 0:
                return draft.seal()
        if output.startswith(b"invalid "):
            message = output.removeprefix(b"invalid ").decode("utf-8", "replace")
            raise UnfitModule(_explain_refusal(message))
        if status in _DEATHS:
            raise UnfitModule(_DEATHS[status])
        raise BackendError("EUNAVAILABLE", f"the compiler ended with {status}", source="sandbox")


def _explain_refusal(message: str) -> str:
    """Return one line: the last cause that a compiler names, or the location in the text that an
    assembler names.
    """
    lines = [line for line in message.splitlines() if line.strip()]
    location = _LOCATION.search(message)
    if location:
        return f"line {location[1]}, column {location[2]}: {one_line(lines[0], 160)}"
    if not lines:
        return "not valid WebAssembly"
    return f"not valid WebAssembly: {one_line(lines[-1].lstrip(' 0123456789:'), 160)}"
