"""C becomes WebAssembly, with the clang in the ziglang wheel: a `sigil/1` module when the source
includes `sigil.h`, else a command.

The compiler runs in a child with bounds on time and memory, shut into its own folder and a cache by
the kernel where that can (Linux's Landlock). Where it cannot, the rules in `headers` still keep a
source from naming any other file.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from sigil.compile.toolchain.cache_folders import kept, turn, users
from sigil.compile.toolchain.product import module, refused
from sigil.compile.toolchain.sandboxed_compiler import SECONDS, Compiler
from sigil.errors import one_line

HEADER = Path(__file__).with_name("sigil.h")
BUILT = Path(__file__).with_name("built")
"""Modules that came with the package, each named by its source's sha256: what is found here needs
no compiler.
"""
NOTE = "made-of.json"
"""Beside them: `{"made_of"}`, what else they were made of."""

PATIENCE_SECONDS = 60.0
_FIRST_SECONDS = 240
"""The C library itself is compiled once for each cache: about twenty seconds of a processor."""

_FLAGS = (
    *("-target", "wasm32-wasi", "-std=gnu17", "-Os", "-w", "-fno-gnu-inline-asm", "-DNDEBUG"),
    *("-Wl,--strip-all", "-Wl,-z,stack-size=65536", "-I."),
)
_REACTOR = "-mexec-model=reactor"
_COMPILER = "pip install ziglang==0.17.1"

# A compiler knows `\n\r` as well, and joins lines at it: it is given the line ends that `headers`
# saw, and no others.
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


class Compiled(NamedTuple):
    """A module that was made of C, and its kind."""

    kind: Literal["sigil", "wasi"]
    wasm: bytes


def compiled(source: bytes, name: str, cache: Path | None = None) -> Compiled:
    """The module of a C source. `cache`: where the C library lies compiled (default: `c/` in the
    cache folder).

    `Refused` EMODULE says in one line what is wrong, or that the compiler is missing.
    """
    kind: Literal["sigil", "wasi"] = "sigil" if HEADER.name in headers(source, name) else "wasi"
    return Compiled(
        kind, _ready(source).read_bytes() if _came(source) else _made(source, kind, name, cache)
    )


def demand_here() -> None:
    """`Refused` when the compiler is missing here."""
    _zig("")


def waits(source: bytes, cache: Path | None = None) -> bool:
    """Whether this source waits until the C library is compiled: it is text, it did not come
    compiled, and the cache is cold.
    """
    return _is_text(source) and not _came(source) and cold(cache)


def _is_text(source: bytes) -> bool:
    try:
        source.decode()
    except UnicodeDecodeError:
        return False
    return True


def _ready(source: bytes) -> Path:
    return BUILT / f"{sha256(source).hexdigest()}.wasm"


def _came(source: bytes) -> bool:
    return _ready(source).is_file() and _fits()


def note() -> str:
    """What modules are made of beside their source: the same note and source, the same bytes."""
    parts = (HEADER.read_bytes(), " ".join((*_FLAGS, _COMPILER)).encode())
    return json.dumps(
        {"made_of": sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()}
    )


def _fits() -> bool:
    """Whether what came is what would be made now; where the header stayed at home there is nothing
    to make.
    """
    try:
        return not HEADER.is_file() or (BUILT / NOTE).read_text("utf-8") == note()
    except OSError:
        return False


def headers(source: bytes, name: str) -> set[str]:
    """The headers that a source includes; `Refused` when it could name any file but `sigil.h` and
    the C library's headers.

    Lines are read as a compiler does, after its splices. A directive that reads a file stands alone
    on its line, a plain `#include`; what could make one of other words (`##`, `_Pragma`) is not
    there at all. A line that a directive may begin on, or go on after a comment, has a `#` or the
    end of a comment in it; the other lines are free.
    """
    if b"\0" in source:
        raise refused("the source holds a zero byte", name)
    included: set[str] = set()
    for number, line in enumerate(_SPLICE.sub(b"", _LINE_END.sub(b"\n", source)).split(b"\n"), 1):
        found = _ALWAYS.search(line) or (_MARK.search(line) and _DIRECTIVE.search(line))
        include = _INCLUDE.fullmatch(line)
        if include:
            included.add((include[1] or include[2]).decode("ascii"))
        elif found:
            word = found.group()[:20].decode("ascii", "replace")
            raise refused(
                f'line {number}: no {word} here: all there is is #include <HEADER> or "sigil.h" on'
                " a line of its own",
                name,
            )
    return included


def _made(source: bytes, kind: str, name: str, cache: Path | None) -> bytes:
    zig = _zig(name)
    with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
        work = Path(temporary) / "work"
        work.mkdir()
        cache = kept(cache or users("c")) or Path(temporary)
        (work / "main.c").write_bytes(_LINE_END.sub(b"\n", source))
        shutil.copy(HEADER, work / "sigil.h")
        mode = (_REACTOR,) if kind == "sigil" else ()
        with turn(
            cache,
            "C",
            name,
            lambda: PATIENCE_SECONDS if _mark(zig, cache).is_file() else _FIRST_SECONDS,
        ):
            if not _mark(zig, cache).is_file():
                _warm(zig, cache)
            words, ending = _compile(
                zig, work, cache, (*_FLAGS, *mode, "main.c", "-o", "main.wasm"), SECONDS
            )
        return module(work / "main.wasm", ending, _reason(words, ending), name)


def cold(cache: Path | None = None) -> bool:
    """Whether the next source waits until the C library is compiled, once for each cache: half a
    minute.
    """
    zig, place = find_spec("ziglang"), cache or users("c")
    return (
        zig is not None
        and zig.origin is not None
        and not _mark(Path(zig.origin).with_name("zig"), place).is_file()
    )


def _mark(zig: Path, cache: Path) -> Path:
    """The file that says that the C library lies in `cache` as this compiler looks for it: by its
    own place and by the flags.
    """
    known = zig.stat()
    inputs = repr((str(zig), known.st_size, known.st_mtime_ns, _FLAGS))
    return cache / f"warm-{sha256(inputs.encode()).hexdigest()[:16]}"


def _warm(zig: Path, cache: Path) -> None:
    """Let the compiler make the C library, in its two forms, of a source of our own."""
    with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
        work = Path(temporary)
        (work / "main.c").write_text(
            "#include <stdlib.h>\nint main(void) { return malloc(1) == 0; }\n"
        )
        for mode in ((), (_REACTOR,)):
            _, ending = _compile(
                zig, work, cache, (*_FLAGS, *mode, "main.c", "-o", "main.wasm"), _FIRST_SECONDS
            )
            if ending:
                return
    _mark(zig, cache).touch()


def _compile(
    zig: Path, work: Path, cache: Path, arguments: tuple[str, ...], seconds: int
) -> tuple[str, int]:
    caches = {"ZIG_LOCAL_CACHE_DIR": str(work / "zig"), "ZIG_GLOBAL_CACHE_DIR": str(cache)}
    return Compiler(zig, work, write=[cache], variables=caches).run(("cc", *arguments), seconds)


def _zig(name: str) -> Path:
    spec = find_spec("ziglang")
    if spec is None or spec.origin is None:
        way_out = f'{_COMPILER}, or deploy the finished module (lang = "wasm")'
        raise refused("C is compiled with ziglang, which is missing here", name, way_out)
    return Path(spec.origin).with_name("zig")


def _reason(words: str, ending: int) -> str:
    found = _ERROR.search(words)
    if found:
        return f"line {found[1]}, column {found[2]}: {one_line(found[3], 200)}"
    if ending < 0 or _CRASH in words:
        return "the source takes too long or too much memory to compile"
    linker = _LINK.search(words)
    return one_line(linker[1], 200) if linker else "the source does not compile"
