"""What a child process gives up before it touches a foreign byte."""

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
    """Give up privileges and bound resources, for good; die with the process `server`. Its filter
    of system calls is `seccomp`'s.
    """
    os.umask(0o077)
    if sys.platform == "linux":
        _privileges(server)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_NOFILE, bounds.files)
    _bound(resource.RLIMIT_FSIZE, bounds.written)
    _bound(resource.RLIMIT_DATA, bounds.data)
    _bound(resource.RLIMIT_NPROC, 0)
    if bounds.seconds is not None:
        _bound(
            resource.RLIMIT_CPU, bounds.seconds, slack=1
        )  # SIGXCPU, which says why, and SIGKILL a second later


def _privileges(server: int) -> None:
    prctl = ctypes.CDLL(None).prctl
    prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    prctl(_DUMPABLE, 0, 0, 0, 0)
    prctl(_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != server:  # it was gone before the signal was asked for
        os._exit(1)


def _bound(kind: int, wanted: int, slack: int = 0) -> None:
    hard = resource.getrlimit(kind)[1]
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(
        kind, (limit, limit + slack if hard == resource.RLIM_INFINITY else min(limit + slack, hard))
    )
