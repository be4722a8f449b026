"""The ledger has an entry for everything that began, each once, and shows what was changed in it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions import wiring
from functions.agent.ledger.chain import LedgerChain
from functions.agent.ledger.entry import UNKNOWN, Entry
from functions.agent.ledger.ledger import Ledger, LedgerCheck
from functions.agent.policy.proposals import Proposal, describe_decision
from functions.agent.posts import ServiceAnswer
from functions.agent.services import table
from functions.agent.services.call_context import Arguments, CallContext
from functions.agent.session.document import Document, decode_document, encode_document
from functions.agent.side_request import SideRequests
from functions.agent.turn.turn import run_turn
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import KV, Expect, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.memory import MemoryKV
from sigil.wiring import Stores, open_stores
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, tell
from tests.project.tree import ROOT

SESSION = keys.session_of("main", "telegram:7")
SPEC = {
    "name": "double",
    "description": "double a number",
    "schema": {"type": "object", "properties": {}},
    "execute": "return 'done'",
}
SEARCH, CALL = ("sigil_query", {"query": "double"}), ("cap_double", {})


class Killed(BaseException):
    """The process ends here."""


class KillableKV:
    """A store whose process is killed before or after its n-th write."""

    def __init__(self, kv: KV) -> None:
        self.kv = kv
        self.left = -1
        self.writes_first = False

    def get(self, key: Key) -> Item | None:
        return self.kv.get(key)

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        return get_many(self.kv, keys)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self.left -= 1
        if self.left == 0 and not self.writes_first:
            raise Killed
        version = self.kv.put(key, value, expect=expect, ttl=ttl)
        if self.left == 0:
            raise Killed
        return version

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self.kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        return self.kv.scan(partition, prefix, after, limit)


@pytest.fixture
def killable(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> tuple[AgentRuntime, KillableKV]:
    made: list[KillableKV] = []

    def opened(settings: Any) -> Stores:
        stores = open_stores(settings)
        made.append(KillableKV(stores.kv))
        return replace(stores, kv=made[0])

    monkeypatch.setattr(wiring, "open_stores", opened)
    agent = runtime(llm_url=model.url, store="memory://", access="open")
    agent.app.registry.deploy(SPEC, Caller("main"))
    return agent, made[0]


def entries(agent: AgentRuntime, what: str = "") -> list[dict[str, Any]]:
    """The entries of the agent's ledger, those of one kind."""
    rows = [dict(row) for _, row in Ledger(agent.stores.kv, "main").scan()]
    return [row for row in rows if not what or row["what"] == what]


def check(agent: AgentRuntime) -> LedgerCheck:
    ends = agent.app.sessions.open(SESSION).document.ledger
    return Ledger(agent.stores.kv, "main").verify({ends.name: ends} if ends.count else {})


def count_usage(model: ScriptedModel) -> int:
    """The tokens that the scripted server has told of."""
    return sum(len(request.body) // 4 + 10 for request in model.requests if request.body)


def count_known(rows: Sequence[dict[str, Any]]) -> int:
    return sum(row["facts"].get("prompt", 0) + row["facts"].get("completion", 0) for row in rows)


def test_the_ledger_has_every_request_and_call_with_the_tokens_that_the_server_told_of(
    killable: tuple[AgentRuntime, KillableKV], model: ScriptedModel
) -> None:
    agent, _ = killable
    model.then(call(SEARCH), call(CALL, ("cap_nothing", {})), say("found"))
    tell(agent, "double it")
    tell(agent, "/btw what is a double?")

    requests = entries(agent, "request")
    assert count_known(requests) == count_usage(model)
    finishes = [row["facts"]["finish"] for row in requests]
    assert finishes == ["tool_calls", "tool_calls", "stop", "stop", "stop"]
    calls = entries(agent, "call")
    assert [row["facts"]["name"] for row in calls] == ["sigil_query", "cap_double", "cap_nothing"]
    assert calls[2]["facts"]["error"] == "ENOTOOL"
    assert not {"double it", "terminal:local"} & {str(row[name]) for row in calls for name in row}
    assert check(agent) == LedgerCheck(8, 1)


@pytest.mark.parametrize("text", ["double it", "/btw what is a double?", "/soul be calm"])
def test_a_kill_at_any_write_leaves_no_gap_no_double_and_at_most_one_unknown_cost(
    killable: tuple[AgentRuntime, KillableKV], model: ScriptedModel, text: str
) -> None:
    agent, kv = killable
    kills = 0
    for writes_first in (False, True):
        place = 0
        while True:
            place += 1
            kv.left = place
            kv.writes_first = writes_first
            model.then(*(() if text.startswith("/") else (call(SEARCH), call(CALL), say("found"))))
            happened = event(text)
            try:
                closed = run_turn(happened, agent.app)
                agent.app.sessions.clear_outbox(closed)
            except Killed:
                kills += 1
                before = len(entries(agent, "request"))
                kv.left = -1
                closed = run_turn(happened, agent.app)
                agent.app.sessions.clear_outbox(closed)
                assert before <= len(entries(agent, "request"))
            else:
                break
            model._script.clear()
    kv.left = -1
    tell(agent, "and once more")

    requests = entries(agent, "request")
    unknown = [row for row in requests if row["facts"].get(UNKNOWN)]
    assert kills >= 8
    assert len(unknown) <= kills
    assert len(requests) >= len(model.requests)
    assert count_known(requests) <= count_usage(model)
    assert check(agent).problem == ""
    assert check(agent).entries == agent.app.sessions.open(SESSION).document.ledger.count


def test_what_memory_asks_beside_the_turns_enters_the_ledger_once(
    killable: tuple[AgentRuntime, KillableKV], model: ScriptedModel
) -> None:
    agent, _ = killable
    app = agent.app
    tell(agent, "hello")

    def ask(times: int) -> SideRequests:
        side = SideRequests(SESSION, app, app.sessions.open(SESSION).document, by="telegram:5")
        for _ in range(times):
            side.ask("be a memory", "remember")
        return side

    ask(2)  # killed after the second answer: only the first one is noted
    tell(agent, "while it works")
    assert len(entries(agent, "request")) == 3
    side = ask(1)
    side.journal.finish(side.document.ledger)
    tell(agent, "and again")
    tell(agent, "and again")

    beside = [row for row in entries(agent, "request") if row["kind"] == "memory"]
    assert [bool(row["facts"].get(UNKNOWN)) for row in beside] == [False, True, False]
    assert len(entries(agent, "request")) == len(model.requests)
    assert len({row["by"] for row in beside}) == 1
    assert check(agent) == LedgerCheck(len(model.requests), 1)


def test_two_that_write_the_same_entries_down_leave_each_once(
    killable: tuple[AgentRuntime, KillableKV],
) -> None:
    kv = MemoryKV()
    chain = LedgerChain()
    happened = event("hello")
    ledger = Ledger(kv, "main")
    late = chain.add([Entry("call", {"name": "a"})], happened, 1.0)
    longer = late.add([Entry("call", {"name": "b"}), Entry("call", {"name": "c"})], happened, 2.0)
    assert ledger.flush(late).pending == ()
    end = ledger.flush(longer)
    ledger.flush(late)
    ledger.flush(longer)
    assert [row["facts"] for _, row in ledger.scan()] == [{"name": name} for name in "abc"]
    assert ledger.verify({end.name: end}) == LedgerCheck(3, 1)


def test_nothing_in_an_entry_names_a_chat() -> None:
    chat = "telegram:4242"
    happened = replace(event("x"), id=f"consolidate:{chat}:17", by=chat)
    names = ("id", "digest", "agent", "session", "by", "tool", "arguments")
    proposal = Proposal(**dict.fromkeys(names, chat), acts=(f"say {chat}", "call pay"))
    proposal = replace(proposal, id="3f2a9c")
    chain = LedgerChain().add([describe_decision(proposal)], happened, 1e9)
    assert "4242" not in str(chain)
    assert "'call pay'" in str(chain)


def test_a_session_that_was_restored_from_before_goes_on_in_a_new_chain() -> None:
    kv = MemoryKV()
    ledger = Ledger(kv, "main")
    happened = event("hello")
    restored = ledger.flush(LedgerChain().add([Entry("call", {"name": "a"})], happened, 1.0))
    gone = ledger.flush(restored.add([Entry("call", {"name": "b"})], happened, 2.0))
    again = ledger.flush(restored.add([Entry("call", {"name": "c"})], happened, 3.0))
    assert again.name not in ("", gone.name)
    assert len(again.pending) == 1  # no document has saved it yet
    end = ledger.flush(again)
    assert sorted(str(row["facts"]) for _, row in ledger.scan()) == [
        f"{{'name': '{name}'}}" for name in "abc"
    ]
    assert ledger.verify({end.name: end, gone.name: gone}) == LedgerCheck(3, 2)


def test_one_changed_byte_in_any_entry_is_named() -> None:
    kv = MemoryKV()
    ledger = Ledger(kv, "main")
    chain = LedgerChain()
    for number in range(4):
        facts = {"prompt": 1000 + number, "cost": 0.25, "name": "größer", "list": [1, "two", True]}
        chain = chain.add([Entry("request", facts), Entry("call", {})], event("x"), 1.5 + number)
        chain = ledger.flush(chain)
    assert ledger.verify({chain.name: chain}) == LedgerCheck(8, 1)

    items = kv.scan(keys.ledger_entries("main", "", 0).partition)
    for sort, item in items:
        key = Key(keys.ledger_entries("main", "", 0).partition, sort)
        first = int(sort.rpartition("#")[2])
        for place in range(len(item.value)):
            changed = bytearray(item.value)
            changed[place] ^= 1 << random.Random(place).randrange(7)
            kv.put(key, bytes(changed))
            problem = ledger.verify({}).problem
            assert any(f"entry {first + more} of chain {chain.name}" in problem for more in (0, 1))
        kv.put(key, item.value)
    sort = items[-1][0]
    kv.delete(Key(keys.ledger_entries("main", "", 0).partition, sort))
    assert "entry 7" in ledger.verify({chain.name: chain}).problem
    assert ledger.verify({}).problem == ""


def test_an_older_version_reads_the_end_of_the_ledger_as_ids_that_no_event_has() -> None:
    chain = LedgerChain().add([Entry("call", {"name": "größer" * 60})] * 20, event("x"), 1.0)
    document = Document(seen=("telegram:1:1",), ledger=chain)
    stored = encode_document(document)
    fields = orjson.loads(stored)
    assert "ledger" not in fields
    assert fields["seen"][-1] == "telegram:1:1"
    assert all(len(each.encode()) < 700 for each in fields["seen"])
    assert decode_document(stored) == document
    fields["seen"] = fields["seen"][1:]
    assert decode_document(orjson.dumps(fields)) == replace(document, ledger=LedgerChain())


def test_what_a_service_adds_stands_behind_its_call(
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pay(context: CallContext, arguments: Arguments) -> ServiceAnswer:
        facts = {"amount": 3, "payee": "a shop\nof theirs", "none": None}
        return ServiceAnswer("paid", entries=(Entry("spend", facts, by="owner:1"),))

    library = tmp_path / "services"
    library.mkdir()
    (library / "remember").symlink_to(ROOT / "capabilities" / "remember", target_is_directory=True)
    monkeypatch.setitem(table.SERVICES, "remember", pay)  # type: ignore[arg-type]
    agent = runtime(llm_url=model.url, library=str(library), store="memory://")
    arguments = {"key": "a", "value": "b", "source": "user"}
    model.then(call(("sigil_query", {"query": "remember"})), call(("cap_remember", arguments)))
    happened = event("pay")
    run_turn(happened, agent.app)

    *_, made, spent, _ = entries(agent)
    assert (made["what"], made["facts"]["name"]) == ("call", "cap_remember")
    assert spent["facts"] == {"amount": 3, "payee": "a shop of theirs"}
    assert spent["by"] not in ("", made["by"], "owner:1")
    assert (spent["event"], spent["kind"]) == (happened.id, "message")
