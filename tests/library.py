"""Libraries that tests make: some capabilities of the standard one, and services of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.project.tree import ROOT

SERVICE = """
[capability]
name = "{name}"
description = "{description}"
lifetime = "persistent"
public = true
examples = ["{example}"]
[build]
lang = "host"
[input]
type = "object"
additionalProperties = false
[output]
type = "string"
"""


def copy_capabilities(library: Path, *names: str) -> Path:
    """Copy capabilities of the standard library to another one, and return that."""
    for name in names:
        shutil.copytree(ROOT / "capabilities" / name, library / name)
    return library


def add_service(library: Path, name: str, description: str, example: str) -> Path:
    """Add a service that takes nothing and returns a text to a library, and return that."""
    folder = library / name
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "capabilities" / "forget" / "README.md", folder)
    manifest = SERVICE.format(name=name, description=description, example=example)
    (folder / "sigil.toml").write_text(manifest)
    return library
