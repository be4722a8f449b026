"""Builds `engine.wasm`: compiles QuickJS-ng and our shim to WebAssembly, starts that once with the
prelude, and writes its memory into the module.

    python -m sigil.sandbox.engine.build [--force]

It needs the wheels of ziglang (the compiler) and wasmtime, and imports nothing else that is not
Python's own: a wheel build runs it before the project's dependencies are there. The same inputs
give the same bytes, on any machine.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from sigil.sandbox.engine import DESCRIPTION, ENGINE, c_library, sources
from sigil.sandbox.engine.build_cache import BuildCache, open_build_cache
from sigil.sandbox.engine.sources import BuildError

ZIG = "0.17.1"
HOST_STACK = 512 * 1024
"""The stack that the sandbox gives to a call: `STACK_BYTES` of `sigil.sandbox.runtime.config`."""
PRELUDE = (
    "core",
    "text",
    "console",
    "errors",
    "time",
    "crypto",
    "clone",
    "host",
    "address",
    "url",
    "headers",
    "body",
    "abort",
    "fetch",
    "env",
    "result",
    "locale",
    "serve",
    "main",
)

_HERE = Path(__file__).parent
_OURS = ("shim.c", "heap.h", "chunks.h", "digest.h", "intrinsics.h", "forms.h", "result.h")
_THEIRS = ("libregexp.c", "libunicode.c", "dtoa.c")  # quickjs.c is part of shim.c
_FLAGS = (
    "-target",
    "wasm32-wasi",
    "-mexec-model=reactor",
    "-Os",
    "-Wno-everything",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-DQUICKJS_NG_BUILD",
    "-D_WASI_EMULATED_SIGNAL",
    f"-DHOST_STACK={HOST_STACK}",
)
_STACK = HOST_STACK // 8 * 3
_EXPORTS = ("__stack_pointer",)


def build(force: bool = False) -> Path:
    """Build the engine unless it is there and of the same inputs; return its path. `BuildError`
    says what is missing.
    """
    if not force and not find_problem():
        return ENGINE
    kept = BuildCache(None) if force else open_build_cache()
    inputs = _fingerprint(*_inputs())
    with _open_cache() as cache:
        compiled = _compile_engine(cache, kept, force)
    module = kept.take("engine", inputs)
    if module is None:
        module = _start_engine(compiled)
        kept.keep("engine", inputs, module)
    description = {
        "engine": "sigil_js_v1",
        "quickjs-ng": sources.VERSION,
        "ziglang": ZIG,
        "inputs": inputs,
        "sha256": sha256(module).hexdigest(),
    }
    _write(ENGINE, module)
    _write(DESCRIPTION, json.dumps(description, indent=1).encode() + b"\n")
    _report(f"{ENGINE.name}: {len(module) / 1024:,.0f} KiB")
    return ENGINE


def find_problem() -> str:
    """Return what is wrong with the engine that is there; empty when it is the one that its inputs
    make, as far as the inputs are there too.
    """
    try:
        description = json.loads(DESCRIPTION.read_bytes())
        is_whole = description["sha256"] == sha256(ENGINE.read_bytes()).hexdigest()
        inputs = description["inputs"]
    except (OSError, ValueError, KeyError, TypeError):
        return "nothing says what it was made of"
    if not is_whole:
        return "it is not the one that was built"
    try:
        is_current = inputs == _fingerprint(*_inputs())
    except OSError:
        return ""
    return "" if is_current else "it was built of another version of its sources"


def join_prelude() -> bytes:
    """Return the prelude's files in their order, as one strict function of the intrinsics."""
    text = "\n".join((_HERE / "prelude" / f"{name}.js").read_text("utf-8") for name in PRELUDE)
    return f'(function (intrinsics) {{\n"use strict";\n{text}}})\n'.encode()


def _inputs() -> Iterator[bytes]:
    yield from _compiler_inputs()
    yield join_prelude()
    for name in ("snapshot.py", "memory_layout.py", "unstarted.py", "wasm.py"):
        yield (_HERE / name).read_bytes()


def _compiler_inputs() -> Iterator[bytes]:
    yield " ".join((sources.SHA256, ZIG, *_FLAGS, str(_STACK), *_EXPORTS)).encode()
    yield (_HERE / "c_library.py").read_bytes()
    for name in _OURS:
        yield (_HERE / name).read_bytes()


def _fingerprint(*parts: bytes) -> str:
    return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()


@contextmanager
def _open_cache() -> Iterator[Path]:
    """Yield `build` of the source tree, or a temporary folder where that is not writable."""
    folder = _HERE.parents[2] / "build"
    try:
        (folder / "engine").mkdir(parents=True, exist_ok=True)
        writable = os.access(folder / "engine", os.W_OK)
    except OSError:
        writable = False
    if writable:
        yield folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "engine").mkdir()
        yield Path(temporary)


def _compile_engine(cache: Path, kept: BuildCache, force: bool = False) -> bytes:
    """Return the engine before its first start: from `cache` or `kept` when the C is unchanged,
    else compiled.

    It is compiled in a folder of its own, by relative names and with an environment of its own, so
    that no path gets into the module. The C library, which `cache` keeps as well, comes last:
    another process may compile it meanwhile, for the capabilities in C.
    """
    inputs = _fingerprint(*_compiler_inputs())
    path = cache / "engine" / f"{inputs}.wasm"
    if path.is_file() and not force:
        return path.read_bytes()
    compiled = kept.take("unstarted", inputs)
    if compiled is None:
        _report(f"fetching quickjs-ng {sources.VERSION}")
        archive = sources.fetch_sdist(cache / "engine")
        zig = _find_zig()
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            sources.extract(archive, folder)
            for name in _OURS:
                shutil.copy(_HERE / name, folder)
            _report(f"compiling it to WebAssembly with ziglang {ZIG} (about fifteen seconds)")
            compiled = _compile_sources(zig, folder, cache / "c", kept)
        kept.keep("unstarted", inputs, compiled)
    _write(path, compiled)
    return compiled


def _compile_sources(zig: Path, folder: Path, cache: Path, kept: BuildCache) -> bytes:
    """Return the module of the sources in `folder`, linked with the C library in `cache`."""
    variables = {
        "ZIG_LOCAL_CACHE_DIR": str(folder / "zig"),
        "ZIG_GLOBAL_CACHE_DIR": str(folder / "zig"),
    }

    def run(place: Path, arguments: Sequence[str]) -> None:
        _run_compiler(zig, place, arguments, variables)

    objects = []
    for name in ("shim.c", *_THEIRS):
        objects.append(str(Path(name).with_suffix(".o")))
        run(folder, ["cc", *_FLAGS, "-I.", "-c", name, "-o", objects[-1]])
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(cache / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        library = c_library.make_library(zig, cache, run, kept)
    link = c_library.link_arguments(
        library, "reactor", objects, "engine.wasm", stack=_STACK, exports=_EXPORTS
    )
    run(folder, link)
    return (folder / "engine.wasm").read_bytes()


def _run_compiler(
    zig: Path, place: Path, arguments: Sequence[str], variables: Mapping[str, str]
) -> None:
    run = subprocess.run(
        [str(zig), *arguments],
        cwd=place,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise BuildError(f"the compiler failed:\n{run.stderr.strip()}")


def _start_engine(compiled: bytes) -> bytes:
    """Return the engine after its first start, with the prelude."""
    _report("starting the engine once, with its prelude")
    try:
        from sigil.sandbox.engine.snapshot import pre_initialise
    except ImportError as error:
        raise BuildError(
            "the engine is started once with wasmtime, which is missing here: pip"
            " install --only-binary=:all: wasmtime"
        ) from error
    try:
        return pre_initialise(compiled, join_prelude())
    except ValueError as error:
        raise BuildError(f"the engine did not start: {error}") from error


def _find_zig() -> Path:
    """Return the compiler's program; `BuildError` when it is missing, or of another version."""
    try:
        found = version("ziglang")
    except PackageNotFoundError:
        found = "missing"
    spec = importlib.util.find_spec("ziglang")
    if found != ZIG or spec is None or spec.origin is None:
        raise BuildError(
            f"the engine is compiled with ziglang {ZIG}, which is {found} here: pip install"
            f" --only-binary=:all: ziglang=={ZIG}"
        )
    return Path(spec.origin).with_name("zig.exe" if sys.platform == "win32" else "zig")


def _write(path: Path, content: bytes) -> None:
    """Write the file in one step, because others may build at the same time."""
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(path)


def _report(line: str) -> None:
    sys.stderr.write(f"engine: {line}\n")
    sys.stderr.flush()


def main() -> int:
    """Run the command; return 0, or 1 after a line on stderr that says what to do."""
    try:
        build(force="--force" in sys.argv[1:])
    except BuildError as error:
        _report(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
