"""Reminders as people type them on a phone, asked for in plain words without a language model: each
is the schedule that `/remind` makes, or the question that it asks, and is said at its times.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import find_next
from functions.events import Event
from functions.wiring import AgentRuntime
from tests.functions.agent.access.people import Wall
from tests.functions.agent.talk import event, run_event

pytestmark = pytest.mark.thorough  # a sample of them stands in test_offline_schedules.py

ZONES = {"en": "America/New_York", "de": "Europe/Berlin", "zh": "Asia/Shanghai"}
ASKING = {"en": "remind me ", "de": "erinnere mich ", "zh": "提醒我"}
ASKS = re.compile(r"re?mi?n.?d me|er+in+er[en]? mich|[提题]醒我")
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "data" / "phone_phrases.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
PLAYED = 3
"""So many times of a repetition are played; of one that ends, all up to so many."""
PLAYED_TO_THE_END = 40


class Desk:
    """A chat of a language, whose clock is set, and in which nobody has a language model."""

    def __init__(self, home: AgentRuntime, language: str) -> None:
        zone = ZoneInfo(ZONES[language])
        self.start = datetime(2026, 12, 2, 10, 15, tzinfo=zone).timestamp()
        self.wall = Wall(self.start)
        self.home = self.wall.on(home)
        self.language = language
        self.chat = f"telegram:{sorted(ZONES).index(language) + 1}"

    def tell(self, text: str) -> tuple[str, Schedule | None]:
        """Return the answer to words, and the schedule that they made, which is taken back."""
        self.wall.now = self.start
        happened = event(text, session=self.chat)
        happened = replace(happened, at=self.start, language=self.language)
        (reply,) = run_event(self.home, happened).document.outbox
        answer = re.split(r"\n\n[—(（]", reply.text)[0]
        made = next(iter(self.home.app.schedules.list_of_chat(self.chat)), None)
        return answer, made

    def drop(self, schedule: Schedule | None) -> None:
        if schedule:
            self.home.app.schedules.drop(schedule.id)

    def wake(self, at: float) -> list[str]:
        """Return what is said at a time."""
        self.wall.now = at
        due: list[Event] = []
        wake_agents(self.home.stores.kv, due.append, "main", at)
        return [run_event(self.home, each).document.outbox[0].text for each in due]

    def play(self, made: Schedule) -> list[tuple[float, str]]:
        """Return what differs from what should be said, and when."""
        wrong: list[tuple[float, str]] = []
        at, count = self.start, 0
        ends = bool(made.when.until or made.when.times)
        while count < (PLAYED_TO_THE_END if ends else PLAYED):
            found = find_next(made.when, at, began=made.since)
            if found is None or (made.when.times and count == made.when.times):
                wrong += [(at, text) for text in self.wake(at + 86_400.0)]
                break
            at, count = found, count + 1
            early, said = self.wake(at - 1.0), self.wake(at)
            if early or said != [made.say]:
                wrong.append((at, f"{early} {said}"))
        return wrong


@pytest.mark.parametrize("language", list(ZONES))
def test_plain_words_are_the_reminder_of_the_command_and_are_said_at_its_times(
    runtime: Callable[..., AgentRuntime], language: str
) -> None:
    home = runtime(library="builtin", timezone=ZONES[language], tokens_per_day=0)
    desk = Desk(home, language)
    wrong = []
    for phrase in [row["phrase"] for row in ROWS if row["lang"] == language]:
        answer, wanted = desk.tell(f"/remind {phrase}")
        desk.drop(wanted)
        asked = [*([phrase] if ASKS.search(phrase) else []), ASKING[language] + phrase]
        for words in asked:
            told, made = desk.tell(words)
            if not (wanted and made):
                if wanted or made or told != answer:
                    wrong.append((words, told, answer))
            elif (made.when, made.say) != (wanted.when, wanted.say):
                wrong.append((words, f"{made.when} {made.say}", f"{wanted.when} {wanted.say}"))
            elif words == asked[-1]:
                wrong += [(words, text, str(at)) for at, text in desk.play(made)]
            desk.drop(made)
    assert not wrong, "\n".join(map(str, wrong))
