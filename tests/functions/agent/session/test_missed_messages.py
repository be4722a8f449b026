"""A chat that is locked answers a queue of messages once, says how many it did not work on, and
loses count of none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.agent.commands import control
from functions.agent.session.missed_messages import QUIET_SECONDS
from functions.events import Event
from functions.queues.base import Delivery
from functions.texts.en import TEXTS as ENGLISH
from functions.time.clock import Clock
from functions.wiring import AgentRuntime
from functions.worker import process
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, tell
from tests.functions.people import OWNER, platform, reason, sentence

KEY = keys.session_of("main", "telegram:7")
GUEST = "telegram:7"
NOTICE = reason("halted")


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, **platform(bot))


def written(home: AgentRuntime, *texts: str, sender: str = GUEST) -> None:
    for text in texts:
        home.queue.put(event(text, sender=sender))


def taken(home: AgentRuntime) -> Delivery:
    delivery = home.queue.take(0.0)
    assert delivery is not None
    return delivery


def work(home: AgentRuntime, count: int) -> None:
    for _ in range(count):
        process(taken(home), home)


def texts(bot: BotApi) -> list[str]:
    return [message["text"] for message in bot.messages]


def halt(home: AgentRuntime) -> None:
    control.halt("", home.app, f"telegram:{OWNER}")


def unlock(home: AgentRuntime) -> None:
    control.unlock("", home.app, f"telegram:{OWNER}")


def test_messages_that_waited_get_one_answer_that_says_how_many(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    written(home, *(f"message {number}" for number in range(96)))
    halt(home)
    work(home, 96)
    assert texts(bot) == [f"{NOTICE} {ENGLISH.missed_meanwhile.format(count=96)}"]

    written(home, "hello?")
    work(home, 1)
    assert texts(bot)[1:] == [NOTICE]
    unlock(home)
    written(home, "and now?")
    work(home, 1)
    assert texts(bot)[2:] == ["done"]  # who was told is not told again
    assert len(model.bodies) == 1


def test_what_was_missed_before_an_unlock_is_told_with_the_next_answer(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    written(home, "one", "two", "three")
    halt(home)
    work(home, 2)
    unlock(home)
    model.then(say("the third"), say("the fourth"))
    work(home, 1)
    written(home, "four")
    work(home, 1)
    assert texts(bot) == [
        f"{ENGLISH.missed_before.format(messages='2 messages')}\n\nthe third",
        "the fourth",
    ]
    assert (
        home.app.sessions.open(KEY).document.messages[-3].content == "the third"
    )  # the model reads what it said, and no more


def test_a_crash_between_the_count_and_the_answer_counts_nothing_twice(
    home: AgentRuntime, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(home, "one", "two")
    halt(home)

    def away(*_: object) -> None:
        raise BackendError("EUNAVAILABLE", "the store is away")

    for _ in range(2):
        delivery = taken(home)
        with monkeypatch.context() as broken:
            broken.setattr(type(home.app.sessions), "save", away)
            broken.setattr("functions.worker.RETRY_SECONDS", 0.0)
            process(delivery, home)
        work(home, 1)
    assert texts(bot) == [f"{NOTICE} {ENGLISH.missed_meanwhile.format(count=2)}"]


def test_what_is_not_answered_with_a_notice_is_no_reason_to_be_silent(
    home: AgentRuntime, bot: BotApi
) -> None:
    halt(home)
    written(home, "one", "/new")
    work(home, 2)
    assert texts(bot) == [NOTICE, f"New session started. It stays locked. {NOTICE}"]


def test_a_queue_that_cannot_tell_what_waits_says_it_once_a_minute(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    halt(home)
    moved = [0.0]
    clock = replace(home.app.clock, now=lambda: Clock().now() + moved[0])
    blind = replace(home, app=replace(home.app, clock=clock))

    def work_blindly(count: int) -> None:
        for _ in range(count):
            process(replace(taken(home), behind=None), blind)

    written(home, *(f"message {number}" for number in range(5)))
    work_blindly(5)
    assert texts(bot) == [NOTICE]
    moved[0] += QUIET_SECONDS
    written(home, "hello?")
    work_blindly(1)
    assert texts(bot)[1:] == [f"{NOTICE} {ENGLISH.missed_meanwhile.format(count=5)}"]


def test_whoever_waits_for_an_answer_over_http_gets_one_to_each_message(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    halt(home)
    asked: list[Event] = [
        event(text, session="http:admin:main", sender="http:admin") for text in ("one", "two")
    ]
    for each in asked:
        home.queue.put(each)
    work(home, 2)
    key = keys.session_of("main", "http:admin:main")
    assert [home.replies.get(key, each.id)["reply"] for each in asked] == [sentence("halted")] * 2


def test_an_owner_is_told_what_they_can_do_and_what_failed_and_others_less(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    refused = {
        "name": "reach",
        "description": "Reach out.",
        "execute": "throw Object.assign(new Error('10.0.0.7 said no'), {code: 'EACCES'})",
    }
    model.then(
        call(("sigil_deploy", refused)),
        *[call(("cap_reach", {"n": number})) for number in range(5)],
    )
    model.then(
        call(("sigil_query", {"query": "reach"})),
        *[call(("cap_reach", {"n": number})) for number in range(5)],
    )

    (owners,) = tell(home, "go", sender=f"telegram:{OWNER}", session=f"telegram:{OWNER}")
    (guests,) = tell(home, "go", sender=GUEST)

    assert "The last to fail was `reach`: 10.0.0.7 said no. What should I do" in owners
    assert (
        "The last to fail was `reach`: the other side does not let it in. What should I do"
        in guests
    )
    halt(home)
    (owners,) = tell(home, "hello", sender=f"telegram:{OWNER}", session="telegram:8")
    assert owners.endswith(ENGLISH.your_unlock)
    assert "owner" not in owners
