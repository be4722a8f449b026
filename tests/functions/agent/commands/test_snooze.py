"""/snooze and /done from outside, and the plain words that stand for them below a reminder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import orjson
import pytest

from functions.agent.agents.record import add_agent, make_record
from functions.agent.management.wakeups import make_schedule
from functions.agent.schedules.schedule import Schedules
from functions.events import PRESSED
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.commands.test_remind import MONDAY, Desk
from tests.functions.chats import Chats
from tests.functions.people import GUEST, OWNER, platform

MINUTE = 60.0


@pytest.fixture
def desk(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> Desk:
    return Desk(Chats(runtime(llm_url=model.url, timezone="UTC", **platform(bot)), bot))


def remind(desk: Desk, words: str = "in 20 minutes call Bob") -> None:
    desk.tell(f"/remind {words}")
    assert desk.wait(20 * MINUTE) == ["call Bob"]


@pytest.mark.parametrize(
    ("command", "minutes"),
    [
        ("/snooze", 10),
        ("/snooze 25m", 25),
        ("/snooze half an hour", 30),
        ("/snooze 20分钟", 20),
        ("/snooze 2 Stunden", 120),
        ("/snooze 1 1h", 60),
        ("/snooze 3 days", 3 * 24 * 60),
        ("/snooze tomorrow at nine", 20 * 60 + 40),
    ],
)
def test_a_reminder_is_said_once_more_at_the_time_that_is_asked_for(
    desk: Desk, command: str, minutes: int
) -> None:
    remind(desk)
    assert "“call Bob” once more" in desk.tell(command)
    assert desk.wait((minutes - 1) * MINUTE) == []
    assert desk.wait(MINUTE) == ["call Bob"]
    assert desk.wait(86_400.0) == []


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("/snooze 10", "Minutes, hours or days?"),
        ("/snooze every day at 9", "/snooze 10m or"),
        ("/snooze yesterday", "is past"),
        ("/snooze buy milk", "/snooze 10m or"),
        ("/snooze 7 10m", "number 7"),
        ("/done 7", "number 7"),
        ("/done with it", "/snooze 10m or"),
    ],
)
def test_what_is_no_time_to_come_is_answered_with_one_sentence(
    desk: Desk, command: str, answer: str
) -> None:
    remind(desk)
    assert answer in desk.tell(command)
    assert desk.tell("/wakeups").startswith("Nothing is scheduled here.")


def test_a_guest_keeps_no_more_by_snoozing_than_by_reminders(desk: Desk) -> None:
    for number in range(9):
        desk.tell(f"/remind in 1 minute task {number}", GUEST)
        desk.wait(MINUTE)
    said = [desk.tell(f"/snooze {number} 1h", GUEST) for number in range(1, 10)]
    assert ["no room for more" in each for each in said] == [False] * 8 + [True]
    assert "once more" in desk.tell("/snooze 1 2h", GUEST)  # another time for one of them
    desk.tell("/done 2", GUEST)
    assert "once more" in desk.tell("/snooze 9 1h", GUEST)


def test_without_a_reminder_there_is_nothing_to_snooze(desk: Desk) -> None:
    desk.tell("/remind in 20 minutes call Bob")
    assert desk.tell("/snooze") == "No reminder was said here that I could say again."
    assert desk.tell("/done") == "No reminder was said here that I could say again."


def test_another_snooze_moves_the_first_and_done_takes_it_back(desk: Desk) -> None:
    remind(desk)
    desk.tell("/snooze 10m")
    desk.tell("/snooze 30m")
    assert "call Bob\n  once more" in desk.tell("/wakeups")
    assert desk.wait(29 * MINUTE) == []
    assert desk.wait(MINUTE) == ["call Bob"]
    desk.tell("/snooze 10m")
    assert desk.tell("/done") == "Done: “call Bob”."
    assert desk.wait(86_400.0) == []


def test_the_reminder_of_another_agent_is_snoozed_and_done_with(desk: Desk) -> None:
    kv = desk.chats.runtime.stores.kv
    add_agent(kv, "main", "alice", make_record({"kind": "agent", "state": "enabled", "since": 1.0, "by": "?"}))  # fmt: skip
    desk.tell("/agent alice")
    desk.tell("/remind every day at 12:20 call Bob")
    desk.tell("/agent main")
    desk.wait(20 * MINUTE)
    assert "Its own times stay" in desk.tell("/snooze 10m")
    assert "call Bob\n  once more" in desk.tell("/wakeups")
    assert "It comes again at" in desk.tell("/done")
    assert "once more" not in desk.tell("/wakeups")


def test_one_that_comes_again_keeps_its_own_times(desk: Desk) -> None:
    remind(desk, "every day at 12:20 call Bob")
    assert "Its own times stay" in desk.tell("/snooze 10m")
    assert desk.wait(10 * MINUTE) == ["call Bob"]
    assert desk.wait((24 * 60 - 10) * MINUTE) == ["call Bob"]
    desk.tell("/snooze 1h")
    assert "It comes again at" in desk.tell("/done")
    assert desk.wait(23 * 60 * MINUTE) == []
    assert desk.wait(60 * MINUTE) == ["call Bob"]


@pytest.mark.parametrize(
    ("words", "minutes"),
    [
        ("Later!", 10),
        ("snooze 30 min", 30),
        ("稍后20分钟", 20),
        ("später", 10),
        ("Done.", 0),
        ("完成", 0),
        ("erledigt", 0),
    ],
)
def test_plain_words_right_below_a_reminder_need_no_model(
    desk: Desk, model: ScriptedModel, words: str, minutes: int
) -> None:
    remind(desk)
    answer = desk.tell(words)
    assert "call Bob" in answer
    assert model.bodies == []
    assert desk.wait(minutes * MINUTE) == (["call Bob"] if minutes else [])
    assert desk.wait(86_400.0) == []


def test_the_same_words_elsewhere_are_for_the_model(desk: Desk, model: ScriptedModel) -> None:
    for words in ("done", "later", "snooze the stock market"):
        model.then(say("Well."))
        assert desk.tell(words) == "Well."
    remind(desk)
    for words in ("done deal?", "later in Paris", "done"):
        model.then(say("Well."))
        assert desk.tell(words) == "Well."


def test_what_a_turn_made_before_it_crashed_is_not_made_again_after_it_was_said(
    desk: Desk,
) -> None:
    remind(desk)
    desk.tell("/snooze 10m")
    assert desk.wait(10 * MINUTE) == ["call Bob"]
    schedules = Schedules(desk.chats.runtime.stores.kv, "main")
    (said,) = (each for each in schedules.scan() if each.snoozed)
    wanted = replace(said, id="", due=0.0, runs=0, last=None, number=0)
    assert schedules.add(wanted) == (said, False)
    assert desk.wait(MINUTE) == []


def find_buttons(desk: Desk) -> dict[str, str]:
    """Return the commands of the buttons below the last message, by label."""
    markup = desk.chats.bot.messages[-1].get("reply_markup", {"inline_keyboard": []})
    return {
        each["text"]: each["callback_data"] for row in markup["inline_keyboard"] for each in row
    }


def press(desk: Desk, command: str, presser: int = OWNER, chat: int = OWNER) -> str:
    """Press a button below a message of long ago, and return what is said then."""
    desk.number += 1
    message = {"message_id": 1, "date": int(MONDAY), "chat": {"id": chat, "type": "private"}}
    user = {"id": presser, "is_bot": False, "first_name": "Ada"}
    body = {"id": "77", "from": user, "message": message, "data": command}
    update = orjson.dumps({"update_id": desk.number, "callback_query": body})
    for event in desk.chats.runtime.channels["telegram"].read_update(update).events:
        desk.chats.runtime.queue.put(event)
    before = len(desk.chats.list_texts())
    desk.chats.work_off()
    return "\n".join(desk.chats.list_texts()[before:])


def test_a_reminder_has_buttons_that_say_it_later_or_are_done_with_it(desk: Desk) -> None:
    remind(desk)
    buttons = find_buttons(desk)
    assert list(buttons) == ["Done", "In 10 min", "In 1 h", "Tomorrow"]
    assert all(PRESSED.fullmatch(each) for each in buttons.values())
    for label, minutes in (("In 10 min", 10), ("In 1 h", 60)):
        desk.wait(5 * MINUTE)
        assert "“call Bob” once more" in press(desk, buttons[label])
        assert desk.wait((minutes - 1) * MINUTE) == []
        assert desk.wait(MINUTE) == ["call Bob"]
        buttons = find_buttons(desk)
    assert "09:00" in press(desk, buttons["Tomorrow"])
    assert press(desk, buttons["Done"]) == "Done: “call Bob”."
    assert desk.wait(2 * 86_400.0) == []
    assert find_buttons(desk) == {}


def test_a_button_that_is_pressed_twice_counts_once_and_another_one_moves_it(desk: Desk) -> None:
    remind(desk)
    buttons = find_buttons(desk)
    first = press(desk, buttons["In 1 h"])
    desk.wait(MINUTE)
    assert press(desk, buttons["In 1 h"]) == first
    assert desk.wait(59 * MINUTE) == ["call Bob"]
    assert desk.wait(2 * 60 * MINUTE) == []
    press(desk, buttons["Tomorrow"])
    press(desk, buttons["In 10 min"])
    assert desk.wait(10 * MINUTE) == ["call Bob"]
    assert desk.wait(2 * 86_400.0) == []


def test_an_old_button_says_that_it_is_done(desk: Desk) -> None:
    remind(desk)
    buttons = find_buttons(desk)
    press(desk, buttons["In 10 min"])
    desk.wait(10 * MINUTE)
    assert press(desk, find_buttons(desk)["Done"]) == "Done: “call Bob”."
    for old in buttons.values():
        assert press(desk, old) == "“call Bob” is done already."


def test_the_words_make_the_buttons_old_as_well(desk: Desk) -> None:
    remind(desk)
    buttons = find_buttons(desk)
    desk.tell("done")
    assert press(desk, buttons["In 1 h"]) == "“call Bob” is done already."


def test_a_button_of_one_that_came_again_works_again(desk: Desk) -> None:
    desk.tell("/remind every day at 13:00 walk")
    assert desk.wait(60 * MINUTE) == ["walk"]
    assert "It comes again" in press(desk, find_buttons(desk)["Done"])
    assert desk.wait(86_400.0) == ["walk"]
    assert "Its own times stay" in press(desk, find_buttons(desk)["In 10 min"])


def test_nobody_elses_press_counts(desk: Desk) -> None:
    remind(desk)
    buttons = find_buttons(desk)
    stranger = 999
    press(desk, buttons["Done"], presser=stranger, chat=stranger)
    # the id of a reminder is worth nothing in another chat
    assert "No reminder was said here" in press(desk, buttons["Done"], presser=GUEST, chat=GUEST)
    press(desk, buttons["Done"].replace("/done", "/halt"))
    assert "“call Bob” once more" in press(desk, buttons["In 10 min"])


def test_a_reminder_that_an_owner_made_elsewhere_has_buttons_too(desk: Desk) -> None:
    desk.tell("/wakeups", GUEST)
    fields = {"when": "in 20 minutes", "session": f"telegram:{GUEST}", "say": "call Bob"}
    make_schedule(desk.chats.runtime.app, fields)
    assert desk.wait(20 * MINUTE) == ["call Bob"]
    done = find_buttons(desk)["Done"]
    assert press(desk, done, presser=GUEST, chat=GUEST) == "Done: “call Bob”."


def test_in_a_group_a_reminder_has_no_buttons(desk: Desk) -> None:
    group = {"id": -100, "type": "supergroup"}
    entity = [{"type": "bot_command", "offset": 0, "length": 7}]
    desk.chats.write(1, "/remind in 20 minutes call Bob", chat=group, entities=entity, date=int(desk.wall.now))  # fmt: skip
    desk.chats.work_off()
    assert desk.wait(20 * MINUTE) == ["call Bob"]
    assert find_buttons(desk) == {}
