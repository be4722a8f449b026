"""The tick brings to its end what was proposed, whatever crashed after an owner's decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from functions import scheduler
from functions.agent import approvals
from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.policy.proposals import OPEN_SECONDS
from functions.agent.policy.settlement import APPLIED_SECONDS, GRACE_SECONDS, settle_proposals
from functions.events import Event
from sigil.storage.kv import keys
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.clock import Clock
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.policy.asking import GUEST, ask, count_runs, make_wanted
from tests.functions.chats import Chats

NOBODY = "Nobody decided on proposal {} in a day: call double. It is not done."


def tick(chats: Chats, clock: Clock) -> int:
    """Do what the tick does of it, and work off what it has put; return the count of its events."""
    runtime = chats.runtime
    queued = scheduler.settle_proposals(runtime.stores.kv, runtime.queue, "main", clock())
    chats.work_off()
    return queued


def list_marks(chats: Chats) -> list[str]:
    """Return the ids of the proposals that have not come to their end."""
    partition = keys.unsettled_proposal("main", "").partition
    return [id for id, _ in chats.runtime.stores.kv.scan(partition)]


def test_what_was_approved_by_a_process_that_died_goes_on_with_the_tick(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    id = ask(chats, model)
    clock.advance(60)
    assert tick(chats, clock) == 0
    approvals.approve(chats.runtime.app, id, "http:admin")
    assert tick(chats, clock) == 0  # whoever approved it is about to put its event
    clock.advance(GRACE_SECONDS)
    model.then(say("four"))
    assert tick(chats, clock) == 1
    assert count_runs(chats) == 1
    assert chats.list_texts()[-1] == f"(Approved, proposal {id}: call double.)\n\nfour"
    assert list_marks(chats) == [id]
    clock.advance(60)
    assert tick(chats, clock) == 0
    assert list_marks(chats) == []
    assert count_runs(chats) == 1


def test_what_was_denied_by_a_process_that_died_is_said_with_the_tick(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    id = ask(chats, model)
    approvals.deny(chats.runtime.app, id, "http:admin")
    clock.advance(60)
    assert tick(chats, clock) == 1
    assert chats.list_texts()[-1] == f"My owner denied proposal {id}: call double. It is not done."
    assert tick(chats, clock) == 0
    assert list_marks(chats) == []


def test_a_proposal_that_lapses_is_denied_and_whoever_asked_is_told_once(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    id = ask(chats, model)
    clock.advance(OPEN_SECONDS)
    assert tick(chats, clock) == 1
    texts = [(each["chat_id"], each["text"]) for each in chats.bot.messages]
    assert texts[-1] == (GUEST, NOBODY.format(id))
    assert tick(chats, clock) == 0
    assert list_marks(chats) == []
    found = chats.runtime.app.proposals.find(id)
    assert found
    assert (found.state, found.decided_by) == ("lapsed", "")
    # it may be asked for again, and lapses again
    assert ask(chats, model, 20) == id
    clock.advance(OPEN_SECONDS)
    assert tick(chats, clock) == 1
    assert chats.list_texts()[-1] == NOBODY.format(id)


def test_what_cannot_be_done_for_a_day_lapses_and_is_said(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    id = ask(chats, model)
    approvals.approve(chats.runtime.app, id, "http:admin")
    put: list[Event] = []
    kv = chats.runtime.stores.kv
    for _ in range(int(APPLIED_SECONDS / 60)):
        clock.advance(60)
        settle_proposals(kv, put.append, "main", clock())
    *again, last = put
    assert {each.id for each in again} == {f"approval:main:{id}:1"}
    assert len({each.order for each in again}) == 1  # a queue that still has it knows it
    assert 1 < len(again) <= 12
    assert (last.kind, last.session) == ("say", f"telegram:{GUEST}")
    assert "was approved, but could not be done: call double" in last.text
    assert list_marks(chats) == []
    for event in again:
        chats.runtime.queue.put(event)
    chats.work_off()
    assert count_runs(chats) == 0


def test_an_agent_that_was_archived_meanwhile_does_nothing_that_was_approved(
    chats: Chats, clock: Clock
) -> None:
    app = chats.runtime.app
    record = AgentRecord("agent", "archived", 1.0, "terminal:local")
    add_agent(app.kv, "main", "alice", record)
    wanted = replace(make_wanted(), agent="main.alice")
    id = app.proposals.propose(wanted)[0].id
    approvals.approve(app, id, "http:admin")
    clock.advance(60)
    assert tick(chats, clock) == 1
    found = app.proposals.find(id)
    assert found
    assert found.state == "approved"


@pytest.mark.parametrize("damaged", ["mark", "proposal", "missing"])
def test_what_cannot_be_read_stops_no_other(chats: Chats, clock: Clock, damaged: str) -> None:
    app = chats.runtime.app
    for number in range(2):
        app.proposals.propose(make_wanted(number))
    first, second = (app.proposals.propose(make_wanted(number))[0].id for number in range(2))
    if damaged == "missing":
        app.kv.delete(keys.proposal("main", first))
    else:
        where = keys.unsettled_proposal if damaged == "mark" else keys.proposal
        app.kv.put(where("main", first), b"{")
    approvals.deny(app, second, "http:admin")
    clock.advance(60)
    put: list[Event] = []
    assert settle_proposals(app.kv, put.append, "main", clock()) == 1
    assert put[0].id == f"denial:main:{second}:1"
    assert list_marks(chats) == []


def test_a_tick_without_proposals_reads_one_item() -> None:
    kv = MemoryKV()
    assert scheduler.settle_proposals(kv, None, "main", 0.0) == 0  # type: ignore[arg-type]
