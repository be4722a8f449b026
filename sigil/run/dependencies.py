"""Capabilities that call capabilities: which versions they call, that what is required is there,
and that nothing calls itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final

from sigil.errors import Refused, UsageError
from sigil.manifest.languages import HOST
from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import parse_call_rule
from sigil.manifest.permissions import declared_calls
from sigil.run.host_calls.context import Facilities, Part

PARTS_MOST = 200
DEPTH_MOST = 8
_NOTHING: Final[Mapping[str, str]] = {}


def circle(names: Sequence[str]) -> str:
    """The message for a path that comes back to itself."""
    return f"Circular dependency detected: {' -> '.join(names)}"


def resolve(
    manifest: Manifest, view: str, facilities: Facilities, planned: Mapping[str, str] = _NOTHING
) -> dict[str, str]:
    """The digests of what the calls of `manifest` mean in the namespace `view` now, empty for what
    is not there.

    `planned`: the digests of what is about to stand in `view`, by name.
    """
    pins: dict[str, str] = {}
    for text in declared_calls(manifest):
        rule = parse_call_rule(text)
        own = "" if rule.namespace else planned.get(rule.name, "")
        callee = None if rule.digest or own else facilities.find(rule, view)
        pins[text] = rule.digest or own or (callee.digest if callee else "")
    return pins


def callees_first(manifests: Mapping[str, Manifest]) -> list[str]:
    """Their names in an order in which they can be deployed; as they are given when they call each
    other in a circle.
    """
    before = {
        name: [other for other in declared_calls(manifest) if other in manifests]
        for name, manifest in manifests.items()
    }
    try:
        return [*TopologicalSorter(before).static_order()]
    except CycleError:
        return [*manifests]  # the deploy says what is wrong with it


def require_dependencies(part: Part, facilities: Facilities, *, later: bool = False) -> None:
    """`Refused` EREQUIRES when what `part` requires does not exist (`later`: it may come), ECYCLE
    when what it calls would call it, ELIMIT when what it requires requires more than calls reach.
    """
    for name in () if later else part.manifest.requires:
        if facilities.find(parse_call_rule(name), part.namespace, part) is None:
            message = f"it requires {name}, which does not exist"
            raise Refused(
                "EREQUIRES",
                message,
                source=part.name,
                suggestion=f"deploy {name} first, or take it out of requires",
            )
    _walk((part,), {(part.identity, part.digest)}, facilities)
    chain = _longest(part, facilities, {})
    if len(chain) > DEPTH_MOST:
        message = f"calls go at most {DEPTH_MOST} deep: {' -> '.join(each.name for each in chain)}"
        raise Refused(
            "ELIMIT",
            message,
            source=part.name,
            suggestion="have one of them do what another one is required for",
        )


def reached(part: Part, facilities: Facilities) -> dict[str, Part]:
    """Everything that is there of what `part` calls, directly and through others, by digest."""
    found: dict[str, Part] = {}
    waiting = [part]
    while waiting:
        caller = waiting.pop()
        for text in declared_calls(caller.manifest):
            callee = _callee(caller, text, facilities)
            if callee and callee.digest not in found and len(found) < PARTS_MOST:
                found[callee.digest] = callee
                waiting.append(callee)
    return found


def inside(name: str, source: str) -> Refused:
    """For who wants to run what only an agent can."""
    hint = "ask the agent for it in a chat"
    return Refused(
        "EPERM",
        f"{name} runs inside an agent alone, for the chat that calls it",
        source=source,
        suggestion=hint,
    )


def _walk(
    path: tuple[Part, ...], seen: set[tuple[tuple[str, str], str]], facilities: Facilities
) -> None:
    part = path[-1]
    for text in declared_calls(part.manifest):
        # what was not there when a callee was deployed counts as what it would be after a deploy of
        # that callee: a circle is told early
        callee = _callee(part, text, facilities) or facilities.find(
            parse_call_rule(text), part.namespace, path[0]
        )
        if callee is None:
            continue
        if callee.manifest.lang == HOST:
            raise inside(callee.name, part.name)
        if callee.identity == path[0].identity:
            message = circle([*(each.name for each in path), callee.name])
            raise Refused(
                "ECYCLE",
                message,
                source=path[0].name,
                suggestion="let one of them work without the other",
            )
        if (callee.identity, callee.digest) in seen:
            continue
        seen.add((callee.identity, callee.digest))
        if len(seen) > PARTS_MOST:
            raise Refused(
                "ELIMIT",
                f"it calls more than {PARTS_MOST} capabilities, directly and through others",
                source=path[0].name,
            )
        _walk((*path, callee), seen, facilities)


def _longest(
    part: Part, facilities: Facilities, known: dict[str, tuple[Part, ...]]
) -> tuple[Part, ...]:
    """The longest chain of what requires what, from `part` on. `known`: the chains of those that
    were gone through, by digest.
    """
    if part.digest in known:
        return known[part.digest]
    known[
        part.digest
    ] = ()  # what an older release stored may require itself in a circle, which a run refuses
    chains = [
        _longest(callee, facilities, known)
        for name in part.manifest.requires
        if (callee := _callee(part, name, facilities))
    ]
    known[part.digest] = (part, *max(chains, key=len, default=()))
    return known[part.digest]


def _callee(part: Part, text: str, facilities: Facilities) -> Part | None:
    try:
        return facilities.callee(part, text)
    except (UsageError, Refused):
        return None
