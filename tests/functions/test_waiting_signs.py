"""What shows that an answer is on its way is taken away where none comes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from math import inf

import pytest

from functions import worker
from functions.agent.turn.loop import ROUND_SECONDS
from functions.channels.base import REPLY_ADDRESS_MOST, Reply
from functions.ingress.ingress import Ingress
from functions.sent_parts import SentParts
from functions.wiring import AgentRuntime
from sigil.errors import Refused
from sigil.storage.kv.base import scan_everything
from tests.fakes.model import ScriptedModel, say
from tests.functions.channels.toy import Toy, make_body, make_message, sign


class ToyAgent:
    """An agent on the toy platform, whose events are worked off one by one."""

    def __init__(self, runtime: AgentRuntime) -> None:
        self.toy = Toy()
        self.runtime = replace(runtime, channels={"toy": self.toy})

    def hear(self, *messages: dict[str, object], until: float = inf) -> list[str]:
        """Work on messages, and return what was shown where, and taken away. The worker's own time
        for the first one is up `until` (monotonic seconds).
        """
        ingress = Ingress(self.runtime.channels, self.runtime.queue)
        ingress.enqueue(self.toy.receive(sign(make_body(*messages))), "toy")
        self.toy.waits.clear()
        for side in (self.runtime.control, self.runtime.queue):
            while delivery := side.take(0.0):
                worker.process(delivery, replace(self.runtime, queue=side), until)
                until = inf
        return self.toy.waits

    def texts(self) -> list[str]:
        return [reply.text for reply in self.toy.sent]


@pytest.fixture
def thinking(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> ToyAgent:
    """An agent with a model, which answers several messages at once."""
    return ToyAgent(runtime(owners=("toy:U1",), llm_url=model.url))


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime]) -> ToyAgent:
    return ToyAgent(runtime(owners=("toy:U1",)))


def test_an_answer_needs_no_end_of_its_waiting_sign_and_never_loses_it_later(
    agent: ToyAgent,
) -> None:
    assert agent.hear(make_message(1, "hello")) == ["show toy:1"]
    assert len(agent.texts()) == 1
    assert agent.hear(make_message(1, "hello")) == ["show toy:1"]
    assert len(agent.texts()) == 1


def test_a_stranger_in_a_group_is_met_with_silence_and_no_sign_is_left(agent: ToyAgent) -> None:
    assert agent.hear(make_message(2, "hello", **{"from": "U9", "group": True})) == ["end toy:2"]
    assert agent.texts() == []


def test_a_reply_has_a_key_of_its_own_that_stays_the_same(agent: ToyAgent) -> None:
    agent.hear(make_message(5, "/status"), make_message(6, "hello"))
    keys = [reply.key for reply in agent.toy.sent]
    assert len(set(keys)) == len(keys) == 2
    assert all(keys)


class Killed(BaseException):
    """The process ends between a reply and the note that it left."""


@pytest.mark.parametrize("text", ["/status", "hello"])
def test_a_reply_that_may_have_left_says_so_when_it_is_sent_again(
    agent: ToyAgent, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (event,) = agent.toy.receive(sign(make_body(make_message(7, text)))).events
    send = agent.toy.send

    def die(reply: Reply, sent: Callable[[int], None]) -> None:
        send(reply, sent)
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(agent.toy, "send", die)
        with pytest.raises(Killed):
            worker.handle_event(event, agent.runtime)
    # another process knows nothing of the first
    worker.handle_event(event, replace(agent.runtime, sent_parts=SentParts()))
    first, again = agent.toy.sent
    assert (first.is_repeated, again.is_repeated) == (False, True)
    assert first.key == again.key


def test_the_address_of_a_reply_is_in_no_log_and_nowhere_once_it_has_left(
    agent: ToyAgent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    agent.hear(make_message(8, "encode hello in base64"))
    (reply,) = agent.toy.sent
    assert reply.to.startswith("token-of-8")
    logged = "".join(str(record.__dict__) for record in caplog.records)
    assert "toy:8" in logged
    assert "token-of-8" not in logged + repr(reply)
    stored = list(scan_everything(agent.runtime.stores.kv))
    assert any(b"encode hello" in row.value for row in stored)
    assert not [row.key for row in stored if b"token-of-8" in row.value]


def test_of_messages_that_are_answered_together_the_last_has_the_answer_and_no_other_a_sign(
    thinking: ToyAgent, model: ScriptedModel
) -> None:
    model.then(say("all of it"))
    waits = thinking.hear(make_message(1, "one"), make_message(2, "two"), make_message(3, "three"))
    assert waits == ["show toy:1", "end toy:1", "end toy:2"]
    assert [reply.to for reply in thinking.toy.sent] == ["token-of-3|1800000900"]


def test_no_sign_is_left_when_another_worker_answers_what_one_has_gathered(
    thinking: ToyAgent, model: ScriptedModel
) -> None:
    model.then(say("both"))
    until = time.monotonic() + ROUND_SECONDS / 2  # no time for a round
    waits = thinking.hear(make_message(1, "one"), make_message(2, "two"), until=until)
    assert waits == ["show toy:1", "end toy:1"]
    assert [reply.to for reply in thinking.toy.sent] == ["token-of-2|1800000900"]


def test_no_sign_is_left_below_what_is_given_up_without_a_word(agent: ToyAgent) -> None:
    (event,) = agent.toy.receive(sign(make_body(make_message(1)))).events
    agent.runtime.queue.put(replace(event, agent="main.gone"))
    assert agent.hear() == ["end toy:1"]
    assert agent.texts() == []


def test_no_sign_is_left_where_the_platform_takes_no_notice_of_what_was_given_up(
    agent: ToyAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(reply: Reply, sent: object) -> None:
        raise Refused("EBLOCKED", "the chat is gone")

    monkeypatch.setattr(agent.toy, "send", refuse)
    monkeypatch.setattr(worker, "handle_event", lambda *_, **__: refuse(Reply("", ""), None))
    assert agent.hear(make_message(1)) == ["end toy:1"]


@pytest.mark.parametrize("size", [REPLY_ADDRESS_MOST, REPLY_ADDRESS_MOST + 1, 10_240])
def test_an_answer_whose_address_is_too_long_goes_to_the_chat_and_no_store_has_it(
    agent: ToyAgent, size: int
) -> None:
    token = "t" * size
    ingress = Ingress(agent.runtime.channels, agent.runtime.queue)
    message = make_message(9, "encode hello in base64", token=token)
    ingress.enqueue(agent.toy.receive(sign(make_body(message))), "toy")
    is_kept = size <= REPLY_ADDRESS_MOST
    stored = list(scan_everything(agent.runtime.stores.kv))
    assert any(token.encode() in row.value for row in stored) is is_kept
    agent.hear()
    (reply,) = agent.toy.sent
    assert (reply.session, reply.to) == ("toy:C1", token if is_kept else "")
