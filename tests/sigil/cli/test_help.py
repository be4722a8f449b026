"""Help: of everything, of one command, and as JSON."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sigil.cli import main
from sigil.cli.app import app
from tests.sigil.cli.conftest import Sigil

COMMANDS = (
    "init",
    "check",
    "test",
    "deploy",
    "query",
    "inspect",
    "run",
    "list",
    "remove",
    "doctor",
    "version",
)


COMMANDS += ("versions", "diff", "rollback", "yank", "publish", "export", "import")


COMMANDS += ("schema", "serve", "help", "completion")


COMMANDS += ("login", "logout", "whoami", "audit", "logs", "status")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run_sigil: Sigil, command: str) -> None:
    result = run_sigil(command, "--help")
    assert result.code == 0
    assert re.search(rf"^  Examples?:\n    \$ .*\bsigil {command}\b", result.out, re.MULTILINE)


def test_help_names_every_command_and_nothing_is_help_too(run_sigil: Sigil) -> None:
    result = run_sigil("--help")
    assert set(COMMANDS) <= {info.name for info in app.registered_commands}
    assert all(f"\n  {command} " in result.out for command in COMMANDS)
    assert run_sigil().out == result.out


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("run", "--help"), "sigil run"),
        (("keys", "create", "-h"), "sigil keys create"),
        (("keys", "-h"), "sigil keys"),
    ],
)
def test_help_is_one_document_with_json(
    run_sigil: Sigil, words: tuple[str, ...], command: str
) -> None:
    result = run_sigil("--json", *words)
    assert (result.code, result.document["command"]) == (0, command)
    assert result.document["help"].startswith(f"Usage: {command} ")


def test_help_of_everything_and_of_nothing_is_json_too(run_sigil: Sigil) -> None:
    assert {
        "command": "keys create",
        "topic": "Registries and access",
        "help": "Make an access token.",
    } in run_sigil("--json", "--help").document["commands"]
    assert run_sigil("--json").document == run_sigil("--json", "--help").document
    assert run_sigil("--json", "frob", "--help").error["message"] == "No such command 'frob'."
    assert run_sigil("--json", "keys").error["message"] == "sigil keys: which command?"


def test_help_tells_of_every_command_by_topic(
    run_sigil: Sigil, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = run_sigil("help", "--json").document["commands"]
    assert {"deploy", "keys create", "profiles use"} <= {row["command"] for row in rows}
    assert all(row["help"] and not row["help"].endswith("...") for row in rows)
    shown = run_sigil("--help").out
    assert all(f"\n{row['topic']}:\n" in shown for row in rows)
    assert "..." not in shown.partition("COMMAND [ARGS]...")[2]
    monkeypatch.setenv("COLUMNS", "80")
    texts = {row["command"]: run_sigil("help", *row["command"].split()).out for row in rows}
    wide = [(name, line) for name in texts for line in texts[name].splitlines() if len(line) > 80]
    assert wide == []
    assert (
        run_sigil("help", "keys", "create").out
        == run_sigil("keys", "create", "--help").out
        == run_sigil("keys", "create", "-h").out
    )
    assert "Did you mean 'keys'?" in run_sigil("help", "keyys").err
    assert run_sigil("help", "keys", "nothing").code == 2
    assert main(["help"]) == 0
