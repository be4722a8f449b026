"""A turn that may be what crashed the process runs when no other does, and never holds the process
up for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from functions.queues.base import Delivery
from functions.queues.turn_lock import TurnLock
from functions.wiring import AgentRuntime
from functions.worker import TRIES_SHARED, process
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event

SOON, LONG = 0.05, 20.0


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> AgentRuntime:
    made = runtime(llm_url=model.url, telegram_token=bot.token, telegram_api=bot.url)
    return replace(made, app=replace(made.app, turn_seconds=SOON))


@contextmanager
def beside(lock: TurnLock) -> Any:
    """Another worker, in the middle of its event."""
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        assert lock.enter(LONG)
        entered.set()
        leave.wait(LONG)
        lock.leave()

    thread = threading.Thread(target=work)
    thread.start()
    assert entered.wait(LONG)
    try:
        yield leave
    finally:
        leave.set()
        thread.join()


def test_nobody_enters_while_one_is_alone_and_whoever_was_inside_is_waited_for() -> None:
    lock, alone = TurnLock(), threading.Event()

    def ask() -> None:
        with lock.alone(LONG) as granted:
            assert granted
            alone.set()

    with beside(lock) as leave:
        asking = threading.Thread(target=ask)
        asking.start()
        while lock.enter(0.0):  # until it asks
            lock.leave()
        assert not alone.is_set()
        with lock.alone(0.0) as granted:
            assert not granted  # one at a time
        leave.set()
        assert alone.wait(LONG)
    asking.join()
    assert lock.enter(LONG)


def test_a_lock_that_is_closed_lets_nobody_begin() -> None:
    lock = TurnLock()
    lock.close()
    assert not lock.enter(LONG)
    with lock.alone(LONG) as granted:
        assert not granted


def test_an_event_that_came_to_nothing_often_waits_for_the_other_turns(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("well"))
    home.queue.put(event("hello"))
    taken = home.queue.take(0.0)
    assert taken is not None
    put_off: list[Delivery] = []

    with beside(home.turns), ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(
            type(home.queue), "retry", lambda queue, delivery, delay: put_off.append(delivery)
        )
        process(replace(taken, tries=TRIES_SHARED), home)
    assert model.bodies == []
    assert [each.tries for each in put_off] == [
        TRIES_SHARED + 1
    ]  # a turn that hangs is no reason to wait for ever

    process(
        replace(taken, tries=TRIES_SHARED), replace(home, app=replace(home.app, turn_seconds=LONG))
    )
    assert [message["text"] for message in bot.messages] == ["well"]
