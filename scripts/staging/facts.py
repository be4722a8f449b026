"""The figures of a package: its size, as it is and zipped, and a digest of all that is in it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Facts:
    """About a stage: digests of what it was made from and of what came out, its size as it is and
    zipped, in bytes.
    """

    inputs: str
    tree: str
    bytes: int
    zipped: int


class Scales:
    """Weighs stages; a file that several of them hold is zipped once."""

    def __init__(self) -> None:
        self._zipped: dict[str, int] = {}

    def weigh(self, folder: Path, inputs: str) -> Facts:
        """The facts about what is in `folder`."""
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        zipped = sum(self._weight(path.read_bytes()) for path in files)
        return Facts(
            inputs, digest(files, folder), sum(path.stat().st_size for path in files), zipped
        )

    def _weight(self, body: bytes) -> int:
        name = sha256(body).hexdigest()
        if name not in self._zipped:
            self._zipped[name] = len(zlib.compress(body, 6))
        return self._zipped[name]


def digest(files: Iterable[Path], root: Path) -> str:
    """Of names and contents."""
    total = sha256()
    for path in files:
        total.update(
            f"{path.relative_to(root).as_posix()}\0{sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return total.hexdigest()
