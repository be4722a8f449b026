"""Every shipped tool through each family of model endpoints."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from functions.agent.behaviours.pins import PINNED_ONLY
from functions.agent.conversation.prompt import ToolDefinition
from functions.agent.conversation.toolset import STATIC, define_tool
from functions.agent.model.base import ModelRequest
from functions.wiring import AgentRuntime
from sigil.protocol import Offer
from tests.fakes.endpoint import ModelEndpoint
from tests.fakes.endpoint_steps import say
from tests.functions.agent.model.endpoints import NAMES, settings_of
from tests.functions.agent.talk import tell

LIBRARY = Path(__file__).parents[4] / "capabilities"
BATCH = 30
"""So many tools are offered at once, beside those that are always there."""


@cache
def list_shipped() -> tuple[ToolDefinition, ...]:
    """Return all tools that come with the product, as a model is offered them."""
    offers = list(PINNED_ONLY.values())
    for path in sorted(LIBRARY.glob("*/sigil.toml")):
        manifest = tomllib.loads(path.read_text(encoding="utf-8"))
        if "input" in manifest:
            about = manifest["capability"]
            offers.append(
                Offer(about["name"], 1, "sha256:0", about["description"], manifest["input"])
            )
    return tuple(map(define_tool, offers))


@pytest.mark.parametrize("dialect", NAMES)
def test_every_shipped_tool_is_taken_and_the_chat_goes_on(
    runtime: Callable[..., AgentRuntime], dialect: str
) -> None:
    shipped = list_shipped()
    assert len(shipped) > 80
    asks = [
        {"role": "system", "content": "<<IDENTITY>>"},
        {"role": "user", "content": "hello"},
    ]
    with ModelEndpoint(dialect) as endpoint:
        home = runtime(**settings_of(endpoint, dialect))
        for start in range(0, len(shipped), BATCH):
            tools = [*STATIC, *shipped[start : start + BATCH]]
            endpoint.start_over(say("fine"))

            reply = home.app.model.chat(ModelRequest(asks, tools))

            assert (reply.finish, reply.text) == ("stop", "fine"), reply.failure
            left_out = {tool["function"]["name"] for tool in tools}
            left_out -= set(endpoint.chats[-1].tools)
            assert len(left_out) <= 1, left_out
        endpoint.start_over(say("hello"))
        assert tell(home, "hello") == ["hello"]
