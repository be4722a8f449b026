"""What ends the work of a teammate before it is done, and a model that is away for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.model import outage
from functions.agent.runs.run import Run, scan_runs
from functions.agent.turn import turn as turns
from functions.time.clock import Clock
from functions.wiring import AgentRuntime
from tests.fakes.model import call, results, say
from tests.fakes.server import Answer, json_answer
from tests.functions.agent.team.crew import Body, Crew, TeamModel, ask, contents, spawned, spawning
from tests.machine import until

AWAY = Answer(503, b'{"error":{"message":"overloaded"}}', {"retry-after": "0"})
NO_KEY = json_answer({"error": {"message": "no such key"}}, 401)


def works_on_task(body: Body) -> bool:
    return "<<TASK>>" in "\n".join(contents(body))


def look(number: int) -> dict[str, Any]:
    return call(("sigil_query", {"query": f"nothing {number}"}), text=f"looked at {number}")


def look_again(body: Body) -> dict[str, Any]:
    """Work on a task without an end, and say how far it is."""
    return look(len(results(body)) + 1) if works_on_task(body) else say("[SILENT]")


def find_run(crew: Crew, name: str = "alice") -> Run:
    """Return the last run of a teammate that asked its model."""
    runs = scan_runs(crew.runtime.stores.kv, f"main.{name}")
    return next(run for run in runs if run.requests)


def hurry(crew: Crew, passed: list[float]) -> Crew:
    """Let more time pass for a crew, as much as there is in a list."""
    clock = Clock(lambda: time.time() + sum(passed), lambda: time.monotonic() + sum(passed))
    runtime = crew.runtime
    aged: AgentRuntime = replace(runtime, app=replace(runtime.app, clock=clock))
    return replace(crew, chats=replace(crew.chats, runtime=aged))


@pytest.mark.parametrize(
    ("settings", "limit", "sentence"),
    [
        ({"ticks": 3}, "steps", "it took 3 steps, and one piece of work may take no more"),
        ({}, "legs", "it was not done after 9 turns, and one piece of work may take no more"),
        ({"chain_tokens": 9_500}, "chain", "all that one cause sets off may use 9,500 tokens"),
        ({"ticks": 3, "language": "de"}, "steps", "nach 3 Schritten war Schluss"),
    ],
)
def test_each_limit_of_a_task_is_told_as_what_it_is_with_what_was_done(
    open_crew: Callable[..., Crew],
    model: TeamModel,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    limit: str,
    sentence: str,
) -> None:
    monkeypatch.setattr("functions.agent.team.leg.LEGS_MOST", 1)
    language = settings.pop("language", "")
    crew = open_crew(**settings)
    if language:
        crew.write(f"/language {language}")
    crew.add("endless")
    model.plans["alice"] = look_again
    model.then(*spawning("alice"))
    told, so_far = crew.write("spawn alice")[-1].splitlines()
    assert sentence in told
    assert so_far.endswith(f": looked at {len(model.of('alice')) - 1}")
    (task,) = crew.board.list_open()
    assert (task.status, task.attempts) == ("stuck", 0)
    assert sentence in task.why
    run = find_run(crew)
    step = run.steps[-1]
    assert (step["kind"], step["limit"], step["end"]) == ("limit", limit, "safe_stop")
    assert (run.outcome, run.why) == ("stopped", limit)


def test_a_teammate_whose_turn_is_out_of_time_goes_on_with_its_next_leg(
    crew: Crew, model: TeamModel
) -> None:
    passed: list[float] = []
    aged = hurry(crew, passed)

    def look_slowly(body: Body) -> dict[str, Any]:
        passed.append(crew.runtime.app.turn_seconds / 2)
        done = len(results(body))
        return look(done) if done < 3 else say("all seen")

    model.plans["alice"] = lambda body: look_slowly(body) if works_on_task(body) else say("hm")
    aged.add("slow")
    model.then(*spawning("alice"))
    assert aged.write("spawn alice")[-1] == "#1 done by alice: all seen"
    assert "This is leg 2" in "\n".join(contents(model.of("alice")[-1]))


def test_mail_that_takes_a_teammate_too_long_is_told_with_what_it_said(
    crew: Crew, model: TeamModel
) -> None:
    passed: list[float] = []
    aged = hurry(crew, passed)
    spawned(aged, "alice")

    def look_too_long(body: Body) -> dict[str, Any]:
        passed.append(crew.runtime.app.turn_seconds)
        return look(1)

    model.plans["alice"] = look_too_long
    ask(aged, ("cap_send_message", {"to": "alice", "content": "look around"}))
    told = aged.chats.list_texts()[-1]
    assert told.startswith("alice is stuck: it took longer than ")
    assert told.endswith("\nSo far: looked at 1")
    assert find_run(aged).steps[-1]["end"] == "safe_stop"


@pytest.mark.parametrize(
    ("failure", "why"),
    [(AWAY, "the model is out of order for now"), (NO_KEY, "the model does not accept my key")],
)
def test_a_model_that_is_away_is_told_once_and_the_work_of_all_goes_on_when_it_is_back(
    open_crew: Callable[..., Crew],
    model: TeamModel,
    monkeypatch: pytest.MonkeyPatch,
    failure: Answer,
    why: str,
) -> None:
    crew = open_crew(ticks=4)  # a request that failed is no step
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.001)
    monkeypatch.setattr(outage, "USUAL_MOST", 0.001)
    names = ("alice", "bob", "carl")
    tries = dict.fromkeys(names, 0)

    def plan(name: str) -> Callable[[Body], dict[str, Any] | Answer]:
        def work(body: Body) -> dict[str, Any] | Answer:
            if not works_on_task(body):
                return say("[SILENT]")
            tries[name] += 1
            return failure if min(tries.values()) < 7 else say("did it")

        return work

    crew.add("one", "two", "three")
    model.plans = {name: plan(name) for name in names}
    model.then(*spawning(*names))
    crew.write("spawn them")

    def is_over() -> bool:
        crew.chats.work_off()
        return not crew.board.list_open()

    until(is_over)
    _, notice, *done = crew.chats.list_texts()
    assert notice.startswith(f"I could not get an answer: {why}")
    assert notice.endswith("by itself waits, and goes on as soon as the model answers.")
    assert sorted(done) == [f"#{n} done by {name}: did it" for n, name in enumerate(names, 1)]
