"""The steps of `uncaged setup` for a Telegram bot and its owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from functions.settings import Settings
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.server import Answer
from tests.functions.cli.setup.conftest import Setup

WORDS = ("telegram", "--yes", "--token-from", "MY_TOKEN")


@pytest.fixture(autouse=True)
def variables(bot: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_API", bot.url)
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    # no systemd of this machine is asked
    monkeypatch.setenv("PATH", "/nonexistent")


def test_a_bot_needs_its_token_alone(setup: Setup, config: Path, bot: BotApi) -> None:
    done = setup(*WORDS)
    assert done.returncode == 0, done.stderr
    assert "https://t.me/sigil_bot" in done.stderr
    assert "uncaged serve --poll" in done.stderr
    assert TOKEN not in done.stderr
    assert Settings.read().declared["TELEGRAM_TOKEN"] == TOKEN
    # again: our own server may poll it by now, so nobody asks for its messages
    bot.fail(409, "Conflict: terminated by other getUpdates request", method="getUpdates")
    assert setup(*WORDS).returncode == 0
    assert setup("--yes", "--provider", "offline").returncode == 0


@pytest.mark.parametrize(
    ("token", "failure", "code", "told"),
    [
        ("nonsense", None, 2, "123456:ABC"),
        ("4:wrong", None, 2, "does not know this token"),
        ("", None, 2, "no MY_TOKEN"),
        (TOKEN, ("getMe", Answer(cut=True)), 7, "network or proxy"),
        (TOKEN, ("getUpdates", 409), 7, "another program polls this bot"),
    ],
)
def test_each_failure_has_a_sentence_of_its_own_and_nothing_is_written(
    setup: Setup,
    config: Path,
    bot: BotApi,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    failure: tuple[str, Answer | int] | None,
    code: int,
    told: str,
) -> None:
    monkeypatch.setenv("MY_TOKEN", token)
    if failure:
        method, answer = failure
        if isinstance(answer, int):
            bot.fail(answer, "Conflict: terminated by other getUpdates request", method=method)
        else:
            bot.reply(answer, method=method)
    done = setup(*WORDS)
    assert (done.returncode, told in done.stderr) == (code, True), done.stderr
    assert not config.exists()


def test_a_webhook_is_told_and_taken_away_only_when_that_is_said(
    setup: Setup, config: Path, bot: BotApi
) -> None:
    bot.webhook = {"url": "https://bot.example.com/webhook/telegram"}
    done = setup(*WORDS)
    assert (done.returncode, "--take-webhook" in done.stderr) == (2, True)
    assert bot.webhook
    assert setup(*WORDS, "--take-webhook").returncode == 0
    assert not bot.webhook
    assert config.exists()


def test_the_owner_is_an_id_or_pairs_with_a_code(setup: Setup, config: Path) -> None:
    assert setup("owner", "--yes", "--owner", "telegram:42").returncode == 0
    assert Settings.read().owners == ("telegram:42",)
    done = setup("owner", "--yes", "--owner", "ada")
    assert (done.returncode, "telegram:123" in done.stderr) == (2, True)
    assert Settings.read().owners == ("telegram:42",)
    assert setup("owner", "--yes", "--owner", "pair").returncode == 0
    assert Settings.read().owners == ()
    assert "--token-from" in setup("telegram", "--yes").stderr


def test_the_file_of_a_foreign_folder_does_not_say_where_the_token_is_sent(
    setup: Setup, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TELEGRAM_API")
    text = f'UNCAGED_DATA = "data"\nTELEGRAM_API = "{bot.url}"\n'
    file = Path("uncaged.toml")
    file.write_text(text)
    done = setup(*WORDS)
    assert (done.returncode, bot.requests, file.read_text()) == (2, [], text)
    assert f"would send the bot's token to {bot.url}" in done.stderr
