"""Rust becomes WebAssembly with this machine's `rustc`, where it has the target: a `sigil/1` module
or a command, as the source is.

The compiler runs in a child, bounded and shut in as C's is. Where the kernel cannot shut it in, the
rules in `demand_alone` still keep a source from naming any other file. Cargo is not asked: there
are no other crates, no build scripts and no macros that are programs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from sigil.compile.toolchain.cache_folders import kept, turn, users
from sigil.compile.toolchain.product import module, refused
from sigil.compile.toolchain.sandboxed_compiler import Compiler, system
from sigil.errors import one_line

HELPER = Path(__file__).with_name("sigil.rs")
TARGETS = {"sigil": ("wasm32-unknown-unknown",), "wasi": ("wasm32-wasip1", "wasm32-wasi")}

_ENTRY = "mod main;\nmod sigil;\n"
_FLAGS = (
    *(
        "--edition",
        "2021",
        "--color",
        "never",
        "--cap-lints",
        "allow",
        "-C",
        "opt-level=s",
        "-C",
        "panic=abort",
        "-C",
        "lto=fat",
    ),
    *("-C", "codegen-units=1", "-C", "strip=symbols", "-C", "overflow-checks=on"),
)
_STACK = ("-C", "link-arg=-zstack-size=131072")
_LINKERS = ("rust-lld", "wasm-ld")
_HELPED = re.compile(r"\bcrate\s*::\s*sigil\b")
_READS = re.compile(
    r"\b(?:include|include_str|include_bytes|proc_macro|asm|global_asm|naked_asm|debugger_visualizer)\b"
)
_MODULE = re.compile(r"\bmod\b")
_MACRO = re.compile(r"\bmacro(?:_rules)?\b")
_INLINE = re.compile(r"mod\s+\w+\s*\{")
_FREE = re.compile(r'\s*//[^"]*')
_ERROR = re.compile(r"^error(?:\[E\d+\])?: (.*)\n\s*--> (\S+?):(\d+):(\d+)$", re.MULTILINE)
_PLACELESS = re.compile(r"^error(?:\[E\d+\])?: (?!aborting|could not compile)(.*)$", re.MULTILINE)
_LINK = re.compile(r"(?:rust-lld|wasm-ld|lld)[^:\n]*: error: (.*)")
_CRASH = (
    "internal compiler error",
    "memory allocation",
    "stack overflow",
    "out of memory",
    "Resource temporarily unavailable",
)


class Compiled(NamedTuple):
    """A module that was made of Rust, and its kind."""

    kind: Literal["sigil", "wasi"]
    wasm: bytes


class Toolchain(NamedTuple):
    """A compiler of this machine: the program, the folder of its libraries, the target that it has,
    and what links.
    """

    rustc: Path
    sysroot: Path
    target: str
    linker: Path | None


def compiled(source: str, name: str) -> Compiled:
    """The module of a source: of the ABI `sigil/1` when it uses `crate::sigil`, else a command with
    a `main`.

    `Refused` EMODULE says in one line what is wrong, or that the compiler or its target is missing.
    """
    demand_alone(source, name)
    kind = _kind(source)
    found = _toolchain(kind, name)
    with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
        work = Path(temporary)
        (work / "main.rs").write_text(source, encoding="utf-8")
        if kind == "sigil":
            shutil.copy(HELPER, work / "sigil.rs")
            (work / "entry.rs").write_text(_ENTRY, encoding="ascii")
        with turn(kept(users("rust")) or work, "Rust", name):
            words, ending = _compile(found, work, kind)
        return Compiled(kind, module(work / "main.wasm", ending, _reason(words, ending), name))


def demand_here(source: str = "use crate::sigil;") -> None:
    """`Refused` when the compiler, or the target that such a source wants, is missing here."""
    _toolchain(_kind(source), "")


def _kind(source: str) -> Literal["sigil", "wasi"]:
    return "sigil" if _HELPED.search(source) else "wasi"


def demand_alone(source: str, name: str) -> None:
    """`Refused` when a source could name another file: by an `include`, an assembler's, or by a
    `mod` that is not written out.

    A macro may take the words of a `mod` apart and put others in their place, so a source has the
    one or the other. A line that is a comment and nothing else is free; so is every other word.
    """
    if "\0" in source:
        raise refused("the source holds a zero byte", name)
    lines = source.split("\n")
    macros = any(_MACRO.search(line) and not _free(line) for line in lines)
    for number, line in enumerate(lines, 1):
        if (word := _READS.search(line)) and not _free(line):
            raise refused(f"line {number}: no {word[0]} here: a source is one file", name)
        if macros and _MODULE.search(line) and not _free(line):
            raise refused(
                f"line {number}: no mod beside a macro_rules here: a source is one file", name
            )
    for found in _MODULE.finditer(source):
        number = source.count("\n", 0, found.start()) + 1
        if not _INLINE.match(source, found.start()) and not _free(lines[number - 1]):
            raise refused(f"line {number}: a mod is written out here: a source is one file", name)


def _free(line: str) -> bool:
    return bool(_FREE.fullmatch(line)) and "*/" not in line


def _compile(found: Toolchain, work: Path, kind: str) -> tuple[str, int]:
    linker = ("-C", f"linker={found.linker}") if found.linker else ()
    form = (
        ("--crate-type", "cdylib", "entry.rs")
        if kind == "sigil"
        else ("--crate-type", "bin", "main.rs")
    )
    read = [found.sysroot, *([found.linker.parent] if found.linker else []), *system()]
    compiler = Compiler(
        found.rustc,
        work,
        read=read,
        variables={"TMPDIR": str(work), "LD_LIBRARY_PATH": _libraries(found.sysroot)},
    )
    where = ("--sysroot", str(found.sysroot), "--target", found.target)
    return compiler.run((*_FLAGS, *_STACK, *linker, *where, *form, "-o", "main.wasm"))


def _libraries(sysroot: Path) -> str:
    return ":".join(
        str(path) for path in (sysroot / "lib", *sorted((sysroot / "lib").glob("*-linux-gnu")))
    )


def _reason(words: str, ending: int) -> str:
    for what, file, line, column in _ERROR.findall(words):
        if file == "main.rs":
            return f"line {line}, column {column}: {one_line(what, 200)}"
        if "`answer`" in what:
            return "there is no `pub fn answer(input: Json) -> Result<Json, Failure>`"
    if ending < 0 or any(word in words for word in _CRASH):
        return "the source takes too long or too much memory to compile"
    said = _LINK.search(words) or _PLACELESS.search(words)
    return one_line(said[1], 200) if said else "the source does not compile"


def _toolchain(kind: Literal["sigil", "wasi"], name: str) -> Toolchain:
    """The compiler on the search path; `Refused` says what is missing, and the command that brings
    it.
    """
    way_out = 'or deploy the finished module (lang = "wasm")'
    rustc = shutil.which("rustc")
    if rustc is None:
        raise refused(
            "Rust is compiled with rustc, which is missing here",
            name,
            f"install Rust with rustup; {way_out}",
        )
    sysroot = _sysroot(rustc)
    if sysroot is None:
        raise refused(
            "rustc does not start here", name, f"`rustc --print sysroot` says why; {way_out}"
        )
    wanted = TARGETS[kind]
    target = next(
        (target for target in wanted if (sysroot / "lib" / "rustlib" / target).is_dir()), None
    )
    if target is None:
        raise refused(
            f"rustc has no target {wanted[0]} here",
            name,
            f"rustup target add {wanted[0]}; {way_out}",
        )
    own = sysroot / "bin" / "rustc"
    return Toolchain(
        own if own.is_file() else Path(rustc).resolve(), sysroot, target, _linker(sysroot)
    )


@lru_cache(maxsize=8)
def _sysroot(rustc: str) -> Path | None:
    try:
        done = subprocess.run(
            [rustc, "--print", "sysroot"],
            capture_output=True,
            timeout=20,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    path = Path(done.stdout.decode("utf-8", "replace").strip())
    return path.resolve() if path.is_dir() else None


def _linker(sysroot: Path) -> Path | None:
    """The linker, where the compiler does not bring its own."""
    if any((sysroot / "lib" / "rustlib").glob("*/bin/rust-lld")):
        return None
    beside = [sysroot / "bin" / linker for linker in _LINKERS]
    found = next((path for path in beside if path.is_file()), None)
    named = next((path for linker in _LINKERS if (path := shutil.which(linker))), None)
    return found or (Path(named) if named else None)
