"""The standard library: a folder of capabilities that a registry starts with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sigil.package import Package, read_folder
from sigil.protocol import Caller
from sigil.registry import LocalRegistry

NAMED = 5
"""So many new ones are told by name."""


def packages(folder: Path) -> list[Package]:
    """The packages of a folder's subfolders, by name."""
    return [read_folder(path.parent) for path in sorted(folder.glob("*/sigil.toml"))]


def stock(registry: LocalRegistry, folder: Path | None, caller: Caller, progress: Callable[[str], None]) -> None:
    """Deploy what is new or changed in `folder`, remove what is no longer there; what stands there unchanged costs one read each."""
    if folder is None:
        return
    shelf = packages(folder)
    new = [package.manifest.name for package in shelf if registry.deploy_package(package, caller).created]
    if new:
        progress(f"library: {', '.join(new) if len(new) <= NAMED else f'{len(new)} capabilities'}")
    for name in registry.keep({package.manifest.name for package in shelf}, caller):
        progress(f"library: {name} is gone")
