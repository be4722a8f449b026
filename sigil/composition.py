"""Capabilities that call capabilities: what is required has to be there, and nothing may end up calling itself."""

from __future__ import annotations

from collections.abc import Sequence

from sigil.errors import Refused
from sigil.langs import HOST
from sigil.permissions import calls
from sigil.services.part import Facilities, Part
from sigil.services.rules import call_rule

PARTS_MOST = 200


def circle(names: Sequence[str]) -> str:
    """The message for a path that comes back to itself."""
    return f"Circular dependency detected: {' -> '.join(names)}"


def demand(part: Part, facilities: Facilities, *, later: bool = False) -> None:
    """`Refused` ECYCLE when what `part` calls would call it, EREQUIRES when what it requires does not exist (`later`: it may come)."""
    for name in () if later else part.manifest.requires:
        if facilities.find(call_rule(name), part.namespace, part) is None:
            message = f"it requires {name}, which does not exist"
            raise Refused("EREQUIRES", message, source=part.name, suggestion=f"deploy {name} first, or take it out of requires")
    _walk(part, (part,), {part.identity}, facilities)


def inside(name: str, source: str) -> Refused:
    """For who wants to run what only an agent can."""
    hint = "ask the agent for it in a chat"
    return Refused("EPERM", f"{name} runs inside an agent alone, for the chat that calls it", source=source, suggestion=hint)


def _walk(part: Part, path: tuple[Part, ...], seen: set[tuple[str, str]], facilities: Facilities) -> None:
    for text in calls(part.manifest):
        callee = facilities.find(call_rule(text), part.namespace, path[0])
        if callee is None:
            continue
        if callee.manifest.lang == HOST:
            raise inside(callee.name, path[-1].name)
        if callee.identity == path[0].identity:
            message = circle([*(each.name for each in path), callee.name])
            raise Refused("ECYCLE", message, source=path[0].name, suggestion="let one of them work without the other")
        if callee.identity in seen:
            continue
        seen.add(callee.identity)
        if len(seen) > PARTS_MOST:
            raise Refused("ELIMIT", f"it calls more than {PARTS_MOST} capabilities, directly and through others", source=path[0].name)
        _walk(callee, (*path, callee), seen, facilities)
