"""The file that `uncaged setup` writes, and who reads it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from functions.cli.setup.settings_file import HEAD, SettingsFile
from functions.settings import Settings
from sigil.errors import UsageError
from sigil.settings import Settings as SigilSettings
from tests.functions.cli.setup.conftest import Setup

LANGUAGE = ("language", "--yes", "--language", "de", "--timezone", "Berlin")


def test_what_is_set_up_once_counts_in_every_folder_for_both_commands(
    setup: Setup, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = setup(*LANGUAGE)

    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "UNCAGED_TIMEZONE = Europe/Berlin" in done.stderr
    assert (config.stat().st_mode & 0o777, os.listdir(Path())) == (0o600, [])
    assert {path.name for path in config.parent.iterdir()} == {
        "uncaged.toml",
        "uncaged.toml.previous",
    }
    monkeypatch.chdir(tmp_path)
    assert (Settings.read().language, Settings.read().timezone) == ("de", "Europe/Berlin")
    assert SigilSettings.read()
    # it is trusted like the environment, so it may set rules without naming a store
    assert Settings.read().data == ""
    monkeypatch.setenv("UNCAGED_TIMEZONE", "Asia/Tokyo")
    assert Settings.read().timezone == "Asia/Tokyo"
    again = setup(*LANGUAGE, "--json")
    assert json.loads(again.stdout)["changed"] == []
    assert "which counts" in setup(*LANGUAGE[:-1], "Vienna").stderr


def test_a_folder_with_a_store_of_its_own_has_settings_of_its_own(
    setup: Setup, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup(*LANGUAGE)
    here = setup("language", "--here", "--yes", "--language", "zh", "--timezone", "Shanghai")

    assert here.returncode == 0, here.stderr
    assert (Settings.read().language, Settings.read().data) == ("zh", str(Path.cwd() / "data"))
    assert Path("uncaged.toml").stat().st_mode & 0o777 == 0o600
    # from then on it is this file that is changed here
    setup("language", "--yes", "--language", "en")
    assert 'LANGUAGE = "en"' in Path("uncaged.toml").read_text()
    assert 'LANGUAGE = "de"' in config.read_text()
    monkeypatch.setenv("UNCAGED_DATA", "elsewhere")
    assert "unset UNCAGED_DATA" in setup(*LANGUAGE, "--here").stderr


@pytest.mark.parametrize(
    "line",
    ['UNCAGED_LLM_URL = "http://127.0.0.1:8"', 'UNCAGED_ACCESS = "open"', 'TELEGRAM_API = "x"'],
)
def test_a_foreign_folder_neither_gets_the_users_keys_nor_loosens_the_users_rules(
    config: Path, line: str
) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('UNCAGED_LLM_KEY = "k"\nUNCAGED_ACCESS = "owners"\nTELEGRAM_TOKEN = "4:x"\n')
    config.chmod(0o600)
    Path("uncaged.toml").write_text("")
    assert (Settings.read().access, Settings.read().llm_key) == ("owners", "k")
    Path("uncaged.toml").write_text(line)
    if "ACCESS" in line:  # what the user's own file says counts
        assert Settings.read().access == "owners"
    else:
        with pytest.raises(UsageError, match=line.partition(" ")[0]):
            Settings.read()
    # with a store of its own it gets nothing of the user's
    Path("uncaged.toml").write_text(f'{line}\nUNCAGED_DATA = "here"\n')
    assert (Settings.read().llm_key, Settings.read().declared.get("TELEGRAM_TOKEN")) == ("", None)


def test_a_file_of_the_user_that_others_can_write_is_refused(config: Path) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('UNCAGED_ACCESS = "open"\n')
    config.chmod(0o666)
    with pytest.raises(UsageError, match="can be written by others") as caught:
        Settings.read()
    assert f"chmod 600 {config}" in caught.value.suggestion
    config.chmod(0o600)
    with (
        patch(
            "pathlib.Path.stat", return_value=os.stat_result((0o100600, 0, 0, 1, 54321, *[0] * 5))
        ),
        pytest.raises(UsageError, match="belongs to another user"),
    ):
        Settings.read()
    config.write_text('UNCAGED_ACESS = "open"\n')
    with pytest.raises(UsageError, match=f"{config} sets UNCAGED_ACESS"):
        Settings.read()


def test_comments_and_other_lines_stay_and_a_setup_can_be_taken_back(
    setup: Setup, config: Path
) -> None:
    before = (
        "# mine\nUNCAGED_WORKERS = 3  # few\n"
        'UNCAGED_OWNERS = [\n  "telegram:1",\n]\n\n"UNCAGED_LANGUAGE" = "en"'
    )
    config.parent.mkdir(parents=True)
    config.write_text(before)
    config.chmod(0o600)
    setup(*LANGUAGE)
    assert config.read_text() == (
        before.replace('"UNCAGED_LANGUAGE" = "en"', 'UNCAGED_LANGUAGE = "de"\n')
        + 'UNCAGED_TIMEZONE = "Europe/Berlin"\n'
    )
    assert setup("undo").returncode == 0
    assert config.read_text() == before
    setup("undo")
    assert Settings.read().language == "de"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UNCAGED_OWNERS", "telegram:7"),
        ("UNCAGED_OWNERS", ""),
        ("UNCAGED_WORKERS", "5"),
        ("UNCAGED_LLM_MODEL", 'a "quoted" \\ model\t\x7f = 🦑'),
        ("UNCAGED_LLM_URL", "http://127.0.0.1:9/v1"),
    ],
)
def test_any_value_is_written_so_that_it_is_read_again(config: Path, name: str, value: str) -> None:
    config.parent.mkdir(parents=True)
    config.write_text('UNCAGED_OWNERS = [\n "telegram:1",\n "slack:U=1", # = 2\n]\n# end\n')
    changed = SettingsFile(config, {}).change({name: value})
    assert changed == [name]
    read = SettingsFile(config, {}).values
    assert read.get(name, "") == value
    assert name == "UNCAGED_OWNERS" or read["UNCAGED_OWNERS"] == "telegram:1,slack:U=1"
    assert config.read_text().count("# end") == 1


def test_what_cannot_be_right_is_told_and_nothing_is_written(
    setup: Setup, config: Path, tmp_path: Path
) -> None:
    for words, told in {
        ("language", "--yes", "--language", "xx"): "use de, en, zh",
        ("language", "--yes", "--timezone", "Berlinn"): "did you mean Europe/Berlin",
        ("model", "--yes", "--provider", "nobody"): "openai",
        ("model", "--yes", "--url", "ftp://x", "--model", "m"): "http://",
        ("model", "--yes", "--provider", "openai"): "--key-from OPENAI_API_KEY",
        ("model", "--yes", "--provider", "openai", "--key-from", "NO_SUCH"): "no NO_SUCH",
        ("model", "--yes", "--provider", "other"): "--url",
        ("language",): "--yes",
        ("undo",): "no setup of",
    }.items():
        done = setup(*words)
        assert done.returncode in (2, 3), (words, done.stderr)
        assert told in done.stderr
    assert not config.exists()
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("broken = = 1\n")
    assert "repair it" in setup(*LANGUAGE).stderr
    assert config.read_text() == "broken = = 1\n"
    config.write_text('UNCAGED_LANGAUGE = "de"\n')
    config.chmod(0o600)
    refused = setup(*LANGUAGE).stderr
    assert f"{config} sets UNCAGED_LANGAUGE" in refused
    assert "did you mean UNCAGED_LANGUAGE?" in refused
    assert config.read_text() == 'UNCAGED_LANGAUGE = "de"\n'


def test_two_setups_at_once_are_one_after_the_other(setup: Setup, config: Path) -> None:
    config.parent.mkdir(parents=True)
    killed = config.with_name(".uncaged.toml-x1y2z3ab")
    killed.write_text('UNCAGED_LLM_KEY = "half-writ')
    handle = os.open(config.parent, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    done = setup(*LANGUAGE)
    assert (done.returncode, "another `uncaged setup`" in done.stderr) == (6, True)
    assert killed.exists()
    os.close(handle)
    assert setup(*LANGUAGE).returncode == 0
    # what a setup left that was killed while it wrote
    assert not killed.exists()


def test_a_disk_that_fails_leaves_the_file_as_it_was(
    setup: Setup, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup(*LANGUAGE)
    before = config.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    done = setup("language", "--yes", "--language", "zh")
    assert (done.returncode, "No space left" in done.stderr) == (2, True)
    assert config.read_bytes() == before
    assert {path.name for path in config.parent.iterdir()} == {
        "uncaged.toml",
        "uncaged.toml.previous",
    }


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("before", ["", 'UNCAGED_LANGUAGE = "en"\n'])
def test_a_setup_or_an_undo_that_is_killed_between_two_writes_can_be_repeated(
    config: Path, before: str, link: bool
) -> None:
    """Each is killed at every change of a name in turn; both texts are there afterwards."""
    config.parent.mkdir(parents=True)
    real = config.with_name("elsewhere.toml") if link else config
    after = 'UNCAGED_LANGUAGE = "de"\n'

    def start(text: str) -> None:
        for path in config.parent.iterdir():
            path.unlink()
        if link:
            config.symlink_to(real)
        if text:
            real.write_text(text)
            real.chmod(0o600)

    def read() -> str:
        return config.read_text().replace(HEAD, "") if config.exists() else ""

    for word, old, new in (("change", before, after), ("undo", after, before)):
        for step in range(1, 9):
            start(before)
            if word == "undo":
                SettingsFile(config, {}).change({"UNCAGED_LANGUAGE": "de"})
            if not is_killed_at(step, lambda word=word: run_step(SettingsFile(config, {}), word)):
                break
            assert read() in (old, new), (word, step)
            if word == "undo" and read() == after:
                SettingsFile(config, {}).undo()
            if word == "change" and read() == before:
                SettingsFile(config, {}).change({"UNCAGED_LANGUAGE": "de"})
            assert read() == new
        assert step > 1
        assert read() == new


def run_step(file: SettingsFile, word: str) -> None:
    if word == "undo":
        file.undo()
    else:
        file.change({"UNCAGED_LANGUAGE": "de"})


def is_killed_at(step: int, work: Callable[[], None]) -> bool:
    """Do the work in a child that is killed right before its `step`th change of a name; return
    whether there were so many.
    """
    pid = os.fork()
    if pid == 0:
        left = [step]

        def kill_at_last(event: str, _: tuple[object, ...]) -> None:
            if event in ("os.rename", "os.remove", "ctypes.dlsym"):  # the last is the exchange
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(kill_at_last)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def test_only_what_a_setup_left_half_written_is_removed(setup: Setup, config: Path) -> None:
    config.parent.mkdir(parents=True)
    names = (".uncaged.toml-mine", ".uncaged.toml.bak-2026-11-23")
    for name in (*names, ".uncaged.toml-ab12_9zz"):
        (config.parent / name).write_text("x")
    (config.parent / ".uncaged.toml-a_folder").mkdir()
    assert setup(*LANGUAGE).returncode == 0
    left = {path.name for path in config.parent.iterdir()} - {config.name}
    assert {*names, ".uncaged.toml-a_folder"} <= left
    assert ".uncaged.toml-ab12_9zz" not in left
