"""An event that comes to nothing is given up: its sender is told once, whatever crashes in between,
and the chat goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.conversation.messages import Message
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.agent.turn.turn import run_turn
from functions.agent.turn.turn_context import WorkerBudget
from functions.events import Event
from functions.queues import dead_letters
from functions.queues.base import Delivery
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from functions.worker import TRIES_MOST, process
from sigil.errors import UsageError
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event

KEY = keys.session_of("main", "telegram:7")


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, telegram_token=bot.token, telegram_api=bot.url)


def taken(home: AgentRuntime) -> Delivery:
    delivery = home.queue.take(0.0)
    assert delivery is not None
    return delivery


def put(home: AgentRuntime, happened: Event, tries: int = 0) -> Delivery:
    """The event in a worker's hand, handed out so often before."""
    home.queue.put(happened)
    return replace(taken(home), tries=tries)


def texts(bot: BotApi) -> list[str]:
    return [message["text"] for message in bot.messages]


def crash(*given: Any, **more: Any) -> None:
    raise KeyboardInterrupt


def test_an_event_that_was_handed_out_too_often_is_told_once_and_its_chat_goes_on(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("well"))
    poison = event("poison")

    process(put(home, poison, TRIES_MOST), home)
    process(put(home, poison, TRIES_MOST), home)
    process(put(home, poison), home)
    process(put(home, event("and now?")), home)

    assert texts(bot) == [ENGLISH.gave_up, "well"]
    assert [letter.id for letter in dead_letters.scan_dead_letters(home.stores.kv)] == [poison.id]


def test_its_turn_in_progress_is_closed_and_not_answered_later(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
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

    assert texts(bot) == [ENGLISH.gave_up, "well"]
    assert home.app.sessions.open(KEY).document.turn is None


def incomplete(home: AgentRuntime) -> None:
    """A body of the chat's document is lost."""
    sessions = Sessions(home.stores.kv, MemoryArtifacts())
    sessions.save(
        sessions.open(KEY),
        Document().add(*[Message("user", os.urandom(20_000).hex()) for _ in range(30)]),
    )


def test_a_crash_between_the_dead_letter_and_its_telling_tells_nobody_twice_and_somebody_once(
    home: AgentRuntime, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    incomplete(home)
    delivery = put(home, event("hi"))
    with monkeypatch.context() as patched:
        patched.setattr(type(home.channels["telegram"]), "send", crash)
        with pytest.raises(KeyboardInterrupt):
            process(delivery, home)

    process(delivery, home)
    process(put(home, delivery.event), home)

    assert texts(bot) == [ENGLISH.lost_memory]


def test_a_platform_that_is_away_is_told_of_a_dead_letter_later(
    home: AgentRuntime, bot: BotApi
) -> None:
    incomplete(home)
    bot.fail(500, "Internal")
    delivery = put(home, event("hi"))

    process(delivery, home)
    assert texts(bot) == []
    process(delivery, home)

    assert texts(bot) == [ENGLISH.lost_memory]
    assert home.queue.take(0.0) is None


def test_a_clock_that_is_set_ahead_loses_no_notice_of_a_dead_letter(
    home: AgentRuntime, bot: BotApi
) -> None:
    incomplete(home)
    bot.fail(500, "Internal")
    delivery = put(home, event("hi"))
    process(delivery, home)
    ahead = replace(home.app.clock, now=lambda: time.time() + 86_400.0)

    bot.fail(500, "Internal")
    process(delivery, replace(home, app=replace(home.app, clock=ahead)))
    process(delivery, home)

    assert texts(bot) == [ENGLISH.lost_memory]


def test_agents_that_share_a_store_take_their_own_events_alone(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    model.then(say("from alpha"), say("from beta"))
    alpha, beta = (
        runtime(llm_url=model.url, agent="alpha"),
        runtime(llm_url=model.url, agent="beta"),
    )
    for name in ("beta", "alpha"):
        alpha.queue.put(replace(event("hi", session="http:admin:main"), agent=name))

    for home in (alpha, beta):
        process(taken(home), home)
        assert home.queue.take(0.0) is None

    for home, said in ((alpha, "from alpha"), (beta, "from beta")):
        key = keys.session_of(home.app.name, "http:admin:main")
        assert [message.content for message in home.app.sessions.open(key).document.messages] == [
            "hi",
            said,
        ]


def test_an_event_of_another_agent_becomes_a_dead_letter_and_is_not_answered(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    stray = replace(event("hi"), agent="somebody-else")

    process(Delivery(stray, taken_receipt(home)), home)

    assert texts(bot) == []
    assert model.bodies == []
    assert [letter.id for letter in dead_letters.scan_dead_letters(home.stores.kv)] == [stray.id]


def taken_receipt(home: AgentRuntime) -> str:
    home.queue.put(event("another"))
    return taken(home).receipt


def test_a_body_that_is_lost_is_told_and_not_tried_for_ever(
    home: AgentRuntime, bot: BotApi
) -> None:
    incomplete(home)
    delivery = put(home, event("hi"))

    process(delivery, home)

    assert texts(bot) == [ENGLISH.lost_memory]
    assert [letter.id for letter in dead_letters.scan_dead_letters(home.stores.kv)] == [
        delivery.event.id
    ]


def test_a_failure_that_is_no_trouble_of_a_back_end_is_counted(
    home: AgentRuntime, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_big(*given: Any) -> None:
        raise UsageError("ETOOBIG", "the item has 500,000 bytes")

    monkeypatch.setattr(Sessions, "save", too_big)
    delivery = put(home, event("hi"))
    retried: list[Delivery] = []
    monkeypatch.setattr(
        type(home.queue), "retry", lambda queue, delivery, delay: retried.append(delivery)
    )

    process(delivery, home)
    process(replace(delivery, tries=TRIES_MOST), home)

    assert [again.tries for again in retried] == [1]
    assert texts(bot) == [ENGLISH.gave_up]


def test_a_continuation_that_comes_to_nothing_takes_its_turn_with_it(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("well"))
    left = run_turn(event("hi"), home.app, worker=WorkerBudget(time.monotonic()))
    assert left.next is not None

    process(put(home, left.next, TRIES_MOST), home)
    process(put(home, event("and now?")), home)

    assert texts(bot) == [ENGLISH.gave_up, "well"]


def test_the_reply_of_a_turn_that_was_finished_for_another_leaves_before_the_next_turn_begins(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    run_turn(event("first"), home.app, worker=WorkerBudget(time.monotonic()))

    def second(body: dict[str, Any]) -> dict[str, Any]:
        assert texts(bot) == ["one"]
        return say("two")

    model.then(say("one"), second)
    process(put(home, event("second")), home)

    assert texts(bot) == ["one", "two"]
