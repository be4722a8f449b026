"""An agent proposes to change who it is, an owner reads the difference, and decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions.agent import approvals
from functions.agent.approvals import describe_difference
from functions.agent.behaviours.pins import PINNED_ONLY
from functions.agent.policy.proposals import Proposal
from functions.agent.policy.settlement import GRACE_SECONDS, settle_proposals
from functions.agent.runs.run import load_run
from functions.texts.languages import load_texts
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.clock import Clock
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.own_work import BY, run, work
from tests.functions.agent.policy.asking import make_wanted
from tests.functions.chats import Chats
from tests.functions.people import GUEST, OWNER, STRANGER, platform

BEFORE = "# Objectives\nHelp.\n\n# Preferences\nShort answers."
AFTER = f"{BEFORE}\nAsk for the city before the weather."
CHANGE: dict[str, Any] = {
    "target": "self",
    "base": 1,
    "text": AFTER,
    "goal": "fewer wrong cities",
    "risk": "one question more",
    "benefit": "three failures a week less",
}


@pytest.fixture
def chats(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, clock: Clock
) -> Chats:
    made = runtime(llm_url=model.url, **platform(bot))
    made.app.documents.write("main", "self", BEFORE, by="terminal:local")
    timed = replace(made.app, clock=replace(made.app.clock, now=clock))
    return Chats(replace(made, app=timed), bot)


FIXED = (
    *("policy", "role", "soul", "user", "tools", "agents", "memory", "self/x", "behaviour/../role"),
    *("behaviour/on_wakeup", "skill/..", "schedule/1", "capability/main/x", "capability/", ""),
)
"""What no change is about: who the agent has to be, what it may do, what is not its own. A stable
agent does not change its behaviours either.
"""


def propose(chats: Chats, model: ScriptedModel, number: int = 1, **fields: Any) -> Any:
    """Let a run of the agent's own propose a change, and return what the call said."""
    model.then(call(("cap_propose_change", {**CHANGE, **fields})), say("[SILENT]"))
    data = {"home": BY, "behaviour": "on_self_improve"}
    run(chats, work(number, session=f"own:{number}", data=data))
    return results(model.bodies[-1])[-1]


def read_self(chats: Chats) -> tuple[int, str, str, str]:
    doc = chats.runtime.app.documents.read("main", "self")
    return doc.version, doc.text, doc.by, doc.why


def find_open(chats: Chats) -> Proposal:
    (proposal,) = chats.runtime.app.proposals.list_open()
    return proposal


def test_an_owner_reads_the_difference_and_approves_and_the_next_prompt_has_it(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    assert '"code":"EAPPROVAL"' in propose(chats, model)
    assert read_self(chats)[0] == 1
    told = chats.bot.messages[-1]
    assert told["chat_id"] == OWNER
    assert "+Ask for the city before the weather." in told["text"]
    assert "three failures a week less" in told["text"]
    id = find_open(chats).id
    chats.write(2, f"/approve {id}")
    model.then(say("I ask for the city from now on."))
    chats.work_off()
    assert read_self(chats) == (2, AFTER, "main", "fewer wrong cities")
    assert chats.runtime.app.proposals.find(id).state == "applied"  # type: ignore[union-attr]
    approved = load_run(chats.runtime.stores.kv, "main", f"approval:main:{id}:1")
    assert "self is at version 2: fewer wrong cities" in str(approved)
    clock.now += 7 * 86_400
    model.then(say("Which city?"))
    chats.write(3, "how is the weather?")
    chats.work_off()
    assert "Ask for the city before the weather." in str(model.bodies[-1]["messages"])

    chats.write(4, f"/proposals rollback {id}")
    chats.work_off()
    why = f"rolled back proposal {id}"
    assert read_self(chats) == (3, BEFORE, f"telegram:{OWNER}", why)
    assert chats.list_texts()[-1].startswith(f"Proposal {id} was rolled back: self self.")


def test_what_was_written_meanwhile_is_kept_and_the_change_is_proposed_anew(
    chats: Chats, model: ScriptedModel
) -> None:
    propose(chats, model)
    chats.runtime.app.documents.write("main", "self", "Mine.", by="terminal:local")
    chats.write(2, f"/approve {find_open(chats).id}")
    again = {**CHANGE, "base": 2, "text": "Mine.\nAsk first."}
    model.then(call(("cap_propose_change", again)), say("It waits again."))
    chats.work_off()
    assert "with base 2" in str(model.bodies[-2]["messages"])
    assert read_self(chats)[:2] == (2, "Mine.")
    difference = describe_difference(find_open(chats))
    assert difference.splitlines()[-2:] == [" Mine.", "+Ask first."]


def test_what_was_changed_elsewhere_meanwhile_is_proposed_anew_with_both_changes(
    chats: Chats, model: ScriptedModel
) -> None:
    propose(chats, model)
    first = find_open(chats)
    app = chats.runtime.app
    theirs = BEFORE.replace("Help.", "Help everybody.")
    app.documents.write("main", "self", theirs, by="terminal:local")
    chats.write(2, f"/approve {first.id}")
    model.then(say("It waits again."))
    chats.work_off()
    assert read_self(chats)[:2] == (2, theirs)
    assert app.proposals.find(first.id).state == "lapsed"  # type: ignore[union-attr]
    second = find_open(chats)
    assert f"proposal {second.id}" in str(results(model.bodies[-1])[-1])
    assert describe_difference(second).splitlines()[0] == "--- version 2"
    assert "-Help" not in describe_difference(second)
    settle_proposals(app.kv, chats.runtime.queue.put, "main", app.clock.now() + GRACE_SECONDS)
    chats.work_off()
    assert not any("could not be done" in text for text in chats.list_texts())
    chats.write(3, f"/approve {second.id}")
    model.then(say("done"))
    chats.work_off()
    both = f"{theirs}\nAsk for the city before the weather."
    assert read_self(chats) == (3, both, "main", "fewer wrong cities")


def test_an_approved_change_is_written_once_however_often_its_event_comes(
    chats: Chats, model: ScriptedModel
) -> None:
    propose(chats, model)
    app = chats.runtime.app
    proposal, event = approvals.approve(app, find_open(chats).id, BY)
    # a process that died between this write and its checkpoint
    app.documents.write("main", "self", AFTER, by="main", why="fewer wrong cities", expect=1)
    model.then(say("done"))
    run(chats, event)
    run(chats, event)
    assert read_self(chats)[0] == 2
    assert app.proposals.find(proposal.id).state == "applied"  # type: ignore[union-attr]


def test_what_is_fixed_is_not_changed_and_nothing_without_an_owner(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    refused = [
        *(({"target": target}, "EPERM") for target in FIXED),
        ({"base": 0}, "EINVAL"),
        ({"base": 2}, "EINVAL"),
        ({"goal": " "}, "EINVAL"),
        ({"text": BEFORE}, "EINVAL"),
        ({"text": "x\u0007"}, "EINVAL"),
        ({"text": "x" * 8_001}, "ETOOBIG"),
    ]
    for number, (fields, code) in enumerate(refused, 1):
        assert f'"{code}"' in propose(chats, model, number, **fields), fields
    assert app.proposals.list_open() == []
    propose(chats, model, 30)
    proposal = find_open(chats)
    id = proposal.id
    for number, sender in ((31, GUEST), (32, STRANGER)):
        chats.write(number, f"/approve {id}", sender)
    chats.work_off()
    assert find_open(chats).id == id
    chats.write(33, f"/deny {id}")
    chats.work_off()
    assert app.proposals.list_open() == []
    # the event of an approval does nothing when nothing is approved
    model.then(call(("cap_propose_change", CHANGE)), say("[SILENT]"))
    run(chats, approvals.make_approval(replace(proposal, state="approved")))
    assert app.proposals.find(id).state == "denied"  # type: ignore[union-attr]
    assert read_self(chats) == (1, BEFORE, "terminal:local", "")


def test_the_policy_lets_an_agent_change_itself_or_never(
    chats: Chats, model: ScriptedModel
) -> None:
    policy = chats.runtime.app.policy_versions
    policy.write("main", "policy", 'format = 1\nrules = ["deny everybody self *"]', by="x")
    assert '"EPERM"' in propose(chats, model)
    policy.write("main", "policy", 'format = 1\nrules = ["allow owner,member self self"]', by="x")
    assert '"version":2' in propose(chats, model, 2)
    assert read_self(chats)[0] == 2


def test_a_difference_that_does_not_say_everything_is_not_shown(chats: Chats) -> None:
    app = chats.runtime.app
    offer = PINNED_ONLY["propose-change"]
    made = replace(
        make_wanted(), agent="main", tool="cap_propose_change", offer=offer, before=BEFORE
    )
    shown = []
    for text in (AFTER, "x" * 5_000, "y\n" * 300, f"{BEFORE}\u2028more"):
        arguments = orjson.dumps({**CHANGE, "text": text}).decode()
        proposal = replace(made, arguments=arguments)
        shown.append(describe_difference(proposal))
        said = approvals.describe_proposal(
            proposal, "{arguments}", app, "UTC", texts=load_texts("en"), most=20_000
        )
        assert ("```diff" in said) == bool(shown[-1])
        assert bool(shown[-1]) != ('"text"' in said)
    assert [bool(each) for each in shown] == [True, False, False, False]
