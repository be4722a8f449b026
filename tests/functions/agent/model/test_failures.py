"""A model that fails, from outside: people read a sentence of ours, owners the endpoint's words,
and the history neither key nor page.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from functions.agent.model import outage
from functions.agent.runs.run import format_run, scan_runs
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.model import ScriptedModel, say
from tests.fakes.server import Answer, json_answer
from tests.functions.agent.talk import tell
from tests.functions.alerts import Pager, pager
from tests.functions.people import GUEST, Live

__all__ = ["pager"]
Lives = Callable[..., AbstractContextManager[Live]]
Open = Callable[..., AgentRuntime]
KEY = "sk-live-0123456789abcdef"
LEAK = (
    f"Incorrect key {KEY}, organization org-Zq81xyz12345, see https://billing.example.com, host"
    " 10.3.2.1"
)


def refuse(status: int, message: str = LEAK, **fields: Any) -> Answer:
    return json_answer({"error": {"message": message, **fields}}, status)


def stored(home: AgentRuntime) -> str:
    """Everything that is kept of chats: documents, archives, memory, history."""
    kv, session = home.stores.kv, "main#telegram:7"
    parts = [f"session#{session}", f"history#{session}", f"doc#{session}", "doc#main"]
    return "".join(
        item.value.decode("utf-8", "replace") for part in parts for _, item in kv.scan(part)
    )


CASES = [
    (refuse(401), "key"),
    (refuse(403), "key"),
    (refuse(400, f"Invalid API key. {LEAK}"), "key"),
    (refuse(402), "money"),
    (refuse(429, LEAK, code="insufficient_quota"), "money"),
    (refuse(400, f"Access denied. {LEAK}", code="Arrearage"), "money"),
    (refuse(400, LEAK, code="content_filter"), "refused"),
    (refuse(400, LEAK, code="data_inspection_failed"), "refused"),
    (refuse(404), "other"),
    (refuse(404, f"The model `gpt-9` does not exist. {LEAK}"), "model"),
]


@pytest.mark.parametrize(("answer", "kind"), CASES)
def test_people_read_one_sentence_of_ours_and_nothing_of_the_endpoints(
    runtime: Open, model: ScriptedModel, answer: Answer, kind: Any
) -> None:
    home = runtime(llm_url=model.url, llm_key=KEY)
    model.then(answer, say("well again"))

    assert tell(home, "hi") == [f"I could not get an answer: {ENGLISH.model_failures[kind]}."]
    kept = stored(home)
    assert tell(home, "and now?") == ["well again"]

    for secret in ("org-Zq81xyz12345", "billing.example.com", "10.3.2.1", KEY):
        assert secret not in kept
        assert secret not in json.dumps(model.bodies[-1])
    assert len(model.bodies) == 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refuse(429), "rate"),
        (Answer(429, b'{"error":{"code":"insufficient_quota"}}', {"retry-after": "900"}), "rate"),
        (refuse(500), "down"),
        (refuse(503), "down"),
        (Answer(503, b"<html>maximum context length</html>"), "down"),
    ],
)
def test_what_may_pass_is_said_to_pass(
    runtime: Open, model: ScriptedModel, answer: Answer, kind: Any
) -> None:
    home = runtime(llm_url=model.url, llm_key=KEY, turn_seconds=20.0)
    model.then(*[answer] * 3)

    (said,) = tell(home, "hi")

    assert said.startswith(
        f"I could not get an answer: {ENGLISH.model_failures[kind]}. Please try again in "
    )


@pytest.mark.parametrize("status", [413, 422, 400, 418])
def test_a_request_that_is_refused_to_the_last_is_paid_for_three_times_and_then_once(
    runtime: Open, model: ScriptedModel, status: int
) -> None:
    home = runtime(llm_url=model.url, llm_key=KEY)
    model.then(*[refuse(status)] * 4, say("well again"))
    refused = [f"I could not get an answer: {ENGLISH.model_failures['other']}."]

    assert [tell(home, "hi"), tell(home, "hi")] == [refused, refused]
    assert len(model.bodies) == 3 + 1
    assert tell(home, "and now?") == ["well again"]


def test_soul_and_mem_say_nothing_of_the_endpoints_words(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, llm_key=KEY)
    model.then(say("hello"), *[refuse(401)] * 9)
    tell(home, "hi")

    assert tell(home, "/soul be kind") == [
        f"I could not get an answer: {ENGLISH.model_failures['key']}. The soul is as it was."
    ]
    assert tell(home, "/mem")[0].startswith("I have made a note of what was said")
    assert len(model.bodies) <= 1 + 1 + outage.TRIES_MOST

    assert "org-Zq81xyz12345" not in stored(home)


def test_what_a_filter_refuses_is_not_sent_with_the_next_message(
    runtime: Open, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url)
    model.then(say("hello"), refuse(400, "no", code="content_filter"), say("well again"))
    tell(home, "first of all")
    tell(home, "something forbidden")

    assert tell(home, "and now?") == ["well again"]
    said = json.dumps(model.bodies[-1]["messages"])
    assert "first of all" in said
    assert "something forbidden" not in said
    assert "A message was left out here" in said


def test_the_owner_is_told_which_tool_was_told_otherwise_and_the_person_is_answered(
    live: Lives, model: ScriptedModel, pager: Pager
) -> None:
    refused = refuse(400, "Invalid schema for function 'sigil_deploy': something is wrong.")
    model.then(refused, say("hello"), say("hello again"))
    with live(llm_key=KEY, alerts=pager.url) as agent:
        assert agent.ask("hello", GUEST) == "hello"
        pager.wait_for(1)
        assert agent.ask("and again", GUEST) == "hello again"

    (told,) = pager.alerts
    assert (told["event"], told["state"]) == ("MODEL_ADAPTED", "MODEL_WORKING")
    assert told["failure"].startswith(
        "the arguments of the tool sigil_deploy are told in words, because"
    )
    assert "`/model reset` forgets it" in told["text"]
    assert len(model.bodies) == 3, "what was learnt is not asked again"


def test_the_owner_is_told_once_an_hour_in_the_endpoints_words_without_the_key(
    live: Lives, model: ScriptedModel, pager: Pager, caplog: pytest.LogCaptureFixture
) -> None:
    model.then(refuse(401), refuse(401), refuse(404, "no such model: gpt-9"))
    with live(llm_key=KEY, alerts=pager.url) as agent:
        for number in range(3):
            agent.ask(f"hello {number}", GUEST)
        pager.wait_for(2)

        first, second = pager.alerts
        assert (first["event"], first["session"], first["reason"]) == (
            "MODEL_FAILURE",
            f"telegram:{GUEST}",
            "key",
        )
        assert first["failure"].startswith("the model answered 401: Incorrect key ***")
        assert "https://billing.example.com" in first["failure"]
        assert first["failure"] in first["text"]
        assert KEY not in json.dumps(pager.alerts)
        assert (second["reason"], second["failure"]) == (
            "model",
            "the model answered 404: no such model: gpt-9",
        )


def test_an_alert_that_nobody_heard_is_rung_again(
    live: Lives, model: ScriptedModel, pager: Pager
) -> None:
    pager.status = 500
    model.then(refuse(401), refuse(401))
    with live(alerts=pager.url) as agent:
        agent.ask("hello")
        pager.wait_for(1)
        pager.status = 200
        agent.ask("hello")
        assert len(pager.wait_for(2)) == 2


def test_a_trace_tells_owners_what_the_endpoint_said(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url, llm_key=KEY)
    model.then(refuse(401))
    tell(home, "hi")

    (run,) = scan_runs(home.stores.kv, "main")
    lines = format_run(run)

    assert any(
        "1 failed (key: the model answered 401: Incorrect key ***" in line for line in lines
    ), lines
    assert KEY not in "".join(lines)


def test_in_a_group_too_nothing_of_it_is_read(runtime: Open, model: ScriptedModel) -> None:
    home = runtime(llm_url=model.url)
    model.then(refuse(401))
    assert tell(home, "hello", session="telegram:-100", private=False) == [
        f"I could not get an answer: {ENGLISH.model_failures['key']}."
    ]
