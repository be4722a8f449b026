"""What the policy asks about waits for an owner, and then goes on once, with the same arguments."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from functions import worker
from functions.agent import approvals
from functions.agent.agents.bindings import bind
from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.approvals import SHOWN_CHARACTERS
from functions.agent.ledger.ledger import Ledger
from functions.agent.management.ledger import note_decision
from functions.agent.policy.proposals import OPEN_MOST, OPEN_SECONDS
from functions.agent.safety import locks
from functions.agent.session.store import Sessions
from functions.agent.shares import Holder, divide_places
from functions.events import Event, Sender, order_of
from sigil.errors import Refused, UsageError
from sigil.json_fields import as_mapping
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.clock import Clock
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.policy.asking import (
    DOUBLE,
    GUEST,
    QUERY,
    SPEC,
    ask,
    count_runs,
    make_wanted,
)
from tests.functions.chats import Chats
from tests.functions.people import OWNER


def test_the_ledger_has_a_decision_once_wherever_it_is_repeated(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    app = chats.runtime.app
    chats.write(2, f"/deny {id}")
    chats.write(3, f"/deny {id}")
    chats.work_off()
    proposal, _ = approvals.deny(app, id, "terminal:local")
    note_decision(app, proposal)
    noted = [row for _, row in Ledger(app.kv, "main").scan() if row["what"] == "proposal"]
    assert [as_mapping(row["facts"])["state"] for row in noted] == ["denied"]


def test_what_a_crash_left_out_of_the_ledger_is_added_when_the_decision_is_repeated(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    app = chats.runtime.app
    approvals.approve(app, id, "terminal:local")
    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            proposal, _ = approvals.approve(app, id, f"http:{number}")
            pool.submit(note_decision, app, proposal)
    noted = [row for _, row in Ledger(app.kv, "main").scan() if row["what"] == "proposal"]
    assert [as_mapping(row["facts"])["state"] for row in noted] == ["approved"]


def test_a_call_that_is_approved_goes_on_in_its_chat_once_and_says_so(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    content = results(model.bodies[-1])[-1]
    assert (
        '"code":"EAPPROVAL","message":"`call double` waits for an owner\'s approval, as' in content
    )
    assert "Pain" not in content
    texts = {each["chat_id"]: each["text"] for each in chats.bot.messages}
    assert texts[GUEST].startswith("it waits\n\nWaiting for my owner's approval: call double, with")
    assert '{"n":2}' in texts[GUEST]
    assert f"telegram:{GUEST} needs your approval in telegram:{GUEST}" in texts[OWNER]
    assert f"/approve {id}" in texts[OWNER]
    assert count_runs(chats) == 0

    model.then(say("four"))
    chats.write(2, f"/approve {id}")
    chats.work_off()
    assert count_runs(chats) == 1
    shown = [each["text"] for each in chats.bot.messages]
    assert f"Approved: call double. It goes on in telegram:{GUEST} now." in shown
    assert shown[-1] == f"(Approved, proposal {id}: call double.)\n\nfour"
    assert results(model.bodies[-1])[-1] == '{"ok":[4,1]}'
    found = chats.runtime.app.proposals.find(id)
    assert found
    assert (found.state, found.decided_by) == ("applied", f"telegram:{OWNER}")

    # it was for that one call
    chats.write(3, f"/approve {id}")
    chats.work_off()
    assert count_runs(chats) == 1
    assert chats.list_texts()[-1].startswith(
        f"Nothing was changed: the proposal {id} is applied already; "
    )
    assert ask(chats, model, 4) == id
    assert count_runs(chats) == 1


def test_an_owner_who_names_no_proposal_reads_which_ones_wait(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    until = datetime.fromtimestamp(chats.runtime.app.clock.now() + OPEN_SECONDS, UTC)
    for number, text in enumerate(("/approve", "/deny", "/approve the first one", "/deny ../x")):
        chats.write(2 + number, text)
    chats.work_off()
    listed, again, *unknown = chats.list_texts()[-4:]
    assert listed == again
    assert f"{id}: call double" in listed
    assert f"until {until:%Y-%m-%d} " in listed, "a day from now is not the same time today"
    for said in unknown:
        assert "there is no proposal" in said
        assert "`/proposals` in a chat" in said or "/proposals in a chat" in said
    assert [each.id for each in chats.runtime.app.proposals.list_open()] == [id]


def test_a_halted_agent_uses_up_no_approval(chats: Chats, model: ScriptedModel) -> None:
    id = ask(chats, model)
    app = chats.runtime.app
    chat = keys.session_of("main", f"telegram:{GUEST}")
    for number, whom in enumerate(("main", chat)):
        locks.halt(app.kv, whom, "test", app.clock.now())
        chats.write(2 + number, f"/approve {id}")
        chats.work_off()
        assert "the agent is halted" in chats.list_texts()[-1]
        assert "unlock it first" in chats.list_texts()[-1]
        with pytest.raises(UsageError, match="halted"):
            approvals.approve(app, id, "terminal:local")
        locks.unlock(app.kv, whom, "test", app.clock.now())
    model.then(say("four"))
    chats.write(4, f"/approve {id}")
    chats.work_off()
    assert count_runs(chats) == 1


def press(chats: Chats, command: str, presser: int, chat: int) -> None:
    """Press a button below a message that a chat got."""
    message = {"message_id": 1, "date": 1_780_000_000, "chat": {"id": chat, "type": "private"}}
    user = {"id": presser, "is_bot": False, "first_name": "Ada"}
    body = {"id": "77", "from": user, "message": message, "data": command}
    update = orjson.dumps({"update_id": 900 + presser, "callback_query": body})
    for event in chats.runtime.channels["telegram"].read_update(update).events:
        chats.runtime.queue.put(event)
    chats.work_off()


def test_an_owner_presses_a_button_and_nobody_elses_press_counts(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    shown = {each["chat_id"]: each.get("reply_markup") for each in chats.bot.messages}
    assert shown[GUEST] is None
    assert shown[OWNER] == {
        "inline_keyboard": [
            [
                {"text": f"Approve {id}", "callback_data": f"/approve {id}"},
                {"text": f"Deny {id}", "callback_data": f"/deny {id}"},
            ]
        ]
    }
    press(chats, f"/approve {id}", GUEST, OWNER)
    press(chats, f"/approve {id}; /halt", OWNER, OWNER)
    press(chats, "/halt", OWNER + 1, OWNER)
    assert count_runs(chats) == 0
    press(chats, f"/approve {id}", OWNER, OWNER)
    assert count_runs(chats) == 1
    assert chats.bot.calls("answerCallbackQuery")[-1] == {"callback_query_id": "77"}


def test_what_is_denied_is_said_and_not_asked_for_again(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    id = ask(chats, model)
    chats.write(2, f"/deny {id}")
    chats.work_off()
    said = {each["chat_id"]: each["text"] for each in chats.bot.messages}
    assert said[OWNER] == "Denied: call double. It is not done."
    assert said[GUEST] == f"My owner denied proposal {id}: call double. It is not done."
    model.then(call(DOUBLE), say("no"))
    chats.write(3, "double 2", GUEST)
    chats.work_off()
    assert f"an owner denied `call double` with these arguments (proposal {id})" in str(
        results(model.bodies[-1])[-1]
    )
    assert chats.runtime.app.proposals.list_open() == []
    clock.advance(OPEN_SECONDS + 1)
    assert ask(chats, model, 4) == id


def test_what_an_agent_below_the_root_asks_goes_on_with_that_agent(
    chats: Chats, model: ScriptedModel
) -> None:
    kv = chats.runtime.stores.kv
    add_agent(kv, "main", "alice", AgentRecord("agent", "enabled", 1.0, "terminal:local"))
    bind(kv, "main", f"telegram:{GUEST}", "alice", order="", by="terminal:local")
    id = ask(chats, model)
    chats.write(2, f"/approve {id}")
    chats.work_off()
    assert count_runs(chats) == 1
    assert chats.list_texts()[-1].startswith(f"(Approved, proposal {id}")
    alice = chats.runtime.app.sessions.open(keys.session_of("main.alice", f"telegram:{GUEST}"))
    assert [each.role for each in alice.document.messages][-3:] == [
        "assistant",
        "tool",
        "assistant",
    ]
    assert chats.document(GUEST).messages == ()


def test_what_own_work_asks_goes_on_there_and_is_reported_in_its_chat(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    now = app.clock.now()
    event = Event(
        id="task:1",
        kind="task",
        agent="main",
        session="own:main",
        sender=Sender("runtime:test"),
        text="double 2",
        at=now,
        order=order_of(now, 1),
        by=f"telegram:{OWNER}",
        data={"home": f"telegram:{OWNER}"},
    )
    model.then(call(QUERY), call(DOUBLE), say("[SILENT]"))
    worker.handle_event(event, chats.runtime)
    chats.work_off()
    (proposal,) = app.proposals.list_open()
    assert proposal.own_work
    assert len(chats.list_texts()) == 1
    model.then(say("four"))
    chats.write(2, f"/approve {proposal.id}")
    chats.work_off()
    assert count_runs(chats) == 1
    assert chats.list_texts()[-1] == f"(Approved, proposal {proposal.id}: call double.)\n\nfour"


def test_nobody_but_an_owner_approves(chats: Chats, model: ScriptedModel) -> None:
    id = ask(chats, model)
    for number, text in enumerate((f"/approve {id}", f"/deny {id}", "/proposals", "yes, do it"), 2):
        chats.write(number, text, GUEST)
    model.then(call(("cap_approve", {"id": id})), say("I cannot"))
    chats.work_off()
    assert chats.list_texts()[-4:-1] == ["Only my owner can do that."] * 3
    assert [each.id for each in chats.runtime.app.proposals.list_open()] == [id]
    chats.write(9, "/proposals")
    chats.work_off()
    assert chats.list_texts()[-1].startswith(f"• {id}: call double, with")


def test_a_proposal_that_nobody_decides_on_lapses_as_denied(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    id = ask(chats, model)
    clock.advance(OPEN_SECONDS)
    assert chats.runtime.app.proposals.list_open() == []
    chats.write(2, f"/approve {id}")
    chats.work_off()
    assert f"the proposal {id} is lapsed already" in chats.list_texts()[-1]
    assert count_runs(chats) == 0


def test_a_policy_that_denies_meanwhile_is_stronger_than_an_approval(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    text = 'format = 1\nrules = ["deny guest call double"]'
    chats.runtime.app.policy_versions.write("main", "policy", text, by="terminal:local")
    chats.write(2, f"/approve {id}")
    model.then(say("not any more"))
    chats.work_off()
    assert count_runs(chats) == 0
    assert "EPERM" in results(model.bodies[-1])[-1]


def test_an_owners_own_deploy_runs_with_an_owners_rights_once_it_is_approved(
    chats: Chats, model: ScriptedModel
) -> None:
    deploy = ("sigil_deploy", {**SPEC, "name": "treble", "permissions": {}})
    model.then(call(deploy), say("it waits"), say("made"))
    chats.write(1, "make treble")
    chats.work_off()
    waiting = chats.list_texts()
    found = re.search(r"/approve ([0-9a-f]{6})", waiting[0])
    assert found
    assert len(waiting) == 1
    chats.write(2, f"/approve {found[1]}")
    chats.work_off()
    registry = chats.runtime.app.registry
    assert registry.inspect("treble", Caller("main"))["author"] == "model"


def test_an_approval_that_comes_again_makes_no_second_call(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    event = approvals.approve(chats.runtime.app, id, "terminal:local")[1]
    again = approvals.approve(chats.runtime.app, id, "terminal:local")[1]
    assert (again.id, again.data) == (event.id, event.data)
    elsewhere = replace(event, id="elsewhere", session=f"telegram:{OWNER}")
    for each in (elsewhere, event, event, replace(event, id="forged")):
        worker.handle_event(each, chats.runtime)
    assert count_runs(chats) == 1
    assert len([text for text in chats.list_texts() if text.startswith("(Approved")]) == 1


class Crash(BaseException):
    """The end of a process."""


def test_a_crash_anywhere_makes_an_approved_call_once_or_says_that_nobody_knows(
    chats: Chats, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Sessions.save
    for crash_at in range(1, 12):
        number = crash_at * 10
        id = ask(chats, model, number)
        event = approvals.approve(chats.runtime.app, id, "terminal:local")[1]
        before = count_runs(chats)
        saves = 0

        def save_or_crash(*given: Any, crash_at: int = crash_at) -> Any:
            nonlocal saves
            saves += 1
            if saves == crash_at:
                raise Crash
            return save(*given)

        monkeypatch.setattr(Sessions, "save", save_or_crash)
        try:
            worker.handle_event(event, chats.runtime)
        except Crash:
            worker.handle_event(event, chats.runtime)
        monkeypatch.setattr(Sessions, "save", save)
        ran = count_runs(chats) - before
        assert ran <= 1
        found = chats.runtime.app.proposals.find(id)
        assert found
        assert found.state == "applied"
        messages = [each.content for each in chats.document(GUEST).messages]
        answers = [each for each in messages if each.startswith(('{"ok":[', '{"error":'))]
        assert ran == 1 or "EINTERRUPTED" in answers[-1]
        worker.handle_event(event, chats.runtime)
        assert count_runs(chats) - before == ran
        if saves < crash_at:
            return
    raise AssertionError("the turn saves more often than that")


def test_what_was_shown_is_what_runs_though_the_capability_was_changed_meanwhile(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    shown = chats.runtime.app.proposals.find(id)
    assert shown
    registry = chats.runtime.app.registry
    changed = {**SPEC, "execute": "return 'something else'"}
    deployed = registry.deploy(changed, Caller("main", owner=True))
    assert shown.offer
    assert shown.offer.digest != deployed.offer.digest
    chats.write(2, f"/approve {id}")
    model.then(say("done"))
    chats.work_off()
    assert results(model.bodies[-1])[-1] == '{"ok":[4,1]}'


def test_what_was_shown_and_is_gone_is_not_replaced_by_another(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)
    registry = chats.runtime.app.registry
    registry.remove("double", Caller("main", owner=True))  # type: ignore[attr-defined]
    changed = {**SPEC, "execute": "return 'something else'"}
    registry.deploy(changed, Caller("main", owner=True))
    chats.write(2, f"/approve {id}")
    model.then(say("it is gone"))
    chats.work_off()
    answer = results(model.bodies[-1])[-1]
    assert "something else" not in answer
    assert '"error"' in answer
    assert count_runs(chats) == 0


def test_a_policy_that_is_edited_in_mid_turn_decides_before_an_owner_is_asked(
    chats: Chats, model: ScriptedModel
) -> None:
    def deny(body: dict[str, Any]) -> dict[str, Any]:
        text = 'format = 1\nrules = ["deny guest call double"]'
        chats.runtime.app.policy_versions.write("main", "policy", text, by="terminal:local")
        return call(DOUBLE)

    model.then(call(QUERY), deny, say("no"))
    chats.write(1, "double 2", GUEST)
    chats.work_off()
    assert '"EPERM"' in results(model.bodies[-1])[-1]
    assert chats.runtime.app.proposals.list_open() == []


def test_of_a_member_who_was_removed_nothing_is_done_with_a_members_rights(
    chats: Chats, model: ScriptedModel
) -> None:
    app = chats.runtime.app
    rules = 'rules = ["ask member call double", "deny guest call double"]'
    app.policy_versions.write("main", "policy", f"format = 1\n{rules}", by="terminal:local")
    app.people.let_in(f"telegram:{GUEST}", "member", "Bob", f"telegram:{OWNER}")
    id = ask(chats, model)
    app.people.remove_member(f"telegram:{GUEST}")
    chats.write(2, f"/approve {id}")
    model.then(say("no"))
    chats.work_off()
    assert '"EPERM"' in results(model.bodies[-1])[-1]
    assert count_runs(chats) == 0


def test_the_same_call_again_is_the_same_proposal_and_a_changed_one_is_another(
    chats: Chats, model: ScriptedModel
) -> None:
    again = ("cap_double", {"n": 2})
    spelt = ("cap_double", '{ "n" : 2 }')
    other = ("cap_double", {"n": 3})
    model.then(call(QUERY), call(DOUBLE, again, other), call(spelt), say("they wait"))
    chats.write(1, "double 2 and 3", GUEST)
    chats.work_off()
    waiting = chats.runtime.app.proposals.list_open()
    assert sorted(each.arguments for each in waiting) == ['{"n":2}', '{"n":3}']
    first = next(each for each in waiting if "2" in each.arguments)
    chats.write(2, f"/approve {first.id}")
    model.then(call(other), say("four"))
    chats.work_off()
    # of two calls in the turn of an approval, one is the one that was approved
    assert [each[:9] for each in results(model.bodies[-1])[-2:]] == ['{"ok":[4,', '{"error":']
    assert count_runs(chats) == 1


def test_an_owner_is_told_how_much_of_the_arguments_was_not_shown(
    chats: Chats, model: ScriptedModel
) -> None:
    deploy = {**SPEC, "name": "treble", "permissions": {}}
    deploy["execute"] = "return input.n * 3 // " + "x" * 5_000 + "hidden"
    model.then(call(("sigil_deploy", deploy)), say("it waits"))
    chats.write(1, "make treble")
    chats.work_off()
    (proposal,) = chats.runtime.app.proposals.list_open()
    asked = "".join(chats.list_texts())
    assert "hidden" not in asked
    left_out = len(proposal.arguments) - SHOWN_CHARACTERS
    assert f"There are {left_out:,} more characters, which /proposals {proposal.id} shows" in asked
    before = len(chats.list_texts())
    chats.write(2, f"/proposals {proposal.id}")
    chats.work_off()
    shown = "".join(chats.list_texts()[before:])
    assert "hidden" in shown
    assert "more characters" not in shown


def test_characters_that_nobody_sees_are_shown_in_what_waits(
    chats: Chats, model: ScriptedModel
) -> None:
    hidden = {**SPEC, "name": "treble", "permissions": {}, "description": "a\u202eb\u200b c"}
    model.then(call(("sigil_deploy", hidden)), say("it waits"))
    chats.write(1, "make treble")
    chats.work_off()
    assert "a\\u202eb\\u200b c" in chats.list_texts()[0]


def test_a_group_does_not_read_what_somebody_asks_for_elsewhere(
    chats: Chats, model: ScriptedModel
) -> None:
    id = ask(chats, model)

    def write(number: int, text: str, sender: int = OWNER) -> None:
        command = {"type": "bot_command", "offset": 0, "length": len(text.split(maxsplit=1)[0])}
        group = {"id": -77, "type": "supergroup", "title": "us"}
        chats.write(number, text, sender, chat=group, entities=[command])

    write(2, f"/proposals {id}")
    write(3, "/proposals")
    write(4, f"/approve {id}", GUEST)
    chats.work_off()
    texts = [each["text"] for each in chats.bot.messages if each["chat_id"] == -77]
    assert texts == [*["Nothing waits for your approval."] * 2, "Only my owner can do that."]
    assert count_runs(chats) == 0
    write(5, f"/approve {id}")
    model.then(say("four"))
    chats.work_off()
    assert count_runs(chats) == 1


def test_a_person_has_so_many_open_proposals_however_many_calls_ask_at_once(chats: Chats) -> None:
    proposals = chats.runtime.app.proposals

    def propose(number: int) -> bool:
        wanted = make_wanted(number)
        holder = Holder(wanted.by, "member", chats.runtime.app.people)
        try:
            return proposals.propose(wanted, holder)[1]
        except Refused:
            return False

    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(propose, [*range(40), *range(40)]))
    share = divide_places(OPEN_MOST).person
    assert sum(made) == len(proposals.list_open()) == 2 * share
    people = [each.by for each in proposals.list_open()]
    assert people.count("telegram:0") == share
    first = proposals.list_open()[0]
    assert proposals.propose(make_wanted(int(first.arguments)))[0].id == first.id
    proposals.decide(first.id, "denied", "terminal:local")
    same = int(first.arguments) % 2
    assert propose(98 + same)
    assert not propose(96 + same)
    with pytest.raises(UsageError, match="denied already"):
        proposals.decide(first.id, "approved", "terminal:local")
    with pytest.raises(UsageError, match="no proposal"):
        proposals.decide("ffffff", "approved", "terminal:local")
