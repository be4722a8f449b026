"""What the tests from outside share: a platform, and an agent behind its real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from functions.wiring import AgentRuntime
from sigil.sandbox import runner_process
from sigil.sandbox.protocol import pack_run
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel
from tests.functions.people import Live, platform
from tests.functions.serving import serving


@pytest.fixture
def bot() -> Iterator[BotApi]:
    with BotApi() as api:
        yield api


@pytest.fixture
def live(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> Callable[..., AbstractContextManager[Live]]:
    """Serves an agent over the test's folder: `with live(guide="security") as agent:`; a second one
    is a process that starts cold.
    """

    @contextmanager
    def served(**settings: object) -> Iterator[Live]:
        with serving(runtime(**{"llm_url": model.url, **platform(bot), **settings})) as server:
            yield Live(server, bot)

    return served


@pytest.fixture
def breached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sandbox processes that reach for more than they were granted, as one would that a guest has
    got out into.
    """
    monkeypatch.setattr(
        runner_process, "pack_run", lambda run: pack_run(run._replace(grants=run.grants | {"kv"}))
    )
