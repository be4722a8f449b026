"""Measures a package: its size, as it is and zipped, and the digest of its files."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a stage: the digests of its inputs and of its files, its size as it is and
    zipped, in bytes.
    """

    inputs: str
    tree: str
    bytes: int
    zipped: int


class StageMeasurer:
    """Measures stages; a file that is in several of them is zipped once."""

    def __init__(self) -> None:
        self._zipped: dict[str, int] = {}

    def measure(self, folder: Path, inputs: str) -> Facts:
        """Return the facts of the stage in `folder`."""
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        size = zipped = 0
        for path in files:
            body = path.read_bytes()
            name = sha256(body).hexdigest()
            if name not in self._zipped:
                self._zipped[name] = len(zlib.compress(body, 6))
            size += len(body)
            zipped += self._zipped[name]
        return Facts(inputs, digest_files(files, folder), size, zipped)


def digest_files(files: Iterable[Path], root: Path) -> str:
    """Return a digest of the files' names, relative to `root`, and of their contents."""
    total = sha256()
    for path in files:
        name = path.relative_to(root).as_posix()
        total.update(f"{name}\0{sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()
