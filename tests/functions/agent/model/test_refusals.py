"""Refusals of any kind, at any request: a chat is answered again as soon as the endpoint answers,
and a refusal costs three requests at most.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.wiring import AgentRuntime
from tests.fakes.endpoint import ModelEndpoint
from tests.fakes.endpoint_answers import format_refusal
from tests.fakes.endpoint_rules import DIALECTS, Refusal
from tests.fakes.endpoint_steps import call, say
from tests.fakes.server import Answer, Recorded
from tests.functions.agent.model.endpoints import settings_of
from tests.functions.agent.talk import tell
from tests.selection import examples

Open = Callable[..., AgentRuntime]

PASSING = (408, 409, 425, 429)
"""These are no refusals: the same request is asked again, with pauses."""
LASTING = sorted(set(range(400, 500)) - set(PASSING))
REQUESTS_MOST = 3
SEARCHES = (
    call(("sigil_query", {"query": "encode a text"}), thought="I look."),
    call(("sigil_query", {"query": "sort lines"}), ("no_such_tool", {"n": 1}), thought="And more."),
)
FAMILY_FORMS = sorted({row.family for row in DIALECTS.values()})
SENTENCES = (
    "Invalid schema for function 'sigil_query': In context=(), array schema missing items.",
    "Unsupported parameter: 'tools' is not supported with this model.",
    "property 'tool_calls' is unsupported",
    "messages[3]: something is wrong with this message",
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "Thought signature is not valid.",
    "Incorrect API key provided: sk-***",
    "You exceeded your current quota, please check your plan and billing details.",
    "The model `x` does not exist or you do not have access to it.",
    "Output blocked by content filtering policy",
    "tool_choice does not support this value",
    "Provider returned error",
    "",
)
_NUMBERS = itertools.count()


def _format(family: str, message: str, status: int) -> bytes:
    row = next(each for each in DIALECTS.values() if each.family == family)
    return json.dumps(format_refusal(row, Refusal(message, status))).encode()


MESSAGES = st.one_of(st.sampled_from(SENTENCES), st.text(max_size=40))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["error", "message", "code", "detail"]), inner, max_size=3),
    ),
    max_leaves=6,
)
BODIES = st.one_of(
    st.tuples(st.sampled_from(FAMILY_FORMS), MESSAGES),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=60),
    st.just(b""),
    st.just(b"<html><body>400 Bad Request: tools, context_length</body></html>"),
)


@settings(max_examples=examples(14), suppress_health_check=list(HealthCheck))
@given(status=st.sampled_from(LASTING), body=BODIES, place=st.integers(0, 2))
def test_a_chat_goes_on_after_any_refusal(
    runtime: Open, tmp_path: Path, status: int, body: object, place: int
) -> None:
    raw = body if isinstance(body, bytes) else _format(*body, status)
    with ModelEndpoint("openai", script=[*SEARCHES, say("found")]) as endpoint:
        home = open_anew(runtime, tmp_path, endpoint)
        refused = refuse_from(endpoint, place, Answer(status, raw))

        assert tell(home, "find both")
        first = len(refused)
        assert tell(home, "are you there?")
        endpoint.before = lambda request: None
        endpoint.start_over(say("Here I am."))
        assert tell(home, "hello") == ["Here I am."]

    assert 1 <= first <= REQUESTS_MOST
    assert len(refused) - first <= REQUESTS_MOST
    bodies = [request.body for request in refused]
    assert len(set(bodies)) == len(bodies), "what was refused is not asked again"


@pytest.mark.parametrize("status", PASSING)
@pytest.mark.thorough
def test_a_chat_goes_on_after_what_may_pass(runtime: Open, tmp_path: Path, status: int) -> None:
    with ModelEndpoint("openai", script=[*SEARCHES, say("found")]) as endpoint:
        home = open_anew(runtime, tmp_path, endpoint)
        refused = refuse_from(endpoint, 1, Answer(status, b"{}"))

        assert tell(home, "find both")
        endpoint.before = lambda request: None
        endpoint.start_over(say("Here I am."))
        assert tell(home, "hello") == ["Here I am."]

    assert 1 <= len(refused) <= REQUESTS_MOST


@pytest.mark.parametrize(
    "word",
    [
        b"no_such_tool",
        b'"tools"',
        b"call_id",
        b"encode a text",
        b"find both",
        b"nothing fits: write it",
        b"I look for them",
    ],
    ids=lambda word: word.decode().strip('"'),
)
@pytest.mark.parametrize("dialect", ["openai", "deepseek"])
def test_what_is_refused_for_its_content_locks_no_chat(
    runtime: Open, tmp_path: Path, dialect: str, word: bytes
) -> None:
    """The endpoint refuses what has a word: of a call, a result, a tool, or what was said."""
    says = [*SEARCHES, say("found", thought="I look for them.")]
    with ModelEndpoint(dialect, script=says) as endpoint:
        home = open_anew(runtime, tmp_path, endpoint, dialect)
        refused: list[Recorded] = []

        def refuse(request: Recorded) -> Answer | None:
            if word not in request.body:
                return None
            refused.append(request)
            return Answer(400, b'{"error": {"message": "Invalid request"}}')

        endpoint.before = refuse
        assert tell(home, "find both")
        first = len(refused)
        endpoint.start_over(say("Here I am."))
        assert tell(home, "hello") == ["Here I am."]
        second = len(refused) - first
        endpoint.start_over(say("Still here."))
        assert tell(home, "and now?") == ["Still here."]

    assert first <= REQUESTS_MOST
    assert second <= REQUESTS_MOST - 1
    assert len(refused) == first + second, "what is known to be refused is not asked again"


def open_anew(
    runtime: Open, folder: Path, endpoint: ModelEndpoint, dialect: str = ""
) -> AgentRuntime:
    """Return an agent with a store of its own, that has learnt nothing of an endpoint."""
    data = folder / f"agent-{next(_NUMBERS)}"
    data.mkdir()
    return runtime(data=str(data), **settings_of(endpoint, dialect))


def refuse_from(endpoint: ModelEndpoint, place: int, answer: Answer) -> list[Recorded]:
    """Let an endpoint refuse all requests once it has taken so many, and return the refused."""
    refused: list[Recorded] = []

    def refuse(request: Recorded) -> Answer | None:
        if len(endpoint.chats) < place:
            return None
        refused.append(request)
        return answer

    endpoint.before = refuse
    return refused
