"""The wheels that an upgrade installs: they are downloaded first, so that a person sees what they
are, and installed from these files alone.

Only wheels count: a source package runs code of its own while it is built.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.parser import BytesParser
from hashlib import file_digest
from pathlib import Path
from typing import Final

from functions.cli.upgrade.programs import run_command
from sigil.errors import BackendError, UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.storage.files import make_write_error

PACKAGE: Final = "uncaged"
ONLY_WHEELS: Final = "--only-binary=:all:"
REQUIREMENTS: Final = "requirements.txt"
_WHEEL: Final = re.compile(r"([A-Za-z0-9._]+)-([A-Za-z0-9._!+]+)(-[0-9][^-]*)?(-[^-]+){3}\.whl")
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_VERSION: Final = re.compile(r"[A-Za-z0-9._!+]+", re.ASCII)
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel in a file, by the name of which it is called."""

    path: Path
    name: str
    version: str

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the file in hexadecimal digits."""
        with self.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

    @property
    def line(self) -> str:
        """Return what a person is shown of it."""
        return f"{self.name} {self.version} sha256:{self.digest}"


def parse_wheel(path: Path) -> Wheel:
    """Return a file as a wheel; `UsageError` for what is none by its name."""
    found = _WHEEL.fullmatch(path.name)
    if found is None:
        raise UsageError(
            "EINVAL",
            f"{one_line(path.name, 100)} is no wheel: only wheels are installed",
            suggestion="scripts/package in a checkout makes one, in dist/",
        )
    return Wheel(path, found[1].replace("_", "-").lower(), found[2])


def require_own_wheel(path: Path) -> Wheel:
    """Return a wheel of this program; `UsageError` where a file is none, or is not there."""
    wheel = parse_wheel(path)
    if wheel.name != PACKAGE:
        raise UsageError("EINVAL", f"{path} is a wheel of {wheel.name}, not of {PACKAGE}")
    if not path.is_file():
        raise UsageError(
            "ENOENT", f"there is no file {path}", suggestion="name a wheel: --from FILE.whl"
        )
    return wheel


def _require_named_needs(path: Path) -> None:
    """Raise `UsageError` where a wheel needs what is at an address: pip takes that whatever it is,
    and builds a source package there before it says what it would install.
    """
    needs: list[str] = []
    # what cannot be read is refused by pip, which reads it in the same way
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.filename.endswith(".dist-info/METADATA"):
                about = BytesParser().parsebytes(archive.read(member))
                needs += map(str, about.get_all("Requires-Dist", []))
    for need in needs:
        if "@" in need.partition(";")[0]:
            raise UsageError(
                "EINVAL",
                one_line(f"{path.name} needs {need}", 300),
                suggestion="take a wheel that needs packages by their names alone",
            )


def list_downloads(pip: Sequence[str], wheel: Wheel, folder: Path) -> list[list[str]]:
    """Return the commands that find out what a wheel needs beside what is installed, and download
    it into a folder.
    """
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    resolve = [*pip, "install", *quiet, "--dry-run", ONLY_WHEELS, "--report=-", str(wheel.path)]
    download = [*pip, "download", *quiet, ONLY_WHEELS, "--no-deps", "--require-hashes"]
    return [resolve, [*download, f"--dest={folder}", f"--requirement={folder / REQUIREMENTS}"]]


def download_wheels(pip: Sequence[str], wheel: Wheel, folder: Path) -> list[Wheel]:
    """Copy a wheel into a new folder, download what it needs beside it, and return all of them.

    Nothing is installed, and nothing of them runs.
    """
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        shutil.copyfile(wheel.path, folder / wheel.path.name)
        own = parse_wheel(folder / wheel.path.name)
        _require_named_needs(own.path)
        resolve, download = list_downloads(pip, own, folder)
        needed = _read_report(run_command(resolve))
        if needed:
            (folder / REQUIREMENTS).write_text("".join(f"{line}\n" for line in needed))
            run_command(download)
        return [
            own,
            *(parse_wheel(path) for path in sorted(folder.glob("*.whl")) if path != own.path),
        ]
    except OSError as problem:
        raise make_write_error(folder, problem) from None


def make_install_command(pip: Sequence[str], wheels: Sequence[Wheel], folder: Path) -> list[str]:
    """Return the command that installs wheels from a folder, and from nowhere else."""
    sources = ["--no-index", f"--find-links={folder}", "--no-deps", ONLY_WHEELS]
    words = [*pip, "install", "--quiet", "--disable-pip-version-check", "--upgrade", *sources]
    return [*words, *(str(wheel.path) for wheel in wheels)]


def _read_report(report: str) -> list[str]:
    """Return the requirements of what pip would install beside our own wheel, each with its digest;
    `BackendError` for a report that names none.
    """
    try:
        rows = [as_mapping(row) for row in as_sequence(as_mapping(json.loads(report))["install"])]
    except (ValueError, KeyError):
        raise BackendError("EUNAVAILABLE", "pip does not say what it would install") from None
    lines = []
    for row in rows:
        about = as_mapping(row.get("metadata"))
        name, version = as_string(about.get("name")), as_string(about.get("version"))
        if name.lower() == PACKAGE:
            continue
        archive = as_mapping(as_mapping(row.get("download_info")).get("archive_info"))
        # earlier pips write one hash alone
        earlier = as_string(archive.get("hash")).removeprefix("sha256=")
        digest = as_string(as_mapping(archive.get("hashes")).get("sha256")) or earlier
        is_known = _NAME.fullmatch(name) and _VERSION.fullmatch(version)
        if not is_known or not _SHA256.fullmatch(digest):
            raise BackendError(
                "EUNAVAILABLE", f"the index gives no SHA-256 of {one_line(name, 100)}"
            )
        lines.append(f"{name}=={version} --hash=sha256:{digest}")
    return lines
