"""The loop as a control system, from outside: what stays in sight in a long chat, and that a failure is not called a success."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions.agent.context import RUNTIME, VERIFY
from functions.agent.eviction import FAILED
from functions.agent.safety.facts import fingerprint
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.people import Live, reason
from tests.functions.test_safety import deploy, failing, find, going

Lives = Callable[..., AbstractContextManager[Live]]
CLAIMS = ["Done.", "好了，已经完成。", "Is it? Yes. It is done", "✅"]
QUESTIONS = ["Which file do you mean?", "你指的是哪个文件？", "**Soll ich es noch einmal versuchen?**", "أي ملف؟"]
ATTEMPTS = [{"path": "/etc/passwd"}, {"path": "/etc"}]


def contents(body: dict[str, Any]) -> str:
    return "\n".join(str(message["content"]) for message in body["messages"])


def verified(model: ScriptedModel) -> int:
    """How many requests ask for a verification that none before them did."""
    asked = [contents(body).count(VERIFY) for body in model.bodies]
    return max(asked)


@pytest.mark.parametrize("settings", [{}, {"context": "none", "llm_window": 6_000}], ids=["window", "none, and a small window"])
def test_in_a_long_chat_the_system_message_comes_first_and_what_failed_stays_in_sight(
    live: Lives, model: ScriptedModel, settings: dict[str, Any]
) -> None:
    model.then(*[call(("no_such_tool", attempt)) for attempt in ATTEMPTS], say("What now?"))
    model.then(*[say("word " * 60) for _ in range(60)])
    with live(tokens_per_day=0, **settings) as agent:
        for number in range(60):
            agent.server.post("/chat", json={"session": "long", "text": f"message {number} {'and more ' * 20}"})

    bodies = [body for body in model.bodies if body["messages"][0]["content"].startswith("<<IDENTITY>>")]
    assert len({body["messages"][0]["content"] for body in bodies}) == 1
    assert all([message["role"] for message in body["messages"]].index("system") == 0 for body in bodies)
    assert all([message["role"] for message in body["messages"]].count("system") == 1 for body in bodies)
    last = bodies[-1]
    assert len(last["messages"]) < 50
    assert "message 3 " not in contents(last)
    assert "message 0 " in contents(last)
    assert contents(last).count(FAILED) == 1
    for attempt in ATTEMPTS:
        assert f'[{fingerprint("no_such_tool", json.dumps(attempt))}] Tool "no_such_tool" failed with ENOTOOL at ' in contents(last)


def test_a_claim_after_a_failure_is_verified_once_and_told_to_nobody(live: Lives, model: ScriptedModel) -> None:
    with live() as agent:
        for chat, claim in enumerate(CLAIMS, 100):
            before = len(model.bodies)
            model.then(failing(), say(claim), failing(1), say(claim))
            assert agent.ask("go", chat) == claim
            assert agent.heard(chat) == [claim]
            asked = model.bodies[before:]
            assert len(asked) == 4
            assert [contents(body).count(VERIFY) for body in asked] == [0, 0, 1, 1]
            assert asked[2]["messages"][-1] == {"role": "user", "content": f"{RUNTIME}\n{VERIFY}"}
            assert "tools" in asked[2]


def test_whoever_asks_claims_nothing(live: Lives, model: ScriptedModel) -> None:
    with live() as agent:
        for chat, question in enumerate(QUESTIONS, 100):
            model.then(failing(), say(question))
            assert agent.ask("go", chat) == question.strip("*")
    assert (len(model.bodies), verified(model)) == (2 * len(QUESTIONS), 0)


def test_a_claim_that_stands_on_a_success_is_believed(live: Lives, model: ScriptedModel) -> None:
    model.then(find("fine"), call(("cap_fine", {})), say("Done."), failing(), going(1), say("Done."), say("Hello."))
    with live() as agent:
        deploy(agent, "fine")
        assert [agent.ask(text) for text in ("go", "again", "hello")] == ["Done.", "Done.", "Hello."]
    assert verified(model) == 0


def test_a_failure_of_an_earlier_turn_is_no_reason_to_verify(live: Lives, model: ScriptedModel) -> None:
    model.then(failing(), say("What now?"), say("Hello."))
    with live() as agent:
        assert [agent.ask(text) for text in ("go", "hello")] == ["What now?", "Hello."]
    assert verified(model) == 0


def test_a_verification_may_mend_what_failed(live: Lives, model: ScriptedModel) -> None:
    model.then(failing(), say("Done."), find("fine"), call(("cap_fine", {})), say("Now it is done."))
    with live() as agent:
        deploy(agent, "fine")
        assert agent.ask("go") == "Now it is done."
        assert agent.status()["consecutive"] == 0
    assert verified(model) == 1


def test_verifying_stays_within_six_rounds_and_the_ladder(live: Lives, model: ScriptedModel) -> None:
    model.then(*map(failing, range(4)), say("Done."), failing(4), say("never said"))
    with live() as agent:
        assert agent.ask("go") == reason("frustration", owner=True)
    assert len(model.bodies) == 6
    assert verified(model) == 1


def test_the_last_request_asks_for_an_answer_and_not_for_proof(live: Lives, model: ScriptedModel) -> None:
    model.then(*map(going, range(5)), failing(), say("It could not be done."), say("never asked"))
    with live() as agent:
        assert agent.ask("go") == "It could not be done."
    assert len(model.bodies) == 7
    assert verified(model) == 0
    assert "tools" not in model.bodies[-1]


def test_what_was_done_for_one_message_is_no_loop_of_the_next(live: Lives, model: ScriptedModel) -> None:
    model.then(say("one"), say("two"), say("three"))
    with live(ticks=1) as agent:
        assert [agent.ask("hello") for _ in range(3)] == ["one", "two", "three"]
