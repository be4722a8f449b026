"""A filter of system calls for a child process (Linux seccomp): what is not on the list ends the
process.

The list is what an interpreter needs that waits on a socket, keeps time and calls code that is
there already: no file, no socket, no process, no signal can be made any more. No memory can become
executable either, unless the process is to load more code. A process that parses may be allowed to
read files, which Landlock then bounds.

Sources: `linux/seccomp.h`, `linux/filter.h`, `linux/audit.h`, `asm/unistd.h` and
`asm-generic/unistd.h`.
"""

from __future__ import annotations

import _thread  # `threading` takes 4 ms to import
import ctypes
import os
import struct
import sys
import time

_MODE_FILTER, _ACTION_AVAILABLE, _TSYNC = 1, 2, 1
_KILL, _ALLOW, _ENOSYS = 0x8000_0000, 0x7FFF_0000, 0x0005_0000 | 38
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
# Offsets into struct seccomp_data; the last two are the low half of the third argument.
_NUMBER, _ARCHITECTURE, _PROTECTION, _FLAGS = 0, 4, 32, 32
_EXECUTABLE = 4
_WRITABLE = 0o3 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC of asm-generic/fcntl.h
_TRIES = 1000
_NO_NEW_PRIVS = 38  # linux/prctl.h

CALLS = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "recvfrom": (45, 207),
    "sendto": (44, 206),
    "recvmsg": (47, 212),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "futex": (202, 98),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "restart_syscall": (219, 128),
    "rt_sigreturn": (15, 139),
    "rt_sigprocmask": (14, 135),
    "sigaltstack": (131, 132),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "sched_yield": (24, 124),
    "getrandom": (318, 278),
    "clock_gettime": (228, 113),
}
"""The system calls that are allowed, with their numbers on x86-64 and on 64-bit ARM."""
MAPPING = {"mmap": (9, 222), "mprotect": (10, 226)}
"""System calls that are allowed as long as they make nothing executable."""
MISSING = {"memfd_create": (319, 279), "membarrier": (324, 283)}
"""System calls that fail as on a kernel without them: the runtime tries them when it loads code,
and can do without.
"""
OPENING = {"openat": (257, 56)}
"""System calls that open a file, with its flags as the third argument."""
LOOKING = {
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "lseek": (8, 62),
}
"""System calls by which a library looks at a file."""


class Machine:
    """A processor: its number of the system call seccomp, its constant in audit, and the numbers of
    its system calls.
    """

    def __init__(self, seccomp: int, audit: int, numbers: dict[str, int]) -> None:
        self.seccomp = seccomp
        self.audit = audit
        self.numbers = numbers


_NUMBERS = CALLS | MAPPING | MISSING | OPENING | LOOKING
MACHINES = {
    "x86_64": Machine(317, 0xC000_003E, {name: x86 for name, (x86, _) in _NUMBERS.items()}),
    "aarch64": Machine(277, 0xC000_00B7, {name: arm for name, (_, arm) in _NUMBERS.items()}),
}


class _Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def build_filter(machine: Machine, *, executable: bool = False, files: str = "killed") -> bytes:
    """Return the filter in the kernel's own code. `executable`: memory may become executable, for a
    process that compiles or loads code.

    `files`: what becomes of a process that opens one. It is `killed`, or finds it `missing`, as on
    a kernel without such calls, for a library that can do without; or it may `read` it.
    """
    # Each test of a number jumps to one of the lines of `verdicts`: 0 kills, 1 allows, 2 kills when
    # memory would become executable, 6 fails as on a kernel without the call, 7 kills when a file
    # would be written.
    verdicts = [
        (_RETURN, 0, 0, _KILL),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _PROTECTION),
        (_ANY_BIT, 0, 1, _EXECUTABLE),
        (_RETURN, 0, 0, _KILL),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ENOSYS),
        (_LOAD, 0, 0, _FLAGS),
        (_ANY_BIT, 0, 1, _WRITABLE),
        (_RETURN, 0, 0, _KILL),
        (_RETURN, 0, 0, _ALLOW),
    ]
    groups = [(CALLS, 1), (MAPPING, 1 if executable else 2), (MISSING, 6)]
    if files == "missing":
        groups += [(OPENING, 6), (LOOKING, 6)]
    elif files == "read":
        groups += [(OPENING, 7), (LOOKING, 1)]
    tests = [(name, verdict) for names, verdict in groups for name in names]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, len(tests) + 1, machine.audit),
        (_LOAD, 0, 0, _NUMBER),
    ]
    for at, (name, verdict) in enumerate(tests):
        lines.append((_EQUAL, len(tests) - at - 1 + verdict, 0, machine.numbers[name]))
    return b"".join(struct.pack("=HBBI", *line) for line in lines + verdicts)


def find_machine() -> Machine | None:
    """Return the processor that this process runs on; None when there is no filter for it."""
    if sys.platform == "linux" and sys.maxsize > 1 << 32:
        return MACHINES.get(os.uname().machine)
    return None


def is_available() -> bool:
    """Return whether this kernel takes the filter, as tried on a thread that ends right after."""
    here = find_machine()
    if here is None or _seccomp(here, _ACTION_AVAILABLE, 0, ctypes.byref(ctypes.c_uint32(_KILL))):
        return False
    results: list[int] = []
    done = _thread.allocate_lock()
    done.acquire()

    def install_on_thread() -> None:
        try:
            results.append(_install(here, 0, build_filter(here, executable=True)))
        finally:
            done.release()

    _thread.start_new_thread(install_on_thread, ())
    done.acquire()
    return results == [0]


def lock(*, executable: bool = False, files: str = "killed") -> None:
    """Put every thread of this process under the filter, permanently; the arguments are those of
    `build_filter`. `OSError` when the kernel does not take it.
    """
    here = find_machine()
    if here is None:
        raise OSError("no filter of system calls for this machine")
    for _ in range(_TRIES):
        refused = _install(here, _TSYNC, build_filter(here, executable=executable, files=files))
        if refused == 0:
            return
        if refused < 0:
            break
        # The kernel named a thread with a filter of its own: that of `is_available`, which is about
        # to end.
        time.sleep(0.001)
    raise OSError("the kernel takes no filter of system calls")


def _install(here: Machine, flags: int, code: bytes) -> int:
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    return _seccomp(here, _MODE_FILTER, flags, ctypes.byref(_Filter(len(code) // 8, code)))


def _seccomp(here: Machine, operation: int, flags: int, argument: object) -> int:
    return int(
        ctypes.CDLL(None).syscall(*map(ctypes.c_long, (here.seccomp, operation, flags)), argument)
    )
