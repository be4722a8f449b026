"""Locks a child process down permanently, before it touches a foreign byte."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from typing import NamedTuple

_PDEATHSIG, _DUMPABLE, _NO_NEW_PRIVS = 1, 4, 38  # linux/prctl.h


class Bounds(NamedTuple):
    """Resource limits: bytes of private memory, open files, bytes of one written file, processor
    seconds (None: unbounded).
    """

    data: int
    files: int
    written: int
    seconds: int | None = None


def lock(server: int, bounds: Bounds) -> None:
    """Give up privileges and bound resources permanently; die with the process `server`.

    The filter of system calls is not a part of it: that is `seccomp.lock`.
    """
    os.umask(0o077)
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        prctl(_DUMPABLE, 0, 0, 0, 0)
        prctl(_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != server:  # it was gone before the signal was asked for
            os._exit(1)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_NOFILE, bounds.files)
    _bound(resource.RLIMIT_FSIZE, bounds.written)
    _bound(resource.RLIMIT_DATA, bounds.data)
    _bound(resource.RLIMIT_NPROC, 0)
    if bounds.seconds is not None:
        # SIGXCPU, by which the server knows why, and SIGKILL a second later.
        _bound(resource.RLIMIT_CPU, bounds.seconds, slack=1)


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
