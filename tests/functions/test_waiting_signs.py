"""What shows that an answer is on its way is taken away where none comes."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from functions import worker
from functions.wiring import AgentRuntime
from sigil.storage.kv.base import scan_everything
from tests.functions.channels.toy import Toy, make_body, make_message, sign


class ToyAgent:
    """An agent on the toy platform, whose events are worked off one by one."""

    def __init__(self, runtime: AgentRuntime) -> None:
        self.toy = Toy()
        self.runtime = replace(runtime, channels={"toy": self.toy})

    def hear(self, *messages: dict[str, object]) -> list[str]:
        """Work on messages, and return what was shown where, and taken away."""
        self.runtime.queue.put_all(self.toy.receive(sign(make_body(*messages))).events)
        self.toy.waits.clear()
        for side in (self.runtime.control, self.runtime.queue):
            while delivery := side.take(0.0):
                worker.process(delivery, replace(self.runtime, queue=side))
        return self.toy.waits

    def texts(self) -> list[str]:
        return [reply.text for reply in self.toy.sent]


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
