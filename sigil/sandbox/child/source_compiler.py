"""The child process that becomes a compiler of source text: it bounds itself, confines itself to a
few folders, and then executes the compiler in its own place.

A compiler starts threads and processes of its own, so the runners' lockdown does not fit it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import sys

from sigil.sandbox.child import landlock

_WRITTEN_BYTES = 64 << 20
_FILES = 256
_PDEATHSIG, _SIGKILL = 1, 9  # linux/prctl.h, linux/signal.h


def main(server: str, _library: str, order: str) -> None:
    """Become a compiler, with stderr going to stdout.

    `order`, in JSON: `memory` in bytes, `seconds` of processor time, `program` and `arguments`, its
    `work` folder, the folders that it may `read` and those that it may `write`, and `variables`,
    its environment.
    """
    job = json.loads(order)
    os.chdir(job["work"])
    os.dup2(1, 2)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if os.getppid() != int(server):
            os._exit(1)
    limits = {
        "CORE": 0,
        "NOFILE": _FILES,
        "FSIZE": _WRITTEN_BYTES,
        "DATA": job["memory"],
        "CPU": job["seconds"],
    }
    for name, limit in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (soft, hard))
    landlock.restrict(read=tuple(job["read"]), write=(*job["write"], "/dev/null"))
    os.execve(job["program"], [job["program"], *job["arguments"]], job["variables"])
