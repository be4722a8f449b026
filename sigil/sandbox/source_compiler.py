"""The child process that becomes a compiler of source text: bounded, shut into its folders, then
replaced by it.

A compiler starts threads and processes of its own, so the runners' jail does not fit it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys

from sigil.sandbox import landlock

_WRITTEN_BYTES = 64 << 20
_FILES = 256
_PDEATHSIG = 1  # linux/prctl.h


def main(server: str, _library: str, order: str) -> None:
    """Become a compiler. `order`, in JSON: `memory` in bytes, `seconds` of processor time,
    `program` and `arguments`, its `work` folder, the folders that it may `read` and those that it
    may `write`, and `variables`, its environment.

    What it says on stderr goes to stdout.
    """
    wanted = json.loads(order)
    os.chdir(wanted["work"])
    os.dup2(1, 2)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != int(server):
            os._exit(1)
    limits = {
        "CORE": 0,
        "NOFILE": _FILES,
        "FSIZE": _WRITTEN_BYTES,
        "DATA": wanted["memory"],
        "CPU": wanted["seconds"],
    }
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(
            kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )
    landlock.shut(read=tuple(wanted["read"]), write=(*wanted["write"], "/dev/null"))
    os.execve(wanted["program"], [wanted["program"], *wanted["arguments"]], wanted["variables"])
