"""Compiles the part of the C library (wasi-libc, as ziglang brings it) that the engine and most
capabilities in C are linked with, and links with it.

The compiler would by itself make the whole library: 620 objects, each in two processes, of which
the engine uses fifty. Here the sources below are compiled by one process for each folder of
headers, with the flags and the order that the compiler uses, so a program that needs no other
object has the same bytes either way.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from sigil.sandbox.engine.build_cache import BuildCache

Run = Callable[[Path, Sequence[str]], None]
"""Runs the compiler in a folder with these arguments; raises when it fails."""

_SOURCES = """
musl/src/ctype:
    iswalpha iswdigit iswlower iswspace iswupper towctrans
musl/src/fenv:
    fenv fesetround
musl/src/locale:
    __lctrans __mo_lookup c_locale langinfo setlocale
musl/src/math:
    __cos __math_invalid __math_invalidf __math_oflow __math_oflowf __math_uflow __math_uflowf
    __math_xflow __math_xflowf __sin acosh asinh atan2 atan2f atanh erf exp2f_data exp_data
    expm1 fma ilogbl ldexp lgamma lgamma_r llrint llround nextafter nextafterl pow pow_data
    powf powf_data remainder remquo scalbn scalbnl signgam tgamma
musl/src/multibyte:
    internal mbrtowc mbsinit mbsrtowcs mbstowcs mbtowc wcrtomb wcsrtombs wcstombs wctomb
musl/src/stdio:
    __fmodeflags __overflow __stdio_exit __toread __towrite __uflow clearerr fclose feof
    ferror fflush fgets fprintf fputs fread fscanf fwrite getdelim getline ofl_add perror puts
    rewind scanf setvbuf snprintf sprintf sscanf ungetc vscanf vsprintf
musl/src/stdlib:
    atof
musl/src/time:
    __month_to_secs __year_to_secs difftime
wasi/libc-bottom-half/cloudlibc/src/libc/dirent:
    fdopendir opendirat scandirat
wasi/libc-bottom-half/cloudlibc/src/libc/errno:
    errno
wasi/libc-bottom-half/cloudlibc/src/libc/fcntl:
    fcntl openat
wasi/libc-bottom-half/cloudlibc/src/libc/stdio:
    renameat
wasi/libc-bottom-half/cloudlibc/src/libc/stdlib:
    _Exit
wasi/libc-bottom-half/cloudlibc/src/libc/sys/stat:
    fstatat mkdirat utimensat
wasi/libc-bottom-half/cloudlibc/src/libc/sys/time:
    gettimeofday
wasi/libc-bottom-half/cloudlibc/src/libc/sys/uio:
    readv writev
wasi/libc-bottom-half/cloudlibc/src/libc/time:
    CLOCK_REALTIME clock_gettime clock_nanosleep nanosleep time
wasi/libc-bottom-half/cloudlibc/src/libc/unistd:
    faccessat linkat lseek read readlinkat sleep symlinkat usleep write
wasi/libc-bottom-half/sources:
    __main_void __wasilibc_dt __wasilibc_initialize_environ __wasilibc_real __wasilibc_rmdirat
    __wasilibc_unlinkat abort at_fdcwd getentropy isatty posix preopens
wasi/libc-bottom-half/sources/math:
    math-builtins
wasi/libc-top-half/musl/src/env:
    clearenv getenv
wasi/libc-top-half/musl/src/errno:
    strerror
wasi/libc-top-half/musl/src/exit:
    atexit exit
wasi/libc-top-half/musl/src/internal:
    floatscan intscan libc shgetc
wasi/libc-top-half/musl/src/locale:
    locale_map
wasi/libc-top-half/musl/src/math:
    __expo2 fmal sinh
wasi/libc-top-half/musl/src/stdio:
    __fdopen __stdio_close __stdio_read __stdio_seek __stdio_write __stdout_write fgetc fopen
    fputc fseek ftell getc getchar ofl printf putc putchar stderr stdin stdout vfprintf
    vfscanf vsnprintf vsscanf
wasi/libc-top-half/musl/src/stdlib:
    strtod
wasi/libc-top-half/musl/src/time:
    __secs_to_tm __tm_to_secs __tz gmtime gmtime_r localtime localtime_r mktime strftime
    timegm
"""
"""What printf, scanf, strtod, the functions of <math.h>, <time.h> and <stdio.h> and their like
need, one folder of sources after the other. `malloc`, <string.h> and <ctype.h> are in the part
that is written in Zig.
"""

_FLAGS = (
    *("-target", "wasm32-wasip1", "-Xclang", "-target-cpu", "-Xclang", "lime1", "-std=gnu17", "-w"),
    *("-DNDEBUG", "-fomit-frame-pointer", "-fno-trapping-math", "-ffunction-sections"),
    *("-fdata-sections", "-mthread-model", "single", "-DBULK_MEMORY_THRESHOLD=32", "-nostdinc"),
)
_BOTTOM = "wasi/libc-bottom-half"
_TOP = "wasi/libc-top-half"
_SYSTEM_HEADERS = ("include", "libc/include/wasm-wasi-musl", "libc/include/generic-musl")
_INNER_HEADERS = (
    f"{_TOP}/musl/src/include",
    "musl/src/include",
    f"{_TOP}/musl/src/internal",
    "musl/src/internal",
)
_BOTTOM_HEADERS = (
    f"{_BOTTOM}/headers/private",
    f"{_BOTTOM}/cloudlibc/src/include",
    f"{_BOTTOM}/cloudlibc/src",
    *_INNER_HEADERS,
)
_TOP_HEADERS = (
    *_INNER_HEADERS,
    f"{_TOP}/musl/arch/wasm32",
    "musl/arch/generic",
    f"{_TOP}/headers/private",
)
_ZIG_FLAGS = ("-target", "wasm32-wasi", "-OReleaseSmall", "-fstrip")
_MEMBERS = ("crt1-command.o", "crt1-reactor.o", "libc.a", "libzigc.a", "libcompiler_rt.a")


def library_folder(zig: Path, cache: Path) -> Path:
    """Return the folder in `cache` in which the library that `zig` makes is, once it was made."""
    return cache / f"library-{_digest(zig)[:16]}"


def make_library(zig: Path, cache: Path, run: Run, kept: BuildCache | None = None) -> Path:
    """Return the folder of the library in `cache`, after taking it from `kept` or compiling it when
    it is not there. The caller holds the lock of `cache`.
    """
    folder = library_folder(zig, cache)
    if take_library(zig, cache, kept):
        return folder
    with tempfile.TemporaryDirectory(dir=cache, prefix="library-") as temporary:
        draft = Path(temporary) / "made"
        draft.mkdir()
        _compile(zig, Path(temporary), draft, run)
        if kept:
            kept.keep("library", _digest(zig), _pack(draft))
        draft.replace(folder)
    return folder


def take_library(zig: Path, cache: Path, kept: BuildCache | None) -> bool:
    """Return whether the library is in `cache`, after taking it from `kept` when it is not. The
    caller holds the lock of `cache`.
    """
    folder = library_folder(zig, cache)
    if folder.is_dir():
        return True
    packed = kept.take("library", _digest(zig)) if kept else None
    if not packed:
        return False
    with tempfile.TemporaryDirectory(dir=cache, prefix="library-") as temporary:
        draft = Path(temporary) / "made"
        draft.mkdir()
        _unpack(packed, draft)
        draft.replace(folder)
    return True


def link_arguments(
    library: Path,
    kind: Literal["command", "reactor"],
    objects: Sequence[str],
    output: str,
    *,
    stack: int,
    exports: Sequence[str] = (),
) -> list[str]:
    """Return the arguments with which the compiler links `objects` to the module `output`, as it
    would by itself.
    """
    return [
        "wasm-ld",
        *("--error-limit=0", "--export-memory", "-s", "--stack-first"),
        *(f"--export={name}" for name in exports),
        *("--entry", "_start" if kind == "command" else "_initialize"),
        *("-z", f"stack-size={stack}", "--build-id=none", "-o", output),
        str(library / f"crt1-{kind}.o"),
        str(library / "libc.a"),
        str(library / "libzigc.a"),
        *objects,
        str(library / "libcompiler_rt.a"),
    ]


def list_sources() -> dict[str, list[str]]:
    """Return the paths of the sources, below `libc` of the compiler's files, by the half of the
    library that they belong to: each has its own headers.
    """
    halves: dict[str, list[str]] = {"bottom": [], "top": []}
    folder = ""
    for line in _SOURCES.splitlines():
        if line.endswith(":"):
            folder = line.removesuffix(":")
        else:
            half = halves["bottom" if folder.startswith(_BOTTOM) else "top"]
            half.extend(f"{folder}/{name}.c" for name in line.split())
    return halves


def _digest(zig: Path) -> str:
    """Return the fingerprint of all that the library is made of. The compiler is known by the size
    of its program; its own files come with it.
    """
    facts = (zig.stat().st_size, _SOURCES, _FLAGS, _BOTTOM_HEADERS, _TOP_HEADERS, _ZIG_FLAGS)
    return sha256(repr(facts).encode()).hexdigest()


def _compile(zig: Path, work: Path, folder: Path, run: Run) -> None:
    lib = zig.parent / "lib"

    def compile_sources(place: str, level: str, headers: Sequence[str], paths: list[str]) -> Path:
        objects = work / place
        objects.mkdir()
        run(
            objects,
            [
                "clang",
                *(*_FLAGS, level),
                *(part for name in _SYSTEM_HEADERS for part in ("-isystem", str(lib / name))),
                *(part for name in headers for part in ("-I", str(lib / "libc" / name))),
                *("-c", *(str(lib / "libc" / path) for path in paths)),
            ],
        )
        return objects

    halves = list_sources()
    objects = [
        *compile_sources("bottom", "-O3", _BOTTOM_HEADERS, halves["bottom"]).glob("*.o"),
        *compile_sources("top", "-O3", _TOP_HEADERS, halves["top"]).glob("*.o"),
    ]
    run(work, ["ar", "rcD", str(folder / "libc.a"), *sorted(map(str, objects))])
    starts = [f"{_BOTTOM}/crt/crt1-{kind}.c" for kind in ("command", "reactor")]
    for start in compile_sources("crt", "-Os", _BOTTOM_HEADERS, starts).glob("*.o"):
        shutil.copy(start, folder)
    for name, flags in (("zigc", ("-lc", "-fno-builtin")), ("compiler_rt", ())):
        source = lib / ("c.zig" if name == "zigc" else "compiler_rt.zig")
        emit = f"-femit-bin={folder / f'lib{name}.a'}"
        run(work, ["build-lib", *_ZIG_FLAGS, *flags, "--name", name, str(source), emit])


def _pack(folder: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in _MEMBERS:
            member = tarfile.TarInfo(name)
            content = (folder / name).read_bytes()
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _unpack(packed: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        for name in _MEMBERS:
            content = tar.extractfile(name)
            if content is not None:
                (folder / name).write_bytes(content.read())
