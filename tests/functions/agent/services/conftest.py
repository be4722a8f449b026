"""A chat with an agent whose library is its own services, and what a call of them came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, offered, results, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.agent.talk import tell
from tests.library import copy_capabilities

OpenAgent = Callable[..., AgentRuntime]
SERVICES = ("remember", "recall", "forget", "search-history")
FEW = 24
"""Messages of a history that nothing is evicted from in the next turn."""


class Model(ScriptedModel):
    """Beside the script it answers a request for what happened, as memory makes by and by."""

    def answer(self, request: Recorded) -> Answer:
        if "save_memory" not in offered(request.json()):
            return super().answer(request)
        return json_answer(
            call(
                (
                    "save_memory",
                    {"history_entry": "[2026-01-01 00:00] They talked.", "memory_update": ""},
                )
            )
        )


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with Model() as server:
        yield server


class Chat:
    """A person whose model finds a service and calls it."""

    def __init__(self, home: AgentRuntime, model: ScriptedModel) -> None:
        self.home = home
        self.model = model

    def does(self, service: str, *calls: dict[str, Any], **event: Any) -> list[Any]:
        """Return what the model reads of its calls of a service, in a turn of its own that begins with
        a search.
        """
        event = {"sender": "telegram:42", **event}
        session = keys.session_of("main", event.get("session", "telegram:7"))
        if len(self.home.app.sessions.open(session).document.messages) > FEW:
            tell(self.home, "/new", **{**event, "sender": "terminal:local"})
        tool = f"cap_{service.replace('-', '_')}"
        self.model.then(
            call(("sigil_query", {"query": service})),
            call(*((tool, given) for given in calls)),
            say("done"),
        )
        (reply,) = tell(self.home, "please", **event)
        assert reply.split("\n\n")[0] == "done"  # below it stands what failed, if anything did
        return [orjson.loads(text.partition("\n")[0]) for text in self.read()[-len(calls) :]]

    def read(self) -> list[str]:
        """The results in the last request."""
        return results(self.model.bodies[-1])

    def gets(self, service: str, given: dict[str, Any], **event: Any) -> Any:
        """The answer to one call, which went well."""
        return self.does(service, given, **event)[0]["ok"]

    def fails(self, service: str, given: dict[str, Any], **event: Any) -> dict[str, str]:
        """The failure of one call."""
        failure: dict[str, str] = self.does(service, given, **event)[0]["error"]
        return failure


@pytest.fixture
def services(tmp_path: Path) -> Path:
    return copy_capabilities(tmp_path / "services", *SERVICES)


@pytest.fixture
def open_agent(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> OpenAgent:
    """Opens an agent over a library, for everybody and without budgets: `open_agent(services)`."""

    def opened(library: Path, **settings: Any) -> AgentRuntime:
        return runtime(
            llm_url=model.url,
            library=str(library),
            owners=("telegram:1",),
            access="open",
            guest_turns=0,
            guest_tokens=0,
            tokens_per_day=0,
            **settings,
        )

    return opened


@pytest.fixture
def chat(open_agent: OpenAgent, model: ScriptedModel, services: Path) -> Chat:
    return Chat(open_agent(services), model)
