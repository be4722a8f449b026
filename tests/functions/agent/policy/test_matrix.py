"""Who may do what, by a table: asked for from outside, by the calls of a model."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.app import App
from functions.agent.policy.act import ACTS
from functions.agent.turn.turn import run_turn
from functions.events import Event
from functions.wiring import AgentRuntime
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.talk import event
from tests.library import copy_capabilities

POLICIES = {
    "standard": 'preset = "standard"',
    "careful": 'preset = "careful"',
    "ours": """rules = [
        "deny groups ingest *",
        "ask agents schedule",
        "deny own-work mail *",
        "deny agents say *",
        "allow owner,member self *",
        "ask owner publish *",
    ]""",
}
EFFECTS = {"+": "allow", "?": "ask", "-": "deny"}
CODES = {"+": "", "?": "EAPPROVAL", "-": "EPERM"}
OWNER, MEMBER, GUEST = "telegram:1", "telegram:2", "telegram:3"
SERVICES = (
    "read-policy",
    "remember",
    "schedule-wakeup",
    "request-payment",
    "write-file",
    "read-file",
    "create-task",
)
FETCH = {
    "name": "fetch-hens",
    "description": "count the hens",
    "schema": {"type": "object", "properties": {}},
    "permissions": {"http": ["GET hens.example.com/"]},
    "execute": "return 7",
}
DOORS = {
    "call": ("cap_read_policy", {}),
    "ingest": ("cap_remember", {"key": "hens", "value": "7", "source": "user"}),
    "schedule": ("cap_schedule_wakeup", {"when": "tomorrow at nine", "say": "feed them"}),
    "spend": (
        "cap_request_payment",
        {"amount": 1, "payee": "x"}
        | dict.fromkeys(("purpose", "alternatives", "saving", "risk"), "none"),
    ),
    "write": ("cap_write_file", {"path": "hens.md", "content": "7"}),
    "read": ("cap_read_file", {"path": "hens.md"}),
    "net": ("cap_fetch_hens", {}),
    "task": ("cap_create_task", {"subject": "feed the hens"}),
    "deploy": ("sigil_deploy", {**FETCH, "name": "cluck", "permissions": {}}),
}
"""The calls that are acts of other kinds beside `call`."""
QUERIES = (
    "what the policy allows",
    "remember",
    "remind me",
    "request a payment",
    "fetch-hens",
    "write-file",
    "read-file",
    "create-task",
)


def read_table() -> dict[tuple[str, str], dict[str, str]]:
    with (Path(__file__).parent / "matrix.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {(row.pop("policy"), row.pop("actor")): row for row in rows}


TABLE = read_table()


@pytest.fixture
def home(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, tmp_path: Path
) -> AgentRuntime:
    """An agent with one below it, whose library is the services that these acts need."""
    library = copy_capabilities(tmp_path / "library", *SERVICES)
    made = runtime(
        llm_url=model.url,
        library=str(library),
        owners=(OWNER,),
        access="open",
        guest_turns=0,
        guest_tokens=0,
        tokens_per_day=0,
    )
    made.app.people.let_in(MEMBER, "member", "Bob", OWNER)
    add_agent(made.stores.kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, OWNER))
    made.app.registry.deploy(FETCH, Caller("main", owner=True))
    made.app.registry.granting.grant("fetch-hens", Caller("main", owner=True))  # type: ignore[attr-defined]
    return made


def make_event(actor: str) -> Event:
    """Return what an actor of the table wants."""
    who = next(
        id for word, id in (("owner", OWNER), ("member", MEMBER), ("", GUEST)) if word in actor
    )
    if "guest" in actor:
        who = GUEST
    if actor == "own work of alice":
        who = OWNER
    group = "group" in actor
    made = event("go", f"telegram:-{len(actor)}" if group else who, who, private=not group)
    if "own work" in actor:
        made = replace(made, kind="task", session="own:main", by=who, data={"home": who})
    return replace(made, agent="main.alice" if "alice" in actor else "main")


def read_code(text: str) -> str:
    """Return the code of a refusal, empty for what was let through."""
    answer: dict[str, Any] = orjson.loads(text.partition("\n")[0])
    error: dict[str, str] = answer.get("error", {})
    return error["code"] if error.get("source") in ("policy", "sigil_deploy") else ""


@pytest.mark.parametrize("name", POLICIES)
def test_each_actor_may_do_what_the_table_says(
    home: AgentRuntime, model: ScriptedModel, name: str
) -> None:
    text = f"format = 1\n{POLICIES[name]}"
    home.app.policy_versions.write("main", "policy", text, by="terminal:local")
    alice = home.agents.find("main.alice", home.app)
    assert isinstance(alice, App)
    for actor in [actor for policy, actor in TABLE if policy == name]:
        wanted = TABLE[name, actor]
        asked = make_event(actor)
        queries = call(*(("sigil_query", {"query": query, "limit": 1}) for query in QUERIES))
        doors = dict(DOORS)
        if asked.kind == "task":  # only work of the agent's own says something by itself
            doors["say"] = ("cap_tell", {"text": "the hens are fed"})
        model.then(queries, call(*doors.values()), say("done"))
        run_turn(asked, alice if "alice" in actor else home.app)
        answers = results(model.bodies[-1])[-len(doors) :]
        found = results(model.bodies[-1])[: -len(doors)][-len(QUERIES) :]
        assert wanted["find"] == "+"
        assert all('"items":[{' in result for result in found), (actor, found)

        told = orjson.loads(answers[0].partition("\n")[0])["ok"]["acts"]
        assert told == {kind: EFFECTS[cell] for kind, cell in wanted.items()}, actor
        codes = dict(zip(doors, map(read_code, answers), strict=True))
        for kind, code in codes.items():
            assert code == CODES[wanted[kind]], (actor, kind, answers)
        if "say" in doors:
            assert ("it is said in" in answers[-1]) is (wanted["say"] == "+"), (actor, answers)
        for proposal in home.app.proposals.list_open():
            home.app.proposals.decide(proposal.id, "denied", OWNER)


@pytest.mark.parametrize("name", POLICIES)
def test_a_command_asks_as_the_table_says_and_an_owner_who_types_it_has_approved_it(
    home: AgentRuntime, name: str
) -> None:
    text = f"format = 1\n{POLICIES[name]}"
    home.app.policy_versions.write("main", "policy", text, by="terminal:local")
    alice = home.agents.find("main.alice", home.app)
    assert isinstance(alice, App)
    asked = []
    for actor in [actor for policy, actor in TABLE if policy == name]:
        if "own work" in actor or "group" in actor:  # nobody types; only owners remind groups
            continue
        app = alice if "alice" in actor else home.app
        happened = replace(make_event(actor), text=f"/remind in 2 hours {actor}")
        (reply,) = run_turn(happened, app).document.outbox
        app.sessions.clear_outbox(app.sessions.open(keys.session_of(app.name, happened.session)))
        cell = TABLE[name, actor]["schedule"]
        is_free = cell == "+" or (cell == "?" and actor.startswith("owner"))
        assert ("My policy does not allow that" not in reply.text) is is_free, (actor, reply.text)
        asked.append(actor)
    assert len(asked) == 5
    assert home.app.proposals.list_open() == []


def test_the_table_has_every_act_and_twelve_actors() -> None:
    assert len(TABLE) == 12 * len(POLICIES)
    assert all(tuple(row) == tuple(ACTS) for row in TABLE.values())
