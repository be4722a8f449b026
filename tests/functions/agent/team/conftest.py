"""A team whose lead and teammates are played by one scripted model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.functions.agent.team.crew import Crew, TeamModel
from tests.functions.chats import Chats
from tests.functions.people import platform


@pytest.fixture
def model() -> Iterator[TeamModel]:
    with TeamModel() as server:
        yield server


@pytest.fixture
def open_crew(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: TeamModel
) -> Callable[..., Crew]:
    def make(**settings: Any) -> Crew:
        made = runtime(**{"llm_url": model.url, "library": "builtin", **platform(bot), **settings})
        return Crew(Chats(made, bot), model)

    return make


@pytest.fixture
def crew(open_crew: Callable[..., Crew]) -> Crew:
    return open_crew()
