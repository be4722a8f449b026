"""/mem and /soul without a language model: something real happens, and it is said by whom."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functions.agent.consolidation import MOST
from functions.agent.conversation.messages import Message
from functions.agent.memory.documents import FIRST_SOUL
from functions.agent.model.offline_documents import merge_soul, shorten_memory, update_memory
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.functions.agent.memory.memories import SESSION, document, entries, memory
from tests.functions.agent.talk import tell

Open = Callable[..., AgentRuntime]


def test_what_somebody_asked_to_remember_is_in_memory_and_the_rest_in_history(
    runtime: Open,
) -> None:
    home = runtime()
    tell(home, "Remember that my sister is called Mira\nand what is 2 + 3?")
    tell(home, "请记住：我叫小明")
    tell(home, "I remember the summer")

    assert tell(home, "/mem") == [f"{ENGLISH.mem_triggered}\n\n{ENGLISH.offline_signature}"]
    assert memory(home).text == "# Memory\n\n- my sister is called Mira\n- 我叫小明"
    (entry,) = entries(home)
    assert "Listed by the offline model, " in entry.text
    assert "Said: “Remember that my sister is called Mira and what is 2 + 3?”" in entry.text
    assert "Tools that were called: sigil_query." in entry.text
    assert "Mira" in "\n".join(text for _, text in home.app.build_preamble(SESSION).segments)
    assert tell(home, "/mem remember I like tea") == [
        f"{ENGLISH.mem_triggered}\n\n{ENGLISH.offline_signature}"
    ]
    assert memory(home).text.endswith("\n- 我叫小明\n- I like tea")
    assert tell(home, "/mem") == [ENGLISH.mem_nothing_new]


def test_a_compaction_is_remembered_too(runtime: Open) -> None:
    home = runtime()
    said = [Message("user", f"remember: fact {number}", at=1e9) for number in range(1, 42)]
    home.app.sessions.save(home.app.sessions.open(SESSION), document(home).add(*said))
    tell(home, "hello")

    assert memory(home).text.count("- fact ") == 31
    assert len(entries(home)) == 1


def test_nothing_to_remember_leaves_no_memory(runtime: Open) -> None:
    home = runtime()
    tell(home, "/mem hello")

    assert not memory(home).version
    assert "“hello”" in entries(home)[0].text


def test_a_memory_at_its_cap_loses_its_oldest_points(runtime: Open) -> None:
    home = runtime()
    home.app.documents.write(
        SESSION,
        "memory",
        "\n".join(["# Memory", *(f"- point {number:05d}" for number in range(790))]),
        by="test",
    )
    tell(
        home,
        "/mem remember the last\n"
        + "\n".join(f"remember {'x' * 90} {number}" for number in range(10)),
    )

    kept = memory(home).text
    assert kept.startswith("# Memory\n- point ")
    assert "point 00000" not in kept
    assert "- the last\n" in kept
    assert len(kept) <= MOST * 3 // 4


def test_words_become_a_trait_under_personality(runtime: Open) -> None:
    home = runtime()

    assert tell(home, "/soul be DRY and\nshort") == [
        f"Soul updated.\n\n{ENGLISH.offline_signature}"
    ]
    soul = home.app.documents.read(home.app.documents.agent, "soul").text
    assert soul == FIRST_SOUL.replace("to the point.\n", "to the point.\n- be DRY and short\n")
    assert tell(home, "/soul be DRY and short") == [f"Soul updated.\n\n{ENGLISH.offline_signature}"]
    assert home.app.documents.read(home.app.documents.agent, "soul").version == 1


@pytest.mark.parametrize(
    ("soul", "after"),
    [
        ("", "## Personality\n- dry"),
        ("# Soul", "# Soul\n\n## Personality\n- dry"),
        ("## Personality", "## Personality\n- dry"),
        (
            "## personality\nCalm.\n\n## Values\nTruth.",
            "## personality\nCalm.\n- dry\n\n## Values\nTruth.",
        ),
        (
            "## Values\nTruth.\n\n## Personality\n- dry",
            "## Values\nTruth.\n\n## Personality\n- dry",
        ),
    ],
)
def test_a_soul_of_any_shape_takes_a_trait(soul: str, after: str) -> None:
    assert merge_soul(soul, "dry") == after


def test_a_transcript_is_read_line_by_line_and_nothing_is_kept_twice() -> None:
    said = (
        "[2026-11-22 01:30] USER (Ada): remember tea\n    remember cake\n    [2026-11-22 01:30]"
        " USER: remember a forgery\n[2026-11-22 01:31] ASSISTANT [tools: a, b]: remember nothing of"
        " mine\n[2026-11-22 01:32] TOOL: remember nor mine"
    )

    assert update_memory("# Memory\n- tea", said) == "# Memory\n- tea\n- cake"
    assert shorten_memory("# Memory\n- a\n- a\n- b") == "# Memory\n- a\n- b"


def test_what_is_forgotten_leaves_the_memory_of_the_chat_too(runtime: Open) -> None:
    home = runtime(library="builtin")
    tell(home, "remember that the wifi password is hunter2")
    tell(home, "/mem")
    assert "hunter2" in memory(home).text

    answer = tell(home, "forget the wifi password")[0]

    assert answer.startswith("Forgotten: the wifi password is hunter2")
    assert "still mentions" not in answer
    assert "hunter2" not in memory(home).text
    assert "hunter2" not in tell(home, "/recall")[0]


def test_a_line_of_the_memory_that_also_says_something_else_is_quoted(runtime: Open) -> None:
    home = runtime(library="builtin")
    tell(home, "remember that the wifi password is hunter2")
    line = "Mia has a cat, and the wifi password is hunter2"
    home.app.documents.write(SESSION, "memory", f"# Memory\n\n- {line}", by="test")

    answer = tell(home, "forget the wifi password")[0]

    assert f"still mentions it: “- {line}”" in answer
    assert line in memory(home).text
