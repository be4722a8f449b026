"""Permanently confines this process to the files of a few folders, without TCP and without signals
to other processes (Linux's Landlock).

Source: `linux/landlock.h`. Version 2 is the first with which a folder's files can be moved within
it; older kernels, and other systems, have no such lock.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVS = 38
_OLDEST = 2

_EXECUTE, _WRITE, _READ, _LIST = 1, 2, 4, 8
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""The rights that each version of the interface added."""
_ON_A_FILE = _EXECUTE | _WRITE | _READ | 1 << 14 | 1 << 15
_TCP = 3
_SCOPES = 3  # abstract sockets and signals reach only processes under the same restriction


def version() -> int:
    """Return the version of the kernel's interface; 0 when it has none, or one that is too old."""
    if sys.platform != "linux":
        return 0
    found = int(ctypes.CDLL(None).syscall(_CREATE, None, ctypes.c_size_t(0), 1))
    return found if found >= _OLDEST else 0


def restrict(read: tuple[str, ...], write: tuple[str, ...], listed: tuple[str, ...] = ()) -> bool:
    """Let this process and its children, from now on, read and execute only below `read`, and do
    anything only below `write`. Below `listed` it sees the names of files.

    Return False, with nothing restricted, where the kernel cannot. `OSError` when it refuses.
    """
    known = version()
    if not known:
        return False
    rights = sum(bits for since, bits in _FILE_RIGHTS.items() if since <= known)
    # A kernel takes the structure of its own version or a shorter one.
    words = [rights]
    if known >= 4:
        words.append(_TCP)
    if known >= 6:
        words.append(_SCOPES)
    attributes = struct.pack(f"<{len(words)}Q", *words)
    rules = _call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in read:
            _add_rule(rules, path, _EXECUTE | _READ | _LIST)
        for path in write:
            _add_rule(rules, path, rights)
        for path in listed:
            _add_rule(rules, path, _LIST)
        if ctypes.CDLL(None).prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise OSError("no_new_privs")
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)
    return True


def _add_rule(rules: int, path: str, rights: int) -> None:
    """Allow `rights` below `path`, as far as they make sense there."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = rights if os.path.isdir(path) else rights & _ON_A_FILE
        _call(_ADD, rules, 1, struct.pack("<Qi", allowed, descriptor), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    return result
