"""Store artifacts as files."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from sigil.errors import BackendError
from sigil.storage import files
from sigil.storage.artifacts.base import artifact_name, require_name, verify_body

BODY_BYTES = 1 << 30
"""The most of a body; the largest is a search index."""


class FolderArtifacts:
    """Artifacts as one file each, in folders named by the first two digits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""
        name = artifact_name(body)
        path = self._path(name)
        try:
            if not _has_body(path, body):
                _write_durably(path, body)
        except OSError as problem:
            raise BackendError(
                "EUNAVAILABLE",
                f"cannot write {path.parent}: {problem.strerror}",
                suggestion="free some space, or repair the disk",
            ) from None
        return name

    def get(self, name: str) -> bytes:
        """Return the body."""
        try:
            body = files.read_bounded(self._path(require_name(name)), BODY_BYTES)
        except OSError:
            body = None
        return verify_body(name, body)

    def delete(self, name: str) -> None:
        """Remove the body."""
        path = self._path(require_name(name))
        try:
            path.unlink(missing_ok=True)
        except OSError as problem:
            raise BackendError(
                "EUNAVAILABLE", f"cannot remove {path}: {problem.strerror}"
            ) from None

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


def _has_body(path: Path, body: bytes) -> bool:
    """Tell if the file has this body, which a power loss or a bad disk may have changed."""
    try:
        return path.stat().st_size == len(body) and files.read_bounded(path, len(body)) == body
    except FileNotFoundError:
        return False


def _write_durably(path: Path, body: bytes) -> None:
    """Write a file that has its name only once its bytes are on the disk."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            with suppress(OSError):  # not every file system can sync a folder
                os.fsync(folder)
        finally:
            os.close(folder)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
