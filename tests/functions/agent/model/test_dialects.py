"""Whole chats with each family of model endpoints: every message is answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from functions.wiring import AgentRuntime
from tests.fakes import messages_api
from tests.fakes.endpoint import ModelEndpoint
from tests.fakes.endpoint_steps import Asked, say
from tests.functions.agent.model.endpoints import (
    FIRST,
    NAMES,
    family_of,
    settings_of,
    six_rounds,
    three_rounds,
)
from tests.functions.agent.talk import event, run_event, tell
from tests.selection import in_full, sample

Open = Callable[..., AgentRuntime]
REDUCED_MOST = 2
"""So many refused requests of a turn may be sent again with less in them."""
STREAMED = NAMES if in_full() else ("openai", "gemini", "anthropic", "kimi", "openrouter")
FAMILIES = [
    *[pytest.param(name, False, id=name) for name in NAMES],
    *[pytest.param(name, True, id=f"{name}-streamed") for name in STREAMED],
]


@pytest.mark.parametrize(("dialect", "streams"), FAMILIES)
def test_a_chat_with_tools_and_thoughts_is_answered_to_the_last_request(
    runtime: Open, dialect: str, streams: bool
) -> None:
    with ModelEndpoint(dialect, script=three_rounds()) as endpoint:
        endpoint.always_streams = streams
        home = runtime(**settings_of(endpoint, dialect))

        assert tell(home, "find both") == [FIRST]
        endpoint.then(say("Here I am."))
        assert tell(home, "and now?") == ["Here I am."]
        endpoint.then(*six_rounds("That is enough."))
        assert tell(home, "look for six things") == ["That is enough."]

    said = [refusal.message for refusal in endpoint.refused]
    assert len(said) <= (0 if family_of(dialect) else REDUCED_MOST), said
    assert len(endpoint.chats) == 12


@pytest.mark.parametrize("dialect", sample(NAMES, 9))
def test_what_a_family_that_nobody_named_refuses_is_paid_for_once(
    runtime: Open, dialect: str
) -> None:
    with ModelEndpoint(dialect, script=three_rounds()) as endpoint:
        home = runtime(**settings_of(endpoint))

        assert tell(home, "find both") == [FIRST]
        taught = len(endpoint.refused)
        assert taught <= REDUCED_MOST
        endpoint.then(*three_rounds("Found again."))
        assert tell(home, "find both again") == ["Found again."]

    assert len(endpoint.refused) == taught


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "mistral", "deepseek"])
def test_the_beginning_of_a_prompt_stays_the_same_between_rounds_and_turns(
    runtime: Open, dialect: str
) -> None:
    with ModelEndpoint(dialect, script=[*three_rounds(), say("yes"), say("no")]) as endpoint:
        home = runtime(**settings_of(endpoint, dialect))
        tell(home, "find both")
        tell(home, "is that so?")
        tell(home, "and this?")

    prompts = [list_parts(asked) for asked in endpoint.chats]
    assert len(prompts) == 6
    for before, after in pairwise(prompts):
        assert after[: len(before)] == before


def list_parts(asked: Asked) -> list[bytes]:
    """Return the parts of a prompt in the order in which an endpoint keeps them."""
    body = asked.body
    if "max_tokens" in body:
        parts: Sequence[Mapping[str, Any]] = messages_api.list_blocks(body)
    else:
        parts = [
            *body.get("tools", ()),
            {"instructions": body.get("instructions")},
            *(body.get("messages") or body["input"]),
        ]
    marks = ("cache_control",)
    plain = [{key: part[key] for key in part if key not in marks} for part in parts]
    return [json.dumps(part).encode() for part in plain]


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "deepseek", "groq"])
def test_what_a_cache_had_of_a_prompt_is_counted(runtime: Open, dialect: str) -> None:
    with ModelEndpoint(dialect, script=three_rounds()) as endpoint:
        home = runtime(**settings_of(endpoint, dialect))
        usage = run_event(home, event("find both")).document.usage

    assert 0 < usage.cached < usage.prompt
