"""One chat with several models: chosen by its owner, there and back, and one in place of another.

The families stand for what differs between models: ids, fields beside a call, the order of roles.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import permutations

import pytest

from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from tests.fakes.endpoint import ModelEndpoint
from tests.fakes.endpoint_rules import DIALECTS
from tests.fakes.endpoint_steps import Step, call, say
from tests.fakes.server import Answer, json_answer
from tests.functions.agent.model.endpoints import (
    NAMES,
    QUERIES,
    THOUGHT,
    family_of,
    settings_of,
)
from tests.functions.agent.talk import tell
from tests.selection import sample

Open = Callable[..., AgentRuntime]
OWNERS = {"owners": ("telegram:1",), "access": "open"}
PAIRS = list(permutations(NAMES, 2))
random.Random(1).shuffle(PAIRS)
ROWS = [pytest.param(*pair, id="-to-".join(pair)) for pair in PAIRS]
CHOSEN = sample(ROWS, 12)
REPLACED = sample(ROWS[1:], 12)


def look_up(*queries: str, thought: str | None = THOUGHT) -> Step:
    """Return a step that searches."""
    return call(*[("sigil_query", {"query": query}) for query in queries], thought=thought)


@pytest.mark.parametrize(("first", "second"), CHOSEN)
def test_another_model_is_chosen_and_the_first_one_again(
    runtime: Open, first: str, second: str
) -> None:
    model, other = DIALECTS[first].model, DIALECTS[second].model
    with ModelEndpoint(first, second) as endpoint:
        home = runtime(**settings_of(endpoint), **OWNERS)
        endpoint.start_over(call(*QUERIES, thought=THOUGHT), say("first"))
        assert tell(home, "find both") == ["first"]

        assert tell(home, f"/model {other}") == [ENGLISH.model_set.format(name=other)]
        endpoint.start_over(look_up("a third"), look_up("a fourth", thought=None), say("second"))
        assert tell(home, "find more") == ["second"]

        assert tell(home, f"/model {model}") == [ENGLISH.model_set.format(name=model)]
        endpoint.start_over(look_up("a fifth"), say("third"))
        assert tell(home, "and once more") == ["third"]

    assert {asked.model for asked in endpoint.chats} == {model, other}


@pytest.mark.parametrize(("first", "second"), REPLACED)
def test_another_model_goes_on_in_the_middle_of_a_turn(
    runtime: Open, first: str, second: str
) -> None:
    with ModelEndpoint(first) as away, ModelEndpoint(second) as endpoint:
        home = runtime(
            **settings_of(away, first),
            llm_fallback_url=endpoint.url,
            llm_fallback_key="another-key",
            llm_fallback_model=endpoint.model,
            llm_fallback_dialect=family_of(second),
        )
        away.then(call(*QUERIES, thought=THOUGHT), say("first"))
        assert tell(home, "find both") == ["first"]

        away.then(look_up("a third", "a fourth"))
        away.before = lambda request: _refuse_key(away, taken=3)
        endpoint.then(look_up("a fifth"), say("second"))
        assert tell(home, "find more") == ["second"]
        endpoint.then(look_up("a sixth"), say("third"))
        assert tell(home, "and once more") == ["third"]


def _refuse_key(endpoint: ModelEndpoint, *, taken: int) -> Answer | None:
    """Return the answer to a key that is not taken any longer, once so many requests were taken."""
    if len(endpoint.chats) < taken:
        return None
    return json_answer({"error": {"message": "Incorrect API key provided"}}, 401)
