"""The offline model over the standard library: a person's sentence in, the right answer out, always
signed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functions.agent.model.offline import SIGNATURE
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.functions.agent.talk import tell


@pytest.mark.parametrize(
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
def test_a_sentence_is_answered(
    runtime: Callable[..., AgentRuntime], said: str, answer: str
) -> None:
    replies = tell(runtime(library="builtin"), said)

    assert answer in replies[0]
    assert replies[0].endswith(SIGNATURE)


@pytest.mark.parametrize(
    ("said", "asked", "kept"),
    [
        (
            "Please remember that my sister is called Mira",
            "what do you remember about my sister?",
            "my sister is called Mira",
        ),
        ("请记住：我叫小明", "recall 小明", "我叫小明"),
    ],
)
def test_what_begins_with_remember_is_kept_at_once_and_recalled(
    runtime: Callable[..., AgentRuntime], said: str, asked: str, kept: str
) -> None:
    home = runtime(library="builtin")
    assert tell(home, said)[0].startswith(f"Remembered: {kept}\n")

    for session in ("telegram:7", "telegram:8"):
        (reply,) = tell(home, asked, session=session)
        assert (f"- {kept}" in reply) == (session == "telegram:7")
        assert not home.app.sessions.open(
            keys.session_of("main", session)
        ).document.safety.counters.failures


@pytest.mark.parametrize(
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
def test_whatever_is_said_gets_a_signed_answer(
    runtime: Callable[..., AgentRuntime], said: str
) -> None:
    replies = tell(runtime(library="builtin"), said)

    assert len(replies) == 1
    assert SIGNATURE in replies[0]


@pytest.mark.parametrize(
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
    runtime: Callable[..., AgentRuntime], said: str
) -> None:
    (reply,) = tell(runtime(library="builtin"), said)

    assert "send a name and the JavaScript body in a code fence" in reply
    assert "```js" in reply
    assert "json" not in reply


def test_source_that_fails_is_told_with_the_reason(runtime: Callable[..., AgentRuntime]) -> None:
    replies = tell(runtime(), "make a capability broken\n```js\nreturn (\n```")

    assert replies[0].startswith("I could not create `broken`: EMODULE")
