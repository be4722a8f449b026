"""Trouble from outside, through the real server: every turn ends, the person is told once in plain
words, nothing is lost.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from functions import worker
from functions.agent.turn import turn
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, completion, say
from tests.fakes.server import Answer
from tests.functions.people import post_update, private_platform, update
from tests.functions.serving import serving


@pytest.fixture
def home(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> AgentRuntime:
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0.2)
    monkeypatch.setattr(turn, "WAIT_SECONDS", 0.01)
    return runtime(llm_url=model.url, turn_seconds=3.0, **private_platform(bot))


@pytest.fixture
def unhurried(
    home: AgentRuntime, runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch
) -> AgentRuntime:
    """The same agent, whose turns end because the model was asked often enough, and not because
    their time is up.
    """
    monkeypatch.setattr(turn, "WAITS", 1)
    return runtime(**{**asdict(home.settings), "turn_seconds": 60.0})


def replies(bot: BotApi, count: int, seconds: float = 20) -> list[str]:
    with bot.changed:
        assert bot.changed.wait_for(lambda: len(bot.messages) >= count, seconds), bot.messages
        return [message["text"] for message in bot.messages]


def many(count: int) -> dict[str, Any]:
    return call(*[("sigil_query", {"query": str(number)}) for number in range(count)])


def same_ids() -> dict[str, Any]:
    made = call(("sigil_query", {"query": "a"}), ("sigil_query", {"query": "b"}))
    for each in made["choices"][0]["message"]["tool_calls"]:
        each["id"] = "same"
    return made


def stall(model: ScriptedModel) -> Callable[[dict[str, Any]], Answer]:
    return lambda body: Answer(hang=True)


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (Answer(403, b'{"error":{"message":"no access"}}'), ENGLISH.model_failures["key"]),
        (Answer(200, b"<html>gateway</html>"), "sent no answer"),
        (Answer(200, b'{"choices":[]}'), "sent no answer"),
        (Answer(cut=True), "cannot be reached"),
        (completion({"role": "martian", "content": ""}, "odd"), "gave no answer"),
        (completion({"role": "assistant", "content": "half of it"}, "length"), "half of it"),
    ],
    ids=["refuses", "page", "empty", "cut", "unknown role", "length"],
)
def test_a_model_in_trouble_is_told_once_and_the_next_message_works(
    unhurried: AgentRuntime, bot: BotApi, model: ScriptedModel, trouble: Any, told: str
) -> None:
    _told_and_well_again(unhurried, bot, model, trouble, told)


def test_a_model_that_stalls_is_told_once_and_the_next_message_works(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    _told_and_well_again(home, bot, model, Answer(hang=True), "did not answer in time")


def _told_and_well_again(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, trouble: Any, told: str
) -> None:
    model.then(*[trouble] * 30)
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert told in replies(bot, 1)[0]
        model._script[:] = [say("well again")]
        post_update(server, update(2, "and now?"))
        assert replies(bot, 2)[1:] == ["well again"]


def test_a_dripping_model_ends_with_the_turns_time(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    def drip() -> Iterator[bytes]:
        while not model.closing.wait(0.1):
            yield b" "

    model.then(Answer(200, drip()))
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert "did not answer in time" in replies(bot, 1)[0]


@pytest.mark.parametrize("odd", [many(200), same_ids()], ids=["200 calls", "one id twice"])
def test_odd_tool_calls_are_all_answered(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, odd: dict[str, Any]
) -> None:
    model.then(odd, say("done"))
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert replies(bot, 1) == ["done"]
    messages = model.bodies[1]["messages"]
    asked = [made["id"] for made in messages[2]["tool_calls"]]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert answered == asked
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize(
    ("status", "description"),
    [(500, "Internal"), (502, "Bad Gateway"), (429, "Too Many Requests: retry later")],
)
def test_a_platform_that_fails_for_a_moment_gets_the_reply_later(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, status: int, description: str
) -> None:
    model.then(say("patience"))
    bot.fail(status, description, times=2)
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert replies(bot, 1) == ["patience"]
        post_update(server, update(2, "again"))
        assert replies(bot, 2)[1:] == ["done"]
    assert len(model.bodies) == 2


def test_a_platform_that_answers_nothing_gets_the_reply_later(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("patience"))
    bot.reply(Answer(hang=True))
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert replies(bot, 1, 40) == ["patience"]
    assert len(model.bodies) == 1


@pytest.mark.parametrize(
    ("status", "description"),
    [(403, "Forbidden: bot was blocked by the user"), (400, "Bad Request: chat not found")],
)
def test_a_chat_that_cannot_be_answered_blocks_nothing(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, status: int, description: str
) -> None:
    model.then(say("nobody hears this"), say("somebody hears this"))
    bot.fail(status, description)
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        bot.wait_for(2)
        _until(lambda: home.stores.kv.scan("ready") == [])
        post_update(server, update(2, "unblocked"))
        assert replies(bot, 1) == ["somebody hears this"]


def test_a_locked_store_is_503_to_the_platform_and_nothing_is_lost(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, tmp_path: Path
) -> None:
    model.then(say("there you are"))
    with serving(home) as server, _locked(tmp_path) as free:
        refused = post_update(server, update(1, "hi"))
        assert refused.status_code == 503
        assert refused.headers["retry-after"]
        assert refused.json()["error"]["code"] == "EUNAVAILABLE"
        free()
        assert post_update(server, update(1, "hi")).status_code == 200
        assert replies(bot, 1) == ["there you are"]


def test_a_store_that_is_locked_in_the_middle_of_a_turn_is_waited_for(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, tmp_path: Path
) -> None:
    held: list[Callable[[], None]] = []
    lock = _locked(tmp_path)

    def locking(body: dict[str, Any]) -> dict[str, Any]:
        held.append(lock.__enter__())
        threading.Timer(6.0, held[0]).start()
        return many(1)

    model.then(locking, many(1), say("still here"))
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert replies(bot, 1, 40) == ["still here"]
    lock.__exit__(None, None, None)


def test_a_damaged_session_is_locked_and_other_chats_go_on(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel
) -> None:
    from sigil.storage.kv import keys

    home.app.kv.put(keys.session_head(keys.session_of("main", "telegram:42")), b"garbage")
    model.then(say("other chats work"))
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert "cannot be read" in replies(bot, 1)[0]
        other = server.post("/chat", json={"text": "hi"})
        assert other.json()["reply"] == "other chats work"
        assert server.post("/unlock", json={"session": "telegram:42"}).status_code == 200
        model.then(say("here I am"))
        post_update(server, update(2, "hello?"))
        assert replies(bot, 2)[1:] == ["here I am"]
    assert not home.stores.kv.scan("dead")


def test_a_bug_in_a_turn_is_told_at_the_third_try(
    home: AgentRuntime, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from functions.agent.turn import loop

    def broken(*given: Any, **more: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(loop, "_ask_model", broken)
    with serving(home) as server:
        post_update(server, update(1, "hi"))
        assert "gave up" in replies(bot, 1)[0]
        monkeypatch.undo()
        model.then(say("mended"))
        post_update(server, update(2, "and now?"))
        assert replies(bot, 2)[1:] == ["mended"]


def _until(holds: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(200):
        if holds():
            return
        waiting.wait(0.05)
    raise AssertionError("it never came true")


class _locked:
    """Another process's write lock on the store; entering gives the function that lets go of it."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(
            folder / "uncaged.db", check_same_thread=False, isolation_level=None
        )

    def __enter__(self) -> Callable[[], None]:
        self._connection.execute("BEGIN IMMEDIATE")
        return lambda: (
            self._connection.in_transaction and self._connection.execute("ROLLBACK") and None
        )  # type: ignore[func-returns-value]

    def __exit__(self, *_: object) -> None:
        self._connection.close()
