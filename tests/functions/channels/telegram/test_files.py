"""A file that somebody sent is fetched from Telegram, and from nowhere else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from functions.channels.base import FetchesFiles
from functions.channels.telegram.channel import Telegram
from sigil.errors import SigilError
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.server import Answer, json_answer


@pytest.fixture
def telegram(bot: BotApi) -> Iterator[Telegram]:
    made = Telegram(bot.token, "secret", api=bot.url)
    yield made
    made.close()


def test_a_file_is_fetched_by_its_id_and_the_token_is_not_logged(
    telegram: Telegram, bot: BotApi, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(telegram, FetchesFiles)
    bot.sent_files["f1"] = b"hello"
    with caplog.at_level(logging.DEBUG):
        assert telegram.fetch({"file_id": "f1"}, 5) == b"hello"
    assert bot.requests[-1].path == f"/file/bot{TOKEN}/documents/f1"
    logged = "\n".join(record.getMessage() for record in caplog.records if "http" in record.name)
    assert TOKEN.partition(":")[2] not in logged


@pytest.mark.parametrize("told", [True, False])
def test_more_than_is_wanted_is_refused(telegram: Telegram, bot: BotApi, told: bool) -> None:
    bot.sent_files["f1"] = b"x" * 6
    if not told:
        found = {"ok": True, "result": {"file_path": "documents/f1"}}
        bot.reply(json_answer(found), method="getFile")
    with pytest.raises(SigilError) as refused:
        telegram.fetch({"file_id": "f1"}, 5)
    assert refused.value.code == "ETOOBIG"


@pytest.mark.parametrize(
    "path",
    [
        "../../bot/getMe",
        "documents/../x",
        "//evil.example.com/x",
        "/etc/passwd",
        "",
        None,
        7,
        "http://evil.example.com/x",
        "a?b",
        "a#b",
        "a%2e%2e",
        "a b",
        "x" * 600,
    ],
)
def test_a_path_that_telegram_would_never_tell_is_not_asked_for(
    telegram: Telegram, bot: BotApi, path: Any
) -> None:
    found = {"ok": True, "result": {"file_path": path}}
    bot.reply(json_answer(found), method="getFile")
    with pytest.raises(SigilError):
        telegram.fetch({"file_id": "f1"}, 5)
    assert len(bot.requests) == 1


@pytest.mark.parametrize(
    "answer", [Answer(404), Answer(302, b"", {"location": "/x"}), Answer(cut=True)]
)
def test_a_file_that_does_not_come_is_an_error(
    telegram: Telegram, bot: BotApi, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot.sent_files["f1"] = b"hello"
    whole = bot.answer
    monkeypatch.setattr(
        bot, "answer", lambda asked: answer if "/file/" in asked.path else whole(asked)
    )
    with pytest.raises(SigilError):
        telegram.fetch({"file_id": "f1"}, 5)
