"""Artifacts as files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sigil.artifacts.base import asked, checked, name_of
from sigil.errors import BackendError


class FolderArtifacts:
    """One file a body, in folders of the name's first two digits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""
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
        """The body."""
        try:
            body = self._path(asked(name)).read_bytes()
        except OSError:
            body = None
        return checked(name, body)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name


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
