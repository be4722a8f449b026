"""Compile jobs work on foreign modules: that cannot be interrupted, so it is done in a child
process that can be ended. Code that they made fits one runtime, one set of settings, one processor.
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
from sigil.sandbox import runtime_features, spawn
from sigil.sandbox.module_scan import UnfitModule
from sigil.sandbox.sealed_memory import CodeDraft, SealedCode
from sigil.sandbox.tenants import NOBODY, FairQueue, Tenant

_BASELINE = "x86_64-unknown-linux-gnu"


def target() -> str:
    """Return the target of stored code: on x86-64 Linux one that uses no feature of a single
    processor, else empty (this one).
    """
    return _BASELINE if sys.platform == "linux" and platform.machine() == "x86_64" else ""


def fingerprint() -> bytes:
    """Return 32 bytes that change when code compiled before must not be used any more."""
    settings = repr((runtime_features.STACK_BYTES, runtime_features.OFF, runtime_features.ON))
    parts = (*_runtime(), settings, sys.platform, platform.machine(), target() or _processor())
    return sha256("\n".join(parts).encode()).digest()


def _runtime() -> tuple[str, ...]:
    """Names of the wheel's metadata folder, which hold its version, and the library's size."""
    library = Path(spawn.library())
    return (
        *sorted(path.name for path in library.parents[2].glob("wasmtime-*.dist-info")),
        str(library.stat().st_size),
    )


def _processor() -> str:
    """The features of this processor, as the kernel names them."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), "")


PROCESSOR_SECONDS = 10
WALL_SECONDS = 20
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
_PLACE = re.compile(r"--> <anon>:(\d+):(\d+)", re.ASCII)


class CompileJobs:
    """Compiles modules and assembles their text form, at most three at a time, and two of one
    namespace, each in a child of its own.

    A child has `seconds` of processor time (10), 768 MiB and 20 s of wall time.
    """

    def __init__(self, seconds: int = PROCESSOR_SECONDS) -> None:
        self._seconds = seconds
        self._children = FairQueue(_CHILDREN, most=_CHILDREN - 1)

    @contextmanager
    def turn(self, tenant: Tenant = NOBODY) -> Iterator[None]:
        """Hold the right to `work` once; `BackendError` EBUSY after 30 s without."""
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

    def work(self, task: Literal["compile", "assemble"], data: bytes) -> SealedCode:
        """Return what the task made of `data`, in a `turn`; `UnfitModule` says why it failed."""
        with _open_draft() as draft:
            words, ending = self._child(task, data, draft)
            if words == b"ok" and ending == 0:
                return draft.seal()
        if words.startswith(b"invalid "):
            raise UnfitModule(
                _compiler_message(words.removeprefix(b"invalid ").decode("utf-8", "replace"))
            )
        if ending in _DEATHS:
            raise UnfitModule(_DEATHS[ending])
        raise BackendError("EUNAVAILABLE", f"the compiler ended with {ending}", source="sandbox")

    def _child(self, task: str, data: bytes, draft: CodeDraft) -> tuple[bytes, int]:
        end = draft.descriptor
        child = spawn.start(
            "module_compiler",
            task,
            str(end),
            target(),
            str(self._seconds),
            passing=(end,),
            pipes=True,
        )
        try:
            words, _ = child.communicate(data, timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            raise UnfitModule(_TOO_LONG) from None
        finally:
            ending = spawn.kill(child)
        return words, ending


def _open_draft() -> CodeDraft:
    try:
        return CodeDraft()
    except OSError as problem:
        raise BackendError(
            "EUNAVAILABLE", f"no room for compiled code: {problem.strerror}", source="sandbox"
        ) from None


def _compiler_message(text: str) -> str:
    """One line: the last cause that a compiler names, or the place in the text that an assembler
    shows.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    place = _PLACE.search(text)
    if place:
        return f"line {place[1]}, column {place[2]}: {one_line(lines[0], 160)}"
    return (
        f"not valid WebAssembly: {one_line(lines[-1].lstrip(' 0123456789:'), 160)}"
        if lines
        else "not valid WebAssembly"
    )
