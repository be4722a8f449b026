"""Several agents of one deployment in several processes: a halt, the budget, and what is known of an
agent hold in all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from functions.agent.agent_directory import AbsentAgent, AgentDirectory
from functions.agent.agents.bindings import bind, read_binding
from functions.agent.agents.record import AgentRecord, add_agent, change_state
from functions.agent.app import App
from functions.agent.commands import control
from functions.agent.conversation.messages import Usage
from functions.agent.model.offline import OfflineModel
from functions.agent.safety.budget import SafetyLimits
from functions.agent.safety.status import SafetyStatus
from functions.agent.session.store import Sessions
from functions.queues.store_queue import StoreQueue
from functions.wiring import AgentRuntime
from sigil.storage.kv import KV, keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.agents.test_agents import add, list_texts, message, task, work
from tests.functions.model_steps import Gate, shell
from tests.functions.people import OWNER, Live, platform
from tests.servers.programs import ProgramForker
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]

Lives = Callable[..., AbstractContextManager[Live]]
DEAR = {"usage": {"prompt_tokens": 50, "completion_tokens": 10}}


def test_a_halt_of_the_root_stops_the_turn_of_an_agent_that_runs_in_another_process(
    live: Lives, model: ScriptedModel, tmp_path: Path, forked: ProgramForker
) -> None:
    def command(*words: str) -> str:
        done = shell(tmp_path, *words, **forked.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with live() as agent:
        command("agent", "create", "alice")
        command("agent", "bind", f"telegram:{OWNER}", "alice")
        for halt, unlock in (
            (("halt",), ("unlock",)),
            (("agent", "halt", "alice"), ("agent", "unlock", "alice")),
        ):
            asked = len(model.bodies)
            gate = Gate(call(("no_such_tool", {"n": asked})))
            model.then(gate)
            agent.write("work on and on")
            model.wait_for(asked + 1)
            command(*halt)
            gate.open.set()
            agent.until(lambda: "I was halted" in "".join(agent.list_texts(OWNER)[-1:]))
            assert len(model.bodies) == asked + 1
            command(*unlock)
            model.then(say("well again"))
            assert agent.ask("and now?") == "well again"

        chat = {"session": f"telegram:{OWNER}"}
        assert agent.server.post("/halt", json=chat).json() == {"halted": chat["session"]}
        assert agent.status()["agent"] == "main.alice"
        assert agent.state() == "SAFETY_LOCKOUT"
        assert agent.ask("hello?").startswith("I was halted")
        assert agent.server.post("/unlock", json=chat).status_code == 200
        assert agent.state() == "WAITING_FOR_EVENT"


def test_the_budget_of_all_stops_two_agents_in_two_processes(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    first, second = (
        runtime(llm_url=model.url, tokens_per_day=150, **platform(bot)) for _ in range(2)
    )
    for number, name in enumerate(("alice", "bob")):
        add(first, name)
        bind(first.stores.kv, "main", f"telegram:{43 + number}", name, order="", by="?")
    model.then(*[say("fine") | DEAR] * 9)
    for home, chat in ((first, 43), (second, 44), (first, 43)):
        work(home, message("hello", chat))
    assert len(model.bodies) == 3
    for home, chat in ((second, 44), (first, 43), (first, 42)):
        work(home, message("hello", chat))
        assert list_texts(bot, chat)[-1].startswith("My budget of tokens is used up")
    work(second, task("main.bob"))
    assert len(model.bodies) == 3


class _Factory:
    """Makes agents without a model of their own."""

    def make_agent(self, root: App, name: str, record: AgentRecord) -> App:
        return replace(root, name=name, limits=replace(root.limits, agent_tokens=record.tokens))

    def close(self) -> None:
        pass


class _Process:
    """A deployment as one process has it."""

    def __init__(self, kv: KV) -> None:
        self.kv = kv
        self.agents = AgentDirectory(_Factory())
        self.root = App(
            "main",
            kv,
            Sessions(kv),
            OfflineModel(),
            registry=None,  # type: ignore[arg-type]
            limits=SafetyLimits(tokens=150),
            look_seconds=0.0,
        )

    def find(self, name: str) -> App:
        found = self.agents.find(f"main.{name}", self.root)
        assert isinstance(found, App), found
        return found

    def spend(self, name: str, tokens: int) -> None:
        breakers = self.find(name).make_breakers(f"main.{name}#own:main")
        status = breakers.load_current(SafetyStatus())
        breakers.settle(breakers.record_request(status, "task", Usage(prompt=tokens)))

    def find_stop_reason(self, name: str) -> str:
        breakers = self.find(name).make_breakers(f"main.{name}#own:main")
        return breakers.find_stop_reason(SafetyStatus())


def test_two_processes_agree_on_an_agent_its_halts_and_its_budget(place: Place) -> None:
    first, second = (_Process(place.open()) for _ in range(2))
    for name, tokens in (("alice", 0), ("bob", 50)):
        record = AgentRecord("agent", "enabled", 1.0, "?", tokens=tokens)
        add_agent(first.kv, "main", name, record)

    assert second.find_stop_reason("alice") == ""
    control.halt("", first.find("alice"), "?")
    assert (second.find_stop_reason("alice"), second.find_stop_reason("bob")) == ("halted", "")
    control.unlock("", second.find("alice"), "?")
    assert first.find_stop_reason("alice") == ""
    control.halt("", first.root, "?")
    assert {second.find_stop_reason(name) for name in ("alice", "bob")} == {"halted"}
    control.unlock("", second.root, "?")
    assert {first.find_stop_reason(name) for name in ("alice", "bob")} == {""}

    first.spend("bob", 60)
    assert second.find_stop_reason("bob") == "agent-budget"
    assert second.find_stop_reason("alice") == ""
    second.spend("alice", 100)
    assert first.find_stop_reason("alice") == "budget"
    control.unlock("", first.find("bob"), "?")
    assert second.find_stop_reason("bob") == "budget"
    control.unlock("", first.root, "?")
    assert {second.find_stop_reason(name) for name in ("alice", "bob")} == {""}

    bind(first.kv, "main", "telegram:42", "alice", order="5", by="?")
    assert read_binding(second.kv, "main", "telegram:42").find_agent("6") == "alice"
    assert read_binding(second.kv, "main", "telegram:42").find_agent("5") == ""
    change_state(first.kv, "main", "alice", "archived")
    assert isinstance(second.agents.find("main.alice", second.root), AbsentAgent)

    queue = StoreQueue(first.kv, "main")
    others = StoreQueue(second.kv, "main2")
    events = [replace(message("hello"), agent=name) for name in ("main.bob", "main2", "main")]
    for each in events:
        queue.put(each)
    taken = [delivery.event.agent for _ in range(2) if (delivery := queue.take(0.0))]
    assert sorted(taken) == ["main", "main.bob"]
    assert queue.take(0.0) is None
    delivery = others.take(0.0)
    assert delivery is not None
    assert delivery.event.agent == "main2"
    assert keys.belongs_to("main", "main.bob#telegram:42")
    assert not keys.belongs_to("main", "main2#telegram:42")


def test_many_processes_add_and_bind_and_none_is_lost(place: Place) -> None:
    stores = [place.open() for _ in range(4)]
    failures: list[BaseException] = []

    def run(kv: KV, number: int) -> None:
        try:
            name = f"agent-{number}"
            add_agent(kv, "main", name, AgentRecord("agent", "enabled", 1.0, "?"))
            for order in range(5):
                bind(kv, "main", "telegram:42", name, order=str(order), by="?")
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(kv, number)) for number, kv in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    found = read_binding(stores[0], "main", "telegram:42")
    assert found.agent.startswith("agent-")
    for number in range(4):
        change_state(stores[0], "main", f"agent-{number}", "disabled")
