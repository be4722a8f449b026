"""`sigil toolchain`, and the errors that name it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.machine import is_running, until, within
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import start_sigil

HANGS = """\
#!/bin/sh
[ "$1" != --version ] || exit 0
echo $$ > "$STARTED"
sleep 600
"""


@pytest.fixture
def bare(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place on a machine with Node and without compilers."""
    monkeypatch.setenv("UNCAGED_CACHE", str(place / "cache"))
    monkeypatch.setattr("sigil.compile.toolchain.c.find_spec", lambda name: None)
    return place


def test_what_is_missing_is_listed_with_the_command_that_installs_it_here(
    run_sigil: Sigil, bare: Path
) -> None:
    listed = run_sigil("toolchain", "list")
    command = f"{Path(sys.executable).with_name('sigil')} toolchain install c"
    assert (
        "c               missing  C is compiled with ziglang, which is missing here" in listed.out
    )
    assert f"{command}  # ziglang 0.17.1 from PyPI" in listed.err
    rows = {
        row["language"]: row for row in run_sigil("--json", "toolchain", "list").document["items"]
    }
    assert (rows["c"]["ready"], rows["c"]["path"]) == (False, None)

    run_sigil("init", "fast", "--lang", "c")
    (bare / "fast" / "main.c").write_text("int main(void) { return 0; }\n")
    refused = run_sigil("test", "fast")
    assert (refused.code, f"help: {command}, or deploy" in refused.err) == (5, True)
    removed = run_sigil("toolchain", "remove", "c")
    assert (removed.code, removed.err) == (0, "c was not installed\n")
    unknown = run_sigil("toolchain", "install", "cobol")
    assert (unknown.code, "'cobol' is not one of" in unknown.err) == (2, True)


def test_where_the_search_path_leads_here_the_plain_command_is_named(
    run_sigil: Sigil, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert "\nsigil toolchain install c  # " in f"\n{run_sigil('toolchain', 'list').err}"


@pytest.mark.usefixtures("fork_commands")
def test_ctrl_c_leaves_nothing_of_an_install(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (bare / "bin").mkdir()
    npm = bare / "bin" / "npm"
    npm.write_text(HANGS)
    npm.chmod(0o755)
    node = bare / "bin" / "node"
    node.write_text(f"#!/bin/sh\necho '[\"{node}\", 24]'\n")
    node.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bare / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("UNCAGED_DATA", str(bare / "data"))
    started = bare / "started"
    os.mkfifo(started)
    monkeypatch.setenv("STARTED", str(started))
    process = start_sigil("toolchain", "install", "assemblyscript", cwd=bare)
    client = int(started.read_text())  # opens when the package client runs
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=within(20))
    assert (process.returncode, err.decode().splitlines()[-1]) == (
        130,
        "error: interrupted; nothing was changed (EINTERRUPTED)",
    )
    assert [path.name for path in (bare / "data" / "toolchains").iterdir()] == [
        ".lock-assemblyscript"
    ]
    until(lambda: not is_running(client), "the package client ends")
