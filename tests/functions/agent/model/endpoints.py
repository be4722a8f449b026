"""Agents whose model is a validating endpoint, and what such a model says in a turn."""

from __future__ import annotations

from tests.fakes.endpoint import ModelEndpoint
from tests.fakes.endpoint_rules import DIALECTS
from tests.fakes.endpoint_steps import Step, call, say

NAMES = tuple(DIALECTS)
UNNAMED = frozenset({"vllm", "llamacpp", "litellm"})
"""Families that anybody may serve at any address: the setting has no name for them."""
FIRST = "Both of them were found."
THOUGHT = "They want two things, so I look for both."
QUERIES = ("sigil_query", {"query": "encode a text"}), ("sigil_query", {"query": "sort lines"})


def settings_of(endpoint: ModelEndpoint, dialect: str = "") -> dict[str, object]:
    """Return the settings of an agent at an endpoint; with a `dialect`, they name its family."""
    return {
        "llm_url": endpoint.url,
        "llm_model": endpoint.model,
        "llm_key": "a-key",
        "llm_dialect": family_of(dialect) if dialect else "",
    }


def family_of(dialect: str) -> str:
    """Return the name that the setting has for a dialect's family, empty where it has none."""
    family = DIALECTS[dialect].family
    return "" if family in UNNAMED else family


def three_rounds(answer: str = FIRST) -> list[Step]:
    """Return the steps of a turn of three rounds: a search, two at once after a thought, one that
    fails beside one that does not.
    """
    return [
        call(("sigil_query", {"query": "something new"}), thought="I look for it."),
        call(*QUERIES, text="I look for both.", thought=THOUGHT),
        call(("no_such_tool", {"n": 1}), ("sigil_query", {"query": "reverse a text"}), thought=""),
        say(answer, thought="That is all."),
    ]


def six_rounds(answer: str) -> list[Step]:
    """Return the steps of a turn that takes all its rounds, and the answer without tools."""
    searches = [call(("sigil_query", {"query": f"thing {number}"})) for number in range(6)]
    return [*searches, say(answer)]
