"""Workers and the whole server on SQS: order, control events, renewals, what comes twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions import worker
from functions.agent.turn.loop import ROUND_SECONDS
from functions.events import Sender, encode
from functions.queues.sqs import SqsQueue
from functions.queues.sqs_message import group_id
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.queues.invoked import Source, make_queue
from tests.functions.queues.workers import event, taken
from tests.functions.serving import Served, serving
from tests.machine import within
from tests.servers.ministack import Ministack


@pytest.fixture
def url(aws_here: Ministack) -> str:
    return make_queue(aws_here)


class Hanging:
    """Answers of a model that come when the test says so."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        assert self.over.wait(within(30))
        return say("at last")


def asking(server: Served, session: str, answers: list[str]) -> threading.Thread:
    def ask() -> None:
        answers.append(
            server.post("/chat", json={"session": session, "text": "hi"}).json()["reply"]
        )

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_a_chat_over_sqs_is_answered_and_nothing_is_left(
    url: str, runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"))
    home = runtime(queue=f"sqs://{url}", llm_url=model.url)
    with serving(home) as server:
        for reply in ("one", "two"):
            assert (
                server.post("/chat", json={"session": "s", "text": "hi"}).json()["reply"] == reply
            )
    assert SqsQueue(url, kv=home.stores.kv).take(0) is None


def test_stop_is_heard_while_every_worker_hangs_and_more_chats_wait(
    url: str, runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    hanging = Hanging()
    model.then(hanging)
    answers: list[str] = []
    with serving(runtime(queue=f"sqs://{url}", llm_url=model.url, workers=1)) as server:
        threads = [asking(server, "busy", answers)]
        model.wait_for(1)
        threads += [asking(server, f"waiting-{number}", answers) for number in range(3)]
        stopped = server.post("/chat", json={"session": "busy", "text": "/stop"}).json()["reply"]
        for thread in threads:
            thread.join()
        hanging.over.set()
    assert "told to stop" in stopped
    assert sorted(answers) == ["Stopped.", "done", "done", "done"]


def test_a_turn_that_takes_longer_than_the_visibility_is_run_once(
    url: str, runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    hanging = Hanging()
    model.then(hanging)
    answers: list[str] = []
    home = runtime(queue=f"sqs://{url}", llm_url=model.url, lease=1.0)
    with serving(home) as server:
        asked = asking(server, "long", answers)
        model.wait_for(1)
        threading.Timer(3.0, hanging.over.set).start()
        asked.join()
    assert answers == ["at last"]
    assert len(model.bodies) == 1


def test_the_same_event_after_sqs_has_forgotten_it_starts_no_second_turn(
    url: str, aws_here: Ministack, runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    """After 5 minutes SQS takes an event of the same name for a new one: here it gets another name
    at once.
    """
    home = runtime(queue=f"sqs://{url}", llm_url=model.url)
    model.then(say("once"))
    sent = replace(event(1, "http:admin:main"), sender=Sender("http:admin", "admin"), private=True)
    home.queue.put(sent)
    worker.process(taken(home.queue), home)
    home.queue.put(sent)
    assert home.queue.take(0) is None
    Source(url, aws_here.url).put_raw(encode(sent).decode(), group_id(sent))
    worker.process(taken(home.queue), home)
    assert len(model.bodies) == 1
    assert home.queue.take(0) is None
    answer = home.replies.get(keys.session_of(home.settings.agent, "http:admin:main"), sent.id)
    assert answer is not None
    assert answer["reply"] == "once"


def test_a_turn_that_is_handed_on_keeps_its_place_although_its_continuation_waits_behind_the_next_message(
    url: str,
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0.0)
    model.then(say("one"), say("two"))
    home = runtime(queue=f"sqs://{url}", llm_url=model.url)
    for number in (1, 2):
        home.queue.put(
            replace(
                event(number, "http:admin:main"), sender=Sender("http:admin", "admin"), private=True
            )
        )
    for _ in range(
        2
    ):  # a worker whose time is up before the first round: the message's own, then the next one's
        worker.process(taken(home.queue), home, time.monotonic() + ROUND_SECONDS / 2)
    assert model.bodies == []
    handled = []
    while delivery := home.queue.take(0):
        handled.append(delivery.event.kind)
        worker.process(delivery, home)
    assert handled == ["message", "continue", "continue"]
    session = keys.session_of(home.settings.agent, "http:admin:main")
    answers = [home.replies.get(session, event(number, "http:admin:main").id) for number in (1, 2)]
    assert [answer and answer["reply"] for answer in answers] == ["one", "two"]
    assert len(model.bodies) == 2
