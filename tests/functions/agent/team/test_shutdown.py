"""A teammate shuts down when it is told to, whatever it is doing, and its task goes back."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions import worker
from functions.agent.management.ledger import scan_entries
from functions.agent.management.team import stop_by_hand
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle, Sessions
from functions.agent.team.board import Claimer
from functions.events import Event
from sigil.errors import BackendError
from sigil.protocol import Json
from sigil.registry import LocalRegistry
from tests.fakes.mcp import FakeMcp
from tests.fakes.model import call, results, say
from tests.functions.agent.team.crew import (
    Body,
    Crew,
    TeamModel,
    ask,
    contents,
    search,
    spawned,
    spawning,
)
from tests.functions.people import OWNER, Live
from tests.machine import within
from tests.sigil.tool_importer import ToolImporter


def test_a_shutdown_ends_a_turn_at_its_next_step_and_puts_its_task_back(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("parse")
    order = ("cap_shutdown_request", {"teammate": "alice"})

    def be_stopped(body: Body) -> dict[str, Any]:
        if "<<TASK>>" not in "\n".join(contents(body)):
            return say("[SILENT]")
        # while it works, somebody shuts it down
        model.then(call(("sigil_query", {"query": "dismiss a teammate"})), call(order), say("gone"))
        crew.chats.write(900, "dismiss alice")
        chats = crew.runtime.queue.take(0.0)
        assert chats is not None
        worker.process(chats, crew.runtime)
        return search(1)

    model.plans["alice"] = be_stopped
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")
    assert len(model.of("alice")) == 2
    assert said[-1] == "alice has shut down."
    (task,) = crew.board.list_open()
    assert (task.status, task.owner, task.attempts) == ("pending", "", 0)
    assert crew.member("alice").status == "shutdown"
    answer = results(model.of("")[-1])[-1]
    assert answer.startswith('{"ok":"Shutdown request ')
    assert answer.endswith("sent to 'alice'\"}")
    assert "has shut down, and reads nothing" in ask(
        crew, ("cap_send_message", {"to": "alice", "content": "x"})
    )


def test_who_is_asked_gracefully_may_reject_it_and_goes_on(crew: Crew, model: TeamModel) -> None:
    spawned(crew, "alice")

    def reject(body: Body) -> dict[str, Any]:
        found = re.findall(r"request_id=([0-9a-f]{8}): finish", "\n".join(contents(body)))
        if not found or results(body)[-1:] == ['{"ok":"Shutdown rejected"}']:
            return say("[SILENT]")
        answer = {"request_id": found[-1], "approve": False, "reason": "the tests run"}
        return call(("cap_shutdown_response", answer))

    model.plans["alice"] = reject
    ask(crew, ("cap_shutdown_request", {"teammate": "alice", "graceful": True}))
    assert crew.member("alice").status == "idle"
    model.then(say("I see"))
    crew.write("well?")
    assert "approve=false the tests run" in "\n".join(contents(model.of("")[-1]))
    model.plans["alice"] = lambda _: say("[SILENT]")
    ask(crew, ("cap_shutdown_request", {"teammate": "alice", "graceful": True}))
    assert crew.member("alice").status == "shutdown"


def test_who_is_shut_down_as_its_turn_begins_asks_nothing(
    crew: Crew, model: TeamModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawned(crew, "alice")
    crew.add("parse")
    save = Sessions.save
    late: list[Event] = []

    def stop_first(
        store: Sessions, opened: SessionHandle, document: Document, *body: bytes | None
    ) -> SessionHandle:
        """Shut it down between the reading of its records and the opening of its turn."""
        turn = document.turn
        if turn and turn.event.agent == "main.alice" and not late:
            made = stop_by_hand(crew.runtime.app, "alice", by="terminal:local", call="x")
            late.extend(made.events)
        return save(store, opened, document, *body)

    monkeypatch.setattr(Sessions, "save", stop_first)
    asked = len(model.of("alice"))
    ask(crew, ("cap_send_message", {"to": "alice", "content": "well?"}))
    assert late
    for event in late:
        crew.runtime.queue.put(event)
    crew.chats.work_off()
    assert len(model.of("alice")) == asked
    assert crew.member("alice").status == "shutdown"
    assert [task.status for task in crew.board.list_open()] == ["pending"]


def test_a_task_that_a_shutdown_puts_back_is_in_the_ledger_once_whatever_crashes(
    crew: Crew, model: TeamModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawned(crew, "alice")
    crew.add("parse")
    crew.board.claim(1, Claimer(member="alice", generation=1, key="k"))
    save = Sessions.save
    handle = worker.handle_event
    killed: list[str] = []

    def fail_once(
        store: Sessions, opened: SessionHandle, document: Document, *body: bytes | None
    ) -> SessionHandle:
        task = crew.board.find(1)
        if task and task.status == "pending" and not killed:
            killed.append(task.status)
            raise BackendError("EUNAVAILABLE", "killed before the session was saved")
        return save(store, opened, document, *body)

    def hand_out_again(*arguments: Any, **more: Any) -> Any:
        try:
            return handle(*arguments, **more)
        except BackendError:  # killed: the queue hands the event out again
            return handle(*arguments, **more)

    monkeypatch.setattr(Sessions, "save", fail_once)
    monkeypatch.setattr(worker, "handle_event", hand_out_again)
    assert crew.write("/team stop alice")[-1] == "alice has shut down."
    assert killed == ["pending"]
    entries = scan_entries(crew.runtime.app, "main.alice", 0.0)
    facts = [entry["facts"] for entry in entries if entry["what"] == "task"]
    assert [(each["did"], each["owner"]) for each in facts] == [("released", "alice")]


def test_a_shutdown_cuts_off_the_call_that_runs(
    live: Callable[..., AbstractContextManager[Live]], model: TeamModel
) -> None:
    is_down = threading.Event()

    def greet(given: dict[str, Any]) -> str:
        assert is_down.wait(within(20)), "the teammate waited for its call"
        return "the late answer"

    def work(body: dict[str, Any]) -> dict[str, Any]:
        # a request that is made again is answered in the same way
        if any(message["role"] == "tool" for message in body["messages"]):
            return call(("cap_billing_greet", {"name": "Ada"}))
        return call(("sigil_query", {"query": "billing-greet"}))

    model.plans["alice"] = work
    with FakeMcp() as fake, live(loopback=True, library="builtin") as agent:
        registry = agent.server.runtime.app.registry
        assert isinstance(registry, LocalRegistry)
        server: dict[str, Json] = {"name": "billing", "url": fake.address}
        ToolImporter(registry).import_tools(server, timeout=30_000)
        fake.does["greet"] = greet
        model.then(*spawning("alice"))
        assert agent.ask("spawn alice") == "They work."
        with fake.changed:
            assert fake.changed.wait_for(lambda: "tools/call" in fake.methods, within(20))

        agent.write("/team stop alice")

        said = agent.replies(OWNER, 3)
        is_down.set()
        assert said[1:] == ["alice will shut down at once.", "alice has shut down."]
        runs = agent.server.client.get("/runs?agent=alice").json()["items"]
        outcomes = [(run["outcome"], run["why"]) for run in runs]
        assert ("stopped", "told") in outcomes
        entries = agent.server.client.get("/ledger?agent=alice").json()["items"]
        errors = [each["facts"].get("error") for each in entries if each["what"] == "call"]
        assert errors[-1:] == ["EINTERRUPTED"]
    assert len(model.of("alice")) == 2
