"""The language in which a person reads the agent's own texts, from outside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.agent.turn.turn import run_turn
from functions.events import Quote
from functions.texts.de import TEXTS as GERMAN
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.zh import TEXTS as CHINESE
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import event, run_event, tell

Open = Callable[..., AgentRuntime]
PHOTO = {"kind": "photo", "file_id": "a"}


@pytest.fixture
def home(runtime: Open, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, owners=("telegram:1",), access="open")


def ask(home: AgentRuntime, text: str, language: str = "zh-hans") -> str:
    """Return the reply to somebody whose app is in this language."""
    closed = run_event(home, replace(event(text), language=language))
    return closed.document.outbox[-1].text


def test_the_language_of_a_persons_app_is_the_first_that_they_read(home: AgentRuntime) -> None:
    assert ask(home, "/new") == CHINESE.new_session
    assert ask(home, "/new", "de") == GERMAN.new_session
    assert ask(home, "/new", "fr") == ENGLISH.new_session
    assert ask(home, "/new", "") == ENGLISH.new_session


def test_the_words_of_a_chat_say_more_than_the_app(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    ask(home, "what is the time?")
    assert ask(home, "/forget x") == ENGLISH.forget_how
    ask(home, "现在几点？", "en")
    assert ask(home, "/forget x", "en") == CHINESE.forget_how


@pytest.mark.parametrize("words", ["was siehst du hier, bitte?", ""])
def test_what_a_message_holds_and_quotes_says_nothing_about_its_writer(
    home: AgentRuntime, words: str
) -> None:
    ask(home, "wie geht es dir?", "en")
    quote = Quote("forward", "This is what the others have said about it.", "Bob", "telegram:9")
    happened = replace(event(words), language="en", quotes=(quote,), attachments=(PHOTO,))
    run_event(home, happened)

    assert ask(home, "/forget x", "en") == GERMAN.forget_how


def test_the_offline_model_reads_the_words_of_a_photo_alone(runtime: Open) -> None:
    home = runtime(library="builtin", llm_url="")
    happened = replace(event("was ist 2 hoch 10"), attachments=(PHOTO,))
    (reply,) = run_event(home, happened).document.outbox

    kinds = GERMAN.cannot_open_beside.format(kinds="Fotos")
    assert reply.text == f"{kinds}\n\n1024\n\n{GERMAN.offline_signature}"


def test_a_chat_chooses_its_language_and_gives_it_up_again(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    assert "中文 (`zh`)" in ask(home, "/language", "en")
    assert ask(home, "/language 中文", "en") == CHINESE.language_set.format(name="中文")
    ask(home, "what is the time?", "en")
    assert ask(home, "/stop", "en") == CHINESE.nothing_runs
    assert ask(home, "/new", "en") == CHINESE.new_session
    assert ask(home, "/language auto", "en") == ENGLISH.language_auto
    assert ask(home, "/new", "en") == ENGLISH.new_session


def test_an_unknown_language_is_told_on_one_line(home: AgentRuntime) -> None:
    said = ask(home, "/language Klingon`\n\n# Stop", "en")

    assert said.startswith(
        "I do not know the language `Klingon # Stop`. I know: Deutsch (`de`), English (`en`)"
    )
    assert "\n" not in said


def test_in_a_group_only_an_owner_chooses_the_language(home: AgentRuntime) -> None:
    guest = {"sender": "telegram:9", "private": False}

    assert tell(home, "/language zh", **guest) == [ENGLISH.not_here]
    assert "/language" in tell(home, "/language", **guest)[0]
    assert tell(home, "/language zh", sender="telegram:1", private=False) == [
        CHINESE.language_set.format(name="中文")
    ]


def test_a_turn_without_an_answer_ends_in_the_persons_language(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(*[{"choices": [{"message": {"role": "assistant", "content": ""}}]}] * 2)

    assert ask(home, "你好", "en") == CHINESE.no_answer


def test_a_halt_is_answered_and_told_in_the_persons_language(home: AgentRuntime) -> None:
    assert ask(home, "/halt") == CHINESE.halted
    assert ask(home, "你好") == f"{CHINESE.reasons['halted']} {CHINESE.your_unlock}"
    assert ask(home, "/unlock") == CHINESE.unlocked


def test_a_stranger_and_the_word_that_they_are_in_are_in_their_language(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, owners=("telegram:1",))
    stranger = event("你好", session="telegram:9", sender="telegram:9")
    offer = run_turn(stranger, home.app).document.outbox[-1].text

    assert offer.startswith("我只和我的主人允许的人说话")
    code = offer.split("`")[1]
    said = tell(home, f"/pair {code}", sender="telegram:1", session="telegram:1")
    assert CHINESE.let_in in said
    assert "`telegram:9` (`Ada`) may talk to me now." in said
