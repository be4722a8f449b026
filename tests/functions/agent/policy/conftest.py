"""Fixtures for the tests of approvals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from tests.fakes.bot_api import BotApi
from tests.fakes.clock import Clock
from tests.fakes.model import ScriptedModel
from tests.functions.agent.policy.asking import SPEC
from tests.functions.chats import Chats
from tests.functions.people import platform


@pytest.fixture
def chats(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, clock: Clock
) -> Chats:
    """An agent whose guests and whose own work double nothing without an owner's approval."""
    made = runtime(llm_url=model.url, **platform(bot))
    made.app.registry.deploy(SPEC, Caller("main"))
    text = 'format = 1\nrules = ["ask guest,own-work call double", "ask owner deploy *"]'
    made.app.policy_versions.write("main", "policy", text, by="terminal:local")
    return Chats(
        replace(made, app=replace(made.app, clock=replace(made.app.clock, now=clock))), bot
    )
