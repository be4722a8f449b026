"""Builds `engine.wasm`: QuickJS-ng and our shim compiled to WebAssembly, then started once with the
prelude and kept so.

    python -m sigil.sandbox.engine.build [--force]

Needs the wheels of ziglang (the compiler) and wasmtime, and imports nothing else that is not
Python's own: a wheel build runs it before the project's dependencies are there. The same inputs
give the same bytes, on any machine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sigil.sandbox.engine import DESCRIPTION, ENGINE, sources
from sigil.sandbox.engine.sources import BuildError

ZIG = "0.17.1"
HOST_STACK = 512 * 1024  # what the sandbox gives to a call, see sigil/sandbox/runtime_features.py
PRELUDE = (
    *("core", "text", "console", "errors", "time", "crypto", "clone", "host", "address", "url"),
    *("headers", "body", "abort", "fetch", "env", "serve", "main"),
)

_HERE = Path(__file__).parent
_OURS = ("shim.c", "heap.h", "chunks.h", "digest.h", "intrinsics.h", "forms.h")
_THEIRS = ("libregexp.c", "libunicode.c", "dtoa.c")  # quickjs.c is part of shim.c
_FLAGS = (
    *("-target", "wasm32-wasi", "-mexec-model=reactor", "-Os", "-Wno-everything"),
    *(
        "-DNDEBUG",
        "-D_GNU_SOURCE",
        "-DQUICKJS_NG_BUILD",
        "-D_WASI_EMULATED_SIGNAL",
        f"-DHOST_STACK={HOST_STACK}",
    ),
    *(
        "-Wl,--strip-all",
        f"-Wl,-z,stack-size={HOST_STACK // 8 * 3}",
        "-Wl,--export=__stack_pointer",
    ),
)


def build(force: bool = False) -> Path:
    """The engine's path, after building it when it is not what its inputs make. BuildError says
    what is missing.
    """
    inputs = _fingerprint(*_inputs())
    if not force and _is_current(inputs):
        return ENGINE
    with _cache() as cache:
        compiled = _compiled(cache, force)
    _say("starting the engine once, with its prelude")
    module = _pre_initialised(compiled)
    description = {
        "engine": "sigil_js_v1",
        "quickjs-ng": sources.VERSION,
        "ziglang": ZIG,
        "inputs": inputs,
    }
    _write(ENGINE, module)
    _write(
        DESCRIPTION,
        json.dumps({**description, "sha256": sha256(module).hexdigest()}, indent=1).encode()
        + b"\n",
    )
    _say(f"{ENGINE.name}: {len(module) / 1024:,.0f} KiB")
    return ENGINE


def trouble() -> str:
    """What is wrong with the engine that stands here; empty when it is the one that its inputs
    make, as far as they are here too.
    """
    try:
        described = json.loads(DESCRIPTION.read_bytes())
        whole, made_of = (
            described["sha256"] == sha256(ENGINE.read_bytes()).hexdigest(),
            described["inputs"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "nothing says what it was made of"
    if not whole:
        return "it is not the one that was built"
    try:
        return (
            ""
            if made_of == _fingerprint(*_inputs())
            else "it was built of another version of its sources"
        )
    except OSError:
        return ""


def prelude() -> bytes:
    """The prelude's rooms in their order, as one strict function of the intrinsics."""
    rooms = "\n".join((_HERE / "prelude" / f"{name}.js").read_text("utf-8") for name in PRELUDE)
    return f'(function (intrinsics) {{\n"use strict";\n{rooms}}})\n'.encode()


def _inputs() -> Iterator[bytes]:
    yield from _compiler_inputs()
    yield prelude()
    for name in ("snapshot.py", "memory_layout.py", "unstarted.py", "wasm.py"):
        yield (_HERE / name).read_bytes()


def _compiler_inputs() -> Iterator[bytes]:
    yield " ".join((sources.SHA256, ZIG, *_FLAGS)).encode()
    for name in _OURS:
        yield (_HERE / name).read_bytes()


def _fingerprint(*parts: bytes) -> str:
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


def _is_current(inputs: str) -> bool:
    try:
        description = json.loads(DESCRIPTION.read_bytes())
        return bool(
            description["inputs"] == inputs
            and description["sha256"] == sha256(ENGINE.read_bytes()).hexdigest()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def _cache() -> Iterator[Path]:
    """`build/engine` of the source tree; a temporary folder where that cannot be written."""
    folder = _HERE.parents[2] / "build" / "engine"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if writable:
        yield folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def _compiled(cache: Path, force: bool) -> bytes:
    """The engine before its first start, from `cache` when the C is unchanged."""
    kept = cache / f"{_fingerprint(*_compiler_inputs())}.wasm"
    if force or not kept.is_file():
        _say(f"fetching quickjs-ng {sources.VERSION}")
        archive = sources.sdist(cache)
        with tempfile.TemporaryDirectory() as temporary:
            _write(kept, _compile(archive, Path(temporary)))
    return kept.read_bytes()


def _compile(archive: Path, folder: Path) -> bytes:
    """Compiles in `folder`, by relative names and with an environment of its own, so that no path
    gets into the module.
    """
    sources.extract(archive, folder)
    for name in _OURS:
        shutil.copy(_HERE / name, folder)
    _say(f"compiling it to WebAssembly with ziglang {ZIG} (about half a minute)")
    caches = {
        "ZIG_LOCAL_CACHE_DIR": str(folder / "zig"),
        "ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"),
    }
    command = [str(_zig()), "cc", *_FLAGS, "-I.", "shim.c", *_THEIRS, "-lm", "-o", "engine.wasm"]
    run = subprocess.run(
        command, cwd=folder, env=caches, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise BuildError(f"the compiler failed:\n{run.stderr.strip()}")
    return (folder / "engine.wasm").read_bytes()


def _zig() -> Path:
    try:
        found = version("ziglang")
    except PackageNotFoundError:
        found = "missing"
    spec = importlib.util.find_spec("ziglang")
    if found != ZIG or spec is None or spec.origin is None:
        raise BuildError(
            f"the engine is compiled with ziglang {ZIG}, which is {found} here: pip install"
            f" ziglang=={ZIG}"
        )
    return Path(spec.origin).with_name("zig.exe" if sys.platform == "win32" else "zig")


def _pre_initialised(compiled: bytes) -> bytes:
    try:
        from sigil.sandbox.engine.snapshot import pre_initialise
    except ImportError as error:
        raise BuildError(
            "the engine is started once with wasmtime, which is missing here: pip install wasmtime"
        ) from error
    try:
        return pre_initialise(compiled, prelude())
    except ValueError as error:
        raise BuildError(f"the engine did not start: {error}") from error


def _write(path: Path, content: bytes) -> None:
    """All of it or nothing, whoever else builds at the same time."""
    half = path.with_suffix(f".{os.getpid()}")
    half.write_bytes(content)
    half.replace(path)


def _say(line: str) -> None:
    sys.stderr.write(f"engine: {line}\n")
    sys.stderr.flush()


def main() -> int:
    """The command. 0, or 1 after a line on stderr that says what to do."""
    try:
        build(force="--force" in sys.argv[1:])
    except BuildError as error:
        _say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
