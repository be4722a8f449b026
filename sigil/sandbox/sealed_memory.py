"""An anonymous file holds native code: it is written once, then sealed against every change."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

CHUNK = 256 << 10


class SealedCode:
    """A sealed file with `size` bytes of native code; it is closed when the last reference goes."""

    __slots__ = ("__weakref__", "descriptor", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        self.descriptor = descriptor
        self.size = size

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes in pieces, so that they are never all in this process's memory."""
        for at in range(0, self.size, CHUNK):
            yield os.pread(self.descriptor, CHUNK, at)

    def __del__(self) -> None:
        os.close(self.descriptor)


class CodeDraft:
    """A file that is being written; it is closed at the end of the `with` unless it was sealed."""

    def __init__(self) -> None:
        self.descriptor = _create_anonymous_file()
        self._open = True

    def __enter__(self) -> CodeDraft:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            os.close(self.descriptor)

    def write(self, piece: bytes) -> None:
        view = memoryview(piece)
        while view:
            view = view[os.write(self.descriptor, view) :]

    def seal(self) -> SealedCode:
        """Return the file, which nothing can change from now on."""
        if sys.platform == "linux":
            seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
            # A file of the temporary folder takes no seals; it has no name either.
            with suppress(OSError):
                fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, seals)
        self._open = False
        return SealedCode(self.descriptor, os.fstat(self.descriptor).st_size)


def _create_anonymous_file() -> int:
    """Create a file without a name, in memory where the kernel allows it, else in the temporary
    folder; return its descriptor.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            return os.memfd_create("code", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
