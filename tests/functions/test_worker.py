"""The worker as Lambda calls it: records of a FIFO queue in, turns run, and an answer that says
what comes again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from functions import worker
from functions.events import Event
from functions.queues import dead_letters
from functions.queues.sqs_message import group_id
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.queues import workers
from tests.functions.queues.invoked import Source, make_queue
from tests.servers.ministack import Ministack


class Context:
    """The context that Lambda gives a function with the invocation."""

    function_name = "worker"
    aws_request_id = "8f507cfc-xmpl-4697-b07a-ac58fc914c95"

    def get_remaining_time_in_millis(self) -> int:
        return 150_000


@dataclass(frozen=True)
class Place:
    """A deployed worker and its queue."""

    source: Source
    runtime: AgentRuntime

    def put(self, *events: Event) -> None:
        for each in events:
            self.runtime.queue.put(each)

    def invoke(self) -> list[str]:
        """One invocation with what waits: what the poller receives, the handler's answer, and what
        the poller does then; the failed.
        """
        batch = self.source.receive()
        answer = worker.handler(batch, Context())
        failed = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        self.source.delete(batch, keep=failed)
        return [record["body"] for record in batch["Records"] if record["messageId"] in failed]

    def dead(self) -> list[dead_letters.DeadLetter]:
        return list(dead_letters.scan_dead_letters(self.runtime.stores.kv))


@pytest.fixture
def place(
    aws_here: Ministack,
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> Place:
    source = Source(make_queue(aws_here), aws_here.url)
    platform = {
        "telegram_token": bot.token,
        "telegram_secret": "s",
        "telegram_api": bot.url,
        "owners": ("telegram:42",),
    }
    home = runtime(queue=f"sqs://{source.url}", llm_url=model.url, **platform)
    monkeypatch.setattr(worker, "_open_lambda_runtime", lambda: home)
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0.0)
    return Place(source, home)


def message(number: int, text: str = "hello", chat: int = 42) -> Event:
    return replace(workers.event(number, f"telegram:{chat}", text), private=True)


def list_sent(bot: BotApi, chat: int = 42) -> list[str]:
    return [sent["text"] for sent in bot.messages if str(sent["chat_id"]) == str(chat)]


def test_a_messages_turn_runs_and_nothing_comes_again(
    place: Place, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("hi there"))
    place.put(message(1))
    assert place.invoke() == []
    assert list_sent(bot) == ["hi there"]
    assert place.source.receive() == {"Records": []}


def test_a_batch_of_one_chat_is_worked_on_in_order(
    place: Place, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"), say("three"))
    place.put(*(message(number) for number in (1, 2, 3)))
    while place.invoke() == [] and len(list_sent(bot)) < 3:
        pass
    assert list_sent(bot) == ["one", "two", "three"]


def test_a_turn_that_has_to_wait_comes_again_before_the_later_ones_of_its_chat(
    place: Place, bot: BotApi, model: ScriptedModel
) -> None:
    model.then(say("one"), say("elsewhere"), say("two"))
    bot.fail(502, "Bad Gateway", times=1)
    place.put(message(1), message(2), message(1, chat=43))
    failed = place.invoke()
    assert [
        f'"telegram:{chat}:{number}"' in body
        for body, (chat, number) in zip(failed, [(42, 1), (42, 2)], strict=True)
    ] == [True, True]
    assert list_sent(bot) == []
    place.invoke()
    assert list_sent(bot)[:1] == ["one"]
    place.invoke()
    assert len(list_sent(bot)) == 2
    assert len(model.bodies) <= 3


def test_bytes_that_are_no_event_become_a_dead_letter_and_never_come_again(
    place: Place, bot: BotApi
) -> None:
    place.source.put_raw('{"id": "poison"}', group_id(message(1)))
    place.put(message(1))
    assert place.invoke() == []
    assert [letter.event for letter in place.dead()] == [None]
    assert list_sent(bot) == ["done"]


def test_an_unexpected_failure_is_reported_and_the_other_chats_go_on(
    place: Place, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = worker.run_turn

    def handle(event: Event, *rest: Any, **options: Any) -> Any:
        if event.session == "telegram:42":
            raise RuntimeError("a mistake of ours")
        return run(event, *rest, **options)

    monkeypatch.setattr(worker, "run_turn", handle)
    place.put(message(1), message(1, chat=43))
    assert len(place.invoke()) == 1
    assert place.source.receive()["Records"]
    assert len(bot.messages) == 1


def test_an_event_that_comes_to_nothing_again_and_again_becomes_a_dead_letter_and_is_told(
    place: Place, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handle(event: Event, *_: Any, **__: Any) -> Any:
        raise RuntimeError("a mistake of ours")

    with monkeypatch.context() as broken:
        broken.setattr(worker, "run_turn", handle)
        place.put(message(1))
        for _ in range(worker.TRIES_MOST):
            assert len(place.invoke()) == 1
        place.invoke()
    assert len(list_sent(bot)) == 1
    assert [letter.event for letter in place.dead()] == [message(1)]
    place.put(message(2))
    assert place.invoke() == []
    assert list_sent(bot)[1:] == ["done"]


def test_a_turn_that_crashed_two_invocations_gets_its_third_try(
    place: Place, bot: BotApi, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    place.put(message(1))
    with monkeypatch.context() as broken:
        broken.setattr(type(place.runtime.app.model), "chat", crash)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                worker.handler(place.source.receive(visibility=0), Context())
    model.then(say("it was not me"))
    assert place.invoke() == []
    assert list_sent(bot) == ["it was not me"]
    assert place.dead() == []


def test_a_store_that_is_away_for_long_gives_nothing_up(
    place: Place, bot: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def handle(event: Event, *_: Any, **__: Any) -> Any:
        raise BackendError("EUNAVAILABLE", "the store is away")

    with monkeypatch.context() as broken:
        broken.setattr(worker, "run_turn", handle)
        place.put(message(1))
        for _ in range(worker.TRIES_MOST * 2 - 1):
            assert len(place.invoke()) == 1
    assert place.dead() == []
    assert place.invoke() == []
    assert list_sent(bot) == ["done"]


def test_a_record_that_was_handled_already_starts_no_second_turn(
    place: Place, bot: BotApi, model: ScriptedModel
) -> None:
    """The invocation ended and its answer was lost: the same record comes again."""
    place.put(message(1))
    worker.handler(place.source.receive(visibility=0), Context())
    assert place.invoke() == []
    assert list_sent(bot) == ["done"]
    assert len(model.bodies) == 1


def test_a_control_event_is_answered_like_any_other(place: Place, model: ScriptedModel) -> None:
    place.put(message(1, "/stop"))
    assert place.invoke() == []
    assert model.bodies == []


def test_an_invocation_without_records_does_nothing(place: Place) -> None:
    assert worker.handler({"Records": []}, Context()) == {"batchItemFailures": []}
