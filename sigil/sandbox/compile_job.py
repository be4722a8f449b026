"""Work on foreign modules that cannot be interrupted, done in a child process that can be ended."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from sigil.errors import BackendError, one_line
from sigil.sandbox import spawn
from sigil.sandbox.fingerprint import target
from sigil.sandbox.module_scan import Unfit
from sigil.sandbox.sealed_memory import Code, Draft
from sigil.sandbox.tenants import NOBODY, FairQueue, Tenant

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


class Press:
    """Compiles modules and assembles their text form, at most three at a time, and two of one
    namespace, each in a child of its own.

    A child has `seconds` of processor time (10), 768 MiB and 20 s of wall time.
    """

    def __init__(self, seconds: int = PROCESSOR_SECONDS) -> None:
        self._seconds = seconds
        self._children = FairQueue(_CHILDREN, most=_CHILDREN - 1)

    @contextmanager
    def turn(self, tenant: Tenant = NOBODY) -> Iterator[None]:
        """The right to `work` once inside; `BackendError` EBUSY after 30 s without."""
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

    def work(self, task: Literal["compile", "assemble"], data: bytes) -> Code:
        """What the task made of `data`, in a `turn`; `Unfit` says why it did not work."""
        with _draft() as draft:
            words, ending = self._child(task, data, draft)
            if words == b"ok" and ending == 0:
                return draft.seal()
        if words.startswith(b"invalid "):
            raise Unfit(_reason(words.removeprefix(b"invalid ").decode("utf-8", "replace")))
        if ending in _DEATHS:
            raise Unfit(_DEATHS[ending])
        raise BackendError("EUNAVAILABLE", f"the compiler ended with {ending}", source="sandbox")

    def _child(self, task: str, data: bytes, draft: Draft) -> tuple[bytes, int]:
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
            raise Unfit(_TOO_LONG) from None
        finally:
            ending = spawn.kill(child)
        return words, ending


def _draft() -> Draft:
    try:
        return Draft()
    except OSError as problem:
        raise BackendError(
            "EUNAVAILABLE", f"no room for compiled code: {problem.strerror}", source="sandbox"
        ) from None


def _reason(text: str) -> str:
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
