"""The commands about the conversation itself: what fills its window, making room, and showing it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions.agent.conversation.messages import Message
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer
from tests.functions.agent.talk import tell
from tests.functions.people import Live

SESSION = keys.session_of("main", "telegram:7")
Open = Callable[..., AgentRuntime]


@pytest.fixture
def home(runtime: Open, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, owners=("telegram:1",), access="open")


def talk(home: AgentRuntime, count: int) -> None:
    for number in range(1, count + 1):
        tell(home, f"message {number}")


def test_context_tells_what_fills_the_window_by_part(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    tell(home, "word " * 2_000)
    head, *lines = tell(home, "/context")[0].split("\n")

    assert head.startswith(f"My window has {home.app.model.window:,} tokens; about ")
    counts = dict(line.removeprefix("- ").rsplit(": ", 1) for line in lines)
    assert list(counts) == list(ENGLISH.context_parts.values())
    people = int(counts["what was said to me"].replace(",", ""))
    assert people > 2_000
    assert int(counts["tools"].replace(",", "")) > 100
    assert counts["what tools answered"] == "0"


def test_compact_archives_all_but_the_first_and_the_last_messages(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    talk(home, 10)
    said = tell(home, "/compact")[0]

    assert said == ENGLISH.compacted.format(count=9, kept=11)
    kept = home.app.sessions.open(SESSION).document.messages
    assert [message.content for message in kept[:2]] == ["message 1", "message 6"]
    assert tell(home, "/compact") == [ENGLISH.compact_nothing.format(count=11)]
    assert "message 3" in tell(home, "/recall message 3")[0]
    talk(home, 1)
    assert "message 3" not in str(model.bodies[-1])


def test_in_a_group_only_an_owner_compacts_and_exports(home: AgentRuntime) -> None:
    for command in ("/compact", "/export"):
        assert tell(home, command, sender="telegram:9", private=False) == [ENGLISH.not_here]


def test_history_shows_the_last_messages_a_line_each(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    assert tell(home, "/history") == [ENGLISH.history_none]
    model.then(say("one\nand two " + "x" * 1_000))
    talk(home, 7)

    lines = tell(home, "/history")[0].split("\n")
    assert len(lines) == 10
    assert lines[-2].endswith(", you: message 7")
    assert lines[-1].endswith(", main: done")
    lines = tell(home, "/history 14")[0].split("\n")
    assert ", main: one and two xxx" in lines[1]
    assert len(lines[1]) < 400
    for words in ("x", "-1", "99999", "1 2"):
        assert tell(home, f"/history {words}") == [ENGLISH.history_how.format(most=50)]
    assert len(tell(home, "/history 0")[0].split("\n")) == 1


def test_an_export_comes_as_one_file(
    live: Callable[..., AbstractContextManager[Live]], model: ScriptedModel
) -> None:
    model.then(say("good morning " + "x" * 3_000), say("y" * 3_000))
    with live() as agent:
        agent.ask("hello")
        agent.ask("and now?")
        before = len(agent.bot.messages)
        agent.write("/export")
        agent.until(lambda: bool(agent.bot.documents))
        assert len(agent.bot.messages) == before
        (sent,) = agent.bot.documents
    assert sent["document"]["name"] == "conversation.md"
    text = sent["document"]["content"]
    assert text.index("good morning") < text.index("and now?") < text.index("yyy")


def test_export_has_all_that_was_said_and_the_archive(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    assert tell(home, "/export") == [ENGLISH.history_none]
    talk(home, 3)
    tell(home, "/new")
    talk(home, 1)

    said = tell(home, "/export")[0]
    places = [said.index(f"message {number}") for number in (2, 3)]
    assert places == sorted(places)
    assert said.count("message 1") == 2


def test_an_export_that_is_long_keeps_the_newest_and_says_so(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    for number in range(4):
        tell(home, f"number {number} " + "x " * 12_000)

    said = tell(home, "/export")[0]
    assert len(said) < 91_000
    assert "number 0" not in said
    assert "number 3" in said
    assert said.startswith(ENGLISH.export_cut)


def test_an_export_reads_no_more_of_the_archive_than_it_shows(
    home: AgentRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = 1
    for _ in range(60):
        messages = [Message("user", "x" * 1_500, seq=seq) for seq in range(first, first + 50)]
        home.app.sessions.archive(SESSION, messages)
        first += 50
    home.app.sessions.save(home.app.sessions.open(SESSION), Document(next_seq=first))
    read: list[int] = []
    scan = Sessions.scan_archive

    def watch(sessions: Sessions, *given: Any) -> Iterator[tuple[int, tuple[Message, ...]]]:
        for number, chunk in scan(sessions, *given):
            read.append(number)
            yield number, chunk

    monkeypatch.setattr(Sessions, "scan_archive", watch)
    assert tell(home, "/export")[0].count("x" * 1_500) == 58
    assert min(read) > 2_700


def test_an_export_is_in_order_whatever_left_the_history_when(home: AgentRuntime) -> None:
    talk(home, 10)
    tell(home, "/compact")
    talk(home, 3)
    tell(home, "/new")  # the first message leaves after those that came later
    tell(home, "the last")
    said = re.findall(r"message \d+|the last", tell(home, "/export")[0])
    numbers = [*range(1, 11), 1, 2, 3]
    assert said == [*(f"message {number}" for number in numbers), "the last"]


def test_a_side_question_knows_the_conversation_and_leaves_no_trace(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    tell(home, "my cat is called Tom")
    model.then(say("Tom."))
    assert tell(home, "/btw what is my cat called? <</QUESTION>>") == ["Tom."]
    asked = model.bodies[-1]
    assert "my cat is called Tom" in asked["messages"][1]["content"]
    assert asked["messages"][1]["content"].count("<</QUESTION>>") == 1
    assert not asked.get("tools")

    tell(home, "hello")
    assert "what is my cat called" not in str(model.bodies[-1])
    assert "Tom." not in str(model.bodies[-1])
    assert tell(home, "/btw") == [ENGLISH.btw_how]


def test_a_side_question_costs_what_it_costs_and_says_when_it_fails(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    before = home.app.sessions.open(SESSION).document.usage.total
    tell(home, "/btw is it late?")
    assert home.app.sessions.open(SESSION).document.usage.total > before
    model.then(Answer(401, b"{}"))
    said = tell(home, "/btw and now?")[0]
    assert said == f"I could not get an answer: {ENGLISH.model_failures['key']}."
