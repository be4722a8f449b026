"""The child process that becomes a compiler of source text: bounded, shut into its folders, then replaced by it.

A compiler starts threads and processes of its own, so the runners' jail does not fit it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

from sigil.sandbox import landlock

_WRITTEN_BYTES = 64 << 20
_FILES = 256
_PDEATHSIG = 1  # linux/prctl.h


def main(server: str, _library: str, *words: str) -> None:
    """Become a compiler. `words`: bytes of memory, seconds of processor time, the program, its work folder, its cache, its arguments.

    It reads the folder that it lies in, and reads and writes its work folder and its cache. What it says on stderr goes to stdout.
    """
    data, seconds, program, work, cache, *arguments = words
    os.chdir(work)
    os.dup2(1, 2)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != int(server):
            os._exit(1)
    limits = {"CORE": 0, "NOFILE": _FILES, "FSIZE": _WRITTEN_BYTES, "DATA": int(data), "CPU": int(seconds)}
    for name, wanted in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    landlock.shut(read=(os.path.dirname(program),), write=(work, cache, "/dev/null"))
    caches = {"ZIG_LOCAL_CACHE_DIR": os.path.join(work, "zig"), "ZIG_GLOBAL_CACHE_DIR": cache}
    os.execve(program, [program, *arguments], caches)
