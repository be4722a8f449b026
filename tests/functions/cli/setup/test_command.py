"""`uncaged setup` from the first question to the last, as a person at a terminal has it."""

from __future__ import annotations

import re
import shutil
import signal
from pathlib import Path

import pytest

from functions.settings import Settings
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.model import ScriptedModel
from tests.fakes.server import json_answer
from tests.functions.cli.setup.conftest import Setup
from tests.functions.people import update
from tests.servers.programs import ProgramForker, command_of
from tests.terminal import Terminal


def test_a_person_answers_every_question(
    config: Path,
    bot: BotApi,
    model: ScriptedModel,
    docker: Path,
    forked: ProgramForker,
    tmp_path: Path,
) -> None:
    environment = {
        "PATH": "/nonexistent",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "LANG": "de_DE.UTF-8",
        "TZ": "Europe/Vienna",
        "TELEGRAM_API": bot.url,
        "NO_COLOR": "1",
        "UNCAGED_LIBRARY": "none",
        "XDG_DATA_HOME": str(tmp_path / "data"),
        **forked.environment,
    }
    terminal = Terminal([*command_of("functions.cli"), "setup"], environment)
    for question, answer in (
        ("name [main]", "Ada 7!"),
        ("name [main]", "Ada Lovelace"),
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
        ("see it answer? [Y/n]", "y"),
    ):
        terminal.wait_for(question)
        terminal.type(f"{answer}\n")
    code = re.search(r"/pair ([0-9A-Z-]+)`", terminal.wait_for("Ctrl-C goes on without"))
    assert code
    bot.deliver(update(1, f"/pair {code[1]}"))
    terminal.wait_for("now write something to it")
    bot.deliver(update(2, "hello"))
    terminal.wait_for("it answered: Hello!", "talk to it here: uncaged chat")
    terminal.wait_for_end()
    assert terminal.process.returncode == 0, terminal.shown
    terminal.close()
    assert "does not know this token" in terminal.shown
    assert "run it yourself: uncaged serve --poll" in terminal.shown
    assert "prints a code" not in terminal.shown
    assert TOKEN not in terminal.shown
    read = Settings.read()
    assert read.agent == "ada-lovelace"
    assert (read.language, read.timezone, read.declared["TELEGRAM_TOKEN"], read.owners) == (
        "de",
        "America/New_York",
        TOKEN,
        (),
    )
    assert config.stat().st_mode & 0o777 == 0o600

    # again: now there is an owner; Ctrl-C while one waits for the message is no failure, a model that
    # fails is one
    for fails in (False, True):
        if fails:
            environment |= {"UNCAGED_LLM_URL": model.url, "UNCAGED_LLM_KEY": "sk-wrong"}
        terminal = Terminal([*command_of("functions.cli"), "setup"], environment)
        for question, answer in (
            ("name [ada-lovelace]", ""),
            ("Language", ""),
            ("city", ""),
            ("provider [openai]", "offline"),
            ("leads to? [Y/n]", "n"),
            ("Telegram? [Y/n]", ""),
            ("Keep the token", ""),
            ("a code [pair]", ""),
            ("see it answer? [Y/n]", "y"),
        ):
            terminal.wait_for(question)
            terminal.type(f"{answer}\n")
        terminal.wait_for("write something to the bot", "Ctrl-C goes on without")
        if fails:
            model.then(json_answer({"error": {"message": "bad key"}}, 401))
            bot.deliver(update(3, "hello?"))
            terminal.wait_for(
                "does not accept my key", "the model failed; `uncaged doctor` tells why"
            )
        else:
            terminal.process.send_signal(signal.SIGINT)
        terminal.wait_for_end()
        assert terminal.process.returncode == int(fails), terminal.shown
        terminal.close()
    del environment["UNCAGED_LLM_URL"], environment["UNCAGED_LLM_KEY"]

    # without a bot it is written here; where the image is there, a container is offered
    environment |= {"XDG_CONFIG_HOME": str(tmp_path / "other"), "PATH": str(docker)}
    terminal = Terminal([*command_of("functions.cli"), "setup"], environment)
    for question, answer in (
        ("name [main]", ""),
        ("Language", "zh"),
        ("city", ""),
        ("provider [openai]", "offline"),
        ("leads to? [Y/n]", "n"),
        ("Telegram? [y/N]", ""),
        ("Run it in a container? [Y/n]", ""),
        ("Say something to it now? [Y/n]", ""),
        ("Your message [你好！你能做什么？]", ""),
    ):
        terminal.wait_for(question)
        terminal.type(f"{answer}\n")
    terminal.wait_for("离线模型", "talk to it here: uncaged chat")
    terminal.wait_for_end()
    assert terminal.process.returncode == 0, terminal.shown
    terminal.close()


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
