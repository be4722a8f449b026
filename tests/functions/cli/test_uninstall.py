"""`uncaged uninstall`: what it removes, and what stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from functions.cli.app import run_words
from functions.cli.setup.service import MARK
from functions.cli.upgrade.backup import make_backup
from functions.settings import Settings
from sigil.cli.printing import Printer
from sigil.storage.kv import Key
from sigil.wiring import admin_token, open_stores
from tests.servers.programs import ProgramForker, command_of
from tests.terminal import Terminal

Uninstall = Callable[..., int]
SYSTEMCTL = '#!/bin/sh\necho "$*" >> "{folder}/calls"\n'
DOCKER = """#!/bin/sh
case "$1" in
    rm) touch "{folder}/removed" ;;
    container) test ! -e "{folder}/removed" && echo running {mark} ;;
esac
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with two chats, in which everything of ours has its place."""
    folder = tmp_path / "data"
    for name, value in {
        "UNCAGED_DATA": str(folder),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    settings = Settings.read()
    stores = open_stores(settings)
    for chat in ("session#main#telegram:1", "session#main#telegram:2"):
        stores.kv.put(Key(chat, "head"), b"{}")
    stores.artifacts.put(b"a body")
    stores.kv.close()  # type: ignore[attr-defined]
    admin_token(settings)
    make_backup(settings)
    for name in (f"compiled/{'0' * 64}.code", "compiled/key", f"locks/{'1' * 32}"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    return folder


def uninstall(*words: str) -> int:
    return run_words(["uninstall", *words], Printer(json="--json" in words))


def test_without_a_wish_the_data_stays_and_a_dry_run_removes_nothing(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(data.rglob("*"))
    assert uninstall() == 0
    assert f"what it stored stays in {data}" in capfd.readouterr().err
    assert uninstall("--data", "--dry-run", "--json") == 0
    out = capfd.readouterr()
    row = json.loads(out.out)
    assert row["removed"] is False
    kinds = {"store", "artifacts", "token", "compiled code", "locks", "backups"}
    assert row["data"].keys() == kinds
    assert sorted(data.rglob("*")) == before


def test_data_removes_the_folder_when_everything_in_it_is_ours(data: Path) -> None:
    assert uninstall("--data", "--yes") == 0
    assert not data.exists()


def test_files_of_others_stay_and_are_named_and_no_link_is_followed(
    data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ("0" * 64)).write_text("of others")
    others = [data / "notes.txt", data / "artifacts" / "readme", data / "artifacts" / "zz" / "x"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("of others")
    (data / "artifacts" / "ff").symlink_to(elsewhere)
    (data / "locks" / ("2" * 32)).symlink_to(elsewhere / ("0" * 64))
    assert uninstall("--data", "--yes", "--json") == 0
    named = {Path(path) for path in json.loads(capfd.readouterr().out)["others"]}
    links = {data / "artifacts" / "ff", data / "locks" / ("2" * 32)}
    assert named == {*others, *links}
    assert {path for path in data.rglob("*") if not path.is_dir() or path.is_symlink()} == named
    assert (elsewhere / ("0" * 64)).read_text() == "of others"


def test_another_programs_database_and_a_store_in_use_stay(
    data: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kv = open_stores(Settings.read()).kv
    kv.put(Key("a", "b"), b"in use")
    assert uninstall("--data", "--yes") == 6
    assert "another process uses the store" in capfd.readouterr().err
    assert kv.get(Key("a", "b"))
    kv.close()  # type: ignore[attr-defined]
    (data / "uncaged.db").write_bytes(b"of another program")
    assert uninstall("--data", "--yes") == 0
    assert (data / "uncaged.db").read_bytes() == b"of another program"
    assert not (data / "artifacts").exists()


def test_a_folder_that_holds_more_than_our_data_is_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to(data)
    for folder in (tmp_path, tmp_path.parent, Path("/"), tmp_path / "link"):
        monkeypatch.setenv("UNCAGED_DATA", str(folder))
        assert uninstall("--data", "--yes") == 5
        assert "nothing was removed" in capfd.readouterr().err
    assert (data / "uncaged.db").exists()


def test_the_service_that_setup_wrote_is_removed_and_no_other(
    data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "systemctl").write_text(SYSTEMCTL.format(folder=folder))
    (folder / "systemctl").chmod(0o755)
    unit = tmp_path / "config" / "systemd" / "user" / "uncaged.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Unit]\n")
    assert uninstall() == 0
    assert f"{unit} stays" in capfd.readouterr().err
    unit.write_text(f"{MARK}\n[Unit]\n")
    assert uninstall("--dry-run") == 0
    assert unit.exists()
    assert uninstall() == 0
    assert not unit.exists()
    assert "--user disable --now uncaged.service" in (folder / "calls").read_text()
    assert (data / "uncaged.db").exists()


def test_the_question_names_folder_sizes_and_chats_and_a_no_removes_nothing(
    data: Path, forked: ProgramForker, tmp_path: Path
) -> None:
    assert uninstall("--data") == 2  # nobody is there to answer
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "UNCAGED_DATA": str(data),
        **forked.environment,
    }
    command = [*command_of("functions.cli"), "uninstall", "--data"]
    terminal = Terminal(command, environment)
    asked = terminal.wait_for("[y/N]")
    terminal.type("n\n")
    terminal.wait_for_end()
    assert terminal.process.returncode == 1
    terminal.close()
    assert "Remove 2 chats in" in asked
    assert f"from {data}" in asked.replace("\r\n", "")
    assert (data / "uncaged.db").exists()


@pytest.mark.parametrize("mark", ["yes", ""])
def test_the_container_that_setup_made_is_removed_and_no_other_one(
    data: Path, tmp_path: Path, mark: str, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "docker").write_text(DOCKER.format(folder=folder, mark=mark))
    (folder / "docker").chmod(0o755)
    assert uninstall("--dry-run") == 0
    assert ("the container: uncaged" in capfd.readouterr().err) == bool(mark)
    assert not (folder / "removed").exists()
    assert uninstall() == 0
    assert (folder / "removed").exists() == bool(mark)
