"""Reminders without a language model: what people write, what is answered, and what is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from functions.agent.model.offline_schedules import find_wish
from functions.agent.schedules.schedule import SCHEDULES_MOST
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.functions.agent.talk import tell
from tests.tables import each_row

DIALOGUES: tuple[tuple[tuple[str, str], ...], ...] = (
    (
        (
            "remind me tomorrow at nine to call Bob",
            r"^I will say “call Bob”: .* at 09:00 \(.*UTC\)",
        ),
        ("remind me tomorrow at nine to call Bob", "^I have that already, as number 1"),
        (
            "every weekday at 8 look at the rates",
            r"(?s)^I will say “look at the rates”: .*at 08:00 \(.*Next: .*;.*;.*UTC\)",
        ),
        (
            "what are my reminders",
            r"(?s)^1\. call Bob · .*\n2\. look at the rates · every Monday to",
        ),
        ("cancel the reminder", r"(?s)^Which one.*\n1\. call Bob · .*\n2\. "),
        ("pause the second reminder", "^Paused: “look at the rates”"),
        ("which reminders do I have", r"(?s)2\. look at the rates · .* · paused"),
        ("cancel the reminder to call Bob", "^Dropped: “call Bob”"),
        ("delete reminder number 7", r"(?s)^Which one"),
        ("cancel my reminder", "^Dropped: “look at the rates”"),
        ("cancel my reminder", "^Nothing is scheduled here"),
    ),
    (
        ("明天上午九点提醒我给鲍勃打电话", "^到时我会说“给鲍勃打电话”：.* 09:00（.*UTC）"),
        ("每天早上八点提醒我吃药", "^到时我会说“吃药”：每天 08:00（.*接下来：.*;.*;"),
        ("我有哪些提醒", r"(?s)^1\. 给鲍勃打电话 · .*\n2\. 吃药 · 每天 08:00"),
        ("取消第二个提醒", "“吃药”"),
        ("我的提醒", r"^1\. 给鲍勃打电话 · [^\n]*$"),
    ),
    (
        (
            "erinnere mich morgen um neun an den Zahnarzt",
            r"^Ich sage dann „den Zahnarzt“: .* 09:00 Uhr \(",
        ),
        ("welche Erinnerungen habe ich", r"^1\. den Zahnarzt · "),
        ("lösche die erste Erinnerung", "„den Zahnarzt“"),
    ),
    (
        ("remind me tomorrow at 5 to call Bob", r"^Do you mean .* 05:00 or .* 17:00\?"),
        ("remind me to call Bob", "^I see no time in that"),
        ("remind me tomorrow at nine", "^What shall I remind you of"),
        ("remind me every second to breathe", "^Once a minute is the most"),
        ("remind me thrusday 5pm return the 3 library books", "^I do not know what thrusday"),
        ("every 15 minutes until 6 look at the news", "^Until when"),
        ("每20分钟直到复活节看新闻", "^到什么时候结束"),
        ("what are my reminders", "^Nothing is scheduled here"),
    ),
    (
        ("remind me tomorrow at 5 to call Bob", r"^Do you mean [^()]*\?$"),
        ("remind me yesterday to call Bob", r"^yesterday is past\. When shall it be\?$"),
        ("remind me every second to blink", r"^Once a minute [^()]*\.$"),
        ("明天三点提醒我打电话", "^你是指[^（）]*？$"),
        ("remind me every January to budget", r"^On which day [^()]*\.$"),
        ("remind me tomorrow at 17:00 to call Bob", "^I will say “call Bob”"),
    ),
    (
        ("set an alarm for 6:30 am", r"^I will say “It is time\.”: .* at 06:30 \("),
        ("set a timer for ten minutes", "^I will say “It is time"),
    ),
)
"""In each chat what somebody writes, and a pattern of the answer."""


def test_reminders_are_set_listed_paused_and_cancelled_in_words(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", timezone="Etc/UTC", tokens_per_day=0)
    wrong = []
    for place, dialogue in enumerate(DIALOGUES):
        for said, wanted in dialogue:
            reply = tell(home, said, session=f"telegram:{100 + place}")[0]
            answer = re.split(r"\n\n[—(（]", reply)[0]
            if not re.search(wanted, answer) or "schedule-wakeup" in reply:
                wrong.append((said, answer))
    assert not wrong, "\n".join(map(str, wrong))


def test_the_65th_is_answered_with_how_to_drop_one(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin", timezone="Etc/UTC", tokens_per_day=0)
    tell(home, "remind me in 20 minutes to call Bob")
    schedules = home.app.schedules
    (first,) = schedules.scan()
    for number in range(1, SCHEDULES_MOST):
        schedules.add(replace(first, say=f"task {number}", due=0.0))
    answer = tell(home, "remind me in 30 minutes to call Eve")[0]
    assert answer.startswith("There is no room for more schedules.")
    assert "`/wakeups drop N` makes room" in answer


@each_row(
    "said",
    [
        "remind me what my wife's name is",
        "how do I set a reminder?",
        "every day is a gift",
        "every other day 5 people come",
        "call me Bob",
        "stop the music",
        "cancel my subscription",
        "叫我小王",
        "what becomes of 1000 at 5% compound interest in 10 years",
        "check my cron schedule 30 4 1,15 * *",
    ],
)
def test_other_words_are_no_wish_for_a_schedule(said: str) -> None:
    assert find_wish(said, ENGLISH) is None
