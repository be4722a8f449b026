"""A purge leaves nothing of an agent below the root, on every store, and takes nothing of others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.agent.agents.bindings import bind, read_binding
from functions.agent.agents.lifecycle import create_agent
from functions.agent.agents.record import AgentRecord, add_agent, read_agent
from functions.agent.mailbox import Mail, Mailbox
from functions.agent_data import AgentData
from functions.settings import Settings
from functions.time.clock import SYSTEM
from functions.wiring import AgentRuntime
from sigil.errors import Conflict, UsageError
from sigil.protocol import Caller
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.base import scan_everything
from sigil.storage.stored import dumps
from sigil.wiring import open_stores
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.agents.test_agents import list_texts, message, task, work
from tests.functions.people import platform
from tests.selection import thorough
from tests.servers.stores import empty_store

RECORD = AgentRecord("agent", "enabled", 1.0, "terminal:local")


def make_keys(name: str) -> list[Key]:
    """Return a key of every kind for an agent by its short name, one for each thing that a
    parameter of the kind's function may name.
    """
    agent = f"main.{name}"
    session = keys.session_of(agent, "telegram:42")
    namespace = Caller("main", keys.join_session("telegram:42", agent)).own
    known = {"root": ["main"], "agent": [agent], "scope": [agent, session], "home": [namespace]}
    known |= {"namespace": [namespace], "session": [session], "whom": [session, agent]}
    made: dict[Key, None] = {}
    for _, function in inspect.getmembers(keys, inspect.isfunction):
        signature = inspect.signature(function)
        if signature.return_annotation != "Key" or function.__name__.startswith("_"):
            continue
        for turn in range(2):
            arguments: list[Any] = []
            for parameter in signature.parameters.values():
                values = known.get(parameter.name, ["x"])
                is_number = parameter.annotation in ("int", "float")
                arguments.append(7 if is_number else values[turn % len(values)])
            key = function(*arguments)
            if f"{name}" in "".join(key):
                made[key] = None
    return list(made)


def list_keys(kv: KV, name: str) -> set[Key]:
    return {each.key for each in scan_everything(kv) if name in "".join(each.key)}


@pytest.fixture
def kv(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KV]:
    """An empty store of the kind that the test names."""
    with empty_store(request.param, request, tmp_path) as store:
        yield open_stores(Settings(data=str(tmp_path), store=store)).kv


@pytest.mark.parametrize("kv", ["memory", "sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_every_kind_of_key_of_an_agent_is_purged_but_the_books_of_the_root(kv: KV) -> None:
    for name in ("alice", "alicent"):
        for key in make_keys(name):
            value = {"agent": f"main.{name}", "event": {"agent": f"main.{name}"}}
            kv.put(key, orjson.dumps(value))
        kv.put(keys.proposal("main", name), orjson.dumps({"agent": f"main.{name}"}))
        kv.put(keys.agent_record("main", name), dumps(RECORD))
        bind(kv, "main", f"telegram:{name}", name, order="1", by="terminal:local")
    kept = {
        key for key in make_keys("alice") if key.partition.partition("#")[0] in keys.NOT_OF_AGENTS
    }
    others = list_keys(kv, "alicent")
    data = AgentData(kv, MemoryArtifacts(), "main", "alice", SYSTEM)
    assert data.purge(lambda _: False) > 60
    left = {key for key in list_keys(kv, "alice") if "alicent" not in "".join(key)}
    left = {key for key in left if key.partition != "binding#main"}
    assert left == kept
    assert read_binding(kv, "main", "telegram:alice").known_agents == ()
    assert list_keys(kv, "alicent") == others


def test_an_agent_that_worked_in_chats_and_by_itself_is_purged_while_others_go_on(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, library="builtin", **platform(bot))
    kv = home.stores.kv
    before = {each.key for each in scan_everything(kv)}
    add_agent(kv, "main", "alice", RECORD)
    model.then(call(("sigil_query", {"query": "write a file"})))
    model.then(call(("cap_write_file", {"path": "hens.md", "content": "three\n" * 9_000})))
    model.then(say("written"), say("counted"), say("root is here"))
    work(home, message("/agent alice"), message("write the hens down"), task("main.alice"))
    alice = replace(home.app, name="main.alice", record=RECORD)
    Mailbox(kv, "main.alice").deliver(Mail("m", "bob", "hello", 1.0))
    alice.documents.write("main.alice", "role", "Count.", by="terminal:local")
    stale = kv.get(keys.session_head(keys.session_of("main.alice", "telegram:42")))
    assert stale
    data = AgentData(kv, home.app.artifacts, "main", "alice", SYSTEM)

    at_work = [True, True]
    with pytest.raises(UsageError, match="is being purged, and a turn of it is still at work"):
        data.purge(lambda _: True, patience=0.0)
    add_again = replace(RECORD, state="enabled")
    with pytest.raises(UsageError, match="there is an agent alice already"):
        add_agent(kv, "main", "alice", add_again)
    data = replace(data, clock=replace(SYSTEM, pause=lambda _: None))
    data.purge(lambda _: bool(at_work and at_work.pop()))
    assert not at_work
    kinds = {key.partition.partition("#")[0] for key in list_keys(kv, "alice")}
    assert kinds <= {"ledger", "usage"}
    new = {each.key for each in scan_everything(kv)} - before
    assert not [key for key in new if key.partition.startswith("artifact#")]
    # a turn that slept through all of it cannot save any more
    with pytest.raises(Conflict):
        kv.put(
            keys.session_head(keys.session_of("main.alice", "telegram:42")),
            b"",
            expect=stale.version,
        )
    work(home, message("who is there?"))
    assert list_texts(bot)[-1].startswith("root is here")
    assert home.app.load_policies()


@pytest.mark.parametrize("kv", ["memory"], indirect=True)
def test_a_second_purge_leaves_whoever_was_made_under_the_name_meanwhile(kv: KV) -> None:
    add_agent(kv, "main", "alice", RECORD)
    data = AgentData(kv, MemoryArtifacts(), "main", "alice", SYSTEM)
    mailbox = Mailbox(kv, "main.alice")
    made: list[AgentRecord] = []

    def purge_and_create(_: str) -> bool:
        with pytest.raises(UsageError, match="being purged, and its name is not free"):
            create_agent(kv, "main", "alice", RECORD)
        data.purge(lambda _: False)
        made.append(create_agent(kv, "main", "alice", replace(RECORD, since=2.0)))
        mailbox.deliver(Mail("m", "bob", "hello", 1.0))
        return False

    assert data.purge(purge_and_create) == 0
    assert read_agent(kv, "main", "alice") == made[0]
    assert [mail.text for _, mail in mailbox.read()[0]] == ["hello"]
