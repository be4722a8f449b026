"""`uncaged wake` over a store that a chat has filled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.when import When
from functions.cli.app import cli
from functions.wiring import AgentRuntime

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))

    def command(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["wake", *arguments])
        return (done.exit_code, done.output if done.exception is None else str(done.exception))

    return command


def test_schedules_are_listed_paused_resumed_run_and_dropped(
    runtime: Callable[..., AgentRuntime], run: Run
) -> None:
    home = runtime()
    assert run("list") == (0, "nothing is scheduled\n")
    assert run()[1] == "nothing new; nothing is scheduled\n"
    now = home.app.clock.now()
    hourly = When(kind="every", every=3600.0, zone="UTC")
    who = "telegram:42"
    schedule, _ = home.app.schedules.add(
        Schedule(id="", when=hourly, session=who, by=who, since=now - 3601.0, say="drink water")
    )
    id = schedule.id
    assert "'drink water'  has not run" in run("list")[1]
    (row,) = json.loads(run("list", "--json")[1])
    assert (row["id"], row["when"]["every"], row["session"]) == (id, 3600.0, who)
    assert run("pause", id)[1] == f"paused: {id}\n"
    assert "paused (paused)" in run("list")[1]
    assert run()[1] == "nothing new; nothing is scheduled\n"
    assert run("resume", id)[1].startswith(f"resumed: {id}; next 2")
    assert run("runs", id)[1] == "it has not run in the last 30 days\n"
    home.app.schedules.drop(id)
    home.app.schedules.add(
        Schedule(id="", when=hourly, session=who, by=who, since=now - 3600.0, say="drink water")
    )
    assert run()[1].startswith("1 queued; next 2")
    assert json.loads(run("now", "--json")[1])["queued"] == 0
    (done,) = json.loads(run("runs", id, "--json")[1])
    assert done["outcome"] == "said"
    assert "said  0 tokens  wakeup:main:" in run("runs", id)[1]
    assert run("drop", id)[1] == f"dropped: {id}\n"
    code, problem = run("drop", id)
    assert code != 0
    assert "there is no schedule" in problem
