"""What an agent does passes the gate first; the model reads the rule that refused it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions.agent.consolidation import consolidate_owed
from functions.agent.conversation.messages import Message
from functions.agent.policy.act import ACTS, make_actor
from functions.agent.policy.gate import Gate
from functions.agent.policy.rules import close_policy, parse_policy
from functions.agent.schedules.schedule import Schedule, make_event
from functions.agent.schedules.when import When
from functions.agent.turn.turn import run_turn
from functions.queues.dead_letters import scan_dead_letters
from functions.wiring import AgentRuntime
from sigil.protocol import Caller, Offer
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, offered, results, say
from tests.functions.agent.talk import event, run_event, tell

QUERY = ("sigil_query", {"query": "double a number"})
DOUBLE = ("cap_double", {"n": 2})
SPEC = {
    "name": "double",
    "description": "double a number",
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "execute": "return input.n * 2",
}
GUEST = "telegram:9"


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> AgentRuntime:
    """An agent that everybody may talk to, with one capability."""
    made = runtime(
        llm_url=model.url, access="open", library="builtin", guest_turns=0, guest_tokens=0
    )
    made.app.registry.deploy(SPEC, Caller("main"))
    return made


def set_policy(agent: AgentRuntime, *rules: str, preset: str = "standard") -> None:
    lines = "".join(f'  "{rule}",\n' for rule in rules)
    text = f'format = 1\npreset = "{preset}"\nrules = [\n{lines}]'
    agent.app.policy_versions.write("main", "policy", text, by="terminal:local")


def last_results(model: ScriptedModel) -> list[dict[str, Any]]:
    """What the model read last of its calls, the line of JSON of each."""
    return [orjson.loads(each.partition("\n")[0]) for each in results(model.bodies[-1])]


def test_a_call_that_policy_denies_never_runs_and_hurts_nobody(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    set_policy(agent, "deny guest call double")
    model.then(call(QUERY), call(DOUBLE), say("it is 4"))
    tell(agent, "double 2", session="telegram:5", sender="terminal:local")
    assert last_results(model)[-1] == {"ok": 4}

    model.then(call(QUERY), call(DOUBLE), say("I may not"))
    assert tell(agent, "double 2", session=GUEST, sender=GUEST) == ["I may not"]
    found, denied = last_results(model)
    assert "double" not in str(found)
    assert "cap_double" not in offered(model.bodies[-1])
    assert denied["error"] == {
        "source": "policy",
        "code": "EPERM",
        "message": 'the policy does not allow `call double`: "deny guest call double" (line 4)',
        "suggestion": denied["error"]["suggestion"],
    }
    assert "Pain" not in results(model.bodies[-1])[-1]
    document = agent.app.sessions.open(keys.session_of("main", GUEST)).document
    assert not document.safety.counters.failures


def test_a_policy_that_is_changed_counts_from_the_next_turn_on(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    def change(body: dict[str, Any]) -> dict[str, Any]:
        set_policy(agent, "deny everybody call double")
        return call(DOUBLE)

    model.then(call(QUERY), change, say("four"))
    tell(agent, "double 2", session=GUEST, sender=GUEST)
    assert last_results(model)[-1] == {"ok": 4}
    model.then(call(DOUBLE), say("no"))
    tell(agent, "again", session=GUEST, sender=GUEST)
    assert last_results(model)[-1]["error"]["code"] == "EPERM"
    assert "cap_double" not in offered(model.bodies[-1])


@pytest.mark.parametrize(
    "damage", [b"{", b'{"version":1,"text":"format = 9","at":1,"by":"x","why":""}', b'{"format":9}']
)
def test_an_agent_whose_policy_cannot_be_read_may_only_talk_and_its_owner_is_told(
    agent: AgentRuntime, model: ScriptedModel, damage: bytes
) -> None:
    set_policy(agent)
    agent.stores.kv.put(keys.document("main", "policy"), damage)
    deploy = ("sigil_deploy", {**SPEC, "name": "treble"})
    model.then(call(QUERY, DOUBLE, deploy), say("hello"))
    (answer,) = tell(agent, "hello")
    assert answer.startswith("hello\n\n(I can only talk at the moment: ")
    found, *denied = last_results(model)
    assert found["ok"]["items"] == []
    assert [each["error"]["code"] for each in denied] == ["EPERM", "EPERM"]
    model.then(say("hello"))
    assert tell(agent, "hello", session=GUEST, sender=GUEST) == ["hello"]


def test_a_capability_reaches_no_host_that_policy_denies_itself_or_through_another(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    registry = agent.app.registry
    fetching = {**SPEC, "permissions": {"http": ["GET evil.com:8443/v1/"]}, "name": "fetcher"}
    calling = {**SPEC, "permissions": {"call": ["fetcher"]}, "name": "caller"}
    for spec in (fetching, calling):
        registry.deploy(spec, Caller("main", owner=True))
    registry.granting.grant("fetcher", Caller("main", owner=True))  # type: ignore[attr-defined]
    set_policy(agent, "deny guest net evil.com")
    asked = [(f"cap_{name}", {"n": 2}) for name in ("fetcher", "caller", "double")]
    queries = [("sigil_query", {"query": name}) for name in ("fetcher", "caller", "double")]
    model.then(call(*queries), call(*asked), say("done"))
    tell(agent, "go", session=GUEST, sender=GUEST)
    fetched, called, doubled = last_results(model)[3:]
    assert "`net evil.com`" in fetched["error"]["message"]
    assert "`net evil.com`" in called["error"]["message"]
    assert doubled == {"ok": 4}
    model.then(call(*queries), call(*asked), say("done"))
    tell(agent, "go", session="telegram:5")
    assert last_results(model)[3:] == [{"ok": 4}] * 3


def test_what_may_not_be_called_is_not_called_by_another_capability_either(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    registry = agent.app.registry
    caller = {**SPEC, "permissions": {"call": ["double"]}, "name": "caller"}
    outer = {**SPEC, "permissions": {"call": ["caller"]}, "name": "outer"}
    needing = {**SPEC, "requires": ["double"], "name": "needing"}
    for spec in (caller, outer, needing, {**SPEC, "name": "single"}):
        registry.deploy(spec, Caller("main", owner=True))
    names = ("caller", "outer", "needing", "single")
    queries = [("sigil_query", {"query": name}) for name in names]
    calls = [(f"cap_{name}", {"n": 2}) for name in names]
    for rule, expected in (
        ("deny guest call double", ["EPERM", "EPERM", "EPERM", ""]),
        ("ask guest call double", ["EAPPROVAL", "EAPPROVAL", "EAPPROVAL", ""]),
        ("deny guest call elsewhere", [""] * 4),
    ):
        set_policy(agent, rule)
        model.then(call(*queries), call(*calls), say("done"))
        tell(agent, "go", session=GUEST, sender=GUEST)
        answers = last_results(model)[-4:]
        assert [each.get("error", {}).get("code", "") for each in answers] == expected
    assert {each.acts for each in agent.app.proposals.list_open()} == {("call double",)}


def test_what_is_kept_in_memory_passes_the_gate(agent: AgentRuntime, model: ScriptedModel) -> None:
    set_policy(agent, "deny groups ingest *")
    keep = ("cap_remember", {"key": "tea", "value": "green", "source": "user"})
    query = ("sigil_query", {"query": "remember"})
    for private, code in ((True, ""), (False, "EPERM")):
        model.then(call(query), call(keep), say("noted"))
        tell(agent, "remember tea", session=f"telegram:-{private:d}", private=private)
        assert last_results(model)[-1].get("error", {}).get("code", "") == code


def test_of_a_bundle_only_the_members_are_found_that_may_be_called(
    agent: AgentRuntime, model: ScriptedModel
) -> None:
    query = ("sigil_query", {"query": "cancel my reminder"})
    for rules, tools in (
        (("deny guest call cancel-wakeup",), {"cap_schedule_wakeup", "cap_list_wakeups"}),
        (("deny guest find schedule",), set()),
    ):
        set_policy(agent, *rules)
        model.then(call(query), say("so"))
        tell(agent, "cancel it", session=f"telegram:9{len(tools)}", sender=GUEST)
        assert {each for each in offered(model.bodies[-1]) if each.startswith("cap_")} == tools


def test_a_reminder_passes_the_gate_when_it_is_made_and_when_it_is_said(
    agent: AgentRuntime,
) -> None:
    assert "1." not in tell(agent, "/remind in 2 hours tea", session=GUEST, sender=GUEST)[0]
    reminder = agent.app.schedules.list_of_chat(GUEST)[0]
    set_policy(agent, "deny guest schedule", "deny own-work say telegram:9")
    (refused,) = tell(agent, "/remind in 3 hours tea", session=GUEST, sender=GUEST)
    assert refused == 'My policy does not allow that: "deny guest schedule" (line 4).'
    due = make_event(reminder, "main", "1", reminder.due)
    assert run_event(agent, due).document.outbox == ()
    (letter,) = scan_dead_letters(agent.stores.kv)
    assert "deny own-work say telegram:9" in letter.reason
    set_policy(agent)
    assert [each.text for each in run_event(agent, replace(due, id="x")).document.outbox] == ["tea"]


def test_the_policy_is_no_document_that_others_are(agent: AgentRuntime) -> None:
    with pytest.raises(Exception, match="no document"):
        agent.app.documents.write("main", "policy", "format = 1", by="x")
    assert set(ACTS) >= {"call", "find", "net", "deploy", "spend"}


def test_whoever_may_not_schedule_still_stops_what_is_there(agent: AgentRuntime) -> None:
    def write(text: str, who: str = GUEST) -> str:
        return tell(agent, text, session=who, sender=who)[0]

    agent.app.schedules.add(
        Schedule(
            id="",
            when=When(kind="at", at=agent.app.clock.now() + 900, zone="UTC"),
            session=GUEST,
            by=GUEST,
            since=0.0,
            say="tea",
        )
    )
    set_policy(agent, "deny guest schedule", "ask owner schedule")
    refused = 'My policy does not allow that: "deny guest schedule" (line 4).'
    assert write("/wakeups now 1") == refused
    assert write("/wakeups pause 1").startswith("Paused")
    assert write("/wakeups resume 1") == refused
    assert "tea" in write("/wakeups drop 1")
    # an owner who types it has approved it
    owner = "terminal:local"
    assert "does not allow" not in write("/heartbeat 30m", owner)
    assert "does not allow" not in write("/remind in 2 hours tea", owner)
    assert write("/remind in 2 hours tea") == refused
    set_policy(agent, "ask guest schedule", "deny owner schedule")
    assert "ask guest schedule" in write("/remind in 2 hours tea")
    for text in ("/heartbeat 20m", "/remind in 3 hours tea"):
        assert "deny owner schedule" in write(text, owner)
    assert agent.app.proposals.list_open() == []


@pytest.mark.parametrize(
    ("rules", "hears"),
    [
        ((), True),
        (("deny groups ingest *",), True),
        (("deny guest ingest shared",), True),
        (("deny guest ingest chat",), False),
        (("ask everybody ingest *",), False),
    ],
)
def test_a_memory_hears_of_what_left_a_history_as_far_as_the_policy_lets_it(
    agent: AgentRuntime, model: ScriptedModel, rules: tuple[str, ...], *, hears: bool
) -> None:
    said = event("hello", GUEST, GUEST)
    session = keys.session_of("main", GUEST)
    lines = [Message("user", f"line {number}", at=1e9) for number in range(41)]
    sessions = agent.app.sessions
    opened = sessions.open(session)
    sessions.save(opened, opened.document.add(*lines))
    model.then(say("hi"))
    assert run_turn(said, agent.app).document.owes_memory
    damaged = keys.document("main", "policy")
    agent.stores.kv.put(damaged, b"{")
    assert consolidate_owed(session, agent.app, event=said).wait == 0.0
    assert agent.stores.kv.get(keys.memory_progress(session)) is None
    agent.stores.kv.delete(damaged)
    set_policy(agent, *rules)
    before = len(model.bodies)
    saved = {"history_entry": "[2026-11-22 01:30] lines", "memory_update": "# Memory\n- Lines."}
    model.then(call(("save_memory", saved)))
    assert consolidate_owed(session, agent.app, event=said).wait == 0.0
    assert (len(model.bodies) > before) is hears
    memory = agent.app.documents.read(session, "memory").text
    assert (memory == "# Memory\n- Lines.") is hears
    # it was asked about once: what was not to be kept is not asked about for ever
    assert agent.stores.kv.get(keys.memory_progress(session)) is not None
    assert consolidate_owed(session, agent.app, event=said).tokens == 0


def test_nobody_has_memory_take_note_where_the_policy_denies_it(agent: AgentRuntime) -> None:
    set_policy(agent, "deny guest ingest *")
    (refused,) = tell(agent, "/mem I like tea", session=GUEST, sender=GUEST)
    assert refused == 'My policy does not allow that: "deny guest ingest *" (line 4).'
    session = keys.session_of("main", GUEST)
    assert agent.app.sessions.open(session).document.noted == ()


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ("", "double halve square"),
        ('"deny guest call double"', "halve square"),
        ('"deny owner call double"', "double halve square"),
        ('"deny everybody call *", "allow guest call h*"', "halve"),
        ('"ask guest call *e"', "double halve square"),
    ],
)
def test_the_tools_of_a_round_are_those_that_policy_does_not_deny(rules: str, left: str) -> None:
    policy = parse_policy(f'format = 1\npreset = "standard"\nrules = [{rules}]')
    offers = [Offer(name, 1, "", "", {}) for name in ("double", "halve", "square")]
    gate = Gate((policy,), make_actor("guest"))

    assert [each.name for each in gate.keep_callable(offers)] == left.split()
    bound = replace(gate, bundle=frozenset({"square"}))
    assert {each.name for each in bound.keep_callable(offers)} == {"square"} & {*left.split()}
    closed = replace(gate, policies=(policy, close_policy("damaged")))
    assert closed.keep_callable(offers) == ()
