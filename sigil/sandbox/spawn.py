"""Starts the child processes: an isolated interpreter that gets nothing from this one but the
code that it runs.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sigil.errors import BackendError
from sigil.sandbox.child_modules import pack_modules

# Looking for garbage has no use while modules are imported; what they make is left out of it later.
_BOOT = """
import gc, marshal, posix, sys
gc.disable()
file, size, index, begin, end = map(int, sys.argv[1].split(","))
modules = posix.pread(file, size, 0)
posix.close(file)
importer = {{"__name__": ""}}
exec(marshal.loads(memoryview(modules)[begin:end]), importer)
importer["install"](modules, index)
from sigil.sandbox.child.{} import main
gc.freeze()
gc.enable()
main(*sys.argv[2:])
"""
_LIBRARIES = {"linux": "_libwasmtime.so", "darwin": "_libwasmtime.dylib"}
_MACHINES = {"arm64": "aarch64", "AMD64": "x86_64"}


def start(
    program: str, *arguments: str, passing: tuple[int, ...] = (), pipes: bool = False
) -> subprocess.Popen[bytes]:
    """Start a child process that runs `main` of `sigil.sandbox.child.<program>`, as
    `start_interpreter` does.

    For its first steps it has one more open file, with the code of its modules.
    """
    modules = pack_modules()
    return start_interpreter(
        _BOOT.format(program),
        modules.place,
        str(os.getpid()),
        library(),
        *arguments,
        passing=(*passing, modules.file.descriptor),
        pipes=pipes,
    )


def start_interpreter(
    source: str, *arguments: str, passing: tuple[int, ...] = (), pipes: bool = False
) -> subprocess.Popen[bytes]:
    """Start a child process that runs a source, isolated from the packages that are installed;
    `BackendError` when it cannot be started.

    It leads a session of its own, in `/`, with an empty environment; of the open files it has only
    `passing`. With `pipes`, its standard input and output are pipes. Its standard error is dropped,
    because a guest's text may be in it.
    """
    pipe = subprocess.PIPE if pipes else subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", source, *arguments],
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            env=_find_loader_variables(),
            cwd="/",
            pass_fds=passing,
            start_new_session=True,
        )
    except OSError as problem:
        raise BackendError(
            "EUNAVAILABLE",
            f"no sandbox process can be started: {problem.strerror}",
            source="sandbox",
        ) from None


def make_starved_error(program: str) -> BackendError:
    """Return the error of a program that used little processor time until its time was over."""
    return BackendError(
        "EBUSY",
        f"this machine is too busy: {program} gets too little processor time",
        source="sandbox",
        suggestion="try again in a minute",
    )


def kill(child: subprocess.Popen[bytes]) -> int:
    """End the child with all that it may have started; return its exit code, or a signal below
    zero. A child that was waited for is left alone.
    """
    if child.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    for pipe in (child.stdin, child.stdout):
        if pipe:
            pipe.close()
    return child.wait()


@cache
def library() -> str:
    """Return the path of the wheel's C library, found without importing the wheel's package."""
    package = find_spec("wasmtime")
    folders = (package.submodule_search_locations if package else None) or [""]
    machine = _MACHINES.get(platform.machine(), platform.machine())
    path = Path(folders[0]) / f"{sys.platform}-{machine}" / _LIBRARIES.get(sys.platform, "")
    if not path.is_file():
        raise BackendError(
            "EUNAVAILABLE",
            f"wasmtime has no library for {sys.platform} on {machine}",
            source="sandbox",
        )
    return str(path)


@cache
def _find_loader_variables() -> dict[str, str]:
    """Return the child's environment: empty, or the folder of the interpreter's own shared library
    where the loader would not find it by itself.
    """
    try:
        maps = Path("/proc/self/maps").read_text("utf-8", "replace")
    except OSError:
        return {}
    folders = {
        os.path.dirname(line[line.index("/") :])
        for line in maps.splitlines()
        if "/libpython3" in line and ".so" in line
    }
    return {"LD_LIBRARY_PATH": min(folders)} if folders else {}
