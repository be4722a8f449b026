"""Completion: what Tab says, asked by real shells where there are some, else as their scripts
ask.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.servers.programs import command_of
from tests.sigil.cli.conftest import Sigil
from tests.sigil.cli.processes import ROOT

pytestmark = pytest.mark.usefixtures("fork_commands")

MODULES = {"sigil": "sigil.cli", "uncaged": "functions.cli"}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH on which both commands are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for program, module in MODULES.items():
        (folder / program).write_text(
            f'#!/bin/sh\nPYTHONPATH={ROOT} exec {" ".join(command_of(module))} "$@"\n'
        )
        (folder / program).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


BASH = """
source <(printf '%s' "$SCRIPT")
shift 0
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
_${1}_completion $1
printf '%s\\n' "${COMPREPLY[@]}"
"""


@cache
def print_script(program: str) -> str:
    """What `completion bash` prints; a process of its own each time would only say it again."""
    return subprocess.run(
        [*command_of(MODULES[program]), "completion", "bash"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def in_bash(path: str, *words: str) -> set[str]:
    done = subprocess.run(
        ["bash", "--norc", "-c", BASH, "bash", *words],
        env={**os.environ, "PATH": path, "SCRIPT": print_script(words[0])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash_completes_commands_options_and_names(shout: Sigil, path: str) -> None:
    assert in_bash(path, "sigil", "dep") == {"deploy"}
    assert in_bash(path, "sigil", "run", "--json", "sh") == {"shout"}
    assert in_bash(path, "sigil", "run", "--js") == {"--json"}
    assert in_bash(path, "sigil", "--profile", "h") == {"here"}
    assert in_bash(path, "uncaged", "doc") == {"doctor"}


def test_what_was_removed_or_has_ended_is_no_longer_offered(
    shout: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sigil.cli.completions import capability_names

    for name, lifetime in (("short", "ephemeral"), ("lasting", "normal")):
        assert (
            shout("deploy", "--name", name, "--execute", "return 1", "--type", lifetime).code == 0
        )
    assert capability_names("") == ["lasting", "short", "shout"]
    assert shout("remove", "shout", "--yes").code == 0
    assert capability_names("") == ["lasting", "short"]
    assert "mean shout" not in shout("run", "shouts").err
    now = time.time()
    monkeypatch.setattr("sigil.cli.completions.time", SimpleNamespace(time=lambda: now + 3_601))
    assert capability_names("") == ["lasting"]


def test_what_else_has_a_name_here_is_completed_too(shout: Sigil, path: str, place: Path) -> None:
    hostile = Path(__file__).parents[3] / "servers" / "mcp_hostile.py"
    added = shout(
        "mcp",
        "add",
        "--name",
        "local",
        "--only",
        "pid",
        "--grant",
        "--",
        sys.executable,
        "-I",
        "-S",
        str(hostile),
        "plain",
    )
    assert added.code == 0, added.err
    assert shout("secret", "set", "API_KEY", stdin=b"a long enough value").code == 0
    token = shout("--json", "keys", "create").document["id"]
    assert in_bash(path, "sigil", "mcp", "remove", "") == {"local"}
    assert in_bash(path, "sigil", "secret", "remove", "A") == {"API_KEY"}
    assert in_bash(path, "sigil", "keys", "revoke", "") == {token}
    assert "'mcp:local" in in_bash(path, "sigil", "revoke", "local-pid", "")
    assert in_bash(path, "sigil", "help", "secr") == {"secret"}
    assert in_bash(path, "sigil", "help", "secret", "") == {"set", "list", "remove"}
    assert in_bash(path, "sigil", "run", "shout", "--arg", "") == {"text=", "times="}
    assert in_bash(path, "sigil", "run", "shout", "-a", "text", "=", "a", "-a", "ti") == {"times="}
    assert in_bash(path, "sigil", "run", "--arg", "text", "=", "a", "sh") == {"shout"}
    assert in_bash(path, "sigil", "--profile", "=", "h") == {"here"}
    assert in_bash(path, "sigil", "run", "nothing", "--arg", "") == set()


@pytest.mark.parametrize(
    "value", [b"\xff", b"[]", b"{}", b'{"record": 1}', b'{"record": {}, "history": [[]]}']
)
def test_a_store_that_is_damaged_says_so_to_commands_and_nothing_to_tab(
    shout: Sigil, path: str, place: Path, value: bytes
) -> None:
    with closing(sqlite3.connect(place.parent / "data" / "uncaged.db")) as store:
        store.execute("UPDATE item SET value = ?", (value,))
        store.commit()

    assert in_bash(path, "sigil", "run", "sh") == set()
    for command in (
        "list",
        "inspect shout",
        "run shout",
        "grants",
        "query shout",
        "versions shout",
    ):
        result = shout(*command.split(), "--json")
        assert (result.code, result.error["code"]) == (7, "EDAMAGED"), command


def test_tab_shows_no_name_that_would_change_a_terminal(
    shout: Sigil, path: str, place: Path
) -> None:
    with closing(sqlite3.connect(place.parent / "data" / "uncaged.db")) as store:
        store.execute(
            "UPDATE item SET sort = ? WHERE sort = ?", ("sh\x1b]0;x\x07\u202e".encode(), b"shout")
        )
        store.commit()

    assert in_bash(path, "sigil", "run", "sh") == set()


def test_names_are_of_this_machine_alone_and_nothing_is_made(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sigil.cli.completions import capability_names

    assert capability_names("") == []
    assert not (place.parent / "data" / "uncaged.db").exists()
    monkeypatch.setenv("UNCAGED_STORE", "redis://127.0.0.1:1/0")
    assert capability_names("") == []
    monkeypatch.setenv("SIGIL_RUNNERS", "many")
    assert capability_names("") == []


@pytest.mark.parametrize(
    ("shell", "marks"), [("zsh", '_arguments \'*: :(("deploy"'), ("fish", "deploy\tCheck")]
)
def test_the_scripts_of_other_shells_are_answered(
    place: Path, path: str, shell: str, marks: str
) -> None:
    asked = {
        "_SIGIL_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": "sigil dep",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(
        ["sigil"],
        env={**os.environ, "PATH": path, **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(marks)
    assert done.stderr == ""


@pytest.mark.skipif(not shutil.which("fish"), reason="there is no fish here")
def test_fish_completes(shout: Sigil, path: str) -> None:
    line = "sigil completion fish | source; complete --do-complete 'sigil run sh'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", line],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["shout"]


@pytest.mark.skipif(not shutil.which("zsh"), reason="there is no zsh here")
def test_zsh_reads_its_script(path: str) -> None:
    line = (
        "autoload -Uz compinit; compinit -u -d /dev/null; source <(sigil completion zsh); print"
        " $_comps[sigil]"
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", line],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["_sigil_completion"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_printed_with_help_on_where_to_put_it(run_sigil: Sigil, shell: str) -> None:
    result = run_sigil("completion", shell)
    assert (result.code, result.err) == (0, "")
    assert "_SIGIL_COMPLETE" in result.out
    assert run_sigil("completion", shell, "--json").document == {
        "shell": shell,
        "script": result.out[:-1],
    }
    assert shell in run_sigil("completion", "--help").out


def test_an_unknown_shell_is_refused_and_an_unknown_question_has_no_answer(
    run_sigil: Sigil, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_sigil("completion", "tcsh").code == 2
    monkeypatch.setenv("_SIGIL_COMPLETE", "frob_tcsh")
    assert run_sigil().code == 1
