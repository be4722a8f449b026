"""One fact, many meanings."""

from __future__ import annotations

import pytest

from functions.agent.conversation.messages import ToolCall
from functions.agent.safety.call_facts import Fact, make_fact
from functions.agent.safety.guides import BUILTIN, brief_fact, interpret_fact, load_guide
from sigil.errors import UsageError
from tests.tables import each_row

PLACE = "/" + "root/secret.txt"
"""The original's own test vector; one word would be a path of somebody's machine."""
SECRET = f'{{"path":"{PLACE}"}}'


def failure(code: str, message: str = "") -> Fact:
    return make_fact(ToolCall("1", "fs.read", SECRET), code, message, "")


class Speechless:
    """A guide of somebody's that gives nothing at all."""

    def interpret_pain(self, fact: Fact) -> str:
        return None  # type: ignore[return-value]

    def brief(self, fact: Fact) -> str:
        return None  # type: ignore[return-value]


def test_a_guide_that_gives_nothing_says_nothing() -> None:
    fact = failure("EPERM")

    assert interpret_fact(Speechless(), fact) == ""
    assert brief_fact(Speechless(), fact) == f"[{fact.fingerprint}] {fact.line}"


def test_the_default_guide_says_exactly_what_pain_is() -> None:
    assert load_guide("default").interpret_pain(failure("EPERM")) == (
        "【System Pain Alert】\n"
        "Execution anomaly detected!\n"
        "Source: fs.read\n"
        "Message: EPERM (Permission Denied)\n"
        "Pain Level: 🔥🔥🔥 Critical Pain\n"
        'Status: Your action has been blocked. This causes "discomfort."\n'
        "\n"
        "Stop repeating this attempt. Analyze the pain source.\n"
        "Adjust your strategy in the next tick."
    )


def test_the_short_form_is_five_lines() -> None:
    assert load_guide("default").brief(failure("EPERM")) == (
        "【System Pain Alert】\nSource: fs.read\nMessage: EPERM (Permission Denied)\n"
        "Pain Level: 🔥🔥🔥 Critical Pain\nStatus: Your action has been blocked."
    )


@pytest.mark.parametrize(
    ("code", "level"),
    [
        ("EPERM", "🔥🔥🔥 Critical Pain"),
        ("ENOENT", "⚡ Medium Pain"),
        ("ETRAP", "💧 Low Pain"),
        ("EOWN", "💧 Low Pain"),
    ],
)
def test_how_much_it_hurts(code: str, level: str) -> None:
    assert f"Pain Level: {level}\n" in load_guide("default").interpret_pain(failure(code))


@pytest.mark.parametrize(
    ("guide", "words"),
    [
        ("security", "你永远不应该尝试这样做。"),
        ("learner", "这条路径不可用。让我们找另一条。"),
        ("debugger", "检测到权限问题。检查文件所有权。"),
    ],
)
def test_a_refusal_means_something_else_to_every_guide(guide: str, words: str) -> None:
    assert words in load_guide(guide).interpret_pain(failure("EPERM"))


def test_no_guide_leaves_the_bare_fact() -> None:
    assert load_guide("none").interpret_pain(failure("EPERM")) == ""
    assert (
        load_guide("none").brief(failure("EPERM"))
        == f'Tool "fs.read" failed with EPERM at {PLACE}.'
    )


@pytest.mark.parametrize("name", BUILTIN)
@each_row("code", ["EPERM", "ENOENT", "ETIMEDOUT", "EOWN"])
def test_every_guide_has_words_for_every_failure(name: str, code: str) -> None:
    assert load_guide(name).brief(failure(code))
    assert interpret_fact(load_guide(name), failure(code)) or name == "none"


def test_an_unknown_guide_names_the_known_ones() -> None:
    with pytest.raises(UsageError) as raised:
        load_guide("stern")

    assert "default, security, learner, debugger, none" in raised.value.suggestion


def test_a_guide_that_fails_says_nothing() -> None:
    class Broken:
        def interpret_pain(self, fact: Fact) -> str:
            raise ValueError

        brief = interpret_pain

    assert interpret_fact(Broken(), failure("EPERM")) == ""
