"""A file's bytes as memory, by the two system calls that a locked process still has."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import c_int, c_long, c_size_t, c_void_p

_READ, _PRIVATE = 1, 2  # sys/mman.h
_FAILED = c_void_p(-1).value


@contextmanager
def mapped(descriptor: int, size: int) -> Iterator[int]:
    """The address of the first `size` bytes, read only, until the end of the `with`. `OSError` when
    they cannot be mapped.
    """
    c = ctypes.CDLL(None)
    c.mmap.restype = c_void_p
    address = c.mmap(None, c_size_t(size), _READ, _PRIVATE, c_int(descriptor), c_long(0))
    if address is None or address == _FAILED:
        raise OSError("a file cannot be mapped")
    try:
        yield address
    finally:
        c.munmap(c_void_p(address), c_size_t(size))
