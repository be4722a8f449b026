"""/quiet from outside: what is said by itself waits for the end of the quiet hours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from functions.agent.runs.run import format_run, scan_runs
from functions.agent.schedules.quiet_hours import find_end, is_quiet, parse_hours
from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel
from tests.functions.agent.access.people import Wall
from tests.functions.agent.schedules.wakeups import BY
from tests.functions.chats import Chats
from tests.functions.people import platform
from tests.tables import each_row

EVENING = datetime(2026, 11, 23, 21, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0


class Night:
    """A chat with quiet hours, in which the clock is set."""

    def __init__(self, chats: Chats, wall: Wall) -> None:
        self.chats = replace(chats, runtime=wall.on(chats.runtime))
        self.wall = wall
        self.number = 0

    def tell(self, text: str) -> str:
        self.number += 1
        self.chats.write(self.number, text)
        self.chats.work_off()
        return self.chats.list_texts()[-1]

    def remind(self, hours: float, text: str) -> None:
        """Let something be said so many hours after the evening."""
        when = When(kind="at", at=EVENING + hours * HOUR, zone="UTC")
        self.chats.runtime.app.schedules.add(
            Schedule(id="", when=when, session=BY, by=BY, since=EVENING, say=text)
        )

    def pass_until(self, hours: float) -> list[str]:
        """Let the clock show so many hours after the evening, and return what was sent by then."""
        before = len(self.chats.list_texts())
        self.wall.now = EVENING + hours * HOUR
        runtime = self.chats.runtime
        for _ in range(2):  # what was due, and what that has led to
            wake_agents(runtime.stores.kv, runtime.queue.put, "main", self.wall.now)
            self.chats.work_off()
        return self.chats.list_texts()[before:]


@pytest.fixture
def night(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> Night:
    return Night(Chats(runtime(llm_url=model.url, **platform(bot)), bot), Wall(EVENING))


def test_what_comes_up_in_the_night_is_said_in_one_message_at_its_end(night: Night) -> None:
    assert night.tell("/quiet 22:00-07:00").startswith("From 22:00-07:00 (UTC) I say nothing")
    for hours, text in ((0.5, "early"), (3.0, "call Bob"), (8.0, "water the plants")):
        night.remind(hours, text)
    assert night.pass_until(0.5) == ["early"]
    assert night.pass_until(3.0) == []
    assert night.pass_until(8.0) == []
    assert night.tell("/wakeups").startswith("Nothing is scheduled here.")
    assert night.pass_until(10.0) == [
        "This came up in the quiet hours:\n\ncall Bob\n\nwater the plants"
    ]
    assert night.chats.document().held == ()
    assert night.pass_until(34.0) == []


def test_the_row_of_what_they_hold_back_says_so_and_until_when(night: Night) -> None:
    night.tell("/quiet 22:00-07:00")
    night.remind(0.5, "early")
    night.remind(3.0, "call Bob")
    night.pass_until(0.5)
    night.pass_until(3.0)
    night.pass_until(10.0)
    runs = [run for run in scan_runs(night.chats.runtime.stores.kv, "main") if run.kind == "say"]
    assert [(run.outcome, run.why) for run in runs] == [
        ("said", ""),
        ("silent", "quiet hours until 07:00"),
        ("said", ""),
    ]
    assert "held back: quiet hours until 07:00" in "\n".join(format_run(runs[1]))


def test_a_reminder_that_they_hold_back_has_not_been_said(night: Night) -> None:
    night.tell("/quiet 22:00-07:00")
    night.tell("/remind every day at 23:30 take the pills")
    night.pass_until(3.0)
    assert "last 2026-11-23 23:30: held back by the quiet hours" in night.tell("/wakeups")
    schedules = night.chats.runtime.app.schedules
    (schedule,) = schedules.list_of_chat(BY)
    (run,) = schedules.list_runs(schedule.id)
    assert (run.outcome, run.reason) == ("silent", "quiet hours until 07:00")


def test_they_hold_after_an_outage_as_well(night: Night) -> None:
    night.tell("/quiet 22:00-07:00")
    night.remind(2.0, "call Bob")
    assert night.pass_until(2.0) == []
    assert night.pass_until(27.0) == []  # nothing ran all day, and it is night again
    assert night.pass_until(34.5) == ["This came up in the quiet hours:\n\ncall Bob"]


def test_ending_them_says_what_they_held_back(night: Night) -> None:
    assert night.tell("/quiet").startswith("There are no quiet hours here.")
    night.tell("/quiet 22:00-07:00")
    night.remind(2.0, "call Bob")
    assert night.pass_until(2.0) == []
    assert night.tell("/quiet off") == "There are no quiet hours here any more.\n\ncall Bob"
    assert night.pass_until(10.0) == []


@each_row(
    ("words", "hours"),
    [
        ("22:00-07:00", "22:00-07:00"),
        ("22-7", "22:00-07:00"),
        ("9:30 to 10", "09:30-10:00"),
        ("22：00 到 7：30", "22:00-07:30"),
        ("24-6", "00:00-06:00"),
        ("25-7", ""),
        ("7-7", ""),
        ("at night", ""),
    ],
)
def test_hours_are_read_as_people_write_them(words: str, hours: str) -> None:
    assert parse_hours(words) == hours


def test_they_follow_the_clocks_of_the_chat() -> None:
    berlin = "Europe/Berlin"  # an hour ahead of UTC in November
    assert is_quiet("22:00-07:00", EVENING, berlin)
    assert not is_quiet("22:00-07:00", EVENING, "UTC")
    assert not is_quiet("", EVENING, berlin)
    assert is_quiet("12:00-23:00", EVENING, berlin)
    assert find_end("22:00-07:00", EVENING, berlin) == EVENING + 9 * HOUR
    assert find_end("22:00-07:00", EVENING, "UTC") == EVENING + 10 * HOUR
