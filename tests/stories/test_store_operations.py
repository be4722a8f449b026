"""A turn asks the store for what it needs once: each operation is a request, and on DynamoDB a bill."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count, pairwise
from math import inf
from pathlib import Path

import orjson
import pytest

from functions import wiring, worker
from functions.agent.agents.bindings import bind
from functions.agent.agents.record import add_agent, make_record
from functions.agent.commands.status import make_report
from functions.wiring import AgentRuntime
from sigil.catalog import health
from sigil.protocol import Caller
from sigil.storage.kv import KV, Expect, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.stored import dumps
from sigil.wiring import Stores, open_stores
from tests.fakes.bot_api import BotApi
from tests.fakes.model import Reply, ScriptedModel, call, offered, say
from tests.functions.agent.skills.examples import make_text, pack
from tests.functions.agent.talk import event as make_event
from tests.functions.agent.talk import stop_clock, tell
from tests.functions.people import OWNER, platform, update
from tests.functions.serving import serving
from tests.machine import until
from tests.project.tree import ROOT
from tests.selection import thorough
from tests.servers.stores import empty_store

ONE_CALL_MOST = 19
"""Operations of a turn with one query and one call, from its event taken to acknowledged."""
THREE_REQUESTS_MOST = 21
"""Operations of a turn that asks the model for each of them, and for the answer."""
SIX_ROUNDS_MOST = 36
LOOK = "scan ready"
"""The look at the index of ready sessions that a worker without work makes. The event of a turn
wakes it and names its session, so that it is no part of the turn; idle looks are counted below.
"""
IDLE_SECONDS = {keys.READY: 1.2, f"{keys.READY}!": 1.2, f"{keys.READY}~work": 2.4}
"""Between two looks at each index: two reads a second."""
STORES = ("memory", "sqlite", *thorough("redis", "dynamodb"))
SPEC = {
    "name": "double",
    "description": "double a number",
    "schema": {"type": "object", "properties": {}},
    "execute": "return 'done'",
}
SEARCH, CALL = ("sigil_query", {"query": "double"}), ("cap_double", {})


class CountingKV:
    """A store that notes every operation, and when each index was read."""

    def __init__(self, kv: KV) -> None:
        self.kv = kv
        self.operations: list[str] = []
        self.scans: list[tuple[str, float]] = []

    def _note(self, verb: str, key: str) -> None:
        self.operations.append(f"{verb} {key}")

    def get(self, key: Key) -> Item | None:
        self._note("get", "/".join(key))
        return self.kv.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        self._note("get", " + ".join(map("/".join, keys)))
        return get_many(self.kv, keys)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._note("put", "/".join(key))
        return self.kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._note("delete", "/".join(key))
        self.kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        self._note("scan", partition)
        self.scans.append((partition, time.monotonic()))
        return self.kv.scan(partition, prefix, after, limit)

    def close(self) -> None:
        if hasattr(self.kv, "close"):
            self.kv.close()


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The setting of a store of the kind that the test names, empty."""
    with empty_store(getattr(request, "param", "sqlite"), request, tmp_path) as setting:
        yield setting


@pytest.fixture
def counted(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: ScriptedModel,
    store: str,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[AgentRuntime, CountingKV]:
    """An agent with a capability, and its store.

    The registry reads the health of a capability again after a second, which a turn may take on a
    busy machine; here it is read once.
    """
    made: list[CountingKV] = []

    def counting(settings: object) -> Stores:
        stores = open_stores(settings)  # type: ignore[arg-type]
        made.append(CountingKV(stores.kv))
        return replace(stores, kv=made[0])

    monkeypatch.setattr(wiring, "open_stores", counting)
    monkeypatch.setattr(health, "CACHED_SECONDS", inf)
    agent = runtime(llm_url=model.url, store=store, **platform(bot))
    agent.app.registry.deploy(SPEC, Caller("main"))
    return agent, made[0]


def take_turn(agent: AgentRuntime, kv: CountingKV, number: int, text: str = "go on") -> list[str]:
    """Work on one message; the operations from its event taken to acknowledged, without the look
    of a worker that nobody woke.
    """
    for event in (
        agent.channels["telegram"].read_update(orjson.dumps(update(number, text, OWNER))).events
    ):
        agent.queue.put(event)
    kv.operations.clear()
    delivery = agent.queue.take(0.0)
    assert delivery is not None
    worker.process(delivery, stop_clock(agent))
    return [operation for operation in kv.operations if operation != LOOK]


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_a_turn_asks_the_store_a_bounded_number_of_times(
    counted: tuple[AgentRuntime, CountingKV], model: ScriptedModel
) -> None:
    agent, kv = counted
    model.then(call(SEARCH), call(CALL), say("found"))
    numbers = count(1)
    take_turn(agent, kv, next(numbers))

    for most, replies in (
        (ONE_CALL_MOST, (call(SEARCH, CALL), say("done"))),
        (THREE_REQUESTS_MOST, (call(SEARCH), call(CALL), say("done"))),
        (SIX_ROUNDS_MOST, (call(SEARCH), *[call(CALL)] * 4, say("done"))),
    ):
        model.then(*replies)
        operations = take_turn(agent, kv, next(numbers))
        assert len(operations) <= most, "\n".join(operations)


def test_a_turn_writes_its_session_as_often_as_the_guide_for_deploying_says(
    counted: tuple[AgentRuntime, CountingKV], model: ScriptedModel
) -> None:
    agent, kv = counted
    guide = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    assert "(3 + *k* + *c*) × *S*" in guide
    searches, calls = 1, 2
    model.then(call(SEARCH), *[call(CALL)] * calls, say("done"))
    operations = take_turn(agent, kv, 1)

    saves = [each for each in operations if each.startswith("put session") and "/head" in each]
    assert len(saves) <= 3 + (searches + calls) + calls, "\n".join(operations)


def test_a_message_that_speaks_of_a_time_costs_one_write_once(
    counted: tuple[AgentRuntime, CountingKV],
) -> None:
    agent, kv = counted
    take_turn(agent, kv, 1)
    usual = len(take_turn(agent, kv, 2))
    assert len(take_turn(agent, kv, 3, "lunch is at 1 pm tomorrow")) == usual + 1
    assert len(take_turn(agent, kv, 4, "and dinner at 8 pm")) == usual
    take_turn(agent, kv, 5, "/timezone Berlin")
    assert len(take_turn(agent, kv, 6, "and dinner at 8 pm")) == usual


def test_a_heartbeat_makes_no_message_dearer(
    counted: tuple[AgentRuntime, CountingKV],
) -> None:
    agent, kv = counted
    take_turn(agent, kv, 1)
    usual = len(take_turn(agent, kv, 2))
    take_turn(agent, kv, 3, "/heartbeat 30m")
    operations = take_turn(agent, kv, 4)
    assert len(operations) == usual, "\n".join(operations)
    assert not [each for each in operations if "wakeup" in each]
    kv.operations.clear()
    agent.inputs.tell_heartbeats(kv, agent.app.clock.now())
    assert [each.split(" ")[0] for each in kv.operations] == ["get"]


def test_the_schedules_of_an_unbound_chat_cost_one_scan(
    counted: tuple[AgentRuntime, CountingKV],
) -> None:
    agent, kv = counted
    usual = len(take_turn(agent, kv, 1, "/wakeups explode"))
    for number, command in enumerate(("/wakeups", "/wakeups pause 7", "/done"), start=2):
        operations = take_turn(agent, kv, number, command)
        assert len(operations) == usual + 1, "\n".join(operations)
        assert operations.count("scan wakeup#main") == 1


def test_a_skill_costs_a_search_the_read_of_its_text_and_one_look_for_its_tools(
    counted: tuple[AgentRuntime, CountingKV], model: ScriptedModel
) -> None:
    agent, kv = counted
    agent.app.registry.deploy({**SPEC, "name": "halve", "description": "halve"}, Caller("main"))
    tea = call(("sigil_query", {"query": "make tea"}))
    numbers = count(1)

    def search(reply: Reply) -> list[str]:
        model.then(reply, say("done"))
        return take_turn(agent, kv, next(numbers))

    search(tea)
    usual = len(search(tea))
    text = make_text("tea-time", "How tea is made.", more="allowed-tools: double halve\n")
    agent.app.skills.write(pack(text), by="terminal:local")
    search(tea)  # this process reads the catalog once
    operations = search(tea)
    more = [each for each in operations if "skill/tea-time" in each]
    assert len(more) == 1
    assert len(operations) == usual + 2, "\n".join(operations)
    assert {"cap_double", "cap_halve"} <= set(offered(model.chats[-1]))
    # what finds no skill costs nothing more, and neither does a turn without a search
    assert len(search(call(("sigil_query", {"query": "zebra crossing"})))) == usual
    agent.app.skills.remove("tea-time", by="terminal:local")
    assert len(search(tea)) == usual


def test_a_linked_chat_asks_for_no_more(
    counted: tuple[AgentRuntime, CountingKV], model: ScriptedModel
) -> None:
    agent, kv = counted
    code = re.search(r"/link ([0-9A-Z-]{14})", tell(agent, "/link", session="telegram:7")[0])
    assert code
    mine = f"telegram:{OWNER}"
    tell(agent, f"/link {code[1]}", session=mine, sender=mine)
    session = keys.session_of(agent.app.name, mine)
    shared = agent.app.sessions.open(session).memory
    assert shared.startswith(keys.session_of(agent.app.name, "telegram:7") + "#")
    model.then(call(SEARCH), call(CALL), say("done"))
    take_turn(agent, kv, 1)

    model.then(call(SEARCH, CALL), say("done"))
    operations = take_turn(agent, kv, 2)
    assert len(operations) <= ONE_CALL_MOST, "\n".join(operations)
    assert not [each for each in operations if f"thing#main#{mine}" in each]


def test_nothing_that_a_turn_or_the_status_reads_grows_with_the_chats_of_the_day(
    counted: tuple[AgentRuntime, CountingKV], model: ScriptedModel
) -> None:
    agent, kv = counted
    model.then(say("hello"), say("again"))
    take_turn(agent, kv, 1)
    budget = agent.app.make_breakers("S").budget
    for number in range(300):
        kv.kv.put(budget.key(agent.app.make_breakers("S").current_period(), f"main#{number}"), b"1")
    operations = take_turn(agent, kv, 2)
    assert not [each for each in operations if each.startswith("scan usage")]
    assert len(operations) <= ONE_CALL_MOST

    session = keys.session_of(agent.app.name, f"telegram:{OWNER}")
    document = agent.app.sessions.open(session).document
    kv.operations.clear()
    assert make_report(session, document, agent.app).total > 0
    assert not [each for each in kv.operations if each.startswith("scan")]


def test_work_of_a_chain_costs_one_write_for_each_request_and_no_read(
    counted: tuple[AgentRuntime, CountingKV], model: ScriptedModel
) -> None:
    agent, kv = counted

    def work(root: str) -> list[str]:
        happened = make_event("count the hens", session="own:main", sender="agent:main")
        happened = replace(happened, kind="task", by=f"telegram:{OWNER}", root=root, cause=root)
        model.then(call(SEARCH), call(CALL), say("done"))
        agent.queue.put(happened)
        kv.operations.clear()
        queue = agent.work or agent.queue
        delivery = queue.take(0.0)
        assert delivery is not None
        worker.process(delivery, stop_clock(replace(agent, queue=queue)))
        return [operation for operation in kv.operations if operation != LOOK]

    work("")
    usual = [each for each in work("") if "chain#" not in each]
    chained = work("telegram:4242:9")
    ours = [each for each in chained if "chain#" in each]
    together, *writes = ours
    assert together.startswith("get session#")
    assert writes == ["put chain#main/telegram:4242:9"] * 3
    assert len(chained) == len(usual) + len(writes), "\n".join(chained)


def test_a_bound_chat_costs_one_read_more_and_a_thousand_archived_agents_cost_none(
    counted: tuple[AgentRuntime, CountingKV],
) -> None:
    agent, kv = counted
    record = make_record({"kind": "agent", "state": "archived", "since": 1.0, "by": "?"})
    chat = f"telegram:{OWNER}"
    take_turn(agent, kv, 1)
    usual = [each.split(" ")[0] for each in take_turn(agent, kv, 2)]
    for number in range(1_000):
        kv.kv.put(keys.agent_record("main", f"old-{number}"), dumps(record))
    with_archived = [each.split(" ")[0] for each in take_turn(agent, kv, 3)]
    assert with_archived == usual

    add_agent(kv, "main", "alice", replace(record, state="enabled"))
    bind(kv, "main", chat, "alice", order="", by="?")
    take_turn(agent, kv, 4)  # this process finds the binding
    take_turn(agent, kv, 5)
    bound = take_turn(agent, kv, 6)
    assert len(bound) == len(usual) + 1, "\n".join(bound)
    assert bound.count("get agent#main/alice") == 1
    assert agent.app.sessions.open(keys.session_of("main.alice", chat)).document.seen


def test_an_idle_server_hardly_reads(counted: tuple[AgentRuntime, CountingKV]) -> None:
    agent, kv = counted
    with serving(agent):
        until(lambda: kv.operations.count(LOOK) > 8)  # the pause between two looks grows till then
    end = kv.scans[-1][1]
    for index, seconds in IDLE_SECONDS.items():
        looks = [moment for name, moment in kv.scans if name == index]
        pauses = [now - before for before, now in pairwise(looks) if now > end - 4.0]
        assert pauses
        assert min(pauses) >= seconds, index
    assert set(kv.operations[-8:]) <= {f"scan {index}" for index in IDLE_SECONDS}
