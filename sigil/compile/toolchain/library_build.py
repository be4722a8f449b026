"""Compiles the library's C capabilities into the package, so that an installed package needs no
compiler for them.

    python -m sigil.compile.toolchain.library_build

A module's file is named by the hash of its source, so a changed source has none; a note beside the
modules holds the hash of everything else that they were made of.
"""

from __future__ import annotations

import os
import sys
import tomllib
from hashlib import sha256
from pathlib import Path

from sigil.compile.toolchain import c
from sigil.errors import SigilError
from sigil.sandbox.engine.build_cache import BuildCache, open_build_cache

_ROOT = Path(__file__).parents[3]


def prebuild(
    capabilities: Path = _ROOT / "capabilities",
    built: Path = c.BUILT,
    cache: Path = _ROOT / "build" / "c",
    kept: BuildCache | None = None,
) -> list[Path]:
    """Compile the C sources of the folder `capabilities` that have no module in `built` yet and are
    not `kept` by an earlier build either, and delete the modules of other sources; return the paths
    of the modules. The C library that an earlier build kept is then in `cache` for other sources.
    """
    kept = kept or open_build_cache()
    built.mkdir(exist_ok=True)
    modules: dict[Path, tuple[str, bytes]] = {}
    for manifest in sorted(capabilities.glob("*/sigil.toml")):
        build = tomllib.loads(manifest.read_text("utf-8")).get("build", {})
        if build.get("lang") == "c":
            source = (manifest.parent / build.get("source", "main.c")).read_bytes()
            path = built / f"{sha256(source).hexdigest()}.wasm"
            modules[path] = (manifest.parent.name, source)
    note = built / c.NOTE
    is_current = note.is_file() and note.read_text("utf-8") == c.make_note()
    for path in built.glob("*.wasm"):
        if path not in modules or not is_current:
            path.unlink(missing_ok=True)
    for path, (name, source) in modules.items():
        if not path.is_file():
            inputs = sha256(c.make_note().encode() + source).hexdigest()
            module = kept.take("c", inputs)
            if module is None:
                sys.stderr.write(f"toolchain: compiling {name}\n")
                module = c.compile_source(source, name, cache, kept).wasm
                kept.keep("c", inputs, module)
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_bytes(module)
            draft.replace(path)
    note.write_text(c.make_note(), "utf-8")
    c.take_library(cache, kept)
    return list(modules)


def main() -> int:
    """Run the command; return 0, or 1 after a line on stderr that says what to do."""
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
