"""Background work beside chats: whatever waits in its lane, a chat is answered as if alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from functions.events import Event
from functions.wiring import AgentRuntime
from sigil.protocol import OWN_WORK, Caller
from sigil.registry import LocalRegistry
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.queues.invoked import make_queue
from tests.functions.queues.workers import event
from tests.functions.serving import Served, serving
from tests.machine import until, within
from tests.selection import thorough

AGENTS = 4
CHATS = 4
WORKERS = 2
OPEN: dict[str, Any] = {"access": "open", "guest_turns": 0, "guest_tokens": 0, "tokens_per_day": 0}


class BusyModel(ScriptedModel):
    """Answers people at once, and what agents do by themselves when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.hanging = 0
        self.most = 0

    def answer(self, request: Recorded) -> Answer:
        if b"look after things" in request.body:
            with self.changed:
                self.hanging += 1
                self.most = max(self.most, self.hanging)
            assert self.go.wait(within(60))
            with self.changed:
                self.hanging -= 1
        usage = {"prompt_tokens": len(request.body) // 4, "completion_tokens": 5}
        return json_answer({"usage": usage, **say("done")})


@pytest.fixture
def busy() -> Iterator[BusyModel]:
    with BusyModel() as model:
        yield model
        model.go.set()


def wakeup(number: int, agent: str = "main") -> Event:
    return replace(
        event(number, "own:main", "look after things"),
        id=f"wakeup:{agent}:{number}",
        kind="wakeup",
        agent=agent,
    )


def hire(home: AgentRuntime, count: int) -> list[str]:
    """Make agents below the root, and return their names."""
    record = AgentRecord("agent", "enabled", 1.0, "test")
    for number in range(count):
        add_agent(home.stores.kv, "main", f"a{number}", record)
    return [f"main.a{number}" for number in range(count)]


def ask(server: Served, count: int) -> list[float]:
    """Return the seconds of so many answers."""
    taken = []
    for number in range(count):
        began = time.monotonic()
        answer = server.post("/chat", json={"session": f"chat-{number}", "text": "hi"})
        assert answer.json()["reply"] == "done"
        taken.append(time.monotonic() - began)
    return sorted(taken)


@pytest.mark.parametrize("queue", ["the store", *thorough("sqs")])
def test_a_chat_is_answered_as_if_alone_while_every_background_worker_is_busy_and_more_work_waits(
    queue: str,
    runtime: Callable[..., AgentRuntime],
    busy: BusyModel,
    request: pytest.FixtureRequest,
) -> None:
    queues = {}
    if queue == "sqs":
        cloud = request.getfixturevalue("aws_here")
        queues = {name: f"sqs://{make_queue(cloud)}" for name in ("queue", "work_queue")}
    home = runtime(llm_url=busy.url, workers=WORKERS, background_workers=WORKERS, **OPEN, **queues)
    names = hire(home, AGENTS)
    with serving(home) as server:
        alone = ask(server, CHATS)
        for number, name in enumerate(names):
            home.queue.put(wakeup(number, name))
        until(lambda: busy.hanging == WORKERS, "background work is at work")
        beside = ask(server, CHATS)
        assert busy.hanging == WORKERS  # all the while
        busy.go.set()
        sessions = home.app.sessions
        until(
            lambda: all(sessions.open(f"{name}#own:main").document.seen for name in names),
            "all of it ends",
        )
    assert busy.most == WORKERS
    # the last but one: nothing of the background was waited for
    assert beside[-2] <= alone[-2] + within(1.0)


def test_what_an_agent_does_by_itself_leaves_a_background_worker_to_another_agent(
    runtime: Callable[..., AgentRuntime], busy: BusyModel
) -> None:
    home = runtime(llm_url=busy.url, background_workers=WORKERS, **OPEN)
    (other,) = hire(home, 1)
    with serving(home):
        for number in range(3):  # each in a session of its own
            home.queue.put(replace(wakeup(number), session=f"own:w-{number}"))
        until(lambda: busy.hanging == 1, "the first is at work")
        home.queue.put(wakeup(4, other))
        until(lambda: busy.hanging == WORKERS, "the other agent's is at work beside it")
        busy.go.set()
        until(lambda: not home.stores.kv.scan("ready~work"), "all of it ends")
    assert busy.most == WORKERS
    assert len(busy.bodies) == 4


def test_a_chats_tool_call_waits_for_none_of_background_work(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asking(ScriptedModel):
        """Asks for one capability in each turn."""

        def answer(self, request: Recorded) -> Answer:
            asked = request.json()["messages"][-1]["role"] == "tool"
            reply = say("done") if asked else call(("sigil_query", {"query": "anything"}))
            return json_answer({"usage": {"prompt_tokens": 9, "completion_tokens": 5}, **reply})

    begun, go = threading.Event(), threading.Event()
    plain = LocalRegistry.query

    def query(registry: LocalRegistry, text: str, caller: Caller, **more: Any) -> Any:
        if caller.session.startswith(OWN_WORK):
            begun.set()
            assert go.wait(within(60))
        return plain(registry, text, caller, **more)

    monkeypatch.setattr(LocalRegistry, "query", query)
    monkeypatch.setattr("functions.agent.app.CALLERS", 1)
    with Asking() as model:
        home = runtime(llm_url=model.url, **OPEN)
        with serving(home) as server:
            home.queue.put(wakeup(1))
            assert begun.wait(within(20))
            assert ask(server, 1)
            go.set()
            until(lambda: not home.stores.kv.scan("ready~work"), "the background work ends")
