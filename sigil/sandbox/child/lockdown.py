"""Locks a child process down permanently, before it touches a foreign byte."""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38  # linux/prctl.h
_READ, _EXECUTE = 1, 4  # asm-generic/mman-common.h
_SIGKILL = 9  # the module `signal` makes its constants when it is imported, for 4 ms


def lock(server: int, *, data: int, files: int, written: int, seconds: int | None = None) -> None:
    """Give up privileges and bound resources permanently; die with the process `server`.

    No memory can be written and executed any more, so a function that C code calls (`CFUNCTYPE`)
    has to be made before, and to live as long as the process.

    `data`: bytes of private memory; `files`: open files; `written`: bytes of one written file;
    `seconds`: of the processor (None: unbounded). The filter of system calls is not a part of it:
    that is `seccomp.lock`.
    """
    os.umask(0o077)
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        prctl(_DUMPABLE, 0, 0, 0, 0)
        prctl(_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != server:  # it was gone before the signal was asked for
            os._exit(1)
        _protect_code()
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_NOFILE, files)
    _bound(resource.RLIMIT_FSIZE, written)
    _bound(resource.RLIMIT_DATA, data)
    _bound(resource.RLIMIT_NPROC, 0)
    if seconds is not None:
        # SIGXCPU, by which the server knows why, and SIGKILL a second later.
        _bound(resource.RLIMIT_CPU, seconds, slack=1)


def _protect_code() -> None:
    """Take the permission to write from all memory that may be executed.

    libffi has one such page, for the entries of the functions that the runtime calls. They are in
    it by now; whoever could write there later would choose what the runtime calls next.
    """
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    with open("/proc/self/maps", "rb") as maps:
        lines = [line.split(None, 2) for line in maps]
    for place, permissions, _ in lines:
        if b"wx" in permissions:
            start, end = (int(address, 16) for address in place.split(b"-"))
            size = ctypes.c_size_t(end - start)
            if mprotect(ctypes.c_void_p(start), size, _READ | _EXECUTE):
                raise OSError(ctypes.get_errno(), "a page of code stays writable")


def _bound(kind: int, limit: int, slack: int = 0) -> None:
    """Set the soft limit `kind` to `limit` and the hard one to `slack` more, within the hard limit
    that there is.
    """
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY:
        resource.setrlimit(kind, (limit, limit + slack))
    else:
        soft = min(limit, hard)
        resource.setrlimit(kind, (soft, min(soft + slack, hard)))
