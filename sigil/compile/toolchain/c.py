"""Compiles C to WebAssembly with the clang of the ziglang wheel: to a `sigil/1` module when the
source includes `sigil.h`, else to a command.

A source is linked with the part of the C library that `sigil.sandbox.engine.c_library` compiles in
some seconds. Only one that uses more of it waits for the whole library.

The compiler runs in a child with bounds on time and memory; where the kernel can (Linux's
Landlock), it confines the child to its own folder and a cache. Where it cannot, the rules in
`list_headers` still keep a source from naming any other file.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sigil.compile.toolchain.cache_folders import hold_lock, make_writable, user_folder
from sigil.compile.toolchain.installed import VERSIONS, find_toolchain, install_command
from sigil.compile.toolchain.sandboxed_compiler import (
    SECONDS,
    CompiledSource,
    Compiler,
    read_module,
    source_refusal,
)
from sigil.errors import one_line

if TYPE_CHECKING:
    from sigil.sandbox.engine.build_cache import BuildCache

HEADER = Path(__file__).with_name("sigil.h")
BUILT = Path(__file__).with_name("built")
"""The folder of the modules that came with the package, each named by its source's sha256. Such a
source needs no compiler.
"""
NOTE = "made-of.json"
"""The file beside them, `{"made_of"}`: the fingerprint of everything else that they were made
of.
"""

PATIENCE_SECONDS = 60.0
_FIRST_SECONDS = 240
"""Of a processor: the C library is compiled once for each cache, its usual part in about eleven."""

_FLAGS = (
    "-target",
    "wasm32-wasi",
    "-std=gnu17",
    "-Os",
    "-w",
    "-fno-gnu-inline-asm",
    "-DNDEBUG",
    "-I.",
)
_STACK = 65_536
_REACTOR = "-mexec-model=reactor"
_COMPILER = f"pip install --only-binary=:all: ziglang=={VERSIONS['c']}"

# A compiler takes `\n\r` for a line end as well, and splices lines at it. So it gets the line ends
# that `list_headers` saw, and no others.
_LINE_END = re.compile(rb"\r\n?")
_SPLICE = re.compile(rb"\\[ \t\v\f]*\n")
_INCLUDE = re.compile(
    rb"[ \t]*#[ \t]*include[ \t]*(?:<([a-z0-9_]+(?:/[a-z0-9_]+)?\.h)>|\"(sigil\.h)\")["
    rb" \t]*(?://.*|/\*[^*]*\*/[ \t]*)?"
)
_ALWAYS = re.compile(rb"##|%:%:|\b_Pragma\b|\b__has_(?:include|embed)\w*|\b__include_macros\b")
_MARK = re.compile(rb"#|%:|\*/")
_DIRECTIVE = re.compile(rb"\b(?:include|include_next|import|embed|pragma)\b")
_ERROR = re.compile(r"^main\.c:(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)
_CRASH = "frontend command failed"
_LINK = re.compile(r"error: (?:wasm-ld: )?(?:\S+\.o: )?(.*)")
_NAMES = 100
_UNDEFINED = re.compile(r"undefined symbol: (\w+)")


def compile_source(
    source: bytes, name: str, cache: Path | None = None, kept: BuildCache | None = None
) -> CompiledSource:
    """Return the module of a C source. `cache`: the folder of the compiled C library (default: `c/`
    in the cache folder), which a build takes from what it `kept`.

    `Refused` EMODULE says in one line what is wrong, or that the compiler is missing.
    """
    kind: Literal["sigil", "wasi"] = "wasi"
    if HEADER.name in list_headers(source, name):
        kind = "sigil"
    if _came_compiled(source):
        return CompiledSource(kind, _built_path(source).read_bytes())
    zig = _find_zig(name)
    from sigil.sandbox.engine.c_library import library_folder

    with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
        work = Path(temporary) / "work"
        work.mkdir()
        cache = make_writable(cache or user_folder("c")) or Path(temporary)
        part = library_folder(zig, cache)
        busy = _whole_mark(zig, cache).with_suffix(".begun")
        (work / "main.c").write_bytes(_LINE_END.sub(b"\n", source))
        shutil.copy(HEADER, work / "sigil.h")

        def patience() -> float:
            return PATIENCE_SECONDS if part.is_dir() and not busy.exists() else _FIRST_SECONDS

        mode = (_REACTOR,) if kind == "sigil" else ()
        with hold_lock(cache, "C", name, patience):
            messages, status = _run_compiler(
                zig, work, cache, (*_FLAGS, *mode, "-c", "main.c", "-o", "main.o"), SECONDS
            )
            if not status:
                messages, status = _link(zig, work, cache, kind, kept)
            if status and _needs_more(zig, messages):
                _compile_whole_library(zig, cache, busy)
                link = ("-Wl,--strip-all", f"-Wl,-z,stack-size={_STACK}")
                arguments = (*_FLAGS, *link, *mode, "main.c", "-o", "main.wasm")
                messages, status = _run_compiler(zig, work, cache, arguments, SECONDS)
        reason = _explain_failure(messages, status)
        return CompiledSource(kind, read_module(work / "main.wasm", status, reason, name))


def take_library(cache: Path, kept: BuildCache) -> None:
    """Put the C library that a build `kept` into the folder `cache`, where there is one."""
    from sigil.sandbox.engine import c_library

    zig = _locate_zig()
    folder = make_writable(cache)
    if zig is None or folder is None:
        return
    with hold_lock(folder, "C", "", lambda: _FIRST_SECONDS):
        c_library.take_library(zig, folder, kept)


def require_compiler() -> None:
    """Raise `Refused` when the compiler is missing on this machine."""
    _find_zig("")


def needs_library(source: bytes, cache: Path | None = None) -> bool:
    """Return whether compiling this source has to wait until the C library is compiled, which takes
    about ten seconds, once for each cache.

    It is so for a source that is text and did not come compiled, while the cache is cold.
    """
    try:
        source.decode()
    except UnicodeDecodeError:
        return False
    zig = _locate_zig()
    if _came_compiled(source) or zig is None:
        return False
    from sigil.sandbox.engine.c_library import library_folder

    part = library_folder(zig, cache or user_folder("c"))
    return not part.is_dir()


def _built_path(source: bytes) -> Path:
    return BUILT / f"{sha256(source).hexdigest()}.wasm"


def _came_compiled(source: bytes) -> bool:
    """Return whether the package brought the module of this source, as it would be made now. Where
    the package came without the header, nothing else could be made.
    """
    if not _built_path(source).is_file():
        return False
    try:
        return not HEADER.is_file() or (BUILT / NOTE).read_text("utf-8") == make_note()
    except OSError:
        return False


def make_note() -> str:
    """Return the note on what modules are made of beside their source: with the same note, the same
    source gives the same bytes.
    """
    parts = (HEADER.read_bytes(), " ".join((*_FLAGS, str(_STACK), _COMPILER)).encode())
    fingerprint = sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()
    return json.dumps({"made_of": fingerprint})


def list_headers(source: bytes, name: str) -> set[str]:
    """Return the headers that a source includes; raise `Refused` when it could name any file but
    `sigil.h` and the C library's headers.

    Lines are read as a compiler does, after its splices. A directive that reads a file has to be
    alone on its line, a plain `#include`; tokens that could make a directive out of other words
    (`##`, `_Pragma`) are refused everywhere. A line on which a directive may begin, or go on after
    a comment, has a `#` or the end of a comment in it; all other lines are free.
    """
    if b"\0" in source:
        raise source_refusal("the source holds a zero byte", name)
    included: set[str] = set()
    text = _SPLICE.sub(b"", _LINE_END.sub(b"\n", source))
    for number, line in enumerate(text.split(b"\n"), 1):
        found = _ALWAYS.search(line) or (_MARK.search(line) and _DIRECTIVE.search(line))
        include = _INCLUDE.fullmatch(line)
        if include:
            included.add((include[1] or include[2]).decode("ascii"))
        elif found:
            word = found.group()[:20].decode("ascii", "replace")
            raise source_refusal(
                f'line {number}: no {word} here: only #include <HEADER> or "sigil.h", on a line of'
                " its own",
                name,
            )
    return included


def _whole_mark(zig: Path, cache: Path) -> Path:
    """Return the path of the empty file that marks a cache with the whole C library. The compiler
    looks for the library by its own path and by the flags, so the name depends on them.
    """
    facts = zig.stat()
    inputs = repr((str(zig), facts.st_size, facts.st_mtime_ns, _FLAGS))
    return cache / f"whole-{sha256(inputs.encode()).hexdigest()[:16]}"


def _link(
    zig: Path, work: Path, cache: Path, kind: Literal["sigil", "wasi"], kept: BuildCache | None
) -> tuple[str, int]:
    """Link the compiled source with the usual part of the C library; return the messages and the
    exit status.
    """
    from sigil.sandbox.engine.c_library import link_arguments, make_library
    from sigil.sandbox.engine.sources import BuildError

    def run(place: Path, arguments: Sequence[str]) -> None:
        caches = {"ZIG_LOCAL_CACHE_DIR": str(place), "ZIG_GLOBAL_CACHE_DIR": str(place)}
        compiler = Compiler(zig, place, write=[cache], variables=caches)
        messages, status = compiler.run(arguments, _FIRST_SECONDS)
        if status:
            raise BuildError(messages)

    try:
        library = make_library(zig, cache, run, kept)
    except BuildError as problem:
        return f"error: the C library does not compile: {problem}", 1
    arguments = link_arguments(
        library,
        "reactor" if kind == "sigil" else "command",
        ["main.o"],
        "main.wasm",
        stack=_STACK,
    )
    return Compiler(zig, work, read=[library]).run(arguments, SECONDS)


def _needs_more(zig: Path, messages: str) -> bool:
    """Return whether a source failed because it uses what only the whole C library has: one of the
    library's headers declares each name that is not defined.
    """
    names = set(_UNDEFINED.findall(messages))
    if not 0 < len(names) <= _NAMES:
        return False
    headers = zig.parent / "lib" / "libc" / "include"
    for folder in ("wasm-wasi-musl", "generic-musl"):
        for path in sorted((headers / folder).rglob("*.h")):
            text = path.read_text("utf-8", "replace")
            declaration = r"^[a-z_][^#(\n]*[\s*]%s[ \t]*[(;\[]"
            names -= {name for name in names if re.search(declaration % name, text, re.MULTILINE)}
    return not names


def _compile_whole_library(zig: Path, cache: Path, busy: Path) -> None:
    """Have the compiler make the whole C library, by giving it a source of our own; `busy` is there
    meanwhile.
    """
    mark = _whole_mark(zig, cache)
    if mark.is_file():
        return
    busy.touch()
    try:
        with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
            work = Path(temporary)
            (work / "main.c").write_text("int main(void) { return 0; }\n")
            for mode in ((), (_REACTOR,)):
                arguments = (*_FLAGS, *mode, "main.c", "-o", "main.wasm")
                _, status = _run_compiler(zig, work, cache, arguments, _FIRST_SECONDS)
                if status:
                    return
        mark.touch()
    finally:
        busy.unlink()


def _run_compiler(
    zig: Path, work: Path, cache: Path, arguments: tuple[str, ...], seconds: int
) -> tuple[str, int]:
    caches = {"ZIG_LOCAL_CACHE_DIR": str(work / "zig"), "ZIG_GLOBAL_CACHE_DIR": str(cache)}
    return Compiler(zig, work, write=[cache], variables=caches).run(("cc", *arguments), seconds)


def _locate_zig() -> Path | None:
    """Return the compiler's program: of the package in this environment, or as installed for it."""
    spec = find_spec("ziglang")
    if spec and spec.origin:
        return Path(spec.origin).with_name("zig")
    folder = find_toolchain("c")
    return folder / "ziglang" / "zig" if folder else None


def _find_zig(name: str) -> Path:
    """Return the compiler's program; `Refused` with the command that installs it when it is
    missing.
    """
    zig = _locate_zig()
    if zig is None or not zig.is_file():
        raise source_refusal(
            "C is compiled with ziglang, which is missing here",
            name,
            f'{install_command("c")}, or deploy the finished module (lang = "wasm")',
        )
    return zig


def _explain_failure(messages: str, status: int) -> str:
    """Return one line on why the compiler failed, from its messages and its exit status."""
    error = _ERROR.search(messages)
    if error:
        return f"line {error[1]}, column {error[2]}: {one_line(error[3], 200)}"
    if status < 0 or _CRASH in messages:
        return "the source takes too long or too much memory to compile"
    linker = _LINK.search(messages)
    return one_line(linker[1], 200) if linker else "the source does not compile"
