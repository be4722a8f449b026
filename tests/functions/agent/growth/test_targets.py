"""Every part of an agent that it may propose to change: shown, approved, applied, rolled back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions import worker
from functions.agent import approvals
from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.app import App
from functions.agent.approvals import describe_difference
from functions.agent.growth.parts import open_part
from functions.agent.growth.undoing import roll_back
from functions.agent.policy.document import write_policy
from functions.agent.posts import ServiceAnswer
from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.when import When
from functions.agent.services.growth import propose_change
from functions.agent.services.table import SERVICES
from functions.agent.skills.package import SkillPackage
from sigil.errors import UsageError
from sigil.protocol import Caller
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.own_work import BY, run, work
from tests.functions.chats import Chats

WHY = {"goal": "fewer failures", "risk": "none", "benefit": "time"}
SKILL = "---\nname: weather\ndescription: How the weather is told\n---\nSay the city."
EXPERIMENTAL = 'format = 1\nrules = ["ask owner,member behaviour *"]'
WRITES_MOST = 40
OWNER_CALLER = Caller("main", owner=True)
DOUBLE = {
    "name": "double",
    "description": "double a number",
    "schema": {
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer"}},
        "additionalProperties": False,
    },
    "output_schema": {"type": "number"},
    "execute": "return input.n * 2",
    "tests": [{"input": {"n": 2}, "output": 4}],
}


def propose(
    chats: Chats, model: ScriptedModel, target: str, base: int, text: str, **fields: Any
) -> str:
    """Let a run of the agent's own propose a change, and return what the call said."""
    change = {"target": target, "base": base, "text": text, **WHY}
    model.then(call(("cap_propose_change", change)), say("[SILENT]"))
    number = len(model.bodies) + 1
    data = {"home": BY, "behaviour": "on_self_improve"}
    run(chats, work(number, session=f"own:{number}", data=data, **fields))
    return str(results(model.bodies[-1])[-1])


def approve(chats: Chats, model: ScriptedModel, number: int) -> tuple[str, str]:
    """Approve what waits, and return its id and what came of it."""
    (proposal,) = chats.runtime.app.proposals.list_open()
    chats.write(number, f"/approve {proposal.id}")
    model.then(say("Done."))
    chats.work_off()
    return proposal.id, str(results(model.bodies[-1])[-1])


def read(chats: Chats, target: str) -> tuple[int, str]:
    current = open_part(chats.runtime.app, target).read()
    return current.version, current.text


def find_state(chats: Chats, id: str) -> str:
    app = chats.runtime.app
    proposal = app.proposals.find(id)
    assert proposal
    return proposal.state_at(app.clock.now())


def make_skill(app: App) -> str:
    files = {"references/cities.md": b"Oslo"}
    app.skills.write(SkillPackage(SKILL.encode(), files), by="terminal:local")
    return "skill/weather"


def make_schedule(app: App, by: str = BY) -> str:
    when = When(kind="cron", cron="0 8 * * 1-5", zone="Europe/Berlin")
    made = Schedule(id="", when=when, session=by, by=by, since=app.clock.now(), text="tell me")
    return f"schedule/{app.schedules.add(made)[0].id}"


def make_capability(app: App) -> str:
    app.registry.deploy(DOUBLE, OWNER_CALLER)
    return "capability/double"


def make_behaviour(app: App) -> str:
    write_policy(app.policy_versions, EXPERIMENTAL, by="terminal:local")
    return "behaviour/on_wakeup"


CHANGES: dict[str, tuple[Callable[[App], str], tuple[str, str], str]] = {
    "skill": (make_skill, ("Say the city.", "Ask for the city."), "+Ask for the city."),
    "schedule": (make_schedule, ("08:00", "07:00"), '+when = "'),
    "capability": (make_capability, ("double a number", "n times two"), "n times two"),
    "behaviour": (make_behaviour, ("You were woken", "You are woken"), "+You are woken"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_an_owner_reads_approves_and_rolls_back_a_change_of_every_part(
    chats: Chats, model: ScriptedModel, kind: str
) -> None:
    make, (old, new), shown = CHANGES[kind]
    app = chats.runtime.app
    target = make(app)
    base, before = read(chats, target)
    assert old in before
    after = before.replace(old, new)
    assert "EINVAL" in propose(chats, model, target, base + 1, after)
    assert "EAPPROVAL" in propose(chats, model, target, base, after)
    assert read(chats, target) == (base, before)
    (waiting,) = app.proposals.list_open()
    assert shown in describe_difference(waiting)
    assert shown in chats.list_texts()[-1]

    id, said = approve(chats, model, 2)
    assert orjson.loads(said)["ok"] == {"target": target, "version": base + 1}
    assert read(chats, target)[0] == base + 1
    assert new in read(chats, target)[1]
    assert find_state(chats, id) == "applied"

    for number in (3, 4):  # the second one finds that it is done
        chats.write(number, f"/proposals rollback {id}")
        chats.work_off()
        assert f"Proposal {id} was rolled back" in chats.list_texts()[-1]
        assert read(chats, target)[1] == before
    assert find_state(chats, id) == "rolled-back"
    assert "rolled-back already" in refuse(chats, f"/approve {id}", 5)
    if kind == "skill":
        assert app.skills.pack(app.skills.read("weather")).files == {
            "references/cities.md": b"Oslo"
        }


def refuse(chats: Chats, text: str, number: int) -> str:
    chats.write(number, text)
    chats.work_off()
    return chats.list_texts()[-1]


def test_what_is_new_is_taken_away_again(chats: Chats, model: ScriptedModel) -> None:
    app = chats.runtime.app
    fields = {name: value for name, value in DOUBLE.items() if name not in ("name", "execute")}
    capability = f"{orjson.dumps(fields).decode()}\n---\nreturn input.n * 2"
    make_behaviour(app)
    new = (("capability/double", capability), ("skill/weather", SKILL), ("behaviour/rates", "Go."))
    for number, (target, text) in enumerate(new):
        assert "EAPPROVAL" in propose(chats, model, target, 0, text)
        id, _ = approve(chats, model, 10 + number)
        assert read(chats, target)[0] == 1
        roll_back(app, id, BY)
        assert read(chats, target)[1] == ""
    with pytest.raises(UsageError, match="ENOENT"):
        app.registry.inspect("double", OWNER_CALLER)


def test_what_fails_when_it_is_applied_changes_nothing_and_is_said(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    target = make_capability(app)
    base, before = read(chats, target)
    wrong = before.replace("input.n * 2", "input.n * 3")
    assert "EAPPROVAL" in propose(chats, model, target, base, wrong)
    id, said = approve(chats, model, 2)
    assert '"error"' in said
    assert "test" in said
    assert read(chats, target) == (base, before)
    assert app.registry.run("double", {"n": 2}, OWNER_CALLER).output == b"4"
    assert find_state(chats, id) == "lapsed"
    assert "it changed nothing" in refuse(chats, f"/proposals rollback {id}", 3)


BROKEN = (
    ("skill/weather", "no front matter"),
    ("skill/weather", SKILL.replace("weather", "rain")),
    ("behaviour/on_wakeup", "+++\npins = 3\n+++\nGo."),
    ("behaviour/on_wakeup", "---\nmodel: x\n---\nGo."),
    ("capability/double", "return 2"),
    ("capability/double", '{"name": "other"}\n---\nreturn 2'),
    ("capability/double", '{"description": "x", "description": "y"}\n---\nreturn 2'),
    ("capability/double", '{"wasm": "AA=="}\n---\nreturn 2'),
    ("schedule/ID", "tell me"),
    ("schedule/ID", '+++\nsession = "telegram:66"\n+++\ntell me'),
    ("schedule/ID", '+++\nwhen = "whenever you like"\n+++\ntell me'),
    ("schedule/ID", '+++\nbehaviour = "gone"\n+++\ntell me'),
)


def test_what_could_never_be_applied_is_refused_before_anybody_is_asked(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    made = {kind: make(app) for kind, (make, _, _) in CHANGES.items()}
    for target, text in BROKEN:
        known = made[target.partition("/")[0]]
        base, before = read(chats, known)
        said = propose(chats, model, known, base, text)
        assert any(f'"{code}"' in said for code in ("EINVAL", "ENOENT", "EASK")), (target, text)
        assert read(chats, known) == (base, before)
    assert app.proposals.list_open() == []


def test_a_schedule_is_changed_for_nobody_but_the_person_whose_it_is(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    target = make_schedule(app, by="telegram:66")
    base, before = read(chats, target)
    assert "ENOENT" in propose(chats, model, target, base, before.replace("tell me", "tell all"))


def test_a_schedule_runs_by_its_new_time_and_an_old_one_can_be_made_again(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    id = make_schedule(app).partition("/")[2]
    before = app.schedules.find(id)
    assert before
    base, text = read(chats, f"schedule/{id}")
    propose(chats, model, f"schedule/{id}", base, text.replace("08:00", "07:00"))
    approve(chats, model, 2)
    after = app.schedules.find(id)
    assert after
    assert (before.due - after.due) % 86_400 == 3_600
    assert after.when.cron == "0 7 * * 1-5"
    # the same words as at first are another schedule now
    assert make_schedule(app) != f"schedule/{id}"


def test_a_behaviour_that_the_agent_has_written_is_on_trial(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    target = make_behaviour(app)
    base, before = read(chats, target)
    propose(chats, model, target, base, f"{before}\n- Be quick.")
    id, _ = approve(chats, model, 2)
    limits = app.require_behaviour("on_wakeup").limits
    assert (limits.requests, limits.hops, limits.seconds) == (4, 1, 60)
    searches = [call(("sigil_query", {"query": f"a {n}"})) for n in range(3)]
    model.then(*searches, say("enough"))
    count = len(model.bodies)
    run(chats, work(900, session="own:900"))
    assert len(model.bodies) - count == 4
    roll_back(app, id, BY)
    assert app.require_behaviour("on_wakeup").limits.requests == 8


def test_agents_below_the_root_may_be_experimental_while_it_stays_stable(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    text = 'format = 1\nrules = ["ask agents behaviour *"]'
    write_policy(app.policy_versions, text, by="terminal:local")
    add_agent(app.kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, BY))
    said = propose(chats, model, "behaviour/rates", 0, "Look at the rates.")
    assert '"EPERM"' in said
    said = propose(chats, model, "behaviour/rates", 0, "Look at the rates.", agent="main.alice")
    assert '"EAPPROVAL"' in said
    id, _ = approve(chats, model, 2)
    alice = replace(app, name="main.alice")
    assert alice.require_behaviour("rates").limits.requests == 4
    assert app.find_behaviour("rates") is None
    roll_back(app, id, BY)
    assert alice.find_behaviour("rates") is None


def test_what_was_changed_after_it_was_applied_is_not_lost_by_a_rollback(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    target = make_skill(app)
    base, before = read(chats, target)
    propose(chats, model, target, base, before.replace("Say", "Ask for"))
    id, _ = approve(chats, model, 2)
    theirs = SKILL.replace("Say", "Never say")
    app.skills.write(SkillPackage(theirs.encode()), by="terminal:local")
    assert "was changed since, and is at version 3" in refuse(chats, f"/proposals rollback {id}", 3)
    assert read(chats, target)[1] == theirs
    for number, id in enumerate(("ffffff", ""), 4):
        assert "Nothing was changed" in refuse(chats, f"/proposals rollback {id}", number)


class Crash(BaseException):
    """The end of a process."""


@pytest.mark.parametrize("kind", ["skill", "schedule", "capability"])
def test_a_crash_at_any_write_of_an_approved_change_applies_it_once(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    make, (old, new), _ = CHANGES[kind]
    app = chats.runtime.app
    target = make(app)
    store = type(app.kv)
    put = store.put
    is_applying = False
    writes = crash_at = 0

    def put_or_crash(*given: Any, **named: Any) -> Any:
        nonlocal writes
        writes += is_applying
        if is_applying and writes == crash_at:
            raise Crash
        return put(*given, **named)

    def apply(*given: Any) -> ServiceAnswer:
        nonlocal is_applying
        is_applying = True
        try:
            return propose_change(*given)
        finally:
            is_applying = False

    monkeypatch.setattr(store, "put", put_or_crash)
    monkeypatch.setitem(SERVICES, "propose-change", apply)  # type: ignore[arg-type]
    for crash_at in range(1, WRITES_MOST):
        base, before = read(chats, target)
        after = before.replace(old, new) if old in before else before.replace(new, old)
        assert "EAPPROVAL" in propose(chats, model, target, base, after)
        (waiting,) = app.proposals.list_open()
        event = approvals.approve(app, waiting.id, BY)[1]
        writes = 0
        for _ in range(3):  # it goes on where it died, and then it comes once more
            with suppress(Crash):
                worker.handle_event(event, chats.runtime)
        version, text = read(chats, target)
        assert (version != base, text) == (True, after), crash_at
        found = app.proposals.find(waiting.id)
        assert found
        assert (found.state, found.version) == ("applied", version), crash_at
        if kind != "capability":
            assert version == base + 1
        if writes < crash_at:
            return
    raise AssertionError("it writes more often than that")
