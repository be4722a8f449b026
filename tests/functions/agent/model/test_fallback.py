"""A second model that stands in for the first, from outside: the message is answered, and owners
hear why.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from functions.agent.model import fallback, outage
from functions.agent.model.fallback import FallbackModel
from functions.settings import Settings
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.errors import UsageError
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.agent.talk import tell
from tests.functions.people import Live

Open = Callable[..., AgentRuntime]
Lives = Callable[..., AbstractContextManager[Live]]


class Other(ScriptedModel):
    """The model that stands in; what memory asks it is of no use."""

    def answer(self, request: Recorded) -> Answer:
        return (
            json_answer(say("nothing to keep"))
            if b"save_memory" in request.body
            else super().answer(request)
        )


@pytest.fixture
def second() -> Iterator[Other]:
    with Other() as server:
        yield server


def refuse(status: int, message: str = "no", **fields: Any) -> Answer:
    return json_answer({"error": {"message": message, **fields}}, status)


@pytest.mark.parametrize(
    ("answer", "asked"),
    [
        (refuse(401), 1),
        (refuse(402), 1),
        (refuse(404), 1),
        (refuse(503), 2),
        (Answer(429, b"", {"retry-after": "3600"}), 1),
        (Answer(cut=True), 2),
    ],
    ids=["key", "money", "no such model", "down", "rate", "cut"],
)
def test_the_second_model_answers_when_the_first_does_not(
    runtime: Open, model: ScriptedModel, second: Other, answer: Answer, asked: int
) -> None:
    home = runtime(
        llm_url=model.url,
        llm_key="first-key",
        llm_fallback_url=second.url,
        llm_fallback_model="spare",
    )
    model.then(*[answer] * 9)
    second.then(say("here I am"), say("here I am still"))

    assert tell(home, "hi") == ["here I am"]
    assert tell(home, "and now?") == ["here I am still"]

    assert len(model.requests) == asked  # it rests for a while
    assert [body["model"] for body in second.bodies] == ["spare", "spare"]
    assert (
        "authorization" not in second.requests[0].headers
    )  # the first one's key is for the first one's address alone


def test_the_same_endpoint_may_have_another_model(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, llm_key="the-key", llm_fallback_model="spare")
    model.then(refuse(404), say("here I am"))

    assert tell(home, "hi") == ["here I am"]

    assert [body["model"] for body in model.bodies] == ["qwen-plus", "spare"]
    assert model.requests[1].headers["authorization"] == "Bearer the-key"


@pytest.mark.parametrize("answer", [refuse(400, code="content_filter")])
def test_content_that_was_refused_is_not_asked_of_another_model(
    runtime: Open, model: ScriptedModel, second: Other, answer: Answer
) -> None:
    home = runtime(llm_url=model.url, llm_fallback_url=second.url)
    model.then(answer)

    assert tell(home, "hi") == [f"I could not get an answer: {ENGLISH.model_failures['refused']}."]
    assert second.requests == []


def test_after_its_rest_the_first_model_is_asked_again(
    runtime: Open, model: ScriptedModel, second: Other
) -> None:
    home = runtime(llm_url=model.url, llm_fallback_url=second.url)
    now = [0.0]
    both = home.app.model
    assert isinstance(both, FallbackModel)
    timed = FallbackModel(both._first, both._second, lambda: now[0])
    home = replace(home, app=replace(home.app, model=timed))
    model.then(refuse(401), say("back again"))
    second.then(say("standing in"))

    assert tell(home, "hi") == ["standing in"]
    now[0] = fallback.REST_SECONDS + 1
    assert tell(home, "hi") == ["back again"]


def test_the_second_models_window_counts_while_it_stands_in(
    runtime: Open, model: ScriptedModel, second: Other
) -> None:
    home = runtime(llm_url=model.url, llm_fallback_url=second.url, llm_fallback_window=6_000)
    for number in range(8):
        model.then(say(f"answer {number}"))
        tell(home, f"question {number} " + "lorem ipsum " * 300)
    assert home.app.model.window == 128_000
    model.then(*[refuse(503)] * 9)
    second.then(say("here I am"))

    assert tell(home, "the last word") == ["here I am"]

    assert home.app.model.window == 6_000
    assert all(len(request.body) / 4 < 6_000 for request in second.requests)
    assert "the last word" in json.dumps(second.chats[-1])


def test_when_both_fail_five_tries_are_all_and_people_read_one_sentence(
    runtime: Open, model: ScriptedModel, second: Other
) -> None:
    home = runtime(llm_url=model.url, llm_fallback_url=second.url)
    model.then(*[refuse(503, "org-1 is overloaded")] * 20)
    second.then(*[refuse(500, "org-2 is broken")] * 20)

    assert tell(home, "hi") == [
        f"I could not get an answer: {ENGLISH.model_failures['down']}. Please try again in a moment."
    ]

    assert len(model.requests) + len(second.requests) <= outage.TRIES_MOST
    assert {failure.kind for _, failure in home.app.failures} == {"down"}
    assert all(
        "org-1" in failure.detail and "org-2" in failure.detail for _, failure in home.app.failures
    )


def test_owners_hear_of_the_first_models_failure_though_the_message_was_answered(
    live: Lives, model: ScriptedModel, second: Other, caplog: pytest.LogCaptureFixture
) -> None:
    model.then(refuse(401, "wrong key"))
    second.then(say("here I am"))
    with caplog.at_level("INFO", "uncaged"), live(llm_fallback_url=second.url) as agent:
        assert agent.ask("hello") == "here I am"
    alerts = [record.facts for record in caplog.records if record.message == "alert"]  # type: ignore[attr-defined]
    assert [(alert["reason"], alert["failure"]) for alert in alerts] == [
        ("key", "the model answered 401: wrong key")
    ]


def test_a_second_model_without_a_first_is_refused_with_what_to_set() -> None:
    with pytest.raises(UsageError, match="no first one is set"):
        Settings(llm_fallback_model="spare")
    with pytest.raises(UsageError, match="UNCAGED_LLM_FALLBACK_URL"):
        Settings(llm_url="http://a", llm_fallback_url="nowhere")
    with pytest.raises(UsageError, match="UNCAGED_LLM_FALLBACK_WINDOW"):
        Settings(llm_url="http://a", llm_fallback_model="b", llm_fallback_window=5)
