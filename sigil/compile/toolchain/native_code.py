"""Compiles the engine and the library's modules of C to native code beside the package, so that no
first start has to.

`python -m sigil.compile.toolchain.native_code`, for whoever installs or packages.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from sigil.compile.toolchain.c import BUILT
from sigil.sandbox.code_store import FOLDER, ship
from sigil.sandbox.engine import ENGINE


def compile_package(folder: Path = FOLDER) -> None:
    """Compile what this package brings along into `folder`, and remove what an earlier version of
    it left there.
    """
    modules = {
        sha256(path.read_bytes()).hexdigest(): path
        for path in (ENGINE, *sorted(BUILT.glob("*.wasm")))
    }
    for path in folder.glob("*.code"):
        if path.stem not in modules:
            path.unlink()
    for module in modules.values():
        ship(module.read_bytes(), folder)
    for path in folder.glob("*.code"):
        path.chmod(0o644)  # whoever installed it, others may run it


if __name__ == "__main__":
    compile_package()
