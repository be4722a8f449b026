"""Write files whole or not at all, and read files that somebody else may have put there.

A file is written beside its place, then renamed into it.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sigil.errors import UsageError

OURS, EVERYBODYS = 0o600, 0o666


def write_whole(path: Path, body: bytes, mode: int = EVERYBODYS) -> None:
    """`body` at `path`, in place of what stood there; `UsageError` with EWRITE and nothing changed
    when that cannot be.

    `mode`: who may read and write it, less what the process's umask takes away. A device or a pipe
    is written as it is.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(body)
        else:
            _beside(path.resolve(), body, mode)
    except OSError as problem:
        raise unwritten(path, problem) from None


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """`folder` with these files in it, or nothing of them: `UsageError` with EWRITE when that
    cannot be. An empty one may stand already.
    """
    stood = folder.is_dir()
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, body in files.items():
            write_whole(folder / name, body)
            written.append(folder / name)
    except BaseException as problem:
        _take_back(folder, written, stood)
        if isinstance(problem, OSError):
            raise unwritten(folder, problem) from None
        raise


def _take_back(folder: Path, written: list[Path], stood: bool) -> None:
    with suppress(OSError):
        for path in written:
            path.unlink()
        if not stood:
            folder.rmdir()


def unwritten(path: Path, problem: OSError) -> UsageError:
    """The one way in which a file or folder that cannot be written is told."""
    return UsageError(
        "EWRITE",
        f"cannot write {path}: {problem.strerror}",
        suggestion="choose a place with room that you can write to",
    )


def _beside(path: Path, body: bytes, mode: int) -> None:
    handle, made = tempfile.mkstemp(prefix=f".{path.name[:100]}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
        Path(made).chmod(mode & ~_umask())
        Path(made).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(made).unlink()
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def read_bounded(path: Path, most: int) -> bytes:
    """Return the bytes of a file that somebody else may have put there.

    Raises `OSError` also for a pipe or a device, which may have no end, and for more than `most`
    bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        body, more = b"", file.read(min(facts.st_size, most) + 1)
        while more and len(body) <= most:
            body, more = body + more, file.read(len(body) + len(more))
    if len(body) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 10:,} KiB")
    return body
