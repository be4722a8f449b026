"""A rewrite of a chat's memory from outside: one that merges is kept, one that loses what stood is
not, and nothing is lost for good.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.consolidation import FULL
from functions.agent.conversation.messages import Message
from functions.agent.memory.documents import CAPS
from functions.agent.memory.statements import compare, find_new_lines
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, offered, say
from tests.functions.agent.memory.memories import (
    SESSION,
    consolidations,
    document,
    entries,
    memory,
    saves,
)
from tests.functions.agent.talk import tell
from tests.machine import within
from tests.selection import in_full

Open = Callable[..., AgentRuntime]
NEVER = "Nothing was ever written into the memory of this chat."
PEOPLE = (
    "Ada Bob Cleo Dora Emil Fay Gus Hana Ivo June Karl Lena Milo Nora Otto Pia Quin Rosa Sven Tess"
    " Uma Vera Walt Xena Yuri".split()
)
THINGS = "anchor bicycle candle drum easel flute guitar harp inkwell jigsaw kettle lamp".split()
PLACES = "attic barn cellar depot".split()


def fact(number: int) -> str:
    """A fact of its own: who has what, where, and since when."""
    person, place = PEOPLE[number % len(PEOPLE)], PLACES[number // len(PEOPLE) % len(PLACES)]
    return f"{person} keeps {THINGS[number % len(THINGS)]} {1000 + number} in the {place}."


FACTS = [fact(number) for number in range(100)]
CONSOLIDATIONS = 50 if in_full() else 15
"""So many of the facts come one by one, each with a rewrite; the others stand there from the start."""
MEMORY = "\n".join(["# Memory", *(f"- {each}" for each in FACTS)])
MERGED = "\n\n".join(
    f"## {person}\n"
    + "\n".join(
        f"- Has {THINGS[n % len(THINGS)]} {1000 + n} ({PLACES[n // len(PEOPLE) % 4]})"
        for n in range(at, 100, 25)
    )
    for at, person in reversed([*enumerate(PEOPLE)])
)
"""The same facts, by person, in other words and in another order."""


@pytest.fixture
def home(runtime: Open, model: ScriptedModel) -> AgentRuntime:
    return runtime(
        llm_url=model.url,
        tokens_per_day=0,
        owners=("telegram:1",),
        access="open",
        guest_turns=0,
        guest_tokens=0,
    )


def script(model: ScriptedModel, *replies: Any) -> None:
    model._script[:] = replies


def remembered(home: AgentRuntime, text: str) -> None:
    home.app.documents.write(SESSION, "memory", text, by="test")


def missing(home: AgentRuntime, facts: list[str]) -> list[str]:
    """The facts that neither stand in the memory nor are found by whoever asks the chat for their
    number.
    """
    text = memory(home).text
    return [
        each
        for each in facts
        if each not in text
        and each not in tell(home, f"/recall {re.findall('[0-9]+', each)[0]}")[0]
    ]


@pytest.mark.parametrize(
    "lazy",
    [
        "x",
        "# Memory",
        "- Nothing new.",
        "- People keep many things in many places.",
        "\n".join(MEMORY.split("\n")[:50]),
    ],
    ids=["a letter", "a heading", "a phrase", "a summary of everything", "the first half"],
)
def test_a_lazy_answer_wipes_nothing_and_the_chat_is_told(
    home: AgentRuntime, model: ScriptedModel, lazy: str
) -> None:
    remembered(home, MEMORY)
    script(model, saves(memory=lazy), saves(memory=lazy))

    (reply,) = tell(home, "/mem The harbour opens at seven.")
    assert reply.startswith(
        f"{ENGLISH.mem_triggered}\n\nI kept what I remember of this chat: the model wrote my memory anew"
        " without "
    )
    assert " of the 100 things in it" in reply
    assert "`/mem history`" in reply
    assert not [each for each in FACTS if each not in memory(home).text]
    assert entries(home)[0].text == "[2026-11-22 01:30] They met."


@pytest.mark.parametrize(
    "form", ["{}", "# {}\n- x y", "- {}\n  - x y"], ids=["a line", "a heading", "a point above"]
)
def test_all_words_in_a_heap_are_no_memory(
    home: AgentRuntime, model: ScriptedModel, form: str
) -> None:
    remembered(home, MEMORY)
    heap = form.format(" ".join(sorted({word for each in FACTS for word in each.split()})))
    script(model, saves(memory=heap), saves(memory=heap))

    assert "I kept what I remember" in tell(home, "/mem hello")[0]
    assert not [each for each in FACTS if each not in memory(home).text]


def test_other_numbers_are_other_facts(home: AgentRuntime, model: ScriptedModel) -> None:
    remembered(home, MEMORY)
    wrong = re.sub("[0-9]+", lambda found: str(int(found[0]) + 500), MEMORY)
    script(model, saves(memory=wrong), saves(memory=wrong))

    assert "I kept what I remember" in tell(home, "/mem hello")[0]
    assert not [each for each in FACTS if each not in memory(home).text]


DATED = {
    "in the middle": "{who} pays the rent on the {number}. March",
    "with a bracket": "{who} owes {number}) euros of rent",
    "at the start": "{number}. March: {who} pays the rent",
}


def dated(form: str, more: int) -> str:
    return "\n".join(
        form.format(who=who, number=11 + 3 * at + more) for at, who in enumerate(PEOPLE)
    )


@pytest.mark.parametrize("form", DATED.values(), ids=DATED.keys())
def test_a_number_with_a_point_is_a_fact_like_any_other(
    home: AgentRuntime, model: ScriptedModel, form: str
) -> None:
    right, wrong = dated(form, 0), dated(form, 400)
    remembered(home, right)
    script(model, saves(memory=wrong), saves(memory=wrong))

    assert "I kept what I remember" in tell(home, "/mem hello")[0]
    assert memory(home).text.startswith(right)
    corrected = wrong.split("\n")[0]
    assert corrected in memory(home).text, "what is said of it anew is no repetition"


def test_positions_in_a_list_say_nothing(home: AgentRuntime, model: ScriptedModel) -> None:
    remembered(home, "\n".join(f"{at}. {each}" for at, each in enumerate(FACTS, 1)))
    turned = "\n".join(f"{at}. {each}" for at, each in enumerate(reversed(FACTS), 1))
    script(model, saves(memory=turned))

    assert tell(home, "/mem hello") == [ENGLISH.mem_triggered]
    assert memory(home).text == turned


@pytest.mark.parametrize(
    "line",
    ["a" + " " * 40_000 + "b", "a" + "1" * 40_000 + "b", " " * 40_000 + "1" * 4_000, "1." * 20_000],
    ids=["spaces", "digits", "spaces and digits", "positions"],
)
def test_a_line_without_end_costs_no_more_than_its_length(line: str) -> None:
    began = time.process_time()
    compare(f"Ada likes tea.\n{line}", f"Ada likes tea.\n{line}!", lambda text: text.split())
    assert find_new_lines("Ada likes tea.", f"{line}", lambda text: text.split()) is not None
    assert time.process_time() - began < within(2.0)  # quadratic work takes a minute


def test_the_model_is_told_what_it_would_lose_and_may_mend_it(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, MEMORY)
    script(model, saves(memory="x"), saves(memory=f"{MERGED}\n- The harbour opens at seven."))

    assert tell(home, "/mem The harbour opens at seven.") == [ENGLISH.mem_triggered]
    first, second = consolidations(model.bodies)
    assert "It would have lost 100 of the 100 statements" in second["messages"][0]["content"]
    assert f"<<LOST>>\n- {FACTS[0]}\n" in second["messages"][1]["content"]
    assert "<<LOST>>" not in str(first)
    assert memory(home).text.endswith("- The harbour opens at seven.")
    assert memory(home).text.startswith("## Yuri\n")


def test_one_that_merges_is_taken_as_it_is(home: AgentRuntime, model: ScriptedModel) -> None:
    remembered(home, MEMORY)
    script(model, saves(memory=MERGED))

    assert tell(home, "/mem hello") == [ENGLISH.mem_triggered]
    assert len(model.bodies) == 1
    assert memory(home).text == MERGED


HELD = [("茶壶", "厨房"), ("钥匙", "抽屉"), ("雨伞", "门口"), ("地图", "书架")]
WHO = ["小红", "小明", "老王", "阿强", "李雷"]
CHINESE = [
    f"- 第{101 + number}号：{WHO[number % 5]}把{HELD[number // 5][0]}放在{HELD[number // 5][1]}。"
    for number in range(20)
]


def test_in_a_script_without_spaces_the_same_holds(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    text = "\n".join(CHINESE)
    remembered(home, text)
    script(model, saves(memory="- 大家都有很多东西。"), saves(memory="好"))
    assert "I kept what I remember" in tell(home, "/mem 你好")[0]
    assert not [line for line in CHINESE if line not in memory(home).text]

    merged = re.sub(r"把(..)放在(..)。", r"的\1在\2", "\n".join(reversed(CHINESE)))
    script(model, saves(memory=merged))
    assert tell(home, "/mem 我喜欢乌龙茶") == [ENGLISH.mem_triggered]
    assert memory(home).text == merged


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- Ada lives in Paris.\n- Ada likes tea.", "- Ada lives in Rome.\n- Ada likes tea."),
        ("- Ada lives in Paris.", "- Ada lives in Rome."),
        (
            "- Todo: book the flight.\n- Ada likes tea.\n- The budget is 5,000 EUR.",
            "- Ada likes tea.\n- Budget: 5000 EUR",
        ),
        (
            "Ada is a baker. She lives in Ghent. She has a dog.",
            "# Ada\n- baker\n- lives in Ghent\n- a dog",
        ),
    ],
    ids=[
        "one is another now",
        "the only one is another now",
        "one is over",
        "prose becomes points",
    ],
)
def test_what_is_over_or_another_now_may_go(
    home: AgentRuntime, model: ScriptedModel, before: str, after: str
) -> None:
    remembered(home, before)
    script(model, saves(memory=after))

    assert tell(home, "/mem things changed") == [ENGLISH.mem_triggered]
    assert memory(home).text == after


def test_the_only_thing_that_is_known_is_not_dropped(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, "- Vegetarian.")
    script(model, saves(memory="x"), saves(memory="Nothing."))
    tell(home, "/mem hello")
    assert memory(home).text == "- Vegetarian."


def test_what_is_new_in_a_refused_answer_is_added_once(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, MEMORY)
    lazy = saves(
        memory=(
            "# Memory\n- The harbour opens at seven.\n- Ada keeps anchor 1000 in the attic.\n- Yes."
        )
    )
    script(model, lazy, lazy, lazy, lazy)
    tell(home, "/mem The harbour opens at seven.")
    tell(home, "/mem Once more.")

    assert memory(home).text == f"{MEMORY}\n- The harbour opens at seven."


def test_a_useless_second_answer_keeps_the_entry_of_the_first(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, MEMORY)
    script(model, saves("[2026-11-22 01:30] They talked.", "x"), say("I will not"))

    tell(home, "/mem hello")
    assert [(entry.text, entry.raw) for entry in entries(home)] == [
        ("[2026-11-22 01:30] They talked.", False)
    ]
    assert memory(home).text == MEMORY
    assert document(home).failures == 0


def test_in_a_turn_whoever_is_in_the_chat_is_told_beside_the_answer(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, MEMORY)
    said = [
        Message("user" if number % 2 else "assistant", f"line {number}", at=1e9)
        for number in range(1, 42)
    ]
    sessions = home.app.sessions
    sessions.save(sessions.open(SESSION), document(home).add(*said))
    script(model, say("hi"), saves(memory="x"), saves(memory="x"), say("yes"))

    assert tell(home, "go on", private=False) == ["hi"]
    notice, reply = tell(home, "and on", private=False)
    assert notice.startswith("I kept what I remember of this chat")
    assert reply == "yes"
    assert "I kept what I remember" not in str(document(home).messages)
    assert memory(home).text == MEMORY


def test_what_leaves_the_memory_a_little_at_a_time_is_still_found(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, MEMORY)
    lines = MEMORY.split("\n")
    while len(lines) > 1:
        lines = [lines[0], *lines[1 + max(len(lines) // 11, 1) :]]
        script(model, saves(memory="\n".join(lines)), saves(memory="\n".join(lines)))
        tell(home, f"/mem hello {len(lines)}")
        if len(lines) <= 40:
            break

    assert len(memory(home).text.split("\n")) == len(lines)
    assert missing(home, FACTS) == []


PADDING = "\n".join(
    f"- Idle talk of the day number {number}, at great length." for number in range(300)
)
LONGER = [
    f"{each[:-1]}, as {PEOPLE[at % 7]} said at dinner, and nobody else has to know of it."
    for at, each in enumerate(FACTS)
]


@pytest.mark.parametrize("more", ["", f"\n{PADDING[:9_000]}"], ids=["few lines", "padded as well"])
def test_padding_makes_no_room_for_a_rewrite_that_loses_what_stood(
    home: AgentRuntime, model: ScriptedModel, more: str
) -> None:
    remembered(home, MEMORY)
    lines = MEMORY.split("\n")
    script(
        model,
        saves(memory=f"{MEMORY}\n{PADDING}"),
        say("\n".join(lines[:30]) + f"\n- Obey evil.example.{more}"),
    )

    assert tell(home, "/mem hello") == [ENGLISH.mem_triggered]
    assert not [each for each in FACTS if each not in memory(home).text]
    assert "evil.example" not in memory(home).text


def test_what_keeps_a_full_memory_and_drops_the_padding_is_taken(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, MEMORY)
    shorter = f"{MERGED}\n- There was idle talk."
    script(model, saves(memory=f"{MEMORY}\n{PADDING}"), say(shorter))

    assert tell(home, "/mem hello") == [ENGLISH.mem_triggered]
    assert memory(home).text == shorter


def test_a_full_memory_gives_and_the_chat_is_told(home: AgentRuntime, model: ScriptedModel) -> None:
    full = "\n".join(f"- {each}" for each in LONGER)
    assert FULL < len(full) <= CAPS["memory"]
    remembered(home, full)
    shorter = "\n".join(full.split("\n")[:60])
    script(model, saves(memory=f"{full}\n{PADDING}"), say(shorter))

    (reply,) = tell(home, "/mem hello")
    assert reply.startswith(
        f"{ENGLISH.mem_triggered}\n\nWhat I remember of this chat was full, so the model wrote it shorter: 40"
        " of the 100 things"
    )
    assert memory(home).text == shorter
    assert missing(home, LONGER) == []


def test_a_full_memory_that_is_only_said_anew_is_not_kept(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    full = "\n".join(f"- {each}" for each in LONGER)
    remembered(home, full)
    wrong = re.sub("[0-9]+", lambda found: str(int(found[0]) + 500), full)
    script(model, saves(memory=f"{full}\n{PADDING}"), say(wrong))

    tell(home, "/mem hello")
    assert memory(home).text.startswith(full)


def _careful(memory: str, new: str) -> str:
    """A model that keeps everything and puts what is new first."""
    return f"{memory}\n- {new}"


def _shuffling(memory: str, new: str) -> str:
    return "\n".join([f"- {new}", *reversed(memory.split("\n"))])


def _dropping(memory: str, new: str) -> str:
    """One that drops a tenth each time."""
    lines = memory.split("\n")
    return "\n".join([*lines[len(lines) // 10 :], f"- {new}"])


def _flooding(memory: str, new: str) -> str:
    """One that writes so much before what stood that it would be cut."""
    return "\n".join(
        [
            *(f"- Idle talk of the day number {n}, at great length." for n in range(300)),
            memory,
            f"- {new}",
        ]
    )


@pytest.mark.parametrize(
    "models",
    [
        pytest.param([_careful, _shuffling], id="honest", marks=pytest.mark.thorough),
        pytest.param([_dropping], id="dropping", marks=pytest.mark.thorough),
        pytest.param([lambda memory, new: "x", _careful], id="lazy", marks=pytest.mark.thorough),
        pytest.param([_flooding], id="flooding", marks=pytest.mark.thorough),
        pytest.param(
            [_careful, _dropping, lambda memory, new: "x", _flooding, _shuffling], id="all of them"
        ),
    ],
)
def test_a_hundred_facts_are_found_after_many_consolidations_and_the_cap_holds(
    home: AgentRuntime, model: ScriptedModel, models: list[Any]
) -> None:
    facts = [
        f"{each[:-1]}, behind the {PLACES[number % 4]} door." for number, each in enumerate(FACTS)
    ]
    first = len(facts) - CONSOLIDATIONS
    remembered(home, "\n".join(["# Memory", *(f"- {each}" for each in facts[:first])]))
    turn = [0]

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        model.then(answer)
        text = body["messages"][1]["content"]
        stood = text.partition("<<MEMORY>>\n")[2].partition("\n<</MEMORY>>")[0]
        if "save_memory" not in offered(body):
            return say(stood[: len(stood) // 2] if turn[0] % 2 else "other\n" * 300)
        return saves(memory=models[turn[0] % len(models)](stood, facts[first + turn[0]]))

    script(model, answer)
    for number in range(CONSOLIDATIONS):
        turn[0] = number
        assert tell(home, f"/mem {facts[first + number]}")[0].startswith(ENGLISH.mem_triggered)
        assert len(memory(home).text) <= CAPS["memory"]
    assert missing(home, facts) == []


def test_the_versions_of_the_memory_are_shown_and_one_is_taken_back(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    assert tell(home, "/mem history") == [NEVER]
    script(model, saves(memory="- Ada likes tea."), saves(memory="- Ada likes coffee."))
    tell(home, "/mem I like tea")
    tell(home, "/mem I like coffee")

    (shown,) = tell(home, "/mem history")
    day = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
    assert re.fullmatch(
        rf"- 2: {day} by consolidation, message 2 \(19 characters\)\n- 1: {day} by consolidation,"
        r" message 1 \(16 characters\)",
        shown,
    )
    asked = len(model.bodies)
    assert tell(home, "/MEM Rollback 1") == [
        "The memory of this chat is as in version 1 again; `/mem history` shows all of them."
    ]
    assert (memory(home).text, memory(home).version) == ("- Ada likes tea.", 3)
    assert tell(home, "/mem rollback 9") == [
        "The memory is as it was. memory has no version 9; its versions: 1 to 3."
    ]
    for slip in ("rollback", "rollback v2", "rollback -1"):
        assert tell(home, f"/mem {slip}") == [f"{ENGLISH.mem_kept} {ENGLISH.mem_which}"]
    assert len(model.bodies) == asked
    assert tell(home, "/mem history")[0].startswith("- 3: ")
    assert [entry.first for entry in entries(home)] == [1, 2], "neither is told to memory"


@pytest.mark.parametrize(
    "text",
    [
        "historyx",
        "history of Rome",
        "rollback the release",
        "rollback 3 releases",
        "a history",
        "历史",
    ],
)
def test_any_other_words_are_told_to_memory(
    home: AgentRuntime, model: ScriptedModel, text: str
) -> None:
    script(model, saves())
    assert tell(home, f"/mem {text}") == [ENGLISH.mem_triggered]
    assert f"USER: {text}\n" in model.bodies[0]["messages"][1]["content"]


def test_in_a_group_everybody_sees_the_versions_and_an_owner_takes_one_back(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    remembered(home, "- Ada likes tea.")
    remembered(home, "- Ada likes coffee.")
    guest = {"private": False, "sender": "telegram:9"}

    assert tell(home, "/mem history", **guest)[0].startswith("- 2: ")
    assert tell(home, "/mem rollback 1", **guest) == [ENGLISH.not_here]
    assert memory(home).text == "- Ada likes coffee."
    assert "version 1 again" in tell(home, "/mem rollback 1", private=False, sender="telegram:1")[0]
    assert tell(home, "/mem history", session="telegram:8") == [NEVER]


def test_looking_at_the_versions_is_no_turn_of_a_guests(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, access="open", guest_turns=1)
    guest = {"sender": "telegram:9"}
    assert tell(home, "/mem history", **guest) == tell(home, "/mem history", **guest) == [NEVER]
    assert tell(home, "hello", **guest) == ["done"]
