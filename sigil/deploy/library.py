"""The standard library is a folder of capabilities that a registry starts with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from sigil.manifest.package import Package, read_folder
from sigil.protocol import LIBRARY, Caller, Deployed
from sigil.run.dependencies import order_callees_first
from sigil.settings import installed_version
from sigil.storage.kv import KV, keys

NAMED_MOST = 5
"""New capabilities that are reported by name; of more, only their number is reported."""


class LibraryTarget(Protocol):
    """The registry that a library is deployed to."""

    def deploy_package(self, package: Package, caller: Caller) -> Deployed:
        """Check, test and activate a package; `created` says whether it is new."""

    def remove_others(self, names: set[str], caller: Caller) -> Sequence[str]:
        """Remove what has other names in the caller's namespace, and return those names."""


def read_packages(folder: Path) -> list[Package]:
    """Return the packages of a folder's subfolders, by name."""
    return [read_folder(path.parent) for path in sorted(folder.glob("*/sigil.toml"))]


def update_library(
    registry: LibraryTarget, folder: Path | None, caller: Caller, progress: Callable[[str], None]
) -> bool:
    """Deploy what is new or changed in `folder`, and remove what is no longer there.

    Return whether there was anything to do.
    """
    if folder is None:
        return False
    packages = {package.manifest.name: package for package in read_packages(folder)}
    order = order_callees_first({name: package.manifest for name, package in packages.items()})
    new = [name for name in order if registry.deploy_package(packages[name], caller).created]
    if new:
        named = ", ".join(new) if len(new) <= NAMED_MOST else f"{len(new)} capabilities"
        progress(f"library: {named}")
    removed = registry.remove_others(set(packages), caller)
    for name in removed:
        progress(f"library: {name} is gone")
    return bool(new or removed)


def fingerprint_library(folder: Path) -> str:
    """Return what stays the same as long as the program and the files of a library do (hex)."""
    fingerprint = sha256(installed_version().encode())
    for manifest in sorted(folder.glob("*/sigil.toml")):
        with suppress(OSError):
            for path in sorted(manifest.parent.rglob("*")):
                if path.is_file():
                    body = path.read_bytes()
                    name = path.relative_to(folder).as_posix()
                    fingerprint.update(f"\0{name}\0{len(body)}\0".encode() + body)
    return fingerprint.hexdigest()


@dataclass(frozen=True, slots=True)
class LibraryFolder:
    """A library's folder, and the store whose registry it fills."""

    kv: KV
    folder: Path

    def update(self, registry: LibraryTarget, progress: Callable[[str], None]) -> None:
        """Do what `update_library` does, unless an earlier start found nothing to do.

        What it found counts as long as folder, program and the library's namespace stay the same.
        """
        log = self.kv.get(keys.generation(LIBRARY))
        log_version = log.version if log else ""
        state = f"{fingerprint_library(self.folder)} {log_version}".encode()
        noted = self.kv.get(keys.library_state())
        if noted and noted.value == state:
            return
        if not update_library(registry, self.folder, Caller(LIBRARY, author="library"), progress):
            self.kv.put(keys.library_state(), state)
