"""/wakeups from outside: what it shows, and how one is paused, resumed, run and dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from functions.agent.agents.record import add_agent, make_record
from functions.agent.schedules.schedule import Schedules
from sigil.storage.kv import keys
from sigil.storage.stored import dumps
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent import talk
from tests.functions.agent.schedules.wakeups import BY, Wakeups
from tests.functions.chats import Chats
from tests.functions.people import GUEST, OWNER


def tell(chats: Chats, text: str, sender: int = OWNER) -> str:
    """Send a command and return the answer, the last thing that was sent."""
    chats.write(len(chats.list_texts()) + 1, text, sender)
    chats.work_off()
    return chats.list_texts()[-1]


def read_status(chats: Chats) -> str:
    return talk.tell(chats.runtime, "/status all", session=BY, sender=BY)[0]


def test_a_chat_reads_its_own_schedules_with_zone_outcome_and_cost(
    chats: Chats, model: ScriptedModel
) -> None:
    assert tell(chats, "/wakeups").startswith("Nothing is scheduled here. /remind TIME TEXT")
    assert "Next here" not in read_status(chats)
    model.then(say("A letter has come."))
    wakeups = Wakeups(chats)
    Wakeups(chats, session="telegram:77", text="somebody else's")
    shown = tell(chats, "/wakeups")
    title, times, next_time = shown.splitlines()[:3]
    assert (title, times) == ("1. look at the mail", "  every hour (UTC)")
    assert next_time.startswith("  next 2")
    assert next_time.endswith(" (UTC)")
    assert max(len(each) for each in (title, times, next_time)) <= 40
    assert "Next here by myself: “look at the mail”, " in read_status(chats)
    wakeups.run()
    shown = tell(chats, "/wakeups")
    assert "said something" in shown
    assert "tokens" in shown
    assert "somebody else" not in shown


def test_one_is_paused_resumed_and_dropped_by_its_number(chats: Chats) -> None:
    wakeups = Wakeups(chats)
    assert tell(chats, "/wakeups pause 1").startswith("Paused: “look at the mail”")
    assert "paused (by hand)" in tell(chats, "/wakeups")
    assert wakeups.run().runs == 0
    assert "goes on; it is due next at" in tell(chats, "/wakeups resume 1")
    assert tell(chats, "/wakeups drop 1") == "Dropped: “look at the mail”."
    assert tell(chats, "/wakeups drop 1").startswith("Nothing here has the number 1")
    assert tell(chats, "/wakeups explode").startswith("/wakeups pause N")


def test_a_run_by_hand_moves_no_time(chats: Chats, model: ScriptedModel) -> None:
    model.then(say("All is quiet."))
    wakeups = Wakeups(chats)
    tell(chats, "/wakeups now 1")
    assert chats.list_texts() == [
        "“look at the mail” runs once now; its own times stay as they are.",
        "All is quiet.",
    ]
    schedule = wakeups.schedules.find(wakeups.made.id)
    assert schedule
    assert (schedule.due, schedule.runs) == (wakeups.made.due, 0)
    assert schedule.last
    assert schedule.last.outcome == "said"
    assert len(wakeups.schedules.list_runs(schedule.id)) == 1


def test_a_reminder_that_was_run_by_hand_is_shown_as_run(chats: Chats) -> None:
    tell(chats, "/remind every day at 8:00 drink water")
    assert "last" not in tell(chats, "/wakeups")
    assert tell(chats, "/wakeups now 1") == "drink water"
    assert "said something" in tell(chats, "/wakeups")
    (schedule,) = Schedules(chats.runtime.stores.kv, "main").scan()
    assert (schedule.runs, schedule.missed) == (0, 0)
    assert "once more" in tell(chats, "/snooze 10m")


@pytest.mark.parametrize(
    ("counts", "shown", "hidden"),
    [
        ({"skipped": 2}, ["left out 2"], ["missed"]),
        ({"missed": 3}, ["missed 3"], ["left out"]),
        ({"skipped": 2, "missed": 3}, ["left out 2", "missed 3"], []),
        ({}, [], ["left out", "missed"]),
    ],
)
def test_only_what_was_left_out_or_missed_is_counted(
    chats: Chats, counts: dict[str, int], shown: list[str], hidden: list[str]
) -> None:
    tell(chats, "/remind every day at 8:00 drink water")
    kv = chats.runtime.stores.kv
    (schedule,) = Schedules(kv, "main").scan()
    kv.put(keys.wakeup("main", schedule.id), dumps(replace(schedule, **counts)))
    told = tell(chats, "/wakeups")
    assert all(words in told for words in shown)
    assert not any(words in told for words in hidden)


def test_in_a_group_only_owners_change_them(chats: Chats) -> None:
    group = {"chat": {"id": -5, "type": "supergroup", "title": "Trip"}}
    Wakeups(chats, session="telegram:-5", by=BY)
    chats.write(1, "/wakeups drop 1", GUEST, **group)
    chats.work_off()
    assert Wakeups(chats, session="telegram:-5", by=BY).made.number == 1


def test_what_other_agents_have_scheduled_in_the_chat_is_shown_and_changed_there(
    chats: Chats, model: ScriptedModel
) -> None:
    kv = chats.runtime.stores.kv
    add_agent(kv, "main", "alice", make_record({"kind": "agent", "state": "enabled", "since": 1.0, "by": "?"}))  # fmt: skip
    tell(chats, "/agent alice")
    for words in ("every day at 9:00 stretch", "every day at 10:00 drink"):
        tell(chats, f"/remind {words}")
    tell(chats, "/agent main")
    assert "drop 3" in tell(chats, "/remind every day at 8:00 walk")
    made = Wakeups(chats, agent="main.alice", text="look at the news").made
    assert made.number == 4
    shown = tell(chats, "/wakeups").split("\n\n")
    assert [each.splitlines()[0] for each in shown[:-1]] == [
        "1. stretch (alice)",
        "2. drink (alice)",
        "3. walk",
        "4. look at the news (alice)",
    ]
    model.then(say("The news is good."))
    tell(chats, "/wakeups now 4")
    assert chats.list_texts()[-1] == "The news is good."
    assert "Paused" in tell(chats, "/wakeups pause 1")
    assert tell(chats, "/wakeups drop 2") == "Dropped: “drink”."
    tell(chats, "/agent alice")
    shown = tell(chats, "/wakeups").split("\n\n")
    assert [each.splitlines()[0] for each in shown[:-1]] == [
        "1. stretch",
        "3. walk (main)",
        "4. look at the news",
    ]
    assert "goes on" in tell(chats, "/wakeups resume 1")
    found = {each.say: each.paused for each in Schedules(kv, "main.alice").scan()}
    assert found == {"stretch": "", "": ""}


def test_one_that_http_made_for_another_agent_is_known_in_a_chat_that_was_never_bound(
    chats: Chats,
) -> None:
    made = Wakeups(chats, agent="main.alice").made
    assert "1. look at the mail (alice)" in tell(chats, "/wakeups")
    assert "Next here by myself: “look at the mail (alice)”" in read_status(chats)
    tell(chats, f"/wakeups drop {made.number}")
    assert tell(chats, "/wakeups").startswith("Nothing is scheduled here.")
