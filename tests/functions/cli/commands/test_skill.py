"""`uncaged skill` adds skills from folders, shows them, and gives them back as they were."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.cli.app import cli
from functions.wiring import AgentRuntime
from sigil.errors import SigilError
from tests.functions.agent.skills.examples import REPORT, make_text
from tests.functions.cli.programs import uncaged

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Run:
    runtime()
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")

    def command(*arguments: object) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["skill", *map(str, arguments)])
        if done.exception is None or isinstance(done.exception, SystemExit):
            return (done.exit_code, done.output)
        assert isinstance(done.exception, SigilError)
        return (done.exit_code, f"{done.exception.message}; {done.exception.suggestion}")

    return command


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """The folder of a skill with files of all kinds."""
    folder = tmp_path / "found" / "quarterly-report"
    for path, body in {
        "SKILL.md": REPORT.encode(),
        "references/last report.md": "Überschuß\r\n".encode(),
        "scripts/sum.py": b"print(1)\n",
        "assets/logo.png": b"\x89PNG\xff\0",
        ".git/config": b"[core]",
        "scripts/__pycache__/sum.pyc": b"\0",
    }.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    return folder


def read_tree(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_folder_is_added_and_exported_with_the_same_bytes(
    run: Run, report: Path, tmp_path: Path
) -> None:
    code, said = run("add", report)
    assert code == 0
    assert "quarterly-report is at version 1" in said
    assert "its scripts are kept as texts, and never run" in said
    assert "the tool Bash is not there" in said
    assert run("export", tmp_path / "out")[0] == 0
    expected = {
        path: body
        for path, body in read_tree(report).items()
        if not path.startswith(".git") and "__pycache__" not in path
    }
    assert read_tree(tmp_path / "out" / "quarterly-report") == expected
    # what is there already is not written over
    code, said = run("export", tmp_path / "out")
    assert (code != 0, "is there already" in said) == (True, True)


def test_skills_are_listed_shown_pinned_changed_and_removed(
    run: Run, report: Path, tmp_path: Path
) -> None:
    assert run("list") == (0, "there are no skills yet; `uncaged skill add FOLDER` adds one\n")
    run("add", report)
    (row,) = json.loads(run("list", "--json")[1])
    assert (row["name"], row["version"], row["files"]) == ("quarterly-report", 1, 3)
    assert run("show", "quarterly-report")[1].strip() == REPORT.strip()
    shown = run("show", "quarterly-report", "--file", "scripts/sum.py")
    assert shown == (0, "print(1)\n")
    assert json.loads(run("pin", "quarterly-report", "--json")[1])["pinned"] is True
    assert "pinned" in run("list")[1]
    assert run("unpin", "quarterly-report")[1] == "quarterly-report is found by a search\n"
    (report / "SKILL.md").write_text(REPORT.replace("three", "four"))
    added = CliRunner().invoke(cli, ["skill", "add", str(report), "--json"]).stdout
    assert json.loads(added)[0]["version"] == 2
    assert "rollback quarterly-report 2" in run("remove", "quarterly-report")[1]
    assert json.loads(run("list", "--json")[1]) == []
    assert "version 4" in run("rollback", "quarterly-report", "1")[1]
    assert "three numbers" in run("show", "quarterly-report")[1]
    versions = json.loads(run("history", "quarterly-report", "--json")[1])
    assert [(each["version"], each["removed"]) for each in versions] == [
        (4, False),
        (3, True),
        (2, False),
        (1, False),
    ]
    assert "rolled back to version 1" in run("history", "quarterly-report")[1]


def test_a_folder_of_folders_is_added_whole_or_not_at_all(
    run: Run, report: Path, tmp_path: Path
) -> None:
    folder = report.parent
    (folder / "README.md").write_text("Our skills.")
    (folder / "empty").mkdir()
    (folder / "tea").mkdir()
    (folder / "tea" / "SKILL.md").write_text(make_text("Tea", "How tea is made."))
    code, said = run("add", folder)
    assert (code != 0, "tea: 'Tea' is no name of a skill" in said) == (True, True)
    assert json.loads(run("list", "--json")[1]) == []
    (folder / "tea" / "SKILL.md").write_text(make_text("tea", "How tea is made."))
    assert run("add", folder)[0] == 0
    assert [row["name"] for row in json.loads(run("list", "--json")[1])] == [
        "quarterly-report",
        "tea",
    ]
    (folder / "empty" / "SKILL.md").write_text(make_text("tea", "Another way."))
    assert "two of them are called tea" in run("add", folder)[1]
    run("export", tmp_path / "out", "tea")
    assert list(read_tree(tmp_path / "out")) == ["tea/SKILL.md"]


def test_a_file_alone_is_added_under_its_own_name(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "drinks.md"
    file.write_text(make_text("tea", "How tea is made."))
    assert "it stood in drinks: it is known by its name, tea" in run("add", file)[1]


def test_the_files_beside_a_skill_are_counted(run: Run, report: Path) -> None:
    assert ", 3 files)" in run("add", report)[1]
    (report / "scripts" / "sum.py").unlink()
    (report / "assets" / "logo.png").unlink()
    assert ", 1 file)" in run("add", report)[1]


def make_links(folder: Path) -> None:
    (folder / "references" / "secrets.md").symlink_to("/etc/passwd")


def make_linked_folder(folder: Path) -> None:
    (folder / "more").symlink_to("/etc")


def make_linked_skill(folder: Path) -> None:
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").symlink_to("/etc/passwd")


def make_pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def make_large(folder: Path) -> None:
    with (folder / "large").open("wb") as file:
        file.truncate(256 * 1024 + 1)


def make_many(folder: Path) -> None:
    for number in range(100):
        (folder / str(number)).touch()


def make_deep(folder: Path) -> None:
    folder.joinpath(*"abcdefghij").mkdir(parents=True)


def make_odd_name(folder: Path) -> None:
    (folder / "a\nb").touch()


def drop_skill(folder: Path) -> None:
    (folder / "SKILL.md").unlink()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (make_links, "is a link"),
        (make_linked_folder, "is a link"),
        (make_linked_skill, "is a link"),
        (make_pipe, "is no file"),
        (make_large, "is too large"),
        (make_many, "too many files"),
        (make_deep, "nested too deeply"),
        (make_odd_name, "no path of a skill's file"),
        (drop_skill, "has no SKILL.md"),
    ],
)
def test_a_hostile_folder_is_refused(
    run: Run, report: Path, spoil: Callable[[Path], None], why: str
) -> None:
    spoil(report)
    code, said = run("add", report)
    assert code != 0
    assert why in said
    assert json.loads(run("list", "--json")[1]) == []


def test_an_export_follows_no_link(run: Run, report: Path, tmp_path: Path) -> None:
    run("add", report)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    assert "is a link" in run("export", tmp_path / "out")[1]
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "quarterly-report").symlink_to(tmp_path / "elsewhere")
    assert "is there already" in run("export", tmp_path / "inner")[1]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_is_not_there_is_said_with_what_is(run: Run, report: Path, tmp_path: Path) -> None:
    run("add", report)
    assert "there is quarterly-report" in run("show", "quarterly-reports")[1]
    assert "references/last report.md" in run("show", "quarterly-report", "--file", "x")[1]
    assert "its versions: 1 to 1" in run("rollback", "quarterly-report", "7")[1]
    assert "there is no" in run("add", tmp_path / "nowhere")[1]
    assert "is no name of a skill" in run("show", "../../etc")[1]


def test_a_terminal_shows_that_a_skill_was_found(
    environment: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "tea-time.md"
    file.write_text(make_text("tea-time", "How tea is made for guests."))
    environment = {**environment, "UNCAGED_LIBRARY": "none"}
    added = uncaged(environment, "skill", "add", str(file))
    assert added.stderr == "tea-time is at version 1 (75 characters)\n"
    done = uncaged(environment, "chat", "make tea for guests")
    assert "found the skill tea-time" in done.stderr
