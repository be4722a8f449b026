"""A runtime whose clock a test sets, and strangers at its door."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from functions.agent.turn import direct_answers, turn
from functions.events import Event, Sender
from functions.time.clock import Clock
from functions.wiring import AgentRuntime
from sigil.errors import BackendError
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import event, run_event

Open = Callable[..., AgentRuntime]
OWNER = "telegram:1"
CODE = re.compile(r"`(?:/|!|/uncaged )pair ([0-9A-Z]{4}-[0-9A-Z]{4})`")


@dataclass
class Wall:
    """A clock on the wall."""

    now: float = field(default_factory=time.time)

    def on(self, home: AgentRuntime) -> AgentRuntime:
        return replace(home, app=replace(home.app, clock=Clock(now=lambda: self.now)))


@pytest.fixture
def opened(runtime: Open, model: ScriptedModel, wall: Wall) -> Open:
    """Opens agents that everybody may talk to, whose clock is the fixture `wall`."""

    def made(**settings: Any) -> AgentRuntime:
        chosen = {"llm_url": model.url, "owners": (OWNER,), "access": "open", "guest_tokens": 0}
        return wall.on(runtime(**{**chosen, **settings}))

    return made


def say(home: AgentRuntime, who: str, text: str, name: str = "Ada", **fields: Any) -> list[str]:
    """Return what the agent sends to anybody after `who` wrote `text` in a chat of their own: the
    chat and the text of each reply.
    """
    happened = replace(
        event(text, **{"session": who, "sender": who, **fields}),
        sender=Sender(fields.get("sender", who), name),
    )
    return [f"{reply.session} {reply.text}" for reply in run_event(home, happened).document.outbox]


def crash_at(place: str, home: AgentRuntime, happened: Event, patch: pytest.MonkeyPatch) -> None:
    """The event, taken by a worker that the store fails at a `place` in the turn."""

    def crash(*given: Any, **more: Any) -> Any:
        raise BackendError("ECRASH", "the store went away")

    with patch.context() as patched:
        for module in (turn, direct_answers):
            patched.setattr(module, place, crash, raising=module is turn)
        with pytest.raises(BackendError):
            turn.run_turn(happened, home.app)


def code_of(home: AgentRuntime, who: str = "telegram:66", text: str = "hi", **fields: Any) -> str:
    """The code that a stranger is told."""
    (said,) = say(home, who, text, **fields)
    found = CODE.search(said)
    assert found, said
    return found[1]
