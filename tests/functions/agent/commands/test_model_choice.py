"""/model: which model answers in a chat."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer, json_answer
from tests.functions.agent.talk import tell

Open = Callable[..., AgentRuntime]


@pytest.fixture
def home(runtime: Open, model: ScriptedModel) -> AgentRuntime:
    return runtime(llm_url=model.url, llm_model="first", owners=("telegram:1",), access="open")


def test_an_owner_chooses_a_model_that_answers_for_one_chat(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    assert tell(home, "/model")[0].startswith("The model here is `first`.")
    model.then(say("yes"))
    assert tell(home, "/model other/Model-2.5") == [
        ENGLISH.model_set.format(name="other/Model-2.5")
    ]
    tell(home, "hello")
    tell(home, "hello", session="telegram:8")
    assert [body["model"] for body in model.bodies] == [
        "other/Model-2.5",
        "other/Model-2.5",
        "first",
    ]
    assert "Model: other/Model-2.5," in tell(home, "/status all")[0]

    assert tell(home, "/model auto") == [ENGLISH.model_back.format(name="first")]
    tell(home, "hello")
    assert model.bodies[-1]["model"] == "first"


def test_a_model_that_does_not_answer_changes_nothing_and_an_owner_alone_reads_why(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    missing = Answer(404, b'{"error":{"message":"no such model: secret-account"}}')
    refused = ENGLISH.model_missing.format(name="nothing")
    model.then(missing)
    words = ENGLISH.model_words.format(
        detail="the model answered 404: no such model: secret-account"
    )
    assert tell(home, "/model nothing") == [f"{refused}\n{words}"]
    model.then(missing)
    group = {"session": "telegram:-9", "sender": "telegram:1", "private": False}
    assert tell(home, "/model nothing", **group) == [refused]
    # it was asked with tools, as a turn asks
    assert [len(body["tools"]) for body in model.bodies] == [2, 2]
    tell(home, "hello")
    assert model.bodies[-1]["model"] == "first"


@pytest.mark.parametrize("name", ["a b", "x" * 101, "`a`", "m\u00f6del"])
def test_what_is_no_name_is_not_asked_for(
    home: AgentRuntime, model: ScriptedModel, name: str
) -> None:
    assert tell(home, f"/model {name}") == [ENGLISH.model_bad]
    assert not model.bodies


def test_only_owners_choose(home: AgentRuntime, model: ScriptedModel) -> None:
    assert tell(home, "/model other", sender="telegram:9") == [ENGLISH.owners_only]
    assert not model.bodies


def test_the_offline_model_is_alone(runtime: Open) -> None:
    home = runtime()

    assert ENGLISH.model_only in tell(home, "/model")[0]
    assert tell(home, "/model other") == [ENGLISH.model_only]


def test_the_second_model_stands_in_with_its_own_name_and_is_not_chosen(
    runtime: Open, model: ScriptedModel
) -> None:
    with ScriptedModel() as second:
        home = runtime(
            llm_url=model.url,
            llm_model="first",
            llm_fallback_url=second.url,
            llm_fallback_model="second",
        )
        model.then(*[Answer(404, b"{}")] * 3)
        assert tell(home, "/model other")[0].startswith("`other` does not answer")
        assert all(body["model"] == "second" for body in second.bodies)


def test_what_the_endpoint_taught_is_shown_and_forgotten(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_window=128_000, access="open", owners=("telegram:1",))
    model.then(
        json_answer({"error": {"message": "only stream=true is supported"}}, 400),
        say("hello"),
        json_answer({"error": {"message": "maximum context length is 9000 tokens"}}, 400),
        say("shorter"),
    )
    tell(home, "hi")
    tell(home, "and more")

    (shown,) = tell(home, "/model")
    assert "- answers come as a stream\n- its window is 9,000 tokens, and 128,000 are set" in shown

    assert tell(home, "/model reset") == [ENGLISH.model_forgot]
    assert ENGLISH.model_learnt not in tell(home, "/model")[0]
    model.then(say("as before"))
    tell(home, "hi again")
    assert "stream" not in model.bodies[-1]
