"""Checks the schemas of the library when the package is built, and writes down that they are right.

python -m sigil.manifest.library_schemas
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Final

from sigil.manifest import checked_schemas, schema
from sigil.strict_json import canonical

CAPABILITIES: Final = Path(__file__).parents[2] / "capabilities"


def build(capabilities: Path = CAPABILITIES, file: Path = checked_schemas.FILE) -> int:
    """Check the schemas of the capabilities in a folder's subfolders; return how many they are."""
    file.unlink(missing_ok=True)  # each is checked now, whatever was checked before
    checked = []
    for path in sorted(capabilities.glob("*/sigil.toml")):
        manifest = tomllib.loads(path.read_text("utf-8"))
        checked.append(canonical(schema.check(manifest.get("input", {}))))
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_bytes(checked_schemas.seal(checked))
    draft.replace(file)
    return len(checked)


if __name__ == "__main__":
    build()
