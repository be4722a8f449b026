"""`uncaged setup` from the first question to the last, as a person at a terminal has it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from functions.settings import Settings
from tests.fakes.bot_api import TOKEN, BotApi
from tests.functions.cli.setup.conftest import Setup
from tests.machine import within
from tests.servers.programs import ProgramForker, command_of
from tests.terminal import Terminal


def test_a_person_answers_every_question(
    config: Path, bot: BotApi, forked: ProgramForker, tmp_path: Path
) -> None:
    environment = {
        "PATH": "/nonexistent",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "LANG": "de_DE.UTF-8",
        "TZ": "Europe/Vienna",
        "TELEGRAM_API": bot.url,
        "NO_COLOR": "1",
        **forked.environment,
    }
    terminal = Terminal([*command_of("functions.cli"), "setup"], environment)
    for question, answer in (
        ("Language [de]", ""),
        ("city [Europe/Vienna]", "New York"),
        ("provider [openai]", "offline"),
        ("leads to? [Y/n]", "n"),
        ("Telegram? [y/N]", "y"),
        ("BotFather): ", "4:wrong"),
        ("Try again? [Y/n]", "y"),
        ("BotFather): ", TOKEN),
        ("a code [pair]", "ada"),
        ("a code [pair]", ""),
        ("Say hello here now? [Y/n]", "n"),
    ):
        terminal.wait_for(question)
        terminal.type(f"{answer}\n")
    assert terminal.process.wait(within(30)) == 0, terminal.shown
    terminal.close()
    assert "does not know this token" in terminal.shown
    assert "run it yourself: uncaged serve --poll" in terminal.shown
    assert TOKEN not in terminal.shown
    read = Settings.read()
    assert (read.language, read.timezone, read.telegram_token, read.owners) == (
        "de",
        "America/New_York",
        TOKEN,
        (),
    )
    assert config.stat().st_mode & 0o777 == 0o600


def test_with_yes_nothing_is_asked_and_what_is_not_given_stays_out(
    setup: Setup, config: Path
) -> None:
    done = setup("--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert config.read_text().count("=") == 2


def test_the_web_is_granted_when_a_person_says_so(
    setup: Setup,
    config: Path,
    stocked: Path,
    compiled: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(stocked, tmp_path / "data" / "uncaged")
    monkeypatch.setenv("UNCAGED_CACHE", str(compiled))
    assert "granted" not in setup("web", "--yes").stderr
    done = setup("web", "--web")
    assert done.returncode == 0, done.stderr
    assert "granted to read-page: web; to take it back: sigil revoke read-page" in done.stderr
    assert "granted to web-search: " in done.stderr
    assert "nothing waits" in setup("web", "--web", "--yes").stderr
    assert not config.exists()
