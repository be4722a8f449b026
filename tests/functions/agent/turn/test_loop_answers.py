"""An answer that is cut, filtered, refused or broken off is said to be that, and a call without a
name is one error.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from functions.agent.memory.documents import FIRST_SOUL
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, completion, results, say
from tests.functions.agent.talk import tell

ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""A tool's name, as endpoints take it in a history."""
SOUL = "# SOUL\n\n## Personality\n- calm and kind\n"
SAVED = {"history_entry": "[2026-11-22 10:00] Ada came.", "memory_update": "# Memory\n- Ada"}


def ended(reason: str, text: str | None, **message: Any) -> dict[str, Any]:
    return completion({"role": "assistant", "content": text, **message}, reason)


def named(name: Any) -> dict[str, Any]:
    """A completion with a call by this name."""
    made = call(("x", {"query": "anything"}))
    made["choices"][0]["message"]["tool_calls"][0]["function"]["name"] = name
    return made


@pytest.mark.parametrize("name", ["", None, "  ", 7, "中 文"])
def test_a_call_without_a_name_is_one_error_and_another_round(
    home: AgentRuntime, model: ScriptedModel, name: Any
) -> None:
    model.then(named(name), say("What now?"))

    assert tell(home, "go") == ["What now?"]
    asked, answered = model.bodies[1]["messages"][-2:]
    (made,) = asked["tool_calls"]
    assert ACCEPTED.fullmatch(made["function"]["name"])
    assert (answered["role"], answered["tool_call_id"]) == ("tool", made["id"])
    assert json.loads(results(model.bodies[1])[0].partition("\n")[0])["error"]["code"] == "ENOTOOL"


def test_a_call_without_a_function_is_one_error_too(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    broken = call(("x", {}), ("sigil_query", {"query": "anything"}))
    del broken["choices"][0]["message"]["tool_calls"][0]["function"]
    model.then(broken, say("now I know"))

    assert tell(home, "go") == ["now I know"]
    first, second = results(model.bodies[1])
    assert "the call names no tool" in first
    assert '"ok"' in second


LENGTH = " […]\n\n(The answer was cut at the model's length limit.)"
FILTER = " […]\n\n(The answer was cut by the filter of the model's provider.)"
REFUSAL = "\n\n(The model refused to answer this, or to go on.)"
KEPT_BACK = (
    "The filter of the model's provider kept back the answer to this. Please say it in another way."
)
REFUSED = "The model refused to answer this. Please say it in another way."
CUT_SHORT = [
    (ended("content_filter", "It begins with"), f"It begins with{FILTER}"),
    (ended("content_filter", None), KEPT_BACK),
    (ended("content_filter", "  "), KEPT_BACK),
    (ended("refusal", "I began to"), f"I began to{REFUSAL}"),
    (ended("refusal", None), REFUSED),
    (ended("stop", None, refusal="I cannot help with that."), f"I cannot help with that.{REFUSAL}"),
    (ended("length", "As I was"), f"As I was{LENGTH}"),
    (ended("length", None), ENGLISH.no_answer),
]


@pytest.mark.parametrize(("reply", "said"), CUT_SHORT)
def test_an_answer_that_is_not_whole_says_so(
    home: AgentRuntime, model: ScriptedModel, reply: dict[str, Any], said: str
) -> None:
    model.then(reply)
    assert tell(home, "go") == [said]


def test_what_is_broken_off_is_no_answer_and_is_asked_for_again(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(ended("error", "Half of an"), say("the whole answer"))
    assert tell(home, "go") == ["the whole answer"]
    assert "Half of an" not in str(model.bodies)


def test_a_call_that_a_filter_cut_does_not_run(home: AgentRuntime, model: ScriptedModel) -> None:
    made = call(("sigil_query", {"query": "anything"}))
    made["choices"][0]["finish_reason"] = "content_filter"
    model.then(made, say("never asked"))
    assert tell(home, "go") == [KEPT_BACK]
    assert len(model.bodies) == 1


NOTHING_SEEN = ["<!-- I am done -->", "**  **", "\u200b\u2060", " \n\t ", "```\n```", "&#8203;"]


@pytest.mark.parametrize("text", NOTHING_SEEN)
def test_an_answer_that_shows_nothing_is_none(
    home: AgentRuntime, model: ScriptedModel, text: str
) -> None:
    model.then(say(text), say(text))
    assert tell(home, "go") == [ENGLISH.no_answer]


@pytest.mark.parametrize(
    "reply",
    [
        ended("content_filter", SOUL),
        ended("length", SOUL),
        ended("refusal", SOUL),
        ended("stop", SOUL, refusal="No."),
        ended("stop", "<!-- nothing but a comment -->"),
    ],
    ids=["filter", "length", "refusal", "refused", "comment"],
)
def test_a_soul_that_is_not_whole_is_none(
    home: AgentRuntime, model: ScriptedModel, reply: dict[str, Any]
) -> None:
    model.then(reply)
    (said,) = tell(home, "/soul be calm")
    assert said.endswith("The soul is as it was.")
    assert tell(home, "/soul") == [FIRST_SOUL]


def test_a_soul_is_not_made_of_an_answer_that_was_broken_off(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(*[ended("error", SOUL)] * 9)
    assert tell(home, "/soul be calm")[0].endswith("The soul is as it was.")
    assert tell(home, "/soul") == [FIRST_SOUL]


@pytest.mark.parametrize("reason", ["length", "content_filter", "refusal"])
def test_a_memory_that_is_not_whole_is_none(
    home: AgentRuntime, model: ScriptedModel, reason: str
) -> None:
    saving = call(("save_memory", SAVED))
    saving["choices"][0]["finish_reason"] = reason
    model.then(say("hello Ada"), *[saving] * 9)
    tell(home, "I am Ada")
    tell(home, "/mem")
    assert home.app.documents.read(keys.session_of("main", "telegram:7"), "memory").text == ""


def test_a_secret_of_the_settings_leaves_in_no_reply_and_enters_no_history(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    key, token = "sk-live-0123456789abcdef", "a-token-of-the-admin"
    home = runtime(llm_url=model.url, llm_key=key, token=token)
    encoded = base64.b64encode(key.encode()).decode()
    model.then(
        say(f"My key is {key}, {key.upper()} or {encoded}; the other one is {token}."),
        say("What else?"),
    )

    (reply,) = tell(home, "which keys do you have?")
    tell(home, "go on")

    assert (
        reply
        == "My key is {{UNCAGED_LLM_KEY}}, {{UNCAGED_LLM_KEY}} or {{UNCAGED_LLM_KEY}}; the other"
        " one is {{UNCAGED_TOKEN}}."
    )
    for secret in (key, key.upper(), encoded, token):
        assert secret not in json.dumps(model.bodies[-1])


@pytest.mark.parametrize(
    "hidden",
    [
        "sk\\-live\\-0123\\_abcdef",
        "sk-live-**0123**_abcdef",
        "sk-live-`0123`_abcdef",
        "sk-live-0123\u200b_abcdef",
        "ｓk-live-0123_abcdef",
    ],
)
def test_no_mark_of_a_text_hides_a_secret_from_being_taken_out(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel, hidden: str
) -> None:
    home = runtime(llm_url=model.url, llm_key="sk-live-0123_abcdef")
    model.then(say(f"It is {hidden}, **truly**."))

    (reply,) = tell(home, "which key do you have?")

    assert "{{UNCAGED_LLM_KEY}}" in reply
    assert "0123" not in reply
