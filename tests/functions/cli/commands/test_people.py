"""`uncaged people`, as the agent's owner types it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.cli.exit_codes import exit_code
from sigil.errors import SigilError, UsageError
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import tell

Open = Callable[..., AgentRuntime]
Run = Callable[..., Result]
ADA: dict[str, Any] = {"session": "telegram:42", "sender": "telegram:42"}
EVE: dict[str, Any] = {"session": "telegram:43", "sender": "telegram:43"}


@pytest.fixture
def people(
    runtime: Open, model: ScriptedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Run:
    """The command, of an agent to which two people have told something."""
    home = runtime(llm_url=model.url, data=str(tmp_path / "data"), access="open")
    for name, who in (("roses", ADA), ("tulips", EVE)):
        model.then(say("I see."))
        tell(home, f"I like {name}", **who)
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, given: str | None = None) -> Result:
        done = CliRunner().invoke(cli, ["people", *arguments], input=given)
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return command


def test_a_person_is_exported_to_stdout_or_into_a_private_file(people: Run, tmp_path: Path) -> None:
    exported = json.loads(people("export", "telegram:42").stdout)
    assert exported["format"] == "uncaged-person/1"
    assert exported["person"] == "telegram:42"
    assert exported["chats"] == ["telegram:42"]
    conversations = [row for row in exported["records"] if row["kind"] == "conversations"]
    assert conversations[0]["value"]["messages"][0]["content"] == "I like roses"
    assert "tulips" not in str(exported)

    file = tmp_path / "ada.json"
    done = people("export", "telegram:42", "--output", str(file), "--json")
    assert json.loads(done.stdout) == {
        "person": "telegram:42",
        "file": str(file),
        "bytes": file.stat().st_size,
    }
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text())["records"] == exported["records"]


def test_an_export_has_no_secret_of_the_settings(
    people: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_LLM_KEY", "I like roses")
    exported = people("export", "telegram:42").stdout
    assert "I like roses" not in exported
    assert "{{UNCAGED_LLM_KEY}}" in exported


def test_a_person_is_erased_once_and_the_other_one_stays(people: Run) -> None:
    done = people("erase", "telegram:42", "--yes")
    assert "removed conversations: 1" in done.stderr
    assert "kept: the audit" in done.stderr
    assert done.stdout.startswith("telegram:42 is erased: ")
    assert people("erase", "telegram:42", "--yes").stdout == "nothing was left\n"
    assert "tulips" in people("export", "telegram:43").stdout
    with pytest.raises(UsageError, match="nothing is kept of telegram:42") as caught:
        people("export", "telegram:42")
    assert exit_code(caught.value) == 3


def test_json_tells_what_was_removed_and_what_is_kept(people: Run) -> None:
    row = json.loads(people("erase", "telegram:42", "--yes", "--json").stdout)
    assert row["person"] == "telegram:42"
    assert row["removed"]["conversations"] == 1
    assert row["running"] is False
    assert any("without content" in text for text in row["kept"])


def test_it_asks_first(people: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="asks for a confirmation") as caught:
        people("erase", "telegram:42")
    assert exit_code(caught.value) == 2
    monkeypatch.setattr("functions.cli.commands.people._has_terminal", lambda: True)
    with pytest.raises(SigilError, match="nothing was erased") as declined:
        people("erase", "telegram:42", given="n\n")
    assert exit_code(declined.value) == 1
    assert "roses" in people("export", "telegram:42").stdout
    done = people("erase", "telegram:42", given="y\n")
    assert "private chats: telegram:42" in done.stderr
    assert "conversations: 1" in done.stderr


@pytest.mark.parametrize("id", ["Ada", "telegram:", "42"])
def test_what_is_no_id_is_said(people: Run, id: str) -> None:
    for command in (["export", id], ["erase", id, "--yes"]):
        with pytest.raises(UsageError, match="nobody's id") as caught:
            people(*command)
        assert exit_code(caught.value) == 2


def test_a_file_that_cannot_be_written_is_said(people: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        people("export", "telegram:42", "-o", os.fspath(tmp_path / "none" / "ada.json"))
