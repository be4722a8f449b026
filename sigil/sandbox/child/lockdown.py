"""Locks a child process down permanently, before it touches a foreign byte."""

from __future__ import annotations

import ctypes
import os
import resource
import sys

_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38  # linux/prctl.h
_SIGKILL = 9  # the module `signal` makes its constants when it is imported, for 4 ms


def lock(server: int, *, data: int, files: int, written: int, seconds: int | None = None) -> None:
    """Give up privileges and bound resources permanently; die with the process `server`.

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
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_NOFILE, files)
    _bound(resource.RLIMIT_FSIZE, written)
    _bound(resource.RLIMIT_DATA, data)
    _bound(resource.RLIMIT_NPROC, 0)
    if seconds is not None:
        # SIGXCPU, by which the server knows why, and SIGKILL a second later.
        _bound(resource.RLIMIT_CPU, seconds, slack=1)


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
