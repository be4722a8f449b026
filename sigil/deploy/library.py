"""The standard library: a folder of capabilities that a registry starts with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

NAMED = 5
"""So many new ones are told by name."""


class LibraryTarget(Protocol):
    """The registry that a library is deployed to."""

    def deploy_package(self, package: Package, caller: Caller) -> Deployed:
        """Check, test and activate a package; `created` says whether it is new."""

    def keep(self, names: set[str], caller: Caller) -> Sequence[str]:
        """Remove what stands in the caller's namespace under other names; the names that went."""


def read_packages(folder: Path) -> list[Package]:
    """The packages of a folder's subfolders, by name."""
    return [read_folder(path.parent) for path in sorted(folder.glob("*/sigil.toml"))]


def update_library(
    registry: LibraryTarget, folder: Path | None, caller: Caller, progress: Callable[[str], None]
) -> bool:
    """Deploy what is new or changed in `folder`, remove what is no longer there; whether there was
    anything to do.
    """
    if folder is None:
        return False
    shelf = {package.manifest.name: package for package in read_packages(folder)}
    order = order_callees_first({name: package.manifest for name, package in shelf.items()})
    new = [name for name in order if registry.deploy_package(shelf[name], caller).created]
    if new:
        progress(f"library: {', '.join(new) if len(new) <= NAMED else f'{len(new)} capabilities'}")
    gone = registry.keep(set(shelf), caller)
    for name in gone:
        progress(f"library: {name} is gone")
    return bool(new or gone)


@dataclass(frozen=True, slots=True)
class LibraryFolder:
    """A library's folder, and the store whose registry it fills."""

    kv: KV
    folder: Path

    def stock(self, registry: LibraryTarget, progress: Callable[[str], None]) -> None:
        """Do what `update_library` does, unless a start found that there is nothing to do.

        That start's mark says so for as long as folder, program and the library's namespace stay.
        """
        mark = self._mark()
        noted = self.kv.get(keys.library_state())
        if noted and noted.value == mark:
            return
        if not update_library(registry, self.folder, Caller(LIBRARY, author="library"), progress):
            self.kv.put(keys.library_state(), mark)

    def _mark(self) -> bytes:
        """Return what the folder is made of, and the version of the log of what the library's
        namespace holds.
        """
        log = self.kv.get(keys.generation(LIBRARY))
        return f"{self._made_of()} {log.version if log else ''}".encode()

    def _made_of(self) -> str:
        """The SHA-256 of everything in the folder that a capability is made of, and of the
        program's version.
        """
        whole = sha256(installed_version().encode())
        for path in self._files():
            body = path.read_bytes()
            whole.update(
                f"\0{path.relative_to(self.folder).as_posix()}\0{len(body)}\0".encode() + body
            )
        return whole.hexdigest()

    def _files(self) -> Iterator[Path]:
        for manifest in sorted(self.folder.glob("*/sigil.toml")):
            with suppress(OSError):
                yield from (path for path in sorted(manifest.parent.rglob("*")) if path.is_file())
