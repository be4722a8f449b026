"""The confinement of a program that is only tried: it makes no connection, reads the files of a few
folders alone, and its environment has no secret.

The kernel holds this (Linux: a filter of system calls, and Landlock), and all that the program
starts is under it. Where the kernel cannot, `find_gaps` says what is missing.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sigil.sandbox.child import landlock, seccomp

DENIED: Final = {
    "socket": (41, 198),
    "io_uring_setup": (425, 425),  # it makes sockets without the call above
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),  # it takes the sockets of other processes
    "keyctl": (250, 219),
    "request_key": (249, 218),
}
"""The system calls that fail, with their numbers on x86-64 and on 64-bit ARM: what makes a
connection, and what gets at the memory, the files and the keys of other programs.
"""
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_KILL, _ALLOW, _REFUSE = 0x8000_0000, 0x7FFF_0000, 0x0005_0000 | 13
_X32 = 0x4000_0000
"""Numbers from here on are those of another interface of the same processor."""
_SYSTEM: Final = (
    "/bin /sbin /usr /lib /lib32 /lib64 /nix/store /proc /sys/fs/cgroup /sys/devices /dev/null"
    " /dev/zero /dev/urandom /dev/random /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d"
    " /etc/localtime /etc/timezone /etc/passwd /etc/group /etc/nsswitch.conf /etc/os-release"
    " /etc/alternatives /etc/ssl/certs /etc/ssl/openssl.cnf /etc/pki/tls /etc/mime.types"
).split()
"""What any program reads of a machine, and nobody keeps secrets in."""


_MODE_FILTER, _NO_NEW_PRIVS = 1, 38
_DROP_FROM_BOUNDING_SET, _CAPABILITIES = 24, 64  # linux/prctl.h


@dataclass(frozen=True, slots=True)
class Confinement:
    """Where a program may write; beside that it reads the system's own files and those of its
    interpreter. `environment` is all that it gets of ours.
    """

    write: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, python: Path, words: Sequence[str], folder: Path, seconds: float
    ) -> subprocess.CompletedProcess[str]:
        """Run an interpreter in a folder until it ends, and return what it printed.

        Errors as `subprocess.run`.
        """
        return subprocess.run(
            [str(python), "-P", *words],
            env=dict(self.environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
            preexec_fn=self._prepare(python),
        )

    def _prepare(self, python: Path) -> Callable[[], None] | None:
        """Return what a child process does before it becomes the program; None where this machine
        can confine nothing.
        """
        code = build_filter()
        has_files = landlock.version() > 0
        if code is None and not has_files:
            return None
        own, listed = _find_own_folders(python)
        known = {*map(Path, _SYSTEM), *own}
        read = tuple(sorted(str(path) for path in known if path.exists()))
        write = ("/dev/null", *map(str, self.write))

        def confine() -> None:
            _drop_capabilities()
            if has_files:
                landlock.restrict(read, write, listed)
            if code is not None:
                _install(code)

        return confine


def find_gaps() -> list[str]:
    """Return what this machine cannot keep from a program that is tried, in words."""
    gaps = []
    if build_filter() is None:
        gaps.append("connections to the network")
    if not landlock.version():
        gaps.append("your files")
    return gaps


def build_filter() -> bytes | None:
    """Return the filter of system calls in the kernel's own code; None where there is none."""
    here = seccomp.find_machine()
    if here is None or not seccomp.is_available():
        return None
    column = 0 if os.uname().machine == "x86_64" else 1
    numbers = [pair[column] for pair in DENIED.values()]
    count = len(numbers)
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 0, count + 3, here.audit),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, count + 1, 0, _X32),
    ]
    for place, number in enumerate(numbers):
        lines.append((_EQUAL, count - place + 1, 0, number))
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _KILL), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _drop_capabilities() -> None:
    """Let a program that root starts have nothing but root's files: with its capabilities it would
    read the environment of every process. For anybody else there is nothing to drop.
    """
    prctl = ctypes.CDLL(None).prctl
    for capability in range(_CAPABILITIES):
        prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0)


def _install(code: bytes) -> None:
    """Put this process under a filter, permanently; `OSError` when the kernel does not take it."""
    here = seccomp.find_machine()
    assert here
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    program = _Program(len(code) // 8, code)
    words = map(ctypes.c_long, (here.seccomp, _MODE_FILTER, 0))
    if libc.syscall(*words, ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _find_own_folders(python: Path) -> tuple[set[Path], tuple[str, ...]]:
    """Return what an interpreter and its packages are in, and the folders of which it may know the
    names alone: packages that are used where they are edited stand beside other files there.
    """
    prefix = python.parent.parent
    own = {prefix, Path(sys.base_prefix), python.resolve().parent.parent}
    listed = []
    for path in prefix.glob("lib/python3*/site-packages/*.pth"):
        for line in path.read_text(errors="replace").splitlines():
            found = Path(line)
            if line.startswith("import") or not found.is_absolute() or not found.is_dir():
                continue
            if found.name == "site-packages":
                own.add(found)
                continue
            listed.append(str(found))
            own |= {each for each in found.iterdir() if _is_code(each)}
    return own, tuple(listed)


def _is_code(path: Path) -> bool:
    return not path.name.startswith(".") and (path.is_dir() or path.suffix in (".py", ".so"))
