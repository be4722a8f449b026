"""Chats on the page belong to their person: role, limits, memory, export and erasure go by the id."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from functions import worker
from functions.events import Event, Sender, order_of
from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.commands.test_links import learn, offer

ADA, BOB = "telegram:66", "telegram:77"


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    made = runtime(llm_url=model.url, owners=("telegram:42",), member_turns=2)
    made.app.people.let_in(ADA, "member", "Ada", "test")
    return made


def write(agent: AgentRuntime, who: str, text: str, number: int, chat: str = "main") -> str:
    """Let somebody write on the page, and return the answer that the page reads."""
    now = time.time()
    event = Event(
        id=f"web:{number:032x}",
        kind="message",
        agent="main",
        session=f"web:{who}:{chat}",
        sender=Sender(who, "Ada"),
        text=text,
        at=now,
        order=order_of(now, number),
        private=True,
    )
    session = keys.session_of("main", event.session)
    agent.replies.expect(session, event.id)
    agent.queue.put(event)
    for side in filter(None, (agent.control, agent.queue, agent.work)):
        while delivery := side.take(0.0):
            worker.process(delivery, replace(agent, queue=side))
    reply = agent.replies.get(session, event.id) or {}
    return str(reply.get("reply", ""))


def test_a_person_is_who_they_are_on_their_platform(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    assert ADA in write(agent, ADA, "/whoami", 1)
    assert "member" in write(agent, ADA, "/whoami", 2)
    assert "owner" in write(agent, "telegram:42", "/whoami", 3)
    assert "owner" in write(agent, "http:admin", "/whoami", 4)
    # the daily limit is one for all chats of the person
    model.then(say("one"), say("two"), say("three"))
    assert write(agent, ADA, "hello", 5) == "one"
    assert write(agent, ADA, "hello again", 6, "other") == "two"
    assert write(agent, ADA, "and again", 7) != "three"
    # somebody who was not let in is nobody here either
    assert "three" not in write(agent, BOB, "hello", 8)


def test_what_was_said_on_the_page_is_exported_and_erased_with_the_person(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("a violet answer"), say("an answer to the owner"))
    write(agent, ADA, "a crimson question", 1)
    write(agent, "telegram:42", "an azure question", 2)
    data = PersonalData(agent.app, agent.stores.artifacts)
    person = data.find(ADA)
    assert f"web:{ADA}:main" in person.chats
    exported = str(data.export(person))
    assert "a crimson question" in exported
    assert "a violet answer" in exported
    assert "azure" not in exported
    data.erase(person)
    left = str([item.value for item in agent.stores.kv.scan_everything()])  # type: ignore[attr-defined]
    assert "azure" in left
    assert "crimson" not in left
    assert "violet" not in left


def test_what_is_remembered_elsewhere_is_known_here_once_the_chats_are_linked(
    agent: AgentRuntime,
) -> None:
    """And in nobody else's chat, nor in another one of this person."""
    agent.app.people.let_in(BOB, "member", "Bob", "test")
    phone = {"session": ADA, "sender": ADA}
    learn(agent, phone, "Ada", "likes", "violet soap")
    # somebody else's chat is asked once more, and has nothing so far
    assert "violet" not in write(agent, BOB, f"/link {offer(agent, phone)}", 1)
    assert "violet" not in write(agent, BOB, "/recall soap", 2)
    assert ADA in write(agent, ADA, f"/link {offer(agent, phone)}", 3)
    assert "violet soap" in write(agent, ADA, "/recall soap", 4)
    assert "violet" not in write(agent, ADA, "/recall soap", 5, "other")
    assert "violet" not in write(agent, BOB, "/recall soap", 6)
    write(agent, ADA, "/unlink", 7)
    learn(agent, phone, "Ada", "likes", "amber soap")
    assert "violet soap" in write(agent, ADA, "/recall soap", 8)
    assert "amber" not in write(agent, ADA, "/recall soap", 9)
