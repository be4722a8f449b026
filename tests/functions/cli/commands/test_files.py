"""`uncaged agent files`, as a person types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from functions.cli.app import cli
from sigil.errors import Conflict, SigilError, UsageError

Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str, given: str | None = None) -> Result:
        done = CliRunner().invoke(cli, ["agent", "files", *arguments], input=given)
        if isinstance(done.exception, SigilError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return command


def test_a_file_is_put_shown_compared_and_taken_back(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text("one\n")
    assert run("put", "notes/plan.md", "plan.md").stdout == (
        "notes/plan.md is at version 1 (4 bytes)\n"
    )
    run("put", "notes/plan.md", "-", given="one\ntwo\n")
    assert run("show", "notes/plan.md").stdout == "one\ntwo\n"
    assert run("show", "notes/plan.md", "--version", "1").stdout == "one\n"
    assert "+two" in run("diff", "notes/plan.md").stdout
    assert "+one" in run("diff", "notes/plan.md", "0", "1").stdout
    assert run("diff", "notes/plan.md", "1", "1").stderr == "version 1 and version 1 are the same\n"
    rows = json.loads(run("history", "notes/plan.md", "--json").stdout)
    assert [(row["version"], row["by"]) for row in rows] == [
        (2, "terminal:local"),
        (1, "terminal:local"),
    ]
    assert "rolled back to version 1" in (
        run("rollback", "notes/plan.md", "1").stdout + run("history", "notes/plan.md").stdout
    )
    assert run("show", "notes/plan.md").stdout == "one\n"


def test_the_list_has_versions_and_writers(run: Run) -> None:
    assert run("list").stderr == "there is no file yet\n"
    run("put", "notes/a", "-", given="x")
    run("put", "b", "-", given="yy")
    listed = json.loads(run("list", "notes/", "--json").stdout)
    assert [item["path"] for item in listed["items"]] == ["notes/a"]
    assert (listed["files"], listed["bytes"]) == (2, 3)
    assert run("list", "none/").stderr == "there is no such file\n"
    assert run("list").stdout.splitlines()[0].split()[:3] == ["path", "version", "bytes"]


def test_a_write_from_an_old_version_is_refused(run: Run) -> None:
    run("put", "a", "-", "--base", "0", given="one")
    run("put", "a", "-", "--base", "1", given="two")
    with pytest.raises(Conflict, match="a is at version 2, and not at version 1"):
        run("put", "a", "-", "--base", "1", given="three")
    assert run("show", "a").stdout == "two\n"


def test_bytes_come_back_as_they_were_and_no_file_is_written_over(run: Run, tmp_path: Path) -> None:
    body = bytes(range(256))
    (tmp_path / "in").write_bytes(body)
    run("put", "a.bin", "in")
    run("get", "a.bin", "out")
    assert (tmp_path / "out").read_bytes() == body
    with pytest.raises(UsageError, match="out is there already"):
        run("get", "a.bin", "out")
    (tmp_path / "out").write_bytes(b"")
    run("get", "a.bin", "out", "--replace")
    assert (tmp_path / "out").read_bytes() == body
    (tmp_path / "link").symlink_to("out")
    with pytest.raises(UsageError):
        run("get", "a.bin", "link", "--replace")
    with pytest.raises(UsageError, match="is no text"):
        run("show", "a.bin")


def test_a_removed_file_comes_back_unless_it_was_removed_for_good(run: Run) -> None:
    run("put", "a", "-", given="one")
    run("remove", "a")
    with pytest.raises(UsageError, match="there is no file a"):
        run("show", "a")
    run("rollback", "a", "1")
    assert run("show", "a").stdout == "one\n"
    assert json.loads(run("remove", "a", "--for-good", "--json").stdout) == {
        "removed": "a",
        "versions": 3,
    }
    for command in (("history", "a"), ("rollback", "a", "1"), ("remove", "a", "--for-good")):
        with pytest.raises(UsageError, match="there is no file a"):
            run(*command)


def test_chats_and_agents_have_files_of_their_own(run: Run) -> None:
    run("put", "a", "-", given="agent")
    run("put", "a", "-", "--session", "telegram:42", given="chat")
    assert run("show", "a").stdout == "agent\n"
    assert run("show", "a", "--session", "telegram:42").stdout == "chat\n"
    with pytest.raises(UsageError, match="there is no agent alice"):
        run("list", "--agent", "alice")


def test_the_root_and_the_agents_below_it_share_a_folder(run: Run, tmp_path: Path) -> None:
    def do(*words: str) -> None:
        assert CliRunner().invoke(cli, ["agent", *words]).exit_code == 0

    do("create", "alice")
    run("put", "team/plan.md", "-", given="of main")
    run("put", "team/plan.md", "-", "--agent", "alice", given="of alice")
    run("put", "own.md", "-", "--agent", "alice", given="x")
    assert run("show", "team/plan.md").stdout == "of alice\n"
    assert "-of main\n+of alice" in run("diff", "team/plan.md").stdout
    rows = json.loads(run("list", "--json").stdout)["items"]
    assert [row["path"] for row in rows] == ["team/plan.md"]
    with pytest.raises(UsageError, match="there is no file"):
        run("show", "team/plan.md", "--session", "telegram:42")
    of_chat = ("team/plan.md", "--session", "telegram:42")
    run("put", of_chat[0], "-", "--agent", "alice", *of_chat[1:], given="of a chat")
    assert run("show", *of_chat).stdout == "of a chat\n"

    do("export", "root")
    do("export", "below", "--agent", "alice")
    assert (tmp_path / "root/workspace/team/plan.md").read_text() == "of alice"
    below = [path.name for path in (tmp_path / "below/workspace").rglob("*")]
    assert below == ["own.md"]
    (tmp_path / "root/workspace/team/plan.md").write_text("by hand")
    do("import", "root")
    assert run("show", "team/plan.md", "--agent", "alice").stdout == "by hand\n"


@pytest.mark.parametrize("path", ["../x", "/x", "a%2fb", "nul.txt", "received/x"])
def test_a_path_that_is_none_is_refused(run: Run, path: str) -> None:
    with pytest.raises(UsageError) as refused:
        run("put", path, "-", given="x")
    assert refused.value.code == "EINVAL"
    assert run("list").stderr == "there is no file yet\n"


def test_too_much_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * (256 * 1024 + 1))
    with pytest.raises(UsageError, match="more than 262,144 bytes"):
        run("put", "large", "large")
    with pytest.raises(UsageError, match="there is no file nothing"):
        run("put", "a", "nothing")
