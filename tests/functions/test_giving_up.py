"""An event that comes to nothing is given up: its sender is told once, whatever crashes in between, and the chat goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions import letters
from functions.agent.turn import GAVE_UP
from functions.events import Event
from functions.queues.base import Delivery
from functions.wiring import House
from functions.worker import LOST, TRIES_MOST, process
from sigil.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event

KEY = keys.session_of("main", "telegram:7")


@pytest.fixture
def bot() -> Iterator[BotApi]:
    with BotApi() as api:
        yield api


@pytest.fixture
def home(house: Callable[..., House], bot: BotApi, model: ScriptedModel) -> House:
    return house(llm_url=model.url, telegram_token=bot.token, telegram_api=bot.url)


def taken(home: House) -> Delivery:
    delivery = home.queue.take(0.0)
    assert delivery is not None
    return delivery


def put(home: House, happened: Event, tries: int = 0) -> Delivery:
    """The event in a worker's hand, handed out so often before."""
    home.queue.put(happened)
    return replace(taken(home), tries=tries)


def texts(bot: BotApi) -> list[str]:
    return [message["text"] for message in bot.messages]


def crash(*given: Any, **more: Any) -> None:
    raise KeyboardInterrupt


def test_an_event_that_was_handed_out_too_often_is_told_once_and_its_chat_goes_on(home: House, bot: BotApi, model: ScriptedModel) -> None:
    model.then(say("well"))
    poison = event("poison")

    process(put(home, poison, TRIES_MOST), home)
    process(put(home, poison, TRIES_MOST), home)
    process(put(home, poison), home)
    process(put(home, event("and now?")), home)

    assert texts(bot) == [GAVE_UP, "well"]
    assert [letter.id for letter in letters.letters(home.stores.kv)] == [poison.id]


def test_its_turn_in_progress_is_closed_and_not_answered_later(
    home: House, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison = event("poison")
    model.then(say("never"))
    with monkeypatch.context() as patched:
        patched.setattr(type(home.app.model), "chat", crash)
        delivery = put(home, poison)
        with pytest.raises(KeyboardInterrupt):
            process(delivery, home)
    assert home.app.sessions.open(KEY).document.turn is not None

    process(replace(delivery, tries=TRIES_MOST), home)
    model._script[:] = [say("well")]
    process(put(home, event("and now?")), home)

    assert texts(bot) == [GAVE_UP, "well"]
    assert home.app.sessions.open(KEY).document.turn is None


def damaged(home: House) -> None:
    home.stores.kv.put(keys.head(KEY), b"nonsense")


def test_a_crash_between_the_dead_letter_and_its_telling_tells_nobody_twice_and_somebody_once(
    home: House, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged(home)
    delivery = put(home, event("hi"))
    with monkeypatch.context() as patched:
        patched.setattr(type(home.channels["telegram"]), "send", crash)
        with pytest.raises(KeyboardInterrupt):
            process(delivery, home)

    process(delivery, home)
    process(put(home, delivery.event), home)

    assert texts(bot) == [LOST]


def test_a_platform_that_is_away_is_told_of_a_dead_letter_later(home: House, bot: BotApi) -> None:
    damaged(home)
    bot.fail(500, "Internal")
    delivery = put(home, event("hi"))

    process(delivery, home)
    assert texts(bot) == []
    process(delivery, home)

    assert texts(bot) == [LOST]
    assert home.queue.take(0.0) is None
