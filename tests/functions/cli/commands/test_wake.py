"""`uncaged wake` over a store that a chat has filled."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from functions.agent.mailbox import Mail, Mailbox
from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from functions.cli.app import cli
from functions.cli.chat.screen import Screen
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer
from tests.functions.serving import serving
from tests.machine import within

Run = Callable[..., tuple[int, str]]
HOURLY = When(kind="every", every=3600.0, zone="UTC")
CHAT = "terminal:main"
ME = "terminal:local"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: ScriptedModel) -> Run:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setenv("UNCAGED_LLM_URL", model.url)
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    monkeypatch.setenv("SIGIL_RUNNERS", "1")

    def command(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, ["wake", *arguments])
        problem = done.exception
        if problem is None or isinstance(problem, SystemExit):
            return done.exit_code, done.stdout
        return done.exit_code, str(problem)

    return command


def schedule(home: AgentRuntime, **fields: object) -> Schedule:
    """Make a schedule whose next time is a second ago."""
    since = home.app.clock.now() - 3601.0
    given = {"session": CHAT, "by": ME, "since": since, **fields}
    return home.app.schedules.add(Schedule(id="", when=HOURLY, **given))[0]  # type: ignore[arg-type]


def test_schedules_are_listed_paused_resumed_and_dropped(home: AgentRuntime, run: Run) -> None:
    assert run("list") == (0, "")
    code, said = run()
    assert code == 0
    assert said.startswith("nothing new; nothing is scheduled: see ")
    now = home.app.clock.now()
    long = "drink some water, and then some more of it before the sun sets"
    made = schedule(home, say=long, since=now)
    first, second = run("list")[1].splitlines()
    assert first.startswith(f"{made.id}  #1  next 2")
    assert first.endswith("(UTC)  terminal:main  by terminal:local")
    assert "'drink some water" in second
    assert second.endswith("every hour; has not run")
    assert max(map(len, (first, second))) <= 80
    (row,) = json.loads(run("list", "--json")[1])
    assert (row["id"], row["when"]["every"], row["session"]) == (made.id, 3600.0, CHAT)
    assert run("pause", made.id)[1] == f"paused: {made.id}\n"
    assert "paused (paused)" in run("list")[1]
    assert run()[1].startswith("nothing new; nothing is scheduled")
    assert run("resume", made.id)[1].startswith(f"resumed: {made.id}; next ")
    assert run()[1].startswith("nothing new; next ")
    assert run("runs", made.id) == (0, "")
    assert run("runs", "1") == (0, "")
    assert run("pause", "1")[1] == f"paused: {made.id}\n"
    assert run("drop", "1")[1] == f"dropped: {made.id}\n"
    for name in ("drop", "pause", "resume", "runs"):
        assert "there is no schedule" in run(name, made.id)[1]
    assert "there is no schedule 7" in run("--wakeup", "7")[1]


def test_what_is_due_runs_here_and_its_tree_is_printed(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    made = schedule(home, text="look at the mail")
    model.then(call(("sigil_query", {"query": "mail"})), say("A letter has come."))
    code, said = run()
    assert code == 0
    lines = said.splitlines()
    assert lines[0].startswith(f"wakeup:main:{made.id}:")
    assert lines[0].endswith(f"own:w-{made.id}")
    assert lines[1].startswith("  2 requests, ")
    assert "  ├ round 1: request " in said
    assert "  │   ├ sigil_query " in said
    assert lines[-2].startswith("  └ said, ")
    assert lines[-2].endswith(" tokens, A letter has come.")
    assert lines[-1].startswith("next ")
    assert lines[-1].endswith(" UTC")
    assert run()[1].startswith("nothing new; next ")
    assert len(model.requests) == 2


def test_one_schedule_runs_by_its_number_and_keeps_its_times(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    now = home.app.clock.now()
    made = schedule(home, text="look at the mail", since=now)
    schedule(home, text="look at the sky", since=now)
    model.then(say("[SILENT]"))
    row = json.loads(run("--wakeup", "1", "--json")[1])
    (done,) = row["runs"]
    assert (done["wakeup"], done["outcome"], done["said"]) == (made.id, "silent", "")
    assert done["tokens"] > 0
    assert done["trace"]["requests"] == 1
    found = home.app.schedules.find(made.id)
    assert found
    assert found.due == made.due
    schedule(home, text="look at the sea", session="http:admin:main", since=now)
    assert "2 chats have a schedule 1" in run("--wakeup", "1")[1]


def test_a_schedule_is_gone_about_as_somebody_chose(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    made = schedule(home, text="look at the mail")
    spoken = schedule(home, say="drink water")
    model.then(say("yes"))
    said = run("set", "1", "--behaviour", "on_self_improve", "--model", "small")
    assert said == (0, f"set: {made.id} runs on_self_improve with small\n")
    assert model.bodies[0]["model"] == "small"
    assert "every hour, on_self_improve, small; has not run" in run("list")[1]
    model.then(call(("cap_next_behavior", {"name": "on_wakeup"})), say("A letter has come."))
    tree = run("--wakeup", "1")[1]
    assert "behaviour on_self_improve, 7 pins" in tree
    assert "goes on with on_wakeup" in tree
    first, second = model.bodies[1:]
    assert (first["model"], second["model"]) == ("small", "small")
    assert "## on_self_improve" in first["messages"][1]["content"]
    model.then(Answer(404))
    assert "the model gone does not answer" in run("set", "1", "--model", "gone")[1]
    assert "there is no behaviour 'gone'" in run("set", "1", "--behaviour", "gone")[1]
    assert "nothing is chosen" in run("set", "1")[1]
    assert "without a model" in run("set", spoken.id, "--behaviour", "on_wakeup")[1]
    assert run("set", "1", "--behaviour", "", "--model", "") == (
        0,
        f"set: {made.id} runs on_wakeup\n",
    )


def test_a_reminder_is_said_without_a_request(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    schedule(home, say="drink water")
    said = run()[1]
    assert "  └ said, drink water" in said
    assert "0 requests" in said
    assert not model.requests


def test_a_run_that_fails_is_told_by_the_exit_code(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    schedule(home, text="look at the mail", by="telegram:99")
    code, said = run()
    assert "  └ skipped (nobody may)" in said
    assert code == 0
    schedule(home, text="look at the sky")
    model.then(*[Answer(401)] * 4)
    code, said = run()
    assert "  └ failed (" in said
    assert code == 1


def test_an_empty_look_costs_nothing_and_moves_nothing(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    assert run("heartbeat")[1] == "the heartbeat is off\n"
    said = run("heartbeat", "30m")[1]
    assert said.startswith("the heartbeat looks every 30 minutes at the soonest; next ")
    assert said.endswith(" UTC; told in terminal:main\n")
    assert "  #1  heartbeat, next 2" in run("list")[1]
    before = home.app.schedules.find_heartbeat()
    assert run()[1].startswith("nothing new; next ")
    assert home.app.schedules.find_heartbeat() == before
    assert not model.requests
    Mailbox(home.stores.kv, "main").deliver(Mail("1", "hook shop", "order 7 came in", 1.0))
    model.then(say("Order 7 is here."))
    assert "  └ said, " in run()[1]
    assert run()[1].startswith("nothing new; next ")
    assert len(model.requests) == 1
    assert "no time from a minute to a day" in run("heartbeat", "soon")[1]
    assert run("heartbeat", "off")[1] == "the heartbeat is off\n"
    assert home.app.schedules.find_heartbeat() is None


def test_a_heartbeat_goes_by_the_clock_of_the_chat_where_it_is_told(
    home: AgentRuntime, run: Run
) -> None:
    sessions = home.app.sessions
    opened = sessions.open(keys.session_of("main", CHAT))
    sessions.save(opened, replace(opened.document, zone="Asia/Tokyo"))
    assert run("heartbeat", "30m")[1].endswith(" (Asia/Tokyo); told in terminal:main\n")
    for stranger in ("own:main", "telegram:999", "nonsense"):
        code, said = run("heartbeat", "1h", "--session", stranger)
        assert code, said
    known = home.app.schedules.find_heartbeat()
    assert known is not None
    assert (known.session, known.when.every) == (CHAT, 1800.0)


def test_what_is_due_while_nothing_runs_is_shown_as_such(home: AgentRuntime, run: Run) -> None:
    schedule(home, say="drink", since=home.app.clock.now() - 3600.0 - 300.0)
    for shown in (run("list")[1], CliRunner().invoke(cli, ["agent", "status"]).stdout):
        assert re.search(r"due since \d\d:\d\d UTC; nothing runs here: `?uncaged serve", shown)
    status = CliRunner().invoke(cli, ["agent", "status", "--json"]).stdout
    assert json.loads(status)["next"]["say"] == "drink"


def test_mail_is_read_where_the_heartbeat_is_off(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    Mailbox(home.stores.kv, "main").deliver(Mail("1", "hook shop", "order 7 came in", 1.0))
    model.then(say("[SILENT]"))
    code, said = run()
    assert code == 0
    assert "  └ silent, " in said
    assert home.app.schedules.find_heartbeat() is None


def test_a_run_that_a_server_has_taken_is_waited_for_and_not_made_twice(
    home: AgentRuntime, run: Run, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    show_hint = Screen.hint

    def hint(screen: Screen, text: str) -> None:
        show_hint(screen, text)
        if text.startswith("another process works on it"):
            go_on.set()

    monkeypatch.setattr(Screen, "hint", hint)

    def answer(body: object) -> dict[str, object]:
        begun.set()
        assert go_on.wait(within(20.0))
        return say("A letter has come.")

    model.then(answer)
    schedule(home, text="look at the mail")
    with serving(home):
        home.due.set()  # the server's scheduler looks
        assert begun.wait(within(20.0))
        code, said = run()
    assert code == 0
    assert "  └ said, " in said
    assert len(model.requests) == 1


def test_ctrl_c_stops_the_run_and_the_next_one_waits_for_later(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    made = schedule(home, text="look at the mail")

    stopped = threading.Event()

    def interrupt(body: object) -> dict[str, object]:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        stopped.wait(within(20.0))
        return call(("sigil_query", {"query": "mail"}))

    model.then(interrupt, say("not asked for"))
    code = run()[0]
    stopped.set()
    assert code == 130
    assert len(model.requests) == 1
    found = home.app.schedules.find(made.id)
    assert found
    assert not found.running


def test_work_that_waits_in_the_queue_is_done_as_well(
    home: AgentRuntime, run: Run, model: ScriptedModel
) -> None:
    made = schedule(home, text="look at the mail")
    wake_agents(home.stores.kv, home.queue.put, "main", home.app.clock.now())
    model.then(say("A letter has come."))
    assert "no agent alice" in run("alice")[1]
    code, said = run()
    assert code == 0
    assert said.startswith(f"wakeup:main:{made.id}:")
    assert ", A letter has come." in said
