"""A chat sees how the work of its team goes, in one message where its platform can change one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from functions import progress_message
from functions.agent.commands.command import CommandCall
from functions.agent.commands.team import run_team
from functions.agent.management.team import describe_team
from functions.agent.team.board import NewTask
from functions.agent.team.chat_notices import TeamChat, change_team_chat, read_team_chat
from functions.agent.team.tick import tick_team
from functions.events import Event, Sender
from sigil.storage.kv import keys
from tests.fakes.model import call, results, say
from tests.functions.agent.team.conftest import crew, model, open_crew
from tests.functions.agent.team.crew import HOME, Body, Crew, TeamModel, contents, search, spawning
from tests.functions.people import OWNER
from tests.machine import until

__all__ = ["crew", "model", "open_crew"]
ASKED = Event("ask", "message", "main", HOME, Sender(HOME), "/team", 0.0, "0", private=True)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show work at once, and change what is shown as often as that."""
    monkeypatch.setattr(progress_message, "FIRST_SECONDS", 0.005)
    monkeypatch.setattr(progress_message, "PAUSE_SECONDS", 0.005)


def list_edits(crew: Crew) -> list[str]:
    return [each["text"] for each in crew.chats.bot.calls("editMessageText")]


def work_on(crew: Crew, model: TeamModel, look: Callable[[], object], *names: str) -> list[str]:
    """Let teammates do a task each with one call, and `look` while their model thinks; return what
    the chat has at the end.
    """
    crew.add(*(f"task of {name}" for name in names))

    def play(body: Body) -> dict[str, Any]:
        if not any("<auto-claimed>" in text for text in contents(body)):
            return say("[SILENT]")
        if not results(body):
            return call(("cap_list_tasks", {}))
        look()
        return say("done")

    model.plans |= dict.fromkeys(names, play)
    model.then(*spawning(*names))
    return crew.write(f"spawn {' and '.join(names)}")


def test_work_is_shown_in_one_message_that_ends_with_how_it_ended(
    crew: Crew, model: TeamModel
) -> None:
    def look() -> None:
        before = len(list_edits(crew))
        until(lambda: any("list-tasks" in text for text in list_edits(crew)[before:]))

    said = work_on(crew, model, look, "alice", "bob")
    shown = [text for text in said if text.startswith("Team")]
    assert shown == ["Team: nobody is at work any more.\nalice: idle\nbob: idle"]
    pattern = r"alice: #1 task of alice, for 5 seconds, leg 1, [\d,]+ tokens, last step list-tasks"
    assert any(re.search(pattern, text) for text in list_edits(crew))
    assert read_team_chat(crew.runtime.stores.kv, "main", HOME).message == ""


def wait_until_shown(crew: Crew) -> None:
    kv = crew.runtime.stores.kv
    until(lambda: read_team_chat(kv, "main", HOME).message)


def test_what_is_shown_changes_no_more_often_than_it_may(
    crew: Crew, model: TeamModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_message, "PAUSE_SECONDS", 60.0)
    said = work_on(crew, model, lambda: wait_until_shown(crew), "alice", "bob")
    assert len([text for text in said if text.startswith("Team")]) == 1
    assert len(set(list_edits(crew))) == 1  # how it ended


def test_a_chat_that_wants_no_more_or_is_quiet_hears_the_results_alone(
    crew: Crew, model: TeamModel
) -> None:
    def look() -> None:
        time.sleep(0.05)  # work is shown after a tenth of that

    crew.write("/team mute")
    said = work_on(crew, model, look, "alice")
    assert said[1:] == ["#1 done by alice: done"]
    crew.write("/team unmute")
    now = datetime.now(UTC)
    crew.write(f"/quiet {now - timedelta(hours=2):%H:%M}-{now + timedelta(hours=2):%H:%M}")
    said = work_on(crew, model, look, "bob")
    assert not [text for text in said if text.startswith("Team")]


def test_a_chat_sees_nothing_of_work_for_another_one(crew: Crew, model: TeamModel) -> None:
    other = "telegram:66"
    crew.board.add(NewTask(subject="a secret", by=other, home=other))
    kv = crew.runtime.stores.kv

    def look() -> None:
        until(lambda: read_team_chat(kv, "main", other).message)

    work_on(crew, model, look, "alice")
    at_home = [each for each in crew.chats.bot.calls("sendMessage") if each["chat_id"] == OWNER]
    edits = [each for each in crew.chats.bot.calls("editMessageText") if each["chat_id"] == OWNER]
    assert not any("secret" in each["text"] for each in (*at_home, *edits))


def test_a_message_that_somebody_deleted_is_followed_by_another(
    crew: Crew, model: TeamModel
) -> None:
    def look() -> None:
        wait_until_shown(crew)
        crew.chats.bot.fail(400, "Bad Request: message to edit not found", method="editMessageText")
        sent = len(crew.chats.bot.calls("sendMessage"))
        until(lambda: len(crew.chats.bot.calls("sendMessage")) > sent)

    said = work_on(crew, model, look, "alice")
    assert len([text for text in said if text.startswith("Team")]) == 2


def test_the_message_of_a_worker_that_was_killed_is_gone_on_with(
    crew: Crew, model: TeamModel
) -> None:
    crew.chats.bot.messages.append({"chat_id": OWNER, "text": "Team: main\nalice: …"})
    kv = crew.runtime.stores.kv
    left = TeamChat(message=str(len(crew.chats.bot.messages)), at=1.0)
    change_team_chat(kv, "main", HOME, lambda _: left)
    look = partial(until, lambda: any("list-tasks" in text for text in list_edits(crew)))
    said = work_on(crew, model, look, "alice")
    assert not any(text.startswith("Team") for text in said)
    assert crew.chats.list_texts()[0] == "Team: nobody is at work any more.\nalice: idle"


def test_what_could_not_be_changed_at_the_end_is_changed_by_a_later_tick(
    crew: Crew, model: TeamModel
) -> None:
    bot = crew.chats.bot

    def look() -> None:
        wait_until_shown(crew)
        bot.fail(502, "Bad Gateway", method="editMessageText", times=1_000)

    said = work_on(crew, model, look, "alice")
    assert not any("nobody is at work" in text for text in said)
    bot.recover()
    for minutes in (1, 2):
        now = time.time() + 60.0 * minutes + 1
        tick_team(
            crew.runtime.stores.kv,
            crew.runtime.queue.put,
            "main",
            now,
            idle=3_600.0,
            note=lambda *_: None,
        )
        crew.chats.work_off()
    ended = [text for text in crew.chats.list_texts() if "nobody is at work" in text]
    assert ended == ["Team: nobody is at work any more.\nalice: idle"]


def test_whoever_waits_for_an_answer_to_its_plan_is_not_shown_at_work(
    crew: Crew, model: TeamModel
) -> None:
    def submit(body: Body) -> dict[str, Any]:
        wait_until_shown(crew)
        return call(("cap_plan_approval", {"plan": "rewrite it"}))

    model.plans["alice"] = submit
    model.then(*spawning("alice"))
    crew.write("spawn alice")
    [shown] = [text for text in crew.chats.list_texts() if text.startswith("Team")]
    waits = r"alice: waits for an answer to its plan [0-9a-f]{8}"
    assert re.fullmatch(rf"Team: nobody is at work any more\.\n{waits}", shown)


def test_how_far_work_has_come_is_told_whenever_somebody_asks(crew: Crew, model: TeamModel) -> None:
    told: list[str] = []
    rows: list[Any] = []

    def look() -> None:
        app = crew.runtime.app
        rows.extend(describe_team(app)["items"])  # type: ignore[arg-type]
        call = CommandCall(app, app.sessions.open(keys.session_of("main", HOME)), "owner", ASKED)
        told.extend(run_team(replace(call, text=words)).text for words in ("", "alice", "zoe"))

    work_on(crew, model, look, "alice")
    progress = r"for 5 seconds, leg 1, [\d,]+ tokens, last step list-tasks"
    assert re.fullmatch(rf"Team: main\n  alice \(coder\): working #1, {progress}", told[0])
    assert re.fullmatch(rf"alice \(coder\): working #1, {progress}", told[1])
    assert told[2].startswith("There is no teammate zoe. `/team NAME`")
    [row] = rows
    assert row["progress"]["tokens"] > 0
    assert {**row["progress"], "tokens": 0} == {
        "leg": 1,
        "requests": 1,
        "tokens": 0,
        "step": "list-tasks",
    }


def test_tokens_are_those_of_all_legs(crew: Crew, model: TeamModel) -> None:
    told: list[int] = []
    numbers = iter(range(9))

    def work_long(body: Body) -> dict[str, Any]:
        if not any("<auto-claimed>" in text for text in contents(body)):
            return say("[SILENT]")
        number = next(numbers, None)
        if number is None:
            return say("done")
        [row] = describe_team(crew.runtime.app)["items"]  # type: ignore[misc]
        told.append(row["progress"]["tokens"])  # type: ignore[index,call-overload]
        return search(number)

    crew.add("a long one")
    model.plans["alice"] = work_long
    model.then(*spawning("alice"))
    crew.write("spawn alice")
    assert told == sorted(set(told))
    assert len(told) == 9


def test_a_message_ends_where_a_plan_waits_and_its_task_says_no_part_of_a_secret(
    crew: Crew, model: TeamModel
) -> None:
    crew.add("x" * 48 + crew.chats.bot.token)

    def play(body: Body) -> dict[str, Any]:
        if not any("<<TASK>>" in text for text in contents(body)):
            return say("[SILENT]")
        wait_until_shown(crew)
        return call(("cap_plan_approval", {"plan": "rewrite"}))

    model.plans["alice"] = play
    model.then(*spawning("alice"))
    said = crew.write("spawn alice")
    id = said[-1].partition("request_id=")[2][:8]
    (shown,) = [text for text in said if text.startswith("Team")]
    assert shown.startswith("Team: nobody is at work any more.\nalice: #1 xxx")
    assert shown.endswith(f", waits for an answer to its plan {id}")
    assert crew.chats.bot.token[:8] not in shown
    assert read_team_chat(crew.runtime.stores.kv, "main", HOME).message == ""
