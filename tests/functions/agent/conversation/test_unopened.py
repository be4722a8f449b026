"""What cannot be opened is told to its sender in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.commands.table import answer_inquiry
from functions.agent.conversation.unopened import ToldFiles, is_told, read_told
from functions.events import ALBUM, Quote
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.bot_api import TOKEN, BotApi
from tests.fakes.model import ScriptedModel, say
from tests.functions.agent.talk import event, run_event
from tests.functions.chats import Chats
from tests.functions.people import GROUP, platform

PHOTO = {"kind": "photo", "file_id": "x", "name": ""}
US = {"id": int(TOKEN.partition(":")[0]), "is_bot": True}
PHOTOS = ENGLISH.cannot_open.format(kinds="photos")
LOST = ENGLISH.file_problems["not_fetched"].format(name=ENGLISH.file_unnamed)


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
    file = {"kind": kind, "file_id": "x"}
    assert sent(home, "", file) == [ENGLISH.cannot_open.format(kinds=words)]
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


def test_files_of_one_kind_within_seconds_are_answered_once(home: AgentRuntime) -> None:
    answers = [sent(home, "", PHOTO, at=at) for at in (1_000.0, 1_003.0, 1_005.0, 1_006.0)]
    # silence does not last longer for what it was kept about
    assert answers == [[PHOTOS], [], [], [PHOTOS]]
    assert sent(home, "", {"kind": "voice"}, at=1_007.0)
    assert sent(home, "", PHOTO, at=1_008.0) == [PHOTOS]


def test_what_was_told_of_an_album_or_a_moment_ago_is_not_told_again() -> None:
    photo = replace(event(""), attachments=(PHOTO,), at=100.0)
    album = replace(photo, data={ALBUM: "7"})
    told = read_told('hi\n[photo: unnamed, which you cannot open]\n[document: "a.txt"]', 98.0)
    assert told == ToldFiles(frozenset({"photo"}), 98.0)
    assert is_told(photo, told, ())
    assert not is_told(photo, None, ())
    assert not is_told(photo, ToldFiles(frozenset({"voice"}), 98.0), ())
    assert not is_told(photo, ToldFiles(frozenset({"photo"}), 94.0), ())
    # whatever came a moment ago: an album is told of by its own id
    assert not is_told(album, told, ("telegram:album:8",))
    assert is_told(album, None, ("telegram:album:7",))
    assert read_told("[in reply to you] [photo: unnamed, which you cannot open]", 1.0) is None


@pytest.fixture
def chats(runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel) -> Chats:
    return Chats(runtime(llm_url=model.url, **platform(bot)), bot)


FILE = {"file_id": "AwAC1", "file_unique_id": "u"}


def test_on_telegram_each_file_is_answered_and_each_album_once(
    chats: Chats, model: ScriptedModel
) -> None:
    at = 1_780_000_000
    invoice = LOST.replace(ENGLISH.file_unnamed, ENGLISH.file_named.format(name="inv.pdf"))
    chats.write(1, "", voice=FILE, date=at)
    chats.write(2, "", document=FILE | {"file_name": "inv.pdf"}, date=at + 35)
    chats.write(3, "", photo=[FILE], date=at + 75)
    for number in range(4, 10):
        chats.write(number, "", photo=[FILE], date=at + 80, media_group_id="1001")
    for number in range(10, 13):
        chats.write(number, "", photo=[FILE], date=at + 81, media_group_id="1002")
    chats.work_off()
    assert chats.list_texts() == [LOST, invoice, *[LOST] * 3]
    assert model.bodies == []


def test_a_file_beside_a_command_is_told_of_above_its_answer(chats: Chats) -> None:
    album = {"photo": [FILE], "media_group_id": "1001"}
    chats.write(1, "", **album, caption="/quiet 22:00-07:00")
    chats.write(2, "", **album)
    chats.work_off()
    (text,) = chats.list_texts()
    told, _, answer = text.partition("\n\n")
    assert told == LOST
    assert answer.startswith("From 22:00")
    asked = replace(event("/help"), attachments=({**PHOTO, "file_id": ""},))
    assert answer_inquiry(asked, chats.runtime.app).startswith(f"{told}\n\n")


def test_an_album_with_a_text_is_told_of_above_its_answer_alone(
    chats: Chats, model: ScriptedModel
) -> None:
    model.then(say("roses"))
    here = {"chat": GROUP, "media_group_id": "1001", "photo": [FILE]}
    caption = {"caption": "which flower?", "reply_to_message": {"from": US}}
    chats.write(1, "", **here, **caption)
    chats.write(2, "", **here, reply_to_message={"from": US})
    chats.work_off()
    assert chats.list_texts() == [f"{LOST}\n\nroses"]


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
