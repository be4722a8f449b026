"""A turn in progress is seen from outside: what is at work in it, how it is stopped, and how what
takes too long ends.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from functions.agent.agents.bindings import bind
from functions.agent.agents.record import add_agent, make_record
from functions.agent.conversation.messages import user_message
from functions.agent.runs.progress import find_progress
from functions.agent.runs.run import Run, find_state, load_run
from functions.agent.safety.stop_mark import StopMark, read_mark
from functions.agent.session.document import Document, Turn
from functions.agent.session.store import SessionHandle
from functions.cli.app import cli
from functions.cli.commands.trace import show_runs
from functions.queues.queued_sessions import QueuedSession, list_queued_sessions
from functions.queues.store_queue import StoreQueue
from functions.texts.en import TEXTS
from functions.turns_in_progress import open_turns, split_request
from functions.wiring import AgentRuntime
from sigil.protocol import Json
from sigil.registry import LocalRegistry
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.mcp import FakeMcp
from tests.fakes.model import ScriptedModel, call, results, say
from tests.fakes.server import Answer, Recorded
from tests.functions.agent.talk import event, run_event, tell
from tests.functions.model_steps import find
from tests.functions.people import OWNER, Live
from tests.machine import until, within
from tests.sigil.tool_importer import ToolImporter
from tests.tables import each_row

Lives = Callable[..., AbstractContextManager[Live]]
SEARCH = ("sigil_query", {"query": "a wish"})
CHAT = f"telegram:{OWNER}"


def running(agent: Live) -> dict[str, Any]:
    """The only turn in progress, as GET /runs/ID shows it."""
    client = agent.server.client
    (row,) = client.get("/runs", params={"outcome": "running"}).json()["items"]
    return dict(client.get(f"/runs/{row['id']}").json())


def ended(agent: Live, run: str) -> dict[str, Any]:
    return dict(agent.server.client.get(f"/runs/{run}").json())


def states(run: dict[str, Any]) -> list[tuple[str, str]]:
    return [(step["kind"], step["state"]) for step in run["steps"] if "state" in step]


def load_latest(home: AgentRuntime) -> Run:
    document = home.app.sessions.open("main#telegram:7").document
    run = load_run(home.stores.kv, "main", document.runs[-1])
    assert run is not None
    return run


def test_a_turn_is_shown_while_the_model_is_asked_and_stopped_over_http(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(call(SEARCH), Answer(hang=True))
    with live() as agent:
        client = agent.server.client
        agent.write("hello")
        model.wait_for(2)
        run = running(agent)
        assert states(run) == [("request", "done"), ("call", "done"), ("request", "running")]
        assert run["result"] is None
        first, second = [step for step in run["steps"] if step["kind"] == "request"]
        assert [first["id"], second["id"]] == [f"{run['id']}/1", f"{run['id']}/2"]
        assert first["end"] == round(first["at"] + first["ms"]) <= second["at"]
        assert {"prompt", "completion", "finish", "model"} <= first.keys()
        assert client.get(f"/runs/{run['event']}").json()["id"] == run["id"]
        turn = agent.status()["turn"]
        assert (turn["id"], turn["state"]) == (run["id"], "running")
        assert [step["n"] for step in turn["now"]] == [2]
        assert client.post(f"/runs/{run['id']}/3/stop").status_code == 400
        assert client.post(f"/runs/{run['id']}").status_code == 404
        assert client.post(f"/runs/{run['id']}/stop", json={"by": "me"}).status_code == 400
        refused = client.post(f"/runs/{run['id']}/stop", headers={"authorization": "Bearer no"})
        assert refused.status_code == 401

        told = client.post(f"/runs/{run['id']}/stop")

        assert (told.status_code, told.json()["stopping"]) == (202, run["id"])
        agent.replies(OWNER, 1)
        row = ended(agent, run["id"])
        assert (row["outcome"], row["why"]) == ("stopped", "told")
        assert states(row)[-1] == ("request", "cancelled")
        assert row["steps"][-1]["by"] == "http:admin"
        entries = client.get("/ledger").json()["items"]
        assert [entry["what"] for entry in entries] == ["request", "call", "request"]
        assert agent.status()["turn"] is None
        again = client.post(f"/runs/{run['id']}/stop")
        assert (again.status_code, again.json()["error"]["code"]) == (404, "ENOENT")


def test_one_request_is_given_up_and_the_model_is_asked_again(
    live: Lives, model: ScriptedModel
) -> None:
    model.then(Answer(hang=True), say("the second answer"))
    with live() as agent:
        agent.write("hello")
        model.wait_for(1)
        run = running(agent)
        assert agent.server.client.post(f"/runs/{run['event']}/1/stop").status_code == 202
        assert agent.replies(OWNER, 1) == ["the second answer"]
        row = ended(agent, run["id"])
        assert (row["outcome"], row["requests"]) == ("said", 1)
        assert states(row) == [("request", "cancelled"), ("request", "done")]
        assert [step["n"] for step in row["steps"] if step["kind"] == "request"] == [1, 2]
        entries = agent.server.client.get("/ledger").json()["items"]
        assert [entry["facts"].get("unknown") for entry in entries] == [True, None]


def test_a_stop_cuts_off_the_call_that_runs(
    live: Lives, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    model.then(find("spin"), call(("cap_spin", {})))
    with live() as agent:
        spec = {
            "name": "spin",
            "description": "The ability to spin.",
            "execute": "for (;;);",
            "limits": {"timeout_ms": 30_000},
        }
        assert agent.server.post("/_api/deploy", json=spec).status_code == 201
        agent.write("hello")
        model.wait_for(2)
        work: list[Any] = []
        while not work or work[0]["kind"] != "call":
            turn = agent.status()["turn"]
            work = turn["now"] if turn else []
        assert (work[0]["name"], work[0]["state"]) == ("cap_spin", "running")
        listed = CliRunner().invoke(cli, ["trace"]).output
        assert "running, 2 requests, cap_spin running for " in listed
        assert "cap_spin" in agent.ask("/status")

        told = CliRunner().invoke(cli, ["stop", "--session", CHAT, "--json"])

        assert json.loads(told.output)["state"] == "running"
        agent.replies(OWNER, 2)
        row = ended(agent, json.loads(told.output)["stopping"])
        assert (row["outcome"], row["why"]) == ("stopped", "told")
        assert row["steps"][-1]["by"] == "terminal:local"
        assert states(row)[-1] == ("call", "cancelled")
        entries = agent.server.client.get("/ledger").json()["items"]
        assert entries[-1]["facts"]["error"] == "EINTERRUPTED"
        assert len(model.chats) == 2


def test_a_halt_cuts_off_the_tool_of_a_server_and_its_late_answer_is_not_used(
    live: Lives, model: ScriptedModel
) -> None:
    halted = threading.Event()

    def greet(given: dict[str, Any]) -> str:
        assert halted.wait(within(20)), "the turn waited for the call"
        return "the late answer"

    with FakeMcp() as fake, live(loopback=True) as agent:
        registry = agent.server.runtime.app.registry
        assert isinstance(registry, LocalRegistry)
        server: dict[str, Json] = {"name": "billing", "url": fake.address}
        ToolImporter(registry).import_tools(server, timeout=30_000)
        fake.does["greet"] = greet
        model.then(find("billing-greet"), call(("cap_billing_greet", {"name": "Ada"})))
        agent.write("greet Ada")
        with fake.changed:
            assert fake.changed.wait_for(lambda: "tools/call" in fake.methods, within(20))

        agent.write("/halt here")

        agent.replies(OWNER, 2)
        halted.set()
        (run,) = agent.server.client.get("/runs").json()["items"]
        assert states(ended(agent, run["id"]))[-1] == ("call", "cancelled")
        assert agent.ask("/unlock") == TEXTS.unlocked
        model.then(say("it was cut off"))
        assert agent.ask("what did it say?") == "it was cut off"
    answer = json.loads(results(model.bodies[-1])[-1].splitlines()[0])
    assert answer["error"]["code"] == "EINTERRUPTED"
    assert "the late answer" not in str(model.bodies)
    assert fake.methods.count("tools/call") == 1


def test_how_far_a_call_has_come_is_shown_wherever_it_runs(
    live: Lives,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setattr("functions.agent.runs.call_progress.LONG_SECONDS", 0.0)
    monkeypatch.setattr("functions.agent.runs.progress.LONG_SECONDS", 0.0)
    monkeypatch.setattr("functions.agent.calls.tool_calls.LOOK_SECONDS", 0.05)
    ended = threading.Event()

    def tell(request: Recorded, message: dict[str, Any]) -> Answer:
        token = message["params"]["_meta"]["progressToken"]
        note = {"progressToken": token, "progress": 3, "total": 8, "message": "half\nway"}
        told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": note}
        content = [{"type": "text", "text": "hello Ada"}]
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content}}

        def stream() -> Iterator[bytes]:
            yield b"data: " + json.dumps(told).encode() + b"\n\n"
            ended.wait(within(20))
            yield b"data: " + json.dumps(answer).encode() + b"\n\n"

        return Answer(200, stream(), {"content-type": "text/event-stream"})

    with FakeMcp() as fake, live(loopback=True) as agent:
        registry = agent.server.runtime.app.registry
        assert isinstance(registry, LocalRegistry)
        server: dict[str, Json] = {"name": "billing", "url": fake.address}
        ToolImporter(registry).import_tools(server, timeout=30_000)
        fake.answers["tools/call"] = tell
        model.then(find("billing-greet"), call(("cap_billing_greet", {"name": "Ada"})), say("ok"))
        agent.write("greet Ada")
        with fake.changed:
            assert fake.changed.wait_for(lambda: "tools/call" in fake.methods, within(20))
        until(lambda: "progress" in running(agent)["steps"][-1], "the call tells how far it is")
        run = running(agent)
        step = run["steps"][-1]
        assert step["progress"] == {"done": 3, "total": 8, "message": "half way"}
        status = agent.server.client.get("/status", params={"session": f"telegram:{OWNER}"}).json()
        assert status["turn"]["now"][0]["progress"] == step["progress"]
        assert "cap_billing_greet: 3/8 half way" in agent.ask("/status")

        def pause(seconds: float) -> None:
            ended.set()
            agent.replies(OWNER, 2)

        show_runs(run["event"], follow=True, json=False, pause=pause)
        assert "cap_billing_greet running for " in (out := capsys.readouterr().out)
        assert " s, 3/8 half way\n" in out
        row = agent.server.client.get(f"/runs/{run['id']}").json()
        assert "half way" not in json.dumps(row)


def test_what_takes_too_long_ends_with_a_state_that_says_which(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_seconds=0.2)
    model.then(Answer(hang=True))
    tell(home, "hello")
    run = load_latest(home)
    assert (run.outcome, run.why, run.steps[-1]["late"]) == ("failed", "late", "request")

    home = runtime(llm_url=model.url, turn_seconds=1)
    model.then(Answer(hang=True))
    tell(home, "hello")
    run = load_latest(home)
    assert (run.outcome, run.why, run.steps[-1]["late"]) == ("stopped", "seconds", "turn")

    def answer_late(body: dict[str, Any]) -> dict[str, Any]:
        threading.Event().wait(0.8)
        return call(SEARCH)

    model.then(answer_late, answer_late)
    tell(home, "hello")
    run = load_latest(home)
    assert (run.outcome, run.why) == ("stopped", "seconds")


def test_each_step_of_a_followed_turn_is_printed_when_it_happens_until_the_turn_is_closed(
    live: Lives,
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    gates = [threading.Event(), threading.Event()]

    def hold(number: int, reply: dict[str, Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def answer(body: dict[str, Any]) -> dict[str, Any]:
            gates[number].wait(within(20))
            return reply

        return answer

    model.then(hold(0, call(SEARCH)), hold(1, say("done")))
    with live() as agent:
        agent.write("hello")
        model.wait_for(1)
        run = running(agent)
        looks = []

        def pause(seconds: float) -> None:
            looks.append(capsys.readouterr().out)
            if len(looks) == 1:
                gates[0].set()
                model.wait_for(2)
            elif len(looks) == 2:
                gates[1].set()
                agent.replies(OWNER, 1)

        show_runs(run["event"], follow=True, json=False, pause=pause)
        rest = capsys.readouterr().out
        assert "… request 1 running for " in looks[0]
        assert "round 1: request " in looks[1]
        assert "sigil_query" in looks[1]
        assert "… request 2 running for " in looks[1]
        assert "round 1" not in rest
        assert "round 2: request " in rest
        assert "message: said, 2 requests" in rest
        show_runs(run["event"], follow=True, json=True, pause=pause)
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [line["step"]["kind"] for line in lines[:-1]] == [
            step["kind"] for step in lines[-1]["steps"]
        ]


def test_a_request_that_a_crash_cut_off_is_a_step_of_its_own(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    happened = event("hello")
    opened = home.app.sessions.open("main#telegram:7")
    begun = Document(turn=Turn(happened, began=100.0)).add(user_message(happened, "owner"))
    home.app.sessions.save(opened, begun)
    model.then(say("after all"))
    run_event(home, happened)
    steps = [step for step in load_latest(home).steps if step["kind"] == "request"]
    assert [(step["n"], step["finish"], find_state(step)) for step in steps] == [
        (1, "lost", "failed"),
        (2, "stop", "done"),
    ]


def test_a_request_names_the_model_that_answered(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    home = runtime(
        llm_url=model.url,
        llm_model="first",
        llm_fallback_url=model.url,
        llm_fallback_model="second",
    )
    model.then(call(SEARCH), *[Answer(500)] * 2, say("from the other one"))
    tell(home, "hello")
    run = load_latest(home)
    made = [step for step in run.steps if step["kind"] == "request"]
    assert [step.get("model", run.model) for step in made] == ["first", "second"]


def test_a_turn_that_no_worker_has_waits_and_a_lost_request_is_named() -> None:
    turn = Turn(event("hello"), began=100.0).add_step("save", at=1_500)
    opened = SessionHandle("main#telegram:7", Document(turn=turn), "1")
    held = find_progress(opened, 103.0, MemoryKV())
    lost = find_progress(opened, 103.0, MemoryKV(), held=False)
    assert held
    assert lost
    assert (held.run.outcome, lost.run.outcome) == ("running", "waiting")
    assert held.now == ({"kind": "request", "n": 1, "at": 1_500, "ms": 1_500, "state": "running"},)
    assert find_progress(opened.with_document(Document()), 103.0, MemoryKV()) is None


def test_the_queue_names_the_sessions_that_it_hands_out_and_those_of_own_work() -> None:
    kv = MemoryKV()
    queue = StoreQueue(kv, "main")
    queue.put(event("hello", session="telegram:1"))
    delivery = queue.take(0)
    assert delivery
    queue.put(event("hello", session="telegram:2"))
    own = event("wake", session="own:w-1")
    queue.put(own)
    queue.put(event("/stop", session="telegram:3"))
    StoreQueue(kv, "main2").put(event("hello", session="telegram:1"))
    assert list_queued_sessions(kv, "main", 0.0) == [
        QueuedSession("main#telegram:1", held=True),
        QueuedSession("main#telegram:2", held=False),
        QueuedSession("main#own:w-1", held=False),
    ]
    queue.done(delivery)


def test_the_turn_of_a_bound_agent_is_found_by_the_chat(home: AgentRuntime) -> None:
    kv = home.stores.kv
    record = make_record({"kind": "agent", "state": "enabled", "since": 1.0, "by": "?"})
    add_agent(kv, "main", "alice", record)
    bind(kv, "main", "telegram:1", "alice", order="", by="terminal:local")
    queue = StoreQueue(kv, "main")
    happened = event("hello", session="telegram:1")
    queue.put(happened)
    opened = home.app.sessions.open("main.alice#telegram:1")
    home.app.sessions.save(opened, Document(turn=Turn(happened, began=100.0)))
    (found,) = open_turns(home.app.sessions, home.settings, kv).list_all()
    assert (found.run.agent, found.run.outcome) == ("main.alice", "waiting")


def test_a_turn_is_found_by_its_chat_or_the_latest_runs_where_the_queue_is_elsewhere(
    home: AgentRuntime,
) -> None:
    kv = home.stores.kv
    tell(home, "hello", session="telegram:1")
    sessions = home.app.sessions
    happened = event("hello", session="telegram:1")
    opened = sessions.open("main#telegram:1")
    sessions.save(opened, replace(opened.document, turn=Turn(happened, began=100.0)))
    settings = home.settings.__class__(queue="https://sqs.example/queue.fifo")
    turns = open_turns(sessions, settings, kv)
    found = turns.find(happened.id)
    assert found
    assert found.key == "main#telegram:1"
    in_chat = turns.find_in("telegram:1")
    assert in_chat
    assert in_chat.run.event == happened.id
    assert turns.find_in("telegram:2") is None
    turns.stop(found, "terminal:local")
    mark = read_mark(kv.get(keys.control_mark(found.key)))
    assert mark == StopMark(happened.id, "terminal:local")
    turns.stop(found, "terminal:local", 2)
    mark = read_mark(kv.get(keys.control_mark(found.key)))
    assert mark
    assert (mark.stops_turn(happened.id), mark.stops_request(happened.id, 2)) == (False, True)
    assert not mark.stops_request(happened.id, 3)


@each_row(
    ("name", "parts"),
    [
        ("a/2", ("a", 2)),
        ("a/b/12", ("a/b", 12)),
        ("a/0", ("a/0", 0)),
        ("a/x", ("a/x", 0)),
        ("/2", ("/2", 0)),
        ("a", ("a", 0)),
    ],
)
def test_the_number_of_a_request_stands_behind_its_run(name: str, parts: tuple[str, int]) -> None:
    assert split_request(name) == parts
