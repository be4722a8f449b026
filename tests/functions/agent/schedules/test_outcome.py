"""What becomes of a run reaches its schedule, and its chat when it is paused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.agent.schedules.outcome import note_lost_run
from functions.agent.schedules.schedule import (
    FAILED,
    FAILURES_MOST,
    NOBODY,
    Schedule,
    Schedules,
    make_event,
)
from functions.agent.schedules.when import When
from functions.personal_data import PersonalData
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer
from tests.functions.agent.schedules.wakeups import BY, Wakeups
from tests.functions.chats import Chats


@pytest.fixture
def chats(open_chats: Callable[..., Chats]) -> Chats:
    return open_chats(access="members")


def test_what_it_says_comes_to_its_chat_and_its_cost_to_its_record(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("A letter of the bank has come."), say("[SILENT]"))
    wakeups = Wakeups(chats)
    schedule = wakeups.run()
    assert chats.list_texts() == ["A letter of the bank has come."]
    assert schedule.last
    assert (schedule.last.outcome, schedule.running) == ("said", "")
    assert schedule.last.tokens > 0
    assert wakeups.run().last.outcome == "silent"  # type: ignore[union-attr]
    assert [run.outcome for run in wakeups.schedules.list_runs(schedule.id)] == ["silent", "said"]


def test_a_reminder_asks_no_model(chats: Chats, model: ScriptedModel) -> None:
    Wakeups(chats, text="", say="drink water").run()
    assert chats.list_texts() == ["drink water"]
    assert model.bodies == []


def test_a_run_whose_event_is_lost_is_one_of_its_own_agents_whatever_their_names(
    chats: Chats,
) -> None:
    kv = chats.runtime.stores.kv
    schedules = Schedules(kv, "team:a.bo:b")
    when = When(kind="every", every=3600.0, zone="UTC")
    asked = Schedule(id="", when=when, session=BY, by=BY, since=1e9)
    for kind in ({"text": "look at the mail"}, {"say": "drink water"}):
        made = schedules.add(replace(asked, **kind))[0]
        for name in (f"{round(made.due * 1000)}", "now-1:2"):
            note_lost_run(kv, make_event(made, "team:a.bo:b", name, 2e9), "it broke", 3e9)
        assert [(run.due, run.reason) for run in schedules.list_runs(made.id)] == [
            (2e9, "it broke"),
            (made.due, "it broke"),
        ]
    assert [each.failures for each in schedules.scan()] == [2, 2]


def test_its_chat_is_told_when_it_pauses_after_five_failures(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(*[Answer(401)] * 4 * FAILURES_MOST)
    wakeups = Wakeups(chats)
    for number in range(1, FAILURES_MOST + 1):
        assert wakeups.run().failures == number
    assert wakeups.run().paused == FAILED
    told = [text for text in chats.list_texts() if "5 times in a row" in text]
    assert len(told) == 1
    assert "/wakeups resume 1" in told[0]


@pytest.mark.parametrize("fields", [{}, {"text": "", "say": "drink water"}], ids=["work", "say"])
def test_who_may_not_talk_any_more_has_no_wakeups_either(
    chats: Chats, model: ScriptedModel, fields: dict[str, str]
) -> None:
    assert Wakeups(chats, by="telegram:999", **fields).run().paused == NOBODY
    assert chats.list_texts() == []
    assert model.bodies == []


@pytest.mark.parametrize("is_dropped", [False, True])
def test_the_wakeups_of_a_person_are_exported_and_erased_with_what_they_led_to(
    chats: Chats, model: ScriptedModel, is_dropped: bool
) -> None:
    model.then(say("[SILENT]"))
    wakeups = Wakeups(chats, text="secret-ada-wakeup")
    schedule = wakeups.run()
    if is_dropped:
        assert wakeups.schedules.drop(schedule.id)
        assert wakeups.schedules.drop(schedule.id) is None
    app = chats.runtime.app
    personal = PersonalData(app, chats.runtime.stores.artifacts)
    person = personal.find(BY)
    exported = str(personal.export(person))
    assert exported.count("secret-ada-wakeup") >= 2  # the record, and the session of its runs
    assert personal.count(person)["schedules"] == 2
    personal.erase(person)
    assert wakeups.schedules.find(schedule.id) is None
    assert wakeups.schedules.list_runs(schedule.id) == []
    own = keys.session_of("main", schedule.own_session)
    assert app.sessions.open(own).document.messages == ()
    assert "schedules" not in personal.count(personal.find(BY))
