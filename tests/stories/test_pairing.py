"""Pairing through the webhook, as people on a platform meet it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.access.people import CODE
from tests.functions.people import OWNER, post_update, private_platform, update
from tests.functions.serving import Served, serving

ADA, EVE = OWNER, 66


@pytest.fixture
def platform(bot: BotApi) -> dict[str, Any]:
    return private_platform(bot)


def sent(bot: BotApi, count: int) -> list[tuple[int, str]]:
    """The first `count` messages that left, as (chat, text)."""
    return [(message["chat_id"], message["text"]) for message in bot.wait_for_messages(count)]


def offer(server: Served, bot: BotApi, number: int, before: int) -> str:
    """The code that a stranger is told."""
    post_update(server, update(number, "hi", sender=EVE))
    chat, text = sent(bot, before + 1)[before]
    found = CODE.search(text.replace("/pair ", "`/pair ").replace(",", "`,"))
    assert found, text
    assert chat == EVE
    return found[1]


def test_a_stranger_is_let_in_over_the_webhook(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    model.then(say("hello Eve"))
    with serving(runtime(llm_url=model.url, **platform)) as server:
        code = offer(server, bot, 1, 0)
        for number in range(2, 6):
            post_update(server, update(number, "hello?", sender=EVE))
        post_update(server, update(6, f"/pair {code}", sender=ADA))
        assert sent(bot, 3)[1] == (EVE, ENGLISH.let_in)
        assert sent(bot, 3)[2][0] == ADA
        post_update(server, update(7, "hi", sender=EVE))
        assert sent(bot, 4)[3] == (EVE, "hello Eve")
        post_update(server, update(8, f"/pair remove telegram:{EVE}", sender=ADA))
        sent(bot, 5)
        assert offer(server, bot, 9, 5) != code
    assert len(bot.messages) == 6
    assert len(model.bodies) == 1


def test_an_owner_over_http_lets_somebody_in_and_both_are_told(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    with serving(runtime(llm_url=model.url, **platform)) as server:
        code = offer(server, bot, 1, 0)
        answer = server.post("/chat", json={"text": f"/pair {code}"}).json()
        assert answer["reply"] == "`telegram:66` (`Ada`) may talk to me now."
        assert sent(bot, 2)[1] == (EVE, ENGLISH.let_in)


def test_a_word_to_the_newcomer_that_does_not_arrive_holds_nobody_up(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    platform: dict[str, Any],
) -> None:
    with serving(runtime(llm_url=model.url, **platform)) as server:
        code = offer(server, bot, 1, 0)
        bot.fail(500, times=1)
        answer = server.post("/chat", json={"text": f"/pair {code}"}).json()
        assert answer["reply"] == "`telegram:66` (`Ada`) may talk to me now."
        assert (
            server.post("/chat", json={"text": "/whoami"})
            .json()["reply"]
            .startswith("You are `http:admin`")
        )
    assert len(bot.messages) == 1


def test_a_server_that_no_terminal_started_has_no_code_for_an_owner(
    runtime: Callable[..., AgentRuntime], platform: dict[str, Any]
) -> None:
    with serving(runtime(**{**platform, "owners": ()})) as server:
        assert server.runtime.app.kv.get(keys.first_owner("main")) is None
