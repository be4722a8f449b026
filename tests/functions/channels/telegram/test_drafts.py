"""A private chat of Telegram shows an answer while it is written."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions.channels.base import Busy, Draft
from functions.channels.drafts import NoDrafts
from functions.channels.render.telegram import count_units
from functions.channels.telegram.channel import Telegram
from functions.events import Event, Sender
from functions.time.clock import Clock
from sigil.errors import BackendError, Refused, SigilError
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel
from tests.fakes.server import Answer
from tests.fakes.speaking_model import SpeakingModel, speak
from tests.fakes.virtual_time import VirtualTime
from tests.functions.chats import Chats
from tests.functions.people import GROUP, OWNER
from tests.functions.test_live_turns import Pieces
from tests.machine import until
from tests.tables import each_row

LONG = " ".join(f"word{number:03d}" for number in range(400))


HURRY = 50
"""Seconds of the agent in one of ours."""


@pytest.fixture
def speaking(chats: Chats) -> tuple[Chats, SpeakingModel]:
    """An agent whose model speaks by a clock of its own."""
    clock = VirtualTime({"draft"}).clock
    model = SpeakingModel(clock)
    app = replace(chats.runtime.app, clock=clock, model=model)
    return Chats(replace(chats.runtime, app=app), chats.bot), model


def test_a_private_chat_sees_the_answer_grow_and_gets_it_once(
    speaking: tuple[Chats, SpeakingModel],
) -> None:
    chats, model = speaking
    model.script[:] = [speak(LONG, 20.0)]
    chats.write(1, "tell me everything")
    chats.work_off()
    drafts = chats.bot.calls("sendMessageDraft")
    assert 30 <= len(drafts) <= 40
    assert len({draft["draft_id"] for draft in drafts}) == 1
    assert all(LONG.startswith(draft["text"]) for draft in drafts)
    assert chats.list_texts() == [LONG]
    assert chats.bot.drafts == {}


def test_what_an_endpoint_streams_is_shown_before_the_answer_is_whole(
    open_chats: Callable[..., Chats], model: ScriptedModel
) -> None:
    def hurry(event: threading.Event, seconds: float) -> bool:
        return event.wait(seconds / HURRY)

    clock = Clock(monotonic=lambda: time.monotonic() * HURRY, wait=hurry)
    chats = open_chats(turn_seconds=120.0 * HURRY)
    runtime = replace(chats.runtime, app=replace(chats.runtime.app, clock=clock))
    begin = "It is a long story, which takes some time to be told"
    pieces = Pieces(f"{begin} ", "and it has an end.")
    model.then(pieces.answer())
    chats.write(1, "tell me everything")
    working = threading.Thread(target=Chats(runtime, chats.bot).work_off)
    working.start()
    pieces.let_go(0)
    until(lambda: OWNER in chats.bot.drafts)
    assert chats.bot.drafts[OWNER]["text"] == begin
    pieces.let_go(1)
    working.join()
    assert chats.list_texts() == [f"{begin} and it has an end."]
    assert OWNER not in chats.bot.drafts


def test_a_group_sees_no_draft_and_its_answer_is_not_streamed(
    speaking: tuple[Chats, SpeakingModel],
) -> None:
    chats, model = speaking
    model.script[:] = [speak(LONG, 20.0)]
    chats.write(
        1,
        "@Sigil_Bot tell me",
        chat=GROUP,
        entities=[{"type": "mention", "offset": 0, "length": 10}],
    )
    chats.work_off()
    assert chats.bot.calls("sendMessageDraft") == []
    assert model.streamed == [False]
    assert chats.list_texts() == [LONG]


def test_an_older_server_is_asked_once_and_the_log_says_so_once(
    speaking: tuple[Chats, SpeakingModel], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    chats, model = speaking
    chats.bot.knows_drafts = False
    model.script[:] = [speak(LONG, 20.0), speak(LONG, 20.0)]
    for number in (1, 2):
        chats.write(number, "tell me everything")
        chats.work_off()
    assert len(chats.bot.calls("sendMessageDraft")) == 1
    assert model.streamed == [True, False]
    assert chats.list_texts() == [LONG, LONG]
    assert [record.getMessage() for record in caplog.records].count("no more drafts") == 1


def open_draft(channel: Telegram, **event: Any) -> Draft | None:
    sender = Sender(f"telegram:{OWNER}")
    asked = Event("e", "message", "main", f"telegram:{OWNER}", sender, "hi", 0.0, "0")
    return channel.open_draft(replace(asked, **{"private": True, **event}))


@pytest.fixture
def channel(bot: BotApi) -> Iterator[Telegram]:
    opened = Telegram(bot.token, "secret", bot.url)
    yield opened
    opened.close()


TEXTS = [
    "see **this** and `that`",
    "see:\n```py\nprint(1)\n```",
    "😀" * 4_000,
    "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 900,
    "**b** " * 600,
]


@each_row("text", TEXTS)
def test_what_is_shown_is_the_beginning_of_the_answer_in_its_styles(
    channel: Telegram, bot: BotApi, text: str
) -> None:
    draft = open_draft(channel)
    assert draft
    draft.show(text)
    draft.take_away()
    shown = bot.drafts[OWNER]
    assert 0 < count_units(shown["text"]) <= 4_096
    assert "**" not in shown["text"]
    assert bot.messages == []


@each_row("event", [{"private": False}, {"private": False, "session": "telegram:-100"}])
def test_only_a_private_chat_has_drafts(channel: Telegram, event: dict[str, Any]) -> None:
    assert open_draft(channel, **event) is None


FAILURES: list[tuple[Callable[[BotApi], None], type[SigilError]]] = [
    (
        lambda bot: bot.fail(429, "slow", method="sendMessageDraft", parameters={"retry_after": 3}),
        Busy,
    ),
    (lambda bot: bot.fail(400, "TEXTDRAFT_PEER_INVALID", method="sendMessageDraft"), Refused),
    (lambda bot: bot.fail(404, "Not Found: method not found", method="sendMessageDraft"), NoDrafts),
    (lambda bot: bot.fail(500, "", method="sendMessageDraft"), BackendError),
    (lambda bot: bot.reply(Answer(cut=True), method="sendMessageDraft"), BackendError),
]


@each_row("fail, error", FAILURES)
def test_a_failure_says_what_it_is_and_is_followed_by_no_other_call(
    channel: Telegram, bot: BotApi, fail: Callable[[BotApi], None], error: type[SigilError]
) -> None:
    draft = open_draft(channel)
    assert draft
    before = len(bot.requests)
    fail(bot)
    with pytest.raises(error):
        draft.show("It is a long story")
    assert len(bot.requests) == before + 1
