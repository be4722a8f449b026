"""/remind from outside: what it answers, and what is said when the time has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from functions.agent.schedules.schedule import SCHEDULES_MOST, Schedules
from functions.agent.schedules.tick import wake_agents
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel
from tests.functions.agent.access.people import Wall
from tests.functions.agent.talk import event, run_event
from tests.functions.chats import Chats
from tests.functions.people import GUEST, OWNER, platform

MONDAY = datetime(2026, 11, 23, 12, 0, tzinfo=UTC).timestamp()


class Desk:
    """A chat whose clock is set, and in which reminders are made."""

    def __init__(self, chats: Chats) -> None:
        self.wall = Wall(MONDAY)
        self.chats = replace(chats, runtime=self.wall.on(chats.runtime))
        self.number = 0

    def tell(self, text: str, sender: int = OWNER) -> str:
        self.number += 1
        self.chats.write(self.number, text, sender, date=int(self.wall.now))
        self.chats.work_off()
        return self.chats.list_texts()[-1]

    def wait(self, seconds: float) -> list[str]:
        """Let time pass, and return what was said then."""
        before = len(self.chats.list_texts())
        self.wall.now += seconds
        runtime = self.chats.runtime
        wake_agents(runtime.stores.kv, runtime.queue.put, "main", self.wall.now)
        self.chats.work_off()
        return self.chats.list_texts()[before:]


@pytest.fixture
def desk(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> Desk:
    return Desk(Chats(runtime(llm_url=model.url, timezone="UTC", **platform(bot)), bot))


def test_a_reminder_is_said_once_at_its_time_without_a_model(
    desk: Desk, model: ScriptedModel
) -> None:
    told = desk.tell("/remind me in 20 minutes to call Bob")
    assert "call Bob" in told
    assert "UTC" in told
    assert desk.wait(19 * 60.0) == []
    assert desk.wait(60.0) == ["call Bob"]
    assert desk.wait(86_400.0) == []
    assert model.bodies == []


def test_one_that_comes_again_is_answered_with_its_next_three_times(desk: Desk) -> None:
    told = desk.tell("/remind every day at 8:00 take the pills")
    assert "every day at 08:00 (UTC)" in told
    assert "Tuesday, 24 November 2026 08:00; Wednesday" in told
    assert "Thursday, 26 November 2026 08:00" in told
    assert "as number 1" in desk.tell("/remind every day at 8:00 take the pills")
    assert desk.wait(20 * 3600.0) == ["take the pills"]
    assert desk.wait(24 * 3600.0) == ["take the pills"]


def test_it_reads_chinese_and_the_zone_of_the_chat(desk: Desk) -> None:
    desk.tell("/timezone Shanghai")
    told = desk.tell("/remind 明天上午九点提醒我给鲍勃打电话")
    assert "给鲍勃打电话" in told
    assert "Asia/Shanghai" in told
    assert desk.wait(13 * 3600.0 - 60.0) == []
    assert desk.wait(60.0) == ["给鲍勃打电话"]


def test_the_answer_is_in_the_language_of_the_words_unless_the_chat_chose_one(desk: Desk) -> None:
    assert desk.tell("/remind tomorrow at nine call Bob").startswith("I will say")
    told = desk.tell("/remind morgen 19.30 essen")
    assert told.startswith("Ich sage dann „essen“: Dienstag, der 24. November 2026, um 19:30 Uhr")
    assert desk.tell("/remind morgen um 5 essen").startswith("Meinst du Dienstag")
    assert desk.tell("/remind 明天19:30吃饭").startswith("到时我会说“吃饭”")
    assert desk.tell("/remind 19:45 call Bob").startswith("I will say")
    desk.tell("/language en")
    assert desk.tell("/remind morgen 19.30 trinken").startswith("I will say")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "call Bob",
        "tomorrow at 25:00 call Bob",
        "every second call Bob",
        "yesterday x",
        "99 * * * * x",
        "每秒喝水",
        "明天上午九点 Mars/Phobos 开会",
        "am 30. Februar anrufen",
        "bis Freitag jede Sekunde piepsen",
    ],
)
def test_what_is_no_time_is_asked_about_and_nothing_is_stored(desk: Desk, words: str) -> None:
    desk.tell(f"/remind {words}")
    assert desk.tell("/wakeups").startswith("Nothing is scheduled here.")


def test_the_65th_reminder_is_refused_in_a_sentence_that_says_how_to_make_room(desk: Desk) -> None:
    schedules = Schedules(desk.chats.runtime.stores.kv, "main")
    desk.tell("/remind in 20 minutes task 0")
    (first,) = schedules.scan()
    for number in range(1, SCHEDULES_MOST):
        schedules.add(replace(first, say=f"task {number}", due=0.0))
    for code, words in (("en", "makes room"), ("de", "macht Platz"), ("zh", "腾出位置")):
        desk.tell(f"/language {code}")
        told = desk.tell("/remind in 20 minutes one more")
        assert words in told
        assert "/wakeups drop N" in told
        assert str(SCHEDULES_MOST) in told
    assert len(schedules.list_of_chat()) == SCHEDULES_MOST


def test_a_guest_cannot_take_the_room_of_others(desk: Desk) -> None:
    for number in range(8):
        assert "I will say" in desk.tell(f"/remind in {number + 5} minutes task {number}", GUEST)
    assert "no room for more" in desk.tell("/remind in 20 minutes one more", GUEST)
    assert "I will say" in desk.tell("/remind in 20 minutes call Bob")


def test_at_the_terminal_it_says_that_it_needs_a_server(desk: Desk) -> None:
    happened = replace(
        event("/remind in 20 minutes call Bob", session="terminal:main", sender="terminal:local"),
        at=MONDAY,
    )
    (reply,) = run_event(desk.chats.runtime, happened).document.outbox
    assert "It comes while `uncaged serve` runs" in reply.text
