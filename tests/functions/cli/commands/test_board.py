"""`uncaged board`, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from functions.cli.app import cli
from sigil.errors import SigilError, UsageError

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))

    def command(*arguments: str) -> Result:
        done = CliRunner().invoke(cli, ["board", *arguments])
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return command


def test_a_task_is_added_listed_changed_and_ended(run: Run) -> None:
    assert run("list").stderr.startswith("no task is open; ")
    added = run("add", "dig", "--priority", "2", "--due", "2030-01-01T12:00:00Z")
    assert added.stdout == "added: [ ] #1: dig\n"
    assert added.stderr == "nobody is awake: spawn one\n"
    run("add", "build", "--blocked-by", "1")
    listed = run("list").stdout.splitlines()
    assert listed[1].split() == ["1", "pending", "dig", "2"]
    assert "#1" in listed[2]
    run("edit", "1", "--subject", "dig deep", "--comment", "with a spade")
    assert run("assign", "1", "alice").stdout == "assigned: [ ] #1: dig deep @alice\n"
    assert run("done", "1", "a hole").stdout == "done: [x] #1: dig deep @alice\nnow free: #2\n"
    assert run("done", "1").stdout.startswith("nothing changed: ")
    shown = run("show", "1").stdout
    assert "report: a hole" in shown
    assert "terminal:local: with a spade" in shown
    assert run("drop", "2", "no wood").stdout == "dropped: [-] #2: build\n"
    assert run("reopen", "2").stdout == "reopened: [ ] #2: build\n"
    ended = json.loads(run("list", "--status", "ended", "--json").stdout)
    assert [(row["id"], row["status"]) for row in ended["items"]] == [(1, "completed")]
    assert json.loads(run("show", "2", "--json").stdout)["waits_for"] == [1]


def test_what_cannot_be_done_says_why(run: Run) -> None:
    with pytest.raises(UsageError) as missing:
        run("done", "4")
    assert missing.value.message == "Task 4 not found"
    assert "uncaged board list" in missing.value.suggestion
    run("add", "dig")
    assert run("assign", "1", "@Alice").stdout == "assigned: [ ] #1: dig @alice\n"
    with pytest.raises(UsageError, match=r"'\.\./x' is no name of a teammate"):
        run("assign", "1", "../x")
    run("done", "1")
    with pytest.raises(UsageError) as ended:
        run("drop", "1")
    assert "uncaged board reopen" in ended.value.suggestion
    with pytest.raises(UsageError) as status:
        run("list", "--status", "lost")
    assert status.value.code == "EINVAL"
    with pytest.raises(UsageError) as nothing:
        run("edit", "4")
    assert "say what changes" in nothing.value.message
