"""Bodies too large for the store, named by their own SHA-256 and checked when read."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Protocol

from sigil.errors import BackendError


def name_of(body: bytes) -> str:
    """The name of a body: 64 hex digits."""
    return hashlib.sha256(body).hexdigest()


class Artifacts(Protocol):
    """Write once, read by name."""

    def put(self, body: bytes) -> str:
        """Store the body and return its name; storing it again changes nothing."""

    def get(self, name: str) -> bytes:
        """The body; `BackendError` when it is missing or not what its name says."""


class MemoryArtifacts:
    """Bodies that live as long as the process."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    def put(self, body: bytes) -> str:
        name = name_of(body)
        self._bodies[name] = body
        return name

    def get(self, name: str) -> bytes:
        return _checked(name, self._bodies.get(name))


class FolderArtifacts:
    """One file a body, in folders of the name's first two digits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, body: bytes) -> str:
        name = name_of(body)
        path = self._path(name)
        if not path.exists():
            try:
                _write(path, body)
            except OSError as problem:
                raise BackendError(
                    "EUNAVAILABLE", f"cannot write {path.parent}: {problem.strerror}", suggestion="free or mend the disk"
                ) from None
        return name

    def get(self, name: str) -> bytes:
        try:
            body = self._path(name).read_bytes()
        except OSError:
            body = None
        return _checked(name, body)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


def _checked(name: str, body: bytes | None) -> bytes:
    if body is None:
        raise BackendError("EUNAVAILABLE", f"artifact {name[:12]} is missing", suggestion="restore the artifacts folder, or deploy again")
    if name_of(body) != name:
        raise BackendError("EUNAVAILABLE", f"artifact {name[:12]} is damaged", suggestion="restore the artifacts folder, or deploy again")
    return body


def _write(path: Path, body: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
