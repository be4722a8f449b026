"""The table of the agent's own services: a capability's name, and the function that answers its
calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from functions.agent.messages import ToolCall
from functions.agent.services.call_context import Arguments, Place
from functions.agent.services.forget import forget
from functions.agent.services.recall import recall
from functions.agent.services.remember import remember
from functions.agent.services.search_history import NAME, search_history
from sigil.errors import SigilError, ToolError
from sigil.protocol import Json, Offer

Service = Callable[[Place, Arguments], Json]
SERVICES: Final[Mapping[str, Service]] = {
    "remember": remember,
    "recall": recall,
    "forget": forget,
    NAME: search_history,
}


def serve(place: Place, offer: Offer, call: ToolCall, arguments: dict[str, Json]) -> Json:
    """The answer of the service that was offered; every failure carries the capability's name as
    its source.
    """
    service = SERVICES.get(offer.name)
    try:
        if service is None:
            raise ToolError(
                "ENOTOOL",
                "this agent has no such service",
                suggestion="search with sigil_query for another way",
            )
        given = place.app.aids.accept(offer.schema, arguments)
        return service(replace(place, call=f"{place.call}:{call.id}"), given)
    except SigilError as problem:
        problem.source = problem.source or offer.name
        raise
