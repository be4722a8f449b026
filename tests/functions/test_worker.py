"""The worker as Lambda calls it: records of a FIFO queue in, turns run, and an answer that says
what comes again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from mangum import Mangum
from starlette.applications import Starlette

from functions import worker
from functions.agent.app import App
from functions.agent.schedules.heartbeat import make_heartbeat
from functions.events import Event, Sender
from functions.ingress.ingress import Ingress
from functions.queues import dead_letters
from functions.queues.sqs import SqsQueue
from functions.queues.sqs_message import group_id
from functions.texts.languages import load_texts
from functions.webhook import build_routes
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.people import GROUP, GUEST, OWNER, platform, update
from tests.functions.queues import workers
from tests.functions.queues.invoked import Source, make_queue
from tests.servers.ministack import Ministack

WEBHOOK_EVENT = Path(__file__).parents[1] / "events" / "lambda" / "webhook.json"


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


def test_a_message_that_waits_in_the_queue_is_answered_as_it_was_changed(
    place: Place, bot: BotApi, model: ScriptedModel
) -> None:
    """Nothing in a queue of SQS can be changed: the changed message takes its place there."""
    telegram = place.runtime.channels["telegram"]
    ingress = Ingress(place.runtime.channels, place.runtime.queue)
    written = int(time.time()) - 60
    body = update(7, "encode hallo", date=written)
    ingress.enqueue(telegram.read_update(json.dumps(body).encode()), "telegram")
    waiting = place.source.receive()  # another invocation has it, and not begun

    changed = update(7, "encode hello", date=written, edit_date=written + 5)
    edit = json.dumps({"update_id": 8, "edited_message": changed["message"]}).encode()
    ingress.enqueue(telegram.read_update(edit), "telegram")
    assert place.invoke() == []
    assert list_sent(bot) == []
    worker.handler(waiting, Context())
    place.source.delete(waiting)
    place.invoke()
    assert list_sent(bot) == ["done"]
    [asked] = model.chats
    assert "encode hello" in str(asked["messages"])
    assert "hallo" not in str(asked["messages"])


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


def test_a_message_reaches_a_heartbeat_that_looks_rarely_and_a_strangers_does_not(
    place: Place, model: ScriptedModel
) -> None:
    app = place.runtime.app
    now = app.clock.now()
    beat = make_heartbeat(
        1800.0,
        session="telegram:42",
        by="telegram:42",
        now=now,
        zone="UTC",
        known={},
        texts=load_texts("en"),
    )
    app.schedules.write(None, replace(beat, delay=86_400.0, due=now + 86_400.0), moved=True)
    place.put(replace(message(1, chat=77), sender=Sender("telegram:77")))
    assert place.invoke() == []
    assert read_due(app) == now + 86_400.0
    model.then(say("hi there"))
    place.put(message(2))
    assert place.invoke() == []
    assert now + 1800.0 <= read_due(app) < now + 3600.0


def read_due(app: App) -> float:
    found = app.schedules.find_heartbeat()
    assert found
    return found.due


def test_an_invocation_without_records_does_nothing(place: Place) -> None:
    assert worker.handler({"Records": []}, Context()) == {"batchItemFailures": []}


@dataclass(frozen=True)
class ListeningGroup:
    """A group of an agent whose webhook has no store."""

    place: Place
    webhook: Mangum

    def write(self, number: int, text: str, sender: int = OWNER, **message: Any) -> None:
        now = {"date": int(time.time()), **message}
        event = json.loads(WEBHOOK_EVENT.read_text(encoding="utf-8"))
        event["headers"] |= {"x-telegram-bot-api-secret-token": "s", "content-length": ""}
        event["body"] = json.dumps(update(number, text, sender, chat=GROUP, **now))
        event["headers"]["content-length"] = str(len(event["body"].encode()))
        assert self.webhook(event, Context())["statusCode"] == 200  # type: ignore[arg-type]

    def to_us(self, number: int, text: str) -> None:
        kind = "bot_command" if text.startswith("/") else "mention"
        entity = {"type": kind, "offset": 0, "length": len(text.split(" ", maxsplit=1)[0])}
        self.write(number, text, entities=[entity])

    def work_off(self) -> None:
        while (batch := self.place.source.receive())["Records"]:
            answer = worker.handler(batch, Context())
            assert answer == {"batchItemFailures": []}
            self.place.source.delete(batch)

    def list_kept(self) -> list[str]:
        session = keys.session_of("main", f"telegram:{GROUP['id']}")
        return [key for key, _ in self.place.runtime.stores.kv.scan(f"overheard#{session}")]


@pytest.fixture
def group(
    aws_here: Ministack,
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> ListeningGroup:
    source = Source(make_queue(aws_here), aws_here.url)
    settings = {**platform(bot), "telegram_secret": "s", "telegram_username": "sigil_bot"}
    queue = f"sqs://{source.url}"
    home = runtime(queue=queue, listen=True, llm_url=model.url, **settings)
    monkeypatch.setattr(worker, "_open_lambda_runtime", lambda: home)
    return ListeningGroup(Place(source, home), open_webhook(home, passes_on=True))


def open_webhook(home: AgentRuntime, *, passes_on: bool) -> Mangum:
    """Return the webhook's function, which has a queue and no store."""
    queue = SqsQueue(home.settings.queue.removeprefix("sqs://"))
    ingress = Ingress(home.channels, queue, passes_on=passes_on)
    server = Starlette(routes=build_routes(lambda: ingress))
    return Mangum(server, lifespan="off")


def test_a_webhook_without_a_store_lets_a_worker_keep_what_a_group_says(
    group: ListeningGroup, model: ScriptedModel, bot: BotApi
) -> None:
    group.write(1, "before it was on", GUEST)
    group.to_us(2, "/listen on")
    group.write(3, "shall we plant roses?", GUEST)
    group.write(4, "/stop@another_bot", GUEST)
    group.write(5, "yesterday", GUEST, date=int(time.time()) - 90_000)
    group.to_us(6, "@sigil_bot what grows better?")
    group.write(7, "tulips", GUEST)
    group.work_off()
    content = model.bodies[-1]["messages"][-1]["content"]
    inside = content.partition("<<GROUP>>\n")[2].partition("\n<</GROUP>>")[0].split("\n")
    assert [line.partition("] ")[2] for line in inside] == [
        "shall we plant roses?",
        "/stop@another_bot",
    ]
    assert len(bot.messages) == 2
    assert len(group.list_kept()) == 3
    document = group.place.runtime.app.sessions.open(
        keys.session_of("main", f"telegram:{GROUP['id']}")
    ).document
    assert len(document.seen) == 2
    assert group.place.dead() == []


def test_what_a_group_says_is_dropped_where_it_is_not_listened_to(
    group: ListeningGroup, model: ScriptedModel, bot: BotApi
) -> None:
    group.write(1, "shall we plant roses?", GUEST)
    group.work_off()
    assert group.list_kept() == []
    assert (bot.requests, model.bodies) == ([], [])


def test_nothing_is_passed_on_unless_it_is_wished(group: ListeningGroup) -> None:
    closed = open_webhook(group.place.runtime, passes_on=False)
    replace(group, webhook=closed).write(1, "shall we plant roses?", GUEST)
    assert group.place.source.receive() == {"Records": []}
