"""Whether a version reads what a store is written in, before that version is tried."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from functions.backup.archive import ArchiveReader
from functions.cli.upgrade.backup import Backup
from functions.cli.upgrade.confinement import Confinement
from sigil.errors import BackendError
from sigil.storage.kv.sqlite_backup import read_formats

_READS = (
    "from sigil.storage.kv.sqlite_file import SCHEMA\n"
    "from sigil.storage.stored import FORMAT\n"
    "print(SCHEMA, FORMAT)\n"
)
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Formats:
    """The schema of a file (0 for another store), and the newest format of each kind of record."""

    schema: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of_backup(cls, backup: Backup) -> Formats:
        """Return what the store of a backup is written in."""
        if backup.archive.is_file():
            with ArchiveReader(backup.archive) as reader:
                return cls(kinds=reader.manifest.formats)
        found = read_formats(backup.store)
        return cls(found.schema, found.kinds)


def require_readable(python: Path, version: str, formats: Formats) -> None:
    """Raise `BackendError` EFORMAT when a version says that it cannot read these formats.

    One that cannot say what it reads is left to its trial.
    """
    try:
        done = Confinement().run(python, ["-c", _READS], Path("/"), SECONDS)
        schema, newest = map(int, done.stdout.split())
    except (ValueError, OSError, subprocess.SubprocessError):
        return
    problems = []
    if formats.schema > schema:
        problems.append(f"the store has schema {formats.schema}, and it reads up to {schema}")
    for kind, number in sorted(formats.kinds.items()):
        if number > newest:
            problems.append(f"{kind} has format {number}, and it reads up to {newest}")
    if problems:
        raise BackendError(
            "EFORMAT",
            f"uncaged {version} cannot read the store: {'; '.join(problems)}",
            suggestion="choose a version that is as new as the one that wrote it",
        )
