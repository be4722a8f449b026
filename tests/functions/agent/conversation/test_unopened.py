"""What cannot be opened is told to its sender in one sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.events import Quote
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event, run_event

PHOTO = {"kind": "photo", "file_id": "x", "name": ""}
PHOTOS = ENGLISH.cannot_open.format(kinds="photos")


def sent(home: AgentRuntime, text: str, *files: Any, at: float = 0.0, **fields: Any) -> list[str]:
    given = replace(event(text), attachments=files, **fields)
    if at:
        given = replace(given, at=at)
    return [reply.text for reply in run_event(home, given).document.outbox]


@pytest.mark.parametrize(
    ("kind", "words"),
    [("voice", "voice messages"), ("photo", "photos"), ("new", "messages of this kind")],
)
def test_a_file_alone_is_answered_without_the_model(
    home: AgentRuntime, model: ScriptedModel, kind: str, words: str
) -> None:
    assert sent(home, "", {"kind": kind}) == [ENGLISH.cannot_open.format(kinds=words)]
    assert model.bodies == []


def test_it_stays_so_when_the_file_answers_a_message(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    assert sent(home, "", PHOTO, quotes=(Quote("reply", "show me"),)) == [PHOTOS]
    assert model.bodies == []


def test_the_model_knows_later_what_it_could_not_open(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    sent(home, "", PHOTO)
    sent(home, "did you see it?")
    _, photo, told, _ = model.bodies[-1]["messages"]
    assert photo["content"].endswith("\n[photo: unnamed, which you cannot open]")
    assert told["content"] == PHOTOS


def test_beside_a_text_the_sentence_stands_above_the_answer(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(say("a rose, you say"))
    (reply,) = sent(home, "which flower?", PHOTO)
    assert reply == f"{ENGLISH.cannot_open_beside.format(kinds='photos')}\n\na rose, you say"
    sent(home, "thanks")
    assert model.bodies[-1]["messages"][-2]["content"] == "a rose, you say"


def test_an_album_is_answered_once(home: AgentRuntime, model: ScriptedModel) -> None:
    answers = [sent(home, "", PHOTO, at=1_000.0) for _ in range(3)]
    assert answers == [[PHOTOS], [], []]
    assert sent(home, "", PHOTO, at=2_000.0) == [PHOTOS]


def test_a_sticker_is_read_by_its_emoji(home: AgentRuntime, model: ScriptedModel) -> None:
    model.then(say("hello"))
    file = {"kind": "sticker", "file_id": "x"}
    assert sent(home, "", file, quotes=(Quote("sticker", "👋"),)) == ["hello"]
    assert model.bodies[-1]["messages"][-1]["content"].split("\n")[1:] == [
        "<<QUOTED>>",
        "[sticker]",
        "👋",
        "<</QUOTED>>",
    ]


def test_it_is_said_in_the_language_of_the_chat(home: AgentRuntime) -> None:
    assert sent(home, "", PHOTO, language="zh-hans") == [
        "我还打不开图片。想让我知道什么，请写下来。"
    ]
