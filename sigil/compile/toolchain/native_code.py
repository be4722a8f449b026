"""Compiles the engine and the library's C modules to native code beside the package, so that a
first start compiles nothing.

    python -m sigil.compile.toolchain.native_code

It runs when this package is installed or built.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from sigil.compile.toolchain.c import BUILT
from sigil.sandbox.code_store import FOLDER, compile_shipped
from sigil.sandbox.engine import ENGINE


def compile_package(folder: Path = FOLDER) -> None:
    """Compile the package's own modules into `folder`, and remove those of an earlier version."""
    modules = {
        sha256(path.read_bytes()).hexdigest(): path
        for path in (ENGINE, *sorted(BUILT.glob("*.wasm")))
    }
    for path in folder.glob("*.code"):
        if path.stem not in modules:
            path.unlink()
    for module in modules.values():
        compile_shipped(module.read_bytes(), folder)
    for path in folder.glob("*.code"):
        path.chmod(0o644)  # another user than the one who installed it may run it


if __name__ == "__main__":
    compile_package()
