"""An agent looks at what failed, proposes one change, and a week later it works by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from functions.agent.runs.run import Run, save_run
from functions.agent.schedules.heartbeat import make_heartbeat
from functions.agent.schedules.schedule import WELL, Schedule
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from functions.texts.languages import load_texts
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.clock import Clock
from tests.fakes.model import ScriptedModel, call, results, say
from tests.functions.agent.own_work import BY, run, work
from tests.functions.chats import Chats
from tests.functions.model_steps import failing
from tests.functions.people import GUEST, OWNER, platform

DAY = 86_400.0
WEEK = 7 * DAY
BEFORE = "# Preferences\nShort answers."
AFTER = f"{BEFORE}\nAsk for the city before the weather."


@pytest.fixture
def chats(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel, clock: Clock
) -> Chats:
    made = runtime(llm_url=model.url, **platform(bot))
    made.app.documents.write("main", "self", BEFORE, by="terminal:local")
    timed = replace(made.app, clock=replace(made.app.clock, now=clock))
    return Chats(replace(made, app=timed), bot)


def tick(chats: Chats) -> None:
    """Let the scheduler look at what is due, and work on all that comes of it."""
    app = chats.runtime.app
    wake_agents(app.kv, chats.runtime.queue.put, "main", app.clock.now())
    chats.work_off()


def add_weekly(chats: Chats) -> str:
    """Schedule a look at the agent's own work, once a week, and return its id."""
    app = chats.runtime.app
    now = app.clock.now()
    made = Schedule(
        id="",
        when=When(kind="every", every=WEEK, zone="UTC", start=now + WEEK),
        session=BY,
        by=BY,
        since=now,
        text="Look at your work.",
        behaviour="on_self_improve",
    )
    return app.schedules.add(made)[0].id


def find(chats: Chats, id: str) -> Schedule:
    found = chats.runtime.app.schedules.find(id)
    assert found
    return found


def fail(chats: Chats, model: ScriptedModel, number: int) -> None:
    """Let somebody ask for something, for which a call fails."""
    model.then(failing(number), say("I do not know the city."))
    chats.write(number, "how is the weather?")
    chats.work_off()


def make_failed(number: int, by: str, at: float) -> Run:
    """Return the run of a message whose call failed."""
    return Run(
        event=f"telegram:{number}",
        session=by,
        agent="main",
        kind="message",
        reason="message",
        outcome="said",
        began=at - number,
        by=by,
        calls=1,
        failed=1,
        steps=({"kind": "call", "name": "cap_weather", "error": "EINVAL"},),
    )


def test_what_fails_again_and_again_is_proposed_approved_and_a_week_later_in_the_prompt(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    app = chats.runtime.app
    id = add_weekly(chats)
    for number in range(1, 4):
        clock.advance(DAY)
        fail(chats, model, number)
    clock.advance(WEEK - 3 * DAY)
    asked = len(model.bodies)
    change: dict[str, Any] = {
        "target": "self",
        "base": 1,
        "text": AFTER,
        "goal": "fewer failures of the weather",
        "risk": "one question more",
        "benefit": "three failures a week less",
    }
    model.then(
        call(("cap_review_runs", {"days": 14}), ("cap_read_current", {"target": "self"})),
        call(("cap_propose_change", change)),
        say("I have proposed to ask for the city first."),
    )
    tick(chats)
    assert len(model.bodies) == asked + 3
    review, current, proposed = results(model.bodies[-1])[-3:]
    reviewed = orjson.loads(review)["ok"]
    assert reviewed["failures"][0]["call"] == "no_such_tool"
    assert (reviewed["failures"][0]["error"], reviewed["failures"][0]["times"]) == ("ENOTOOL", 3)
    assert orjson.loads(current)["ok"] == {"target": "self", "version": 1, "text": BEFORE}
    assert '"EAPPROVAL"' in proposed
    (proposal,) = app.proposals.list_open()
    assert any("+Ask for the city before the weather." in text for text in chats.list_texts())

    chats.write(10, f"/approve {proposal.id}")
    model.then(say("From now on I ask for the city first."))
    chats.work_off()
    assert find(chats, id).runs == 1

    clock.advance(WEEK)
    asked = len(model.bodies)
    tick(chats)
    # nothing has failed since, so nobody looks, and it costs nothing
    assert len(model.bodies) == asked
    last = find(chats, id).last
    assert last
    assert (last.outcome, last.reason, last.tokens) == ("skipped", WELL, 0)
    model.then(say("Which city?"))
    chats.write(11, "how is the weather?")
    chats.work_off()
    assert "Ask for the city before the weather." in str(model.bodies[-1]["messages"])

    fail(chats, model, 12)
    clock.advance(WEEK)
    model.then(call(("cap_sleep", {})))
    asked = len(model.bodies)
    tick(chats)
    assert len(model.bodies) == asked + 1
    assert find(chats, id).runs == 2


def test_a_heartbeat_that_improves_runs_when_something_failed_and_for_nothing_else(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    app = chats.runtime.app
    made = make_heartbeat(
        3_600.0, session=BY, by=BY, now=clock(), zone="UTC", known={}, texts=load_texts("en")
    )
    app.schedules.set_heartbeat(made)
    app.schedules.set_how(made.id, behaviour="on_self_improve")
    for _ in range(3):
        clock.advance(DAY)
        tick(chats)
    assert model.bodies == []
    fail(chats, model, 1)
    clock.advance(DAY)
    model.then(call(("cap_sleep", {})))
    tick(chats)
    assert "runs of yours have failed" in str(model.bodies[-1]["messages"])


def test_a_review_is_a_page_and_says_nothing_of_people_and_what_they_wrote(
    chats: Chats, model: ScriptedModel, clock: Clock
) -> None:
    app = chats.runtime.app
    guest = f"telegram:{GUEST}"
    app.people.let_in(guest, "member", "Bob", BY)
    for number in range(30):
        save_run(app.kv, make_failed(number, guest if number == 7 else BY, clock()), 90)

    def review(number: int, by: str) -> dict[str, Any]:
        model.then(call(("cap_review_runs", {})), say("[SILENT]"))
        data = {"home": by, "behaviour": "on_self_improve"}
        run(chats, work(number, session=f"own:{number}", by=by, data=data))
        answer: dict[str, Any] = orjson.loads(results(model.bodies[-1])[-1])
        return answer["ok"]  # type: ignore[no-any-return]

    everything = review(100, BY)
    assert (everything["runs"], everything["failed"], len(everything["items"])) == (30, 30, 20)
    said = str(everything)
    assert everything["failures"][0]["times"] == 30
    assert not [word for word in ("telegram", str(OWNER), str(GUEST)) if word in said]
    # on behalf of somebody else it is about their own runs
    assert review(101, guest)["runs"] == 1
    clock.advance(8 * DAY)
    assert review(102, BY) == {"days": 7, "runs": 0, "failed": 0, "failures": [], "items": []}
