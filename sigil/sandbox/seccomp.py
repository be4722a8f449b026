"""A filter of system calls for a child process (Linux seccomp): what is not on the list ends the
process.

The list is what an interpreter needs that waits on a socket, keeps time and calls code that is
there already: no file, no socket, no process, no signal can be made any more. No memory can become
executable either, unless the process is to load more code.

Sources: `linux/seccomp.h`, `linux/filter.h`, `linux/audit.h`, `asm/unistd.h` and
`asm-generic/unistd.h`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time
from typing import NamedTuple

_MODE_FILTER, _ACTION_AVAILABLE, _TSYNC = 1, 2, 1
_KILL, _ALLOW, _ENOSYS = 0x8000_0000, 0x7FFF_0000, 0x0005_0000 | 38
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _PROTECTION = (
    0,
    4,
    32,
)  # offsets into struct seccomp_data; the last is the low half of the third argument
_EXECUTABLE = 4
_TRIES = 1000
_NO_NEW_PRIVS = 38  # linux/prctl.h

CALLS = (
    *(
        "read",
        "write",
        "close",
        "recvfrom",
        "sendto",
        "recvmsg",
        "munmap",
        "mremap",
        "madvise",
        "brk",
        "futex",
        "clock_nanosleep",
    ),
    *(
        "nanosleep",
        "restart_syscall",
        "rt_sigreturn",
        "rt_sigprocmask",
        "sigaltstack",
        "exit",
        "exit_group",
        "getpid",
        "gettid",
    ),
    *("getppid", "sched_yield", "getrandom", "clock_gettime"),
)
MAPPING = ("mmap", "mprotect")
"""Allowed as long as nothing becomes executable by them."""
MISSING = ("memfd_create", "membarrier")
"""Answered as by a kernel that does not have it: the runtime asks when it loads code, and can do
without.
"""


class Machine(NamedTuple):
    """A processor: the number of its system call itself, its name in audit, its numbers."""

    seccomp: int
    audit: int
    numbers: dict[str, int]


_NAMES = (*CALLS, *MAPPING, *MISSING)
_X86_64 = (
    0,
    1,
    3,
    45,
    44,
    47,
    11,
    25,
    28,
    12,
    202,
    230,
    35,
    219,
    15,
    14,
    131,
    60,
    231,
    39,
    186,
    110,
    24,
    318,
    228,
    9,
    10,
    319,
    324,
)
_AARCH64 = (
    *(
        63,
        64,
        57,
        207,
        206,
        212,
        215,
        216,
        233,
        214,
        98,
        115,
        101,
        128,
        139,
        135,
        132,
        93,
        94,
        172,
        178,
        173,
        124,
        278,
        113,
    ),
    *(222, 226, 279, 283),
)
MACHINES = {
    "x86_64": Machine(317, 0xC000_003E, dict(zip(_NAMES, _X86_64, strict=True))),
    "aarch64": Machine(277, 0xC000_00B7, dict(zip(_NAMES, _AARCH64, strict=True))),
}


class _Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def program(machine: Machine, *, executable: bool = False) -> bytes:
    """The filter in the kernel's own code. `executable`: memory may become executable, for a
    process that compiles or loads code.
    """
    groups = (
        (CALLS, 1),
        (MAPPING, 1 if executable else 2),
        (MISSING, 6),
    )  # each with the line of `end` that it leads to
    tests = [(name, line) for names, line in groups for name in names]
    end = [
        (_RETURN, 0, 0, _KILL),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _PROTECTION),
        (_ANY_BIT, 0, 1, _EXECUTABLE),
    ]
    end += [(_RETURN, 0, 0, _KILL), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ENOSYS)]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, len(tests) + 1, machine.audit),
        (_LOAD, 0, 0, _NUMBER),
    ]
    lines += [
        (_EQUAL, len(tests) - at - 1 + line, 0, machine.numbers[name])
        for at, (name, line) in enumerate(tests)
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines + end)


def machine() -> Machine | None:
    """This machine; None when there is no filter for it."""
    return (
        MACHINES.get(os.uname().machine)
        if sys.platform == "linux" and sys.maxsize > 1 << 32
        else None
    )


def available() -> bool:
    """Whether this kernel takes the filter: tried on a thread that ends with it."""
    here = machine()
    if here is None or _seccomp(here, _ACTION_AVAILABLE, 0, ctypes.byref(ctypes.c_uint32(_KILL))):
        return False
    taken: list[bool] = []

    def attempt() -> None:
        taken.append(_install(here, 0, executable=True) == 0)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return taken == [True]


def lock(*, executable: bool = False) -> None:
    """Put every thread of this process under the filter, for good. `OSError` when the kernel does
    not take it.
    """
    here = machine()
    if here is None:
        raise OSError("no filter of system calls for this machine")
    for _ in range(_TRIES):
        refused = _install(here, _TSYNC, executable=executable)
        if refused == 0:
            return
        if refused < 0:
            break
        time.sleep(
            0.001
        )  # the number of a thread with a filter of its own: that of `available`, on its way out
    raise OSError("the kernel takes no filter of system calls")


def _install(here: Machine, flags: int, *, executable: bool) -> int:
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    code = program(here, executable=executable)
    return _seccomp(here, _MODE_FILTER, flags, ctypes.byref(_Filter(len(code) // 8, code)))


def _seccomp(here: Machine, operation: int, flags: int, argument: object) -> int:
    return int(
        ctypes.CDLL(None).syscall(*map(ctypes.c_long, (here.seccomp, operation, flags)), argument)
    )
