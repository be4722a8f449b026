"""Compiles Rust to WebAssembly with this machine's `rustc`: to a `sigil/1` module when the source
uses `crate::sigil`, else to a command.

The compiler runs in a child, bounded and confined as C's is. Where the kernel cannot confine it,
the rules in `require_single_file` still keep a source from naming any other file. Cargo is not
used: there are no other crates, no build scripts and no macros that are programs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from sigil.compile.toolchain.cache_folders import hold_lock, make_writable, user_folder
from sigil.compile.toolchain.installed import find_toolchain, install_command
from sigil.compile.toolchain.sandboxed_compiler import (
    CompiledSource,
    Compiler,
    library_folders,
    read_module,
    source_refusal,
)
from sigil.errors import Refused, one_line
from sigil.sandbox.spawn import make_starved_error

HELPER = Path(__file__).with_name("sigil.rs")
TARGETS = {"sigil": ("wasm32-unknown-unknown",), "wasi": ("wasm32-wasip1", "wasm32-wasi")}

START_SECONDS = 60.0
"""The time in which `rustc` says where its libraries are, also on a busy machine."""

_ENTRY = "mod main;\nmod sigil;\n"
_FLAGS = (
    "--edition=2021",
    "--color=never",
    "--cap-lints=allow",
    "-Copt-level=s",
    "-Cpanic=abort",
    "-Clto=fat",
    "-Ccodegen-units=1",
    "-Cstrip=symbols",
    "-Coverflow-checks=on",
    "-Clink-arg=-zstack-size=131072",
)
_LINKERS = ("rust-lld", "wasm-ld")
_HELPED = re.compile(r"\bcrate\s*::\s*sigil\b")
_READS = re.compile(
    r"\b(?:include|include_str|include_bytes|proc_macro|asm|global_asm|naked_asm|debugger_visualizer)\b"
)
_MODULE = re.compile(r"\bmod\b")
_MACRO = re.compile(r"\bmacro(?:_rules)?\b")
_INLINE = re.compile(r"mod\s+\w+\s*\{")
_COMMENT = re.compile(r'\s*//[^"]*')
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


class RustToolchain(NamedTuple):
    """A Rust compiler of this machine: the program, the folder of its libraries, the target that it
    has, and the linker where it does not bring its own.
    """

    rustc: Path
    sysroot: Path
    target: str
    linker: Path | None


def compile_source(source: str, name: str) -> CompiledSource:
    """Return the module of a source: of the ABI `sigil/1` when it uses `crate::sigil`, else a
    command with a `main`.

    `Refused` EMODULE says in one line what is wrong, or that the compiler or its target is missing.
    """
    require_single_file(source, name)
    kind = _choose_kind(source)
    toolchain = _find_toolchain(kind, name)
    with tempfile.TemporaryDirectory(prefix="sigil-") as temporary:
        work = Path(temporary)
        (work / "main.rs").write_text(source, encoding="utf-8")
        if kind == "sigil":
            shutil.copy(HELPER, work / "sigil.rs")
            (work / "entry.rs").write_text(_ENTRY, encoding="ascii")
            crate = ("--crate-type=cdylib", "entry.rs")
        else:
            crate = ("--crate-type=bin", "main.rs")
        arguments = [
            *_FLAGS,
            f"--sysroot={toolchain.sysroot}",
            f"--target={toolchain.target}",
            *("-o", "main.wasm"),
        ]
        read = [toolchain.sysroot, *library_folders()]
        if toolchain.linker:
            arguments.append(f"-Clinker={toolchain.linker}")
            read.append(toolchain.linker.parent)
        arguments += crate
        folder = toolchain.sysroot / "lib"
        libraries = (folder, *sorted(folder.glob("*-linux-gnu")))
        variables = {"TMPDIR": str(work), "LD_LIBRARY_PATH": ":".join(map(str, libraries))}
        compiler = Compiler(toolchain.rustc, work, read=read, variables=variables)
        with hold_lock(make_writable(user_folder("rust")) or work, "Rust", name):
            messages, status = compiler.run(arguments)
        reason = _explain_failure(messages, status)
        return CompiledSource(kind, read_module(work / "main.wasm", status, reason, name))


def require_compiler(source: str = "use crate::sigil;") -> None:
    """Raise `Refused` when the compiler, or the target that such a source needs, is missing on this
    machine.
    """
    _find_toolchain(_choose_kind(source), "")


def _choose_kind(source: str) -> Literal["sigil", "wasi"]:
    return "sigil" if _HELPED.search(source) else "wasi"


def require_single_file(source: str, name: str) -> None:
    """Raise `Refused` when a source could name another file: by an `include` or by inline assembly,
    or by a `mod` that is not written out.

    A macro may take the words of a `mod` apart and put others in their place, so a source has
    macros or `mod`s, not both. A line with nothing but a comment is free; so is every other word.
    """
    if "\0" in source:
        raise source_refusal("the source holds a zero byte", name)
    lines = source.split("\n")
    has_macros = any(_MACRO.search(line) and not _is_comment(line) for line in lines)
    for number, line in enumerate(lines, 1):
        if (word := _READS.search(line)) and not _is_comment(line):
            raise source_refusal(f"line {number}: no {word[0]} here: a source is one file", name)
        if has_macros and _MODULE.search(line) and not _is_comment(line):
            raise source_refusal(
                f"line {number}: no mod beside a macro_rules here: a source is one file", name
            )
    for found in _MODULE.finditer(source):
        number = source.count("\n", 0, found.start()) + 1
        if not _INLINE.match(source, found.start()) and not _is_comment(lines[number - 1]):
            raise source_refusal(
                f"line {number}: a mod is written out here: a source is one file", name
            )


def _is_comment(line: str) -> bool:
    return bool(_COMMENT.fullmatch(line)) and "*/" not in line


def _explain_failure(messages: str, status: int) -> str:
    """Return one line on why the compiler failed, from its messages and its exit status."""
    for message, file, line, column in _ERROR.findall(messages):
        if file == "main.rs":
            return f"line {line}, column {column}: {one_line(message, 200)}"
        if "`answer`" in message:
            return "there is no `pub fn answer(input: Json) -> Result<Json, Failure>`"
    if status < 0 or any(word in messages for word in _CRASH):
        return "the source takes too long or too much memory to compile"
    error = _LINK.search(messages) or _PLACELESS.search(messages)
    return one_line(error[1], 200) if error else "the source does not compile"


def _find_toolchain(kind: Literal["sigil", "wasi"], name: str) -> RustToolchain:
    """Return the compiler on the search path, or the one that was installed; `Refused` says what is
    missing, and how to install it.
    """
    folder = find_toolchain("rust")
    try:
        return _find_own_toolchain(kind, name)
    except Refused:
        if folder is None:
            raise
    sysroot = folder / "usr"
    rustlib = sysroot / "lib" / "rustlib"
    target = next((each for each in TARGETS[kind] if (rustlib / each).is_dir()), None)
    if target is None:
        raise source_refusal(
            f"the installed rustc has no target {TARGETS[kind][0]}",
            name,
            f"sigil toolchain remove rust, then {install_command('rust')}",
        )
    linker = next(iter(sorted((sysroot / "lib").glob("llvm-*/bin/wasm-ld"))), None)
    return RustToolchain(
        sysroot / "bin" / "rustc", sysroot, target, linker or _find_linker(sysroot)
    )


def _find_own_toolchain(kind: Literal["sigil", "wasi"], name: str) -> RustToolchain:
    """Return this machine's own compiler; `Refused` as above."""
    alternative = 'or deploy the finished module (lang = "wasm")'
    rustc = shutil.which("rustc")
    if rustc is None:
        raise source_refusal(
            "Rust is compiled with rustc, which is missing here",
            name,
            f"{install_command('rust')} (or rustup), {alternative}",
        )
    sysroot = _ask_sysroot(rustc)
    if sysroot is None:
        raise source_refusal(
            "rustc does not start here", name, f"`rustc --print sysroot` says why; {alternative}"
        )
    targets = TARGETS[kind]
    rustlib = sysroot / "lib" / "rustlib"
    target = next((target for target in targets if (rustlib / target).is_dir()), None)
    if target is None:
        raise source_refusal(
            f"rustc has no target {targets[0]} here",
            name,
            f"rustup target add {targets[0]} (or {install_command('rust')}), {alternative}",
        )
    own = sysroot / "bin" / "rustc"
    program = own if own.is_file() else Path(rustc).resolve()
    return RustToolchain(program, sysroot, target, _find_linker(sysroot))


@lru_cache(maxsize=8)
def _ask_sysroot(rustc: str) -> Path | None:
    """Ask the compiler for the folder of its libraries; None when it does not start."""
    try:
        done = subprocess.run(
            [rustc, "--print", "sysroot"],
            capture_output=True,
            timeout=START_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise make_starved_error("rustc") from None
    except (OSError, subprocess.SubprocessError):
        return None
    path = Path(done.stdout.decode("utf-8", "replace").strip())
    return path.resolve() if path.is_dir() else None


def _find_linker(sysroot: Path) -> Path | None:
    """Return a linker; None where the compiler brings its own, or there is none."""
    if any((sysroot / "lib" / "rustlib").glob("*/bin/rust-lld")):
        return None
    for linker in _LINKERS:
        path = sysroot / "bin" / linker
        if path.is_file():
            return path
    for linker in _LINKERS:
        found = shutil.which(linker)
        if found:
            return Path(found)
    return None
