"""The tools that the model has are a pure function of the history, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from functions.agent.conversation.messages import Message
from functions.agent.conversation.prompt import ToolDefinition
from functions.agent.sanitize import sanitize_text
from sigil import builtin_tools
from sigil.json_fields import as_mapping
from sigil.protocol import TOOL_PREFIX, Json, Offer, remove_examples

QUERY, DEPLOY = builtin_tools.QUERY, builtin_tools.DEPLOY
WORDS = ("title", "description")
"""The fields of a schema that its author says something in."""
RESIDENT_MOST = 100
"""Endpoints refuse a request with more than 128 tools."""


def _format_tool(name: str, description: str, parameters: Mapping[str, Json]) -> ToolDefinition:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


STATIC: tuple[ToolDefinition, ...] = (
    _format_tool(QUERY, builtin_tools.QUERY_TEXT, builtin_tools.QUERY_SCHEMA),
    _format_tool(DEPLOY, builtin_tools.DEPLOY_TEXT, builtin_tools.DEPLOY_SCHEMA),
)


WITHOUT_DEPLOY: tuple[ToolDefinition, ...] = (
    STATIC[0],
    _format_tool(DEPLOY, builtin_tools.NO_DEPLOY_TEXT, {"type": "object", "properties": {}}),
)
"""The static tools of a chat in which nobody may deploy: the second one says so."""


def in_scope(messages: Iterable[Message]) -> tuple[Offer, ...]:
    """Return the offers that the history holds, in order of first appearance.

    The latest load of a tool wins. At most 100 are in scope, those that were loaded last.
    """
    return _merge_loads(_Loads([message.loads for message in messages if message.loads]))


class _Loads:
    """The loads of a history's messages, equal to those that are the very same values: a turn asks
    for its tools many times, and comparing them by what they hold takes longer than merging them.
    """

    __slots__ = ("_ids", "each")

    def __init__(self, each: list[tuple[Offer, ...]]) -> None:
        self.each = each
        # whoever keeps this keeps the loads, so that nothing else gets one of these ids
        self._ids = tuple(map(id, each))

    def __hash__(self) -> int:
        return hash(self._ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Loads) and self._ids == other._ids


@lru_cache(maxsize=64)
def _merge_loads(loads: _Loads) -> tuple[Offer, ...]:
    scope: dict[str, Offer] = {}
    last_loaded: dict[str, None] = {}
    for offers in loads.each:
        for offer in offers:
            scope[offer.tool] = offer
            last_loaded.pop(offer.tool, None)
            last_loaded[offer.tool] = None
    newest = set(list(last_loaded)[-RESIDENT_MOST:])
    return tuple(offer for tool, offer in scope.items() if tool in newest)


@lru_cache(maxsize=1024)
def define_tool(offer: Offer) -> ToolDefinition:
    """Return an offer as the model reads it: small models take examples for the person's data."""
    from sigil.tool_schemas.clean import clean  # most messages need no capability

    description = remove_examples(offer.description)
    schema = as_mapping(_sanitize_words(clean(offer.schema)))
    return _format_tool(offer.tool, sanitize_text(description), schema)


def _sanitize_words(schema: Json) -> Json:
    """Return a schema in which what its author says is sanitized, and what calls have to repeat,
    such as the values of an enumeration, is as it was.
    """
    if isinstance(schema, list):
        return [_sanitize_words(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    words: dict[str, Json] = {}
    for name, part in schema.items():
        if name in WORDS and isinstance(part, str):
            words[name] = sanitize_text(part)
        else:
            words[name] = _sanitize_words(part)
    return words


def define_tools(offers: Sequence[Offer], *, deploys: bool = True) -> list[ToolDefinition]:
    """Return the tools of a round: the static ones first, then the offers.

    `deploys` says whether anybody in the chat may deploy. It must not change from one message of a
    chat to the next, so that the prompt's prefix stays cacheable.
    """
    return [*(STATIC if deploys else WITHOUT_DEPLOY), *map(define_tool, offers)]


def is_capability(tool: str) -> bool:
    """Return whether a tool's name is one that a capability could have."""
    return tool.startswith(TOOL_PREFIX)


def by_tool(offers: Iterable[Offer]) -> Mapping[str, Offer]:
    """Return the offers by the name of the tool that the model calls."""
    return {offer.tool: offer for offer in offers}
