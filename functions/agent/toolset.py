"""Which tools the model has: a pure function of the history, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from functions.agent.messages import Message
from functions.agent.sanitize import inert
from sigil import builtin_tools
from sigil.builtin_tools import portable_schema
from sigil.protocol import TOOL_PREFIX, Json, Offer

QUERY, DEPLOY = builtin_tools.QUERY, builtin_tools.DEPLOY
RESIDENT_MOST = 100
"""Endpoints refuse a request with more than 128 tools."""


def _function(name: str, description: str, parameters: Json) -> dict[str, Json]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


STATIC: tuple[dict[str, Json], ...] = (
    _function(QUERY, builtin_tools.QUERY_TEXT, builtin_tools.QUERY_SCHEMA),
    _function(DEPLOY, builtin_tools.DEPLOY_TEXT, builtin_tools.DEPLOY_SCHEMA),
)


def in_scope(messages: Iterable[Message]) -> tuple[Offer, ...]:
    """The offers that the history holds, in order of first appearance; the latest load of a tool
    wins. At most 100, the last loaded.
    """
    scope: dict[str, Offer] = {}
    loaded: dict[str, None] = {}
    for message in messages:
        for offer in message.loads:
            tool = offer.tool
            scope[tool] = offer
            loaded.pop(tool, None)
            loaded[tool] = None
    newest = set(list(loaded)[-RESIDENT_MOST:])
    return tuple(offer for tool, offer in scope.items() if tool in newest)


@lru_cache(maxsize=1024)
def definition(offer: Offer) -> dict[str, Json]:
    """An offer as the model reads it."""
    return _function(offer.tool, inert(offer.description), portable_schema(offer.schema))


def definitions(offers: Sequence[Offer]) -> list[dict[str, Json]]:
    """The tools of a round: the static ones first, then the offers."""
    return [*STATIC, *map(definition, offers)]


def is_capability(tool: str) -> bool:
    """Whether a tool's name is one that a capability could have."""
    return tool.startswith(TOOL_PREFIX)


def by_tool(offers: Iterable[Offer]) -> Mapping[str, Offer]:
    """The offers by the tool that the model calls."""
    return {offer.tool: offer for offer in offers}
