"""Write files whole or not at all, and read files that another user may have put there.

A file is written under another name in its folder, then renamed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from sigil.errors import Refused, UsageError

OURS = 0o600
EVERYBODYS = 0o666
_EXCHANGE = 2
"""RENAME_EXCHANGE of renameat2."""
_CURRENT = -100
"""AT_FDCWD: paths are relative to the current folder."""


def write_whole(path: Path, body: bytes, mode: int = EVERYBODYS, *, durable: bool = False) -> None:
    """Write `body` to `path`, in place of the file that is there; `UsageError` EWRITE and nothing
    changed when that cannot be.

    `mode`: who may read and write it, less the process's umask. `durable`: the body is on the disk
    before it takes the name. A device or a pipe is written as it is.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(body)
        else:
            _replace_file(path.resolve(), body, mode, durable=durable)
    except OSError as problem:
        raise make_write_error(path, problem) from None


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write these files into `folder`, or none of them; `UsageError` EWRITE when that cannot be.

    The folder may exist already when it is empty.
    """
    existed = folder.is_dir()
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, body in files.items():
            write_whole(folder / name, body)
            written.append(folder / name)
    except BaseException as problem:
        with suppress(OSError):
            for path in written:
                path.unlink()
            if not existed:
                folder.rmdir()
        if isinstance(problem, OSError):
            raise make_write_error(folder, problem) from None
        raise


def make_write_error(path: Path, problem: OSError) -> UsageError:
    """Return the error for a file or folder that cannot be written."""
    return UsageError(
        "EWRITE",
        f"cannot write {path}: {problem.strerror}",
        suggestion="choose a folder with free space that you can write to",
    )


@contextmanager
def lock_folder(folder: Path, message: str, suggestion: str) -> Iterator[None]:
    """Hold a folder's lock, which ends with the process and leaves no file.

    `Refused` EEXIST with this message and suggestion while another process holds it, `UsageError`
    EWRITE for a folder that cannot be opened.
    """
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise make_write_error(folder, problem) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise Refused("EEXIST", message, suggestion=suggestion) from None
    else:
        yield
    finally:
        os.close(handle)


def exchange_names(one: Path, other: Path) -> None:
    """Let two files or folders exchange their names at one moment; `UsageError` when that fails."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    if rename is not None:
        done = rename(_CURRENT, bytes(one), _CURRENT, bytes(other), ctypes.c_uint(_EXCHANGE))
        if done == 0:
            return
    # a system or a disk that cannot: there is a short time without the first
    between = other.with_name(f"{other.name}.old")
    try:
        one.rename(between)
        try:
            other.rename(one)
        except BaseException:
            between.rename(one)
            raise
        between.rename(other)
    except OSError as problem:
        raise make_write_error(one, problem) from None


def _replace_file(path: Path, body: bytes, mode: int, *, durable: bool) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        umask = os.umask(0o077)  # there is no other way to read it
        os.umask(umask)
        temporary.chmod(mode & ~umask)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def read_bounded(path: Path, most: int) -> bytes:
    """Return the bytes of a file that another user may have put there.

    Raises `OSError` also for a pipe or a device, which may have no end, and for more than `most`
    bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        body = file.read(min(facts.st_size, most) + 1)
        while len(body) <= most:
            more = file.read(len(body))
            if not more:
                break
            body += more
    if len(body) > most:
        raise OSError(errno.EFBIG, f"it has more than {most >> 10:,} KiB")
    return body
