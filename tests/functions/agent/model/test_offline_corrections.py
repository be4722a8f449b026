"""Corrections with the offline model: it keeps what is true now, asks where it does not understand,
and never answers with what was corrected as if it were true.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.model.offline_corrections import correct_note, find_doubted, list_kept
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.functions.agent.talk import tell
from tests.project.tree import ROOT
from tests.tables import each_row

ROWS: list[dict[str, Any]] = json.loads(
    (ROOT / "tests" / "data" / "corrections.json").read_text(encoding="utf-8")
)


@pytest.fixture(name="home")
def open_home(runtime: Callable[..., AgentRuntime]) -> AgentRuntime:
    """An agent without a language model."""
    return runtime(library="builtin")


@each_row(
    "told, question, answer, over",
    [
        (
            ("remember that I am 1.78 tall", "no, that was 1.87"),
            "how tall am I?",
            "no, that was 1.87",
            "No longer true: I am 1.78 tall",
        ),
        (
            ("merk dir: mein Hund heißt Bello", "nein, er heißt jetzt Balu"),
            "wie heißt mein Hund?",
            "mein Hund heißt Balu",
            "Gilt nicht mehr: mein Hund heißt Bello",
        ),
        (
            ("记住我的狗叫旺财", "不对 它现在叫来福"),
            "我的狗叫什么？",
            "我的狗叫来福",
            "不再成立：我的狗叫旺财",
        ),
        (
            (
                "remember that my dog is called Rex",
                "no, his name is Max now",
                "actually it was right: Rex",
            ),
            "what is my dog called?",
            "my dog is called Rex",
            "No longer true: my dog is called Max",
        ),
    ],
)
def test_what_was_corrected_is_no_longer_answered_as_true(
    home: AgentRuntime, told: tuple[str, ...], question: str, answer: str, over: str
) -> None:
    session = f"telegram:{len(question)}"
    for words in told:
        (reply,) = tell(home, words, session=session)
    assert over in reply
    old = over.replace("：", ": ").rpartition(": ")[2]

    tell(home, "/mem", session=session)
    tell(home, "/new", session=session)
    (answered,) = tell(home, question, session=session)
    lines = [line for line in answered.split("\n") if line.startswith("- ")]
    assert lines, answered
    assert lines[0].startswith(f"- {answer}")
    assert all(old not in line.partition("(")[0].partition("（")[0] for line in lines)

    memory = home.app.documents.read(keys.session_of("main", session), "memory").text
    assert answer in memory
    assert f"- {old}" not in memory.split("\n")


def test_what_is_not_understood_is_asked(home: AgentRuntime) -> None:
    tell(home, "remember that leo goes to lincoln elementary")
    (reply,) = tell(home, "leo switched to oak park middle school")

    asked = ENGLISH.offline_is_over.format(words="leo goes to lincoln elementary")
    assert reply.startswith(asked)
    (reply,) = tell(home, "no thanks")
    assert "No longer true" not in reply


@each_row("row", ROWS)
def test_a_correction_is_understood_or_asked_about_and_an_addition_ends_nothing(
    row: dict[str, Any],
) -> None:
    understood = correct_note([row["first"]], row["then"])
    kept = list_kept([({"remembered": {"id": "1", "payload": row["first"]}}, True)])

    if row.get("keeps"):
        assert understood is None
    elif understood:
        assert row["new"] in understood[1] or row["new"].rstrip(".") in understood[1]
    else:
        assert find_doubted(row["then"], kept) == row["first"]
