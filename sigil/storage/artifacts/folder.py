"""Artifacts as files."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from sigil.errors import BackendError
from sigil.storage import files
from sigil.storage.artifacts.base import artifact_name, require_name, verify_body

BODY_BYTES = 1 << 30
"""Of the largest body that is kept: a search index."""


class FolderArtifacts:
    """One file a body, in folders of the name's first two digits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""
        name = artifact_name(body)
        path = self._path(name)
        try:
            if not _holds(path, body):
                _write(path, body)
        except OSError as problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"cannot write {path.parent}: {problem.strerror}",
                suggestion="free or mend the disk",
            ) from None
        return name

    def get(self, name: str) -> bytes:
        """The body."""
        try:
            body = files.read_bounded(self._path(require_name(name)), BODY_BYTES)
        except OSError:
            body = None
        return verify_body(name, body)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


def _holds(path: Path, body: bytes) -> bool:
    """Whether the file is what it should be: one that a power loss or a bad disk left otherwise is
    written again.
    """
    try:
        return path.stat().st_size == len(body) and files.read_bounded(path, len(body)) == body
    except FileNotFoundError:
        return False


def _write(path: Path, body: bytes) -> None:
    """The file has its name only once its bytes are on the disk."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        _settle(path.parent)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _settle(folder: Path) -> None:
    """The folder's new entry is on the disk, where folders can be asked for that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
