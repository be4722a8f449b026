"""A picture that a capability drew goes out with the answer, without the model copying it."""

from __future__ import annotations

from typing import Any

import pytest

from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, run_event

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="4"/></svg>'
SEARCH = ("sigil_query", {"query": "draw"})
DRAW = ("cap_draw", {})


def make(home: AgentRuntime, execute: str) -> None:
    schema = {"type": "object", "properties": {}}
    spec = {"name": "draw", "description": "draw", "schema": schema, "execute": execute}
    home.app.registry.deploy(spec, Caller("main"))


def ask(home: AgentRuntime, *replies: Any, model: ScriptedModel) -> tuple[str, list[str]]:
    """Return the answer that leaves, and the agent's words in the history."""
    model.then(*replies)
    document = run_event(home, event("draw it")).document
    said = [message.content for message in document.messages if message.role == "assistant"]
    return document.outbox[-1].text, said


@pytest.mark.parametrize("result", [f"'{PICTURE}'", f"{{svg: '{PICTURE}', size: 4}}"])
def test_what_a_capability_drew_is_sent_and_is_once_in_the_history(
    home: AgentRuntime, model: ScriptedModel, result: str
) -> None:
    make(home, f"return {result}")
    answer, said = ask(home, call(SEARCH), call(DRAW), say("Here it is."), model=model)
    assert answer == f"Here it is.\n\n```svg\n{PICTURE}\n```"
    assert said[-1] == "Here it is."
    assert ask(home, say("You are welcome."), model=model)[0] == "You are welcome."


@pytest.mark.parametrize(
    ("execute", "answer"),
    [
        (f"return '{PICTURE}'", f"Mine:\n{PICTURE}"),
        ("return 'no picture'", "Nothing."),
        ("return {svg: 7}", "Nothing."),
        (f"return 'see {PICTURE}'", "Nothing."),
        ("return '<svg>```</svg>'", "Nothing."),
        (f"return ['{PICTURE}']", "Nothing."),
        ("throw new Error('<svg></svg>')", "It failed."),
    ],
)
def test_an_answer_stays_as_it_is_without_a_picture_or_with_its_own(
    home: AgentRuntime, model: ScriptedModel, execute: str, answer: str
) -> None:
    make(home, execute)
    sent, _ = ask(home, call(SEARCH), call(DRAW), say(answer), say(answer), model=model)
    assert sent.startswith(answer)
    assert sent.count("<svg") == answer.count("<svg")
