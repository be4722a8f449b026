"""Files that a run returned, saved where a person finds them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sigil.errors import UsageError
from sigil.protocol import KeptFile
from sigil.storage.obeyed_names import disable_path


def save_files(
    files: Sequence[KeptFile], bodies: Sequence[bytes], place: Path | None = None
) -> list[Path]:
    """Write the files, and return their paths.

    `place` is a folder, or the path of a single file that is not there yet; without it they go into
    a new folder that nobody else reads. No file is written over: a number makes its name another.
    What some program would obey in the folder gets the suffix of `obeyed_names`.
    """
    if not files:
        return []
    paths = []
    try:
        if place is None:
            place = Path(tempfile.mkdtemp(prefix="sigil-files-"))
        elif len(files) > 1 and not place.exists():
            place.mkdir()
        for file, body in zip(files, bodies, strict=True):
            path = place / disable_path(file.name) if place.is_dir() else place
            paths.append(_write_new(path, body))
    except OSError as problem:
        raise UsageError(
            "EINVAL",
            f"cannot write {problem.filename or place}: {problem.strerror}",
            suggestion="--output names a folder, or a file that is not there yet",
        ) from None
    return paths


def _write_new(path: Path, body: bytes) -> Path:
    """Write a file that is not there yet, under its name or a similar one."""
    for number in range(1, 1_000):
        candidate = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        with suppress(FileExistsError), candidate.open("xb") as file:
            file.write(body)
            return candidate
    raise UsageError("EINVAL", f"{path} and its like are there already")
