"""The offline model over the standard library: a person's sentence in, the right answer out, always
signed.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

import pytest

from functions.agent.model.offline_library import Request, read_request
from functions.agent.model.offline_talk import answer_talk
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.languages import list_codes, load_texts
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.functions.agent.talk import event, run_event, tell
from tests.machine import within
from tests.selection import thorough
from tests.tables import each_row

SIGNATURES = tuple(load_texts(code).offline_signature for code in list_codes())
CHATS = itertools.count(1_000)


@pytest.fixture
def home(runtime: Callable[..., AgentRuntime]) -> AgentRuntime:
    """An agent with the standard library, whom the rows of a table ask in chats of their own."""
    return runtime(library="builtin", timezone="Etc/UTC", tokens_per_day=0)


def open_chat(home: AgentRuntime) -> Callable[[str], list[str]]:
    """Return what takes a message of a new chat and returns the replies."""
    return partial(tell, home, session=f"telegram:{next(CHATS)}")


@each_row(
    ("said", "answer"),
    [
        ("encode hello world in base64", "aGVsbG8gd29ybGQ="),
        ("Please decode aGVsbG8gd29ybGQ= from base64", "hello world"),
        ("帮我把 hello world 编码成 base64", "aGVsbG8gd29ybGQ="),
        (
            "hash hello world with sha256",
            "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
        ),
        ("what is 2^10 + 5*3?", "1039"),
        ("convert 10 km to miles", "6.21371192237"),
        ("把 10 公里换算成英里", "6.21371192237"),
        ("add 30 days to 2024-01-31", "2024-03-01"),
        ("2024年1月1日到2024年12月25日有多少天", "359"),
        ("统计字数：你好，世界", "Words: 4"),
        ("how many words are in: to be or not to be", "Words: 6"),
        ("extract `\\d+` from `order 66 of 2024`", "66\n2024"),
        ('from the json `{"user": {"name": "Ann"}}` get `user.name`', "Ann"),
    ],
)
def test_a_sentence_is_answered(home: AgentRuntime, said: str, answer: str) -> None:
    replies = open_chat(home)(said)

    assert answer in replies[0]
    assert replies[0].endswith(SIGNATURES)


@pytest.mark.parametrize(
    ("said", "asked", "kept"),
    [
        (
            "Please remember that my sister is called Mira",
            "what do you remember about my sister?",
            "Remembered: my sister is called Mira",
        ),
        ("请记住：我叫小明", "recall 小明", "记住了：我叫小明"),
    ],
)
def test_what_begins_with_remember_is_kept_at_once_and_recalled(
    runtime: Callable[..., AgentRuntime], said: str, asked: str, kept: str
) -> None:
    home = runtime(library="builtin")
    assert tell(home, said)[0].startswith(f"{kept}\n")
    thing = re.split("[:：] ?", kept)[1]

    for session in ("telegram:7", "telegram:8"):
        (reply,) = tell(home, asked, session=session)
        assert (f"- {thing}" in reply) == (session == "telegram:7")
        assert not home.app.sessions.open(
            keys.session_of("main", session)
        ).document.safety.counters.failures


@each_row(
    "said",
    [
        "你好",
        "who are you",
        "",
        "😀",
        "```",
        "```js\n```",
        "make a capability",
        "x" * 50_000,
        "{" * 100,
        "/ nothing",
    ],
)
def test_whatever_is_said_gets_a_signed_answer(home: AgentRuntime, said: str) -> None:
    replies = open_chat(home)(said)

    assert len(replies) == 1
    assert any(signature in replies[0] for signature in SIGNATURES)


@each_row(
    "said",
    [
        "make a capability that reverses a text, and reverse 'stressed'",
        "write a capability that counts vowels",
        "please create me a new small capability for \u20ac",
        "deploy capabilities for me",
        "\u8bf7\u505a\u4e00\u4e2a\u80fd\u529b",
    ],
)
def test_a_wish_for_a_new_capability_without_its_source_is_answered_with_how_to_send_it(
    home: AgentRuntime, said: str
) -> None:
    (reply,) = open_chat(home)(said)

    assert reply.startswith((ENGLISH.offline_how, load_texts("zh").offline_how))
    assert "```js" in reply
    assert "json" not in reply


def test_source_that_fails_is_told_with_the_reason(runtime: Callable[..., AgentRuntime]) -> None:
    replies = tell(runtime(), "make a capability broken\n```js\nreturn (\n```")

    assert replies[0].startswith("I could not create `broken`: EMODULE")


def test_what_needs_an_owner_is_asked_for_and_nothing_else_is_tried(
    runtime: Callable[..., AgentRuntime],
) -> None:
    replies = tell(runtime(library="builtin"), "read http://127.0.0.1:8/ and sum it up")

    assert replies[0].startswith("I can do that once my owner approves it.")


def test_a_capability_that_is_named_is_the_one_that_is_called(
    runtime: Callable[..., AgentRuntime],
) -> None:
    opened = runtime()
    for name in ("art-draw", "art-wipe"):
        tell(opened, f"make a capability {name}\n```js\nreturn '{name}'\n```")
    for name in ("art-draw", "art-wipe"):
        assert name in tell(opened, f"use {name}")[0].partition("—")[0]


def test_it_answers_in_the_language_that_it_is_written_to_in(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin")
    chinese = load_texts("zh")
    for said, answer in (
        ("你好", chinese.offline_talk["hello"]),
        ("你能做什么？", chinese.offline_what_i_do),
        ("帮我写一首关于大海的诗", chinese.offline_cannot),
        ("1 + 1", "2"),  # the chat's own words decide where one message does not
    ):
        assert tell(home, said)[0] == f"{answer}\n\n{chinese.offline_signature}"
    assert tell(home, "what time is it?")[0].startswith("It is ")
    assert re.match(
        r"现在是 \d\d:\d\d（UTC），20\d\d年\d+月\d+日，星期.。", tell(home, "几点了？")[0]
    )
    assert tell(home, "hola")[0].startswith("¡Hola!")


@each_row(
    ("told", "asked"),
    [
        ("remember that my wife is called Ann", "what's my name?"),
        ("remember that my wife is called Ann", "where does my sister live?"),
        ("remember that my wife is called Ann", "what is my car?"),
        ("remember that the wifi password is tulip42", "how do I take my coffee?"),
        ("remember that my sister Anna lives in Lisbon", "where do I live?"),
        ("记住我对花生过敏", "我什么时候生日？"),
        ("记住我对花生过敏", "我的孩子叫什么名字？"),
    ],
)
def test_a_question_about_what_it_was_not_told_names_nothing_else(
    home: AgentRuntime, told: str, asked: str
) -> None:
    tell_chat = open_chat(home)
    tell_chat(told)

    (reply,) = tell_chat(asked)

    assert reply.startswith((ENGLISH.offline_not_told, load_texts("zh").offline_not_told))
    assert told.rpartition(" ")[2].removeprefix("记住") not in reply


@each_row(
    "asked",
    [
        "what do you remember?",
        "what did I tell you?",
        "do you remember anything about me?",
        "what do I like?",
        "你记得我什么？",
    ],
)
def test_whoever_asks_for_all_or_in_common_words_gets_what_was_kept(
    home: AgentRuntime, asked: str
) -> None:
    tell_chat = open_chat(home)
    tell_chat("remember that I like tea")
    tell_chat("/new")

    assert "- I like tea" in tell_chat(asked)[0]


def test_a_question_that_begins_like_any_other_is_answered_from_what_was_kept(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime(library="builtin")
    for kept in ("the door code is 4711", "my dog is called Rex", "the shop closes at six"):
        tell(home, f"remember that {kept}")
    tell(home, "/new")

    for asked, answer in (
        ("what is the door code?", "- the door code is 4711"),
        ("who is Rex", "- my dog is called Rex"),
        ("when does the shop close?", "- the shop closes at six"),
        ("what is the price of the door?", ENGLISH.offline_not_found),
        ("what is the capital of France?", ENGLISH.offline_not_found),
    ):
        (reply,) = tell(home, asked)
        assert answer in reply, asked
        assert reply.count("\n- ") == answer.count("- ")


@each_row(
    "asked", ["我对什么过敏", "我不能吃什么", "我有什么过敏", "你知道我的什么", "关于我你知道什么"]
)
def test_chinese_questions_find_what_was_kept(home: AgentRuntime, asked: str) -> None:
    tell_chat = open_chat(home)
    tell_chat("记住我对花生过敏")
    tell_chat("/new")

    assert "- 我对花生过敏" in tell_chat(asked)[0]


@each_row(
    ("said", "answer"),
    [
        ("6 ft 2 in to cm", r"^74 inches = 187\.96 centimetres"),
        ("10 km in miles and 5 kg in pounds", "^I do not understand"),
        ("is today a weekday", r"^(?:Yes|No)\. This is \w+day, .*\(20\d\d-\d\d-\d\d\)\.\n"),
        ("is tomorrow a holiday", "^I do not understand"),
        ("how many days between March 1 and April 15 2027", r"^45 days\n"),
        ("how many weeks between 2026-01-01 and 2026-12-31", "^52 weeks and 0 days\n"),
        ("draw a bar chart of apples 3, pears 5 and figs 2", "(?s)apples 3, pears 5, figs 2"),
        ("kodiere hallo welt in base64", r"^aGFsbG8gd2VsdA==\n"),
        ("how old am I if I was born on 1990-05-03", r"Text: \d\d years"),
        ("20% off 59.90", r"^47\.92\n"),
        ("tip of 18% on 45 dollars", r"^8\.1\n"),
        ("19% VAT on 250", r"^47\.5\n"),
        ("password with 16 characters", r"^\S{16}\n"),
        ("pick one of pizza, pasta, salad", "^(?:pizza|pasta|salad)\n"),
        ("is 2028 a leap year", r"^Yes\.\n"),
        ("how many days until christmas", r"^\d+ days?\n"),
        ("next monday", "^This is Monday, "),
        ("5!", r"^120\n"),
        ("hex ff to decimal", r"^255\n"),
        ("what time is it in Tokyo", r"^It is \d\d:\d\d \(Asia/Tokyo\), "),
        ("average of 3, 5, 10", r"^Mean: 6\n\n"),
    ],
)
def test_an_everyday_request_gets_the_right_answer_or_none(
    home: AgentRuntime, said: str, answer: str
) -> None:
    (reply,) = open_chat(home)(said)

    assert re.search(answer, reply), reply


def test_the_next_easter_is_never_past() -> None:
    said = Request("next easter", datetime(2026, 11, 23, 12), "UTC")
    (reading, *_) = read_request(said)
    assert reading.arguments == {"show": "easter", "year": 2027}
    early = replace(said, now=datetime(2026, 1, 2))
    assert read_request(early)[0].arguments == {"show": "easter", "year": 2026}


@each_row(
    ("said", "answer"),
    [
        ("was kannst du?", "^Ich bin das Offline-Modell"),
        ("wie geht es dir?", "^Ich bin ein kleines Programm"),
        ("tschuess", "^Auf Wiedersehen!"),
        ("was ist 15% von 80?", r"^12\n"),
        ("wie spät ist es?", r"^Es ist \d\d:\d\d Uhr"),
        ("welches Datum ist heute?", "^Heute ist "),
        ("rechne 10 km in Meilen um", r"^10 Kilometer = 6,21\d+ Meilen"),
        ("Erzähl mir einen Witz", "^Das kann ich nicht"),
        ("ich mag Tee", "^Schreib „merke dir: ich mag Tee“"),
        ("vergiss alles", "^Ich vergesse nur eines"),
        ("Wo wohnt meine Schwester?", "^Das hat mir niemand gesagt"),
    ],
)
def test_german_gets_a_german_answer(home: AgentRuntime, said: str, answer: str) -> None:
    (reply,) = open_chat(home)(said)

    assert re.search(answer, reply), reply
    assert load_texts("de").offline_signature in reply


def test_a_reminder_in_another_language_changes_neither_the_answers_nor_who_said_what(
    runtime: Callable[..., AgentRuntime],
) -> None:
    home = runtime()
    assert "Offline-Modell" in tell(home, "Wie viel ist zwölf mal sieben?")[0]
    words = "Drink water, the doctor says that it is good for you"
    reminder = replace(event(words), kind="say", by="terminal:local", data={"from": "wakeup tea"})
    assert run_event(home, reminder).document.outbox[-1].text == words
    (reply,) = tell(home, "7 * 8")
    assert reply.startswith("Das verstehe ich nicht")
    assert f", wakeup tea: {words}\n" in tell(home, "/history")[0]


@each_row(
    "said",
    [
        "Merke dir: meine Frau heißt Anna",
        "Merk dir bitte, dass meine Frau Anna heißt",
        "vergiss nicht: meine Frau heißt Anna",
        "Erinnere dich daran, dass meine Frau Anna heißt",
        "Notiere: meine Frau heißt Anna",
        "Denk daran: meine Frau heißt Anna",
    ],
)
def test_german_is_kept_found_and_forgotten(home: AgentRuntime, said: str) -> None:
    tell_chat = open_chat(home)
    assert tell_chat(said)[0].startswith("Gemerkt: meine Frau")
    tell_chat("/new")

    assert "- meine Frau" in tell_chat("Wie heißt meine Frau?")[0]
    assert tell_chat("vergiss, dass meine Frau Anna heißt")[0].startswith("Vergessen: meine Frau")
    assert tell_chat("Wie heißt meine Frau?")[0].startswith(load_texts("de").offline_not_told)


@each_row(
    ("said", "answer"),
    [
        ("my sister Anna lives in Lisbon", "^Write “remember that my sister Anna lives in Lisbon”"),
        ("I like hiking", "^Write “remember that I like hiking”"),
        ("remember this", "^Write “remember that …”"),
        ("hi there, how are you doing today?", "^I am a small program"),
        ("Thank you so much, that was great!", "^You are welcome"),
        ("I am sad", "^I am sorry"),
        ("book me a flight", "^I cannot do this"),
        ("send an email", "^I cannot do this"),
        ("forget everything about me", r"(?s)^I forget one thing.*/recall.*uncaged people erase"),
        ("delete my data", "^I forget one thing"),
    ],
)
def test_what_it_cannot_do_is_said_with_what_to_do_instead(
    home: AgentRuntime, said: str, answer: str
) -> None:
    (reply,) = open_chat(home)(said)

    assert re.search(answer, reply), reply


@pytest.mark.parametrize(
    "said",
    [
        "hash" + " " * 3_900 + "x md5",
        *thorough("encode" + " " * 3_900 + "x base64"),
        "的" + " " * 1_950 + "x" + " " * 1_950 + "的 md5",
        *thorough("is 10.0.0.1/24 in 10.0.0.1/24", "1.1.1.1.1.1.1.1"),
        "is the ip address 10.0.0.1 in the subnet 10.0.0.1?",
    ],
)
def test_no_text_keeps_it_busy_or_ends_it(runtime: Callable[..., AgentRuntime], said: str) -> None:
    home = runtime(library="builtin")
    begun = time.process_time()
    (reply,) = tell(home, said)
    assert reply
    # what goes back and forth in such a text takes a minute, and what reads on from each space a
    # second
    assert time.process_time() - begun < within(0.6)


@each_row(
    ("text", "language"),
    [
        ("Spawn a coder teammate and let it find work from the task board itself", "en"),
        ("Create 3 tasks on the board, then spawn alice and bob. Watch them auto-claim.", "en"),
        ("Create tasks with dependencies. Watch teammates respect the blocked order.", "en"),
        ("创建有依赖关系的任务，看看队友如何遵守顺序", "zh"),
        ("Lege Aufgaben mit Abhängigkeiten an", "de"),
        ("派一个队友来写代码", "zh"),
        ("找一个叫小明的测试员", "zh"),
        ("hole einen Tester namens bob", "de"),
        ("add three tasks to the board: paint, sand and varnish", "en"),
    ],
)
def test_whoever_asks_for_teammates_hears_that_they_need_a_model(text: str, language: str) -> None:
    texts = load_texts(language)
    assert answer_talk(text, None, "UTC", texts) == texts.offline_team
    assert answer_talk("what does spawning mean", None, "UTC", texts) != texts.offline_team
