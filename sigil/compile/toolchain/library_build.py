"""Compiles the library's C capabilities into the package, so that what is installed needs no
compiler.

    python -m sigil.compile.toolchain.library_build

A module is named by its source, so one whose source changed is not found; a note beside them says
what else they were made of.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from sigil.compile.toolchain import c
from sigil.errors import SigilError

_ROOT = Path(__file__).parents[3]


def prebuild(
    capabilities: Path = _ROOT / "capabilities",
    built: Path = c.BUILT,
    cache: Path = _ROOT / "build" / "c",
) -> list[Path]:
    """The modules of all C sources in a folder of capabilities, made where they are not there yet;
    those of other sources go.
    """
    built.mkdir(exist_ok=True)
    wanted = {
        built / f"{sha256(source).hexdigest()}.wasm": (name, source)
        for name, source in _sources(capabilities)
    }
    stand = (built / c.NOTE).is_file() and (built / c.NOTE).read_text("utf-8") == c.note()
    for path in built.glob("*.wasm"):
        if path not in wanted or not stand:
            path.unlink(missing_ok=True)
    for path, (name, source) in wanted.items():
        if not path.is_file():
            sys.stderr.write(f"toolchain: compiling {name}\n")
            half = path.with_suffix(f".{os.getpid()}")
            half.write_bytes(c.compiled(source, name, cache).wasm)
            half.replace(path)
    (built / c.NOTE).write_text(c.note(), "utf-8")
    return [*wanted]


def _sources(capabilities: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(capabilities.glob("*/sigil.toml")):
        build = tomllib.loads(path.read_text("utf-8")).get("build", {})
        if build.get("lang") == "c":
            yield path.parent.name, (path.parent / build.get("source", "main.c")).read_bytes()


def main() -> int:
    """The command. 0, or 1 after a line on stderr that says what to do."""
    try:
        prebuild()
    except SigilError as error:
        sys.stderr.write(
            f"toolchain: {error.source}: {error.message}\ntoolchain: {error.suggestion}\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
