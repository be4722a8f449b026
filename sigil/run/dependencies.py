"""The capabilities that a capability calls: which versions, whether they exist, and no circles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final

from sigil.errors import Refused, UsageError
from sigil.manifest.languages import BUNDLE, CODELESS
from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import parse_call_rule
from sigil.manifest.permissions import declared_calls
from sigil.run.host_calls.context import HostServices, Runnable

CALLEES_MOST = 200
DEPTH_MOST = 8
_NOTHING: Final[Mapping[str, str]] = {}


def describe_circle(names: Sequence[str]) -> str:
    """Return the message for a path of calls that comes back to itself."""
    return f"Circular dependency detected: {' -> '.join(names)}"


def resolve_calls(
    manifest: Manifest,
    view: str,
    host_services: HostServices,
    planned: Mapping[str, str] = _NOTHING,
) -> dict[str, str]:
    """Return the digests that the calls of `manifest` mean in the namespace `view` now.

    A digest is empty where there is no such capability. `planned` has the digests of what is about
    to be deployed in `view`, by name.
    """
    pins: dict[str, str] = {}
    for text in declared_calls(manifest):
        rule = parse_call_rule(text)
        digest = rule.digest
        if not digest and not rule.namespace:
            digest = planned.get(rule.name, "")
        if not digest:
            callee = host_services.find_version(rule, view)
            digest = callee.digest if callee else ""
        pins[text] = digest
    return pins


def order_callees_first(manifests: Mapping[str, Manifest]) -> list[str]:
    """Return the names in an order in which they can be deployed.

    A bundle comes after its members. They stay in the given order when they call each other in
    a circle.
    """
    callees = {}
    for name, manifest in manifests.items():
        needed = (*declared_calls(manifest), *manifest.members)
        callees[name] = [other for other in needed if other in manifests]
    try:
        return [*TopologicalSorter(callees).static_order()]
    except CycleError:
        return [*manifests]  # the deploy says what is wrong with it


def require_dependencies(
    capability: Runnable, host_services: HostServices, *, later: bool = False
) -> None:
    """Raise `Refused` unless everything that the capability calls can be called.

    EREQUIRES: what it requires does not exist (with `later` it may still come). ECYCLE: what it
    calls would call it. ELIMIT: its requirements go deeper than calls may.
    """
    if not later:
        for name in capability.manifest.requires:
            rule = parse_call_rule(name)
            if host_services.find_version(rule, capability.namespace, capability) is None:
                raise Refused(
                    "EREQUIRES",
                    f"it requires {name}, which does not exist",
                    source=capability.name,
                    suggestion=f"deploy {name} first, or take it out of requires",
                )
    _require_no_circle((capability,), {(capability.identity, capability.digest)}, host_services)
    chain = _find_longest_chain(capability, host_services, {})
    if len(chain) > DEPTH_MOST:
        names = " -> ".join(each.name for each in chain)
        raise Refused(
            "ELIMIT",
            f"calls go at most {DEPTH_MOST} deep: {names}",
            source=capability.name,
            suggestion="have one of them do what another one is required for",
        )


def list_reachable(capability: Runnable, host_services: HostServices) -> dict[str, Runnable]:
    """Return everything that a capability calls, directly and through others, by digest.

    What does not exist is left out.
    """
    found: dict[str, Runnable] = {}
    waiting = [capability]
    while waiting:
        caller = waiting.pop()
        for text in declared_calls(caller.manifest):
            callee = _find_callee(caller, text, host_services)
            if callee and callee.digest not in found and len(found) < CALLEES_MOST:
                found[callee.digest] = callee
                waiting.append(callee)
    return found


def refuse_without_code(manifest: Manifest, source: str) -> Refused:
    """Return the error for running what only an agent can, or a bundle, which nobody can."""
    if manifest.lang == BUNDLE:
        return Refused(
            "EPERM",
            f"{manifest.name} is a bundle, of which only the members run",
            source=source,
            suggestion=f"run one of them: {', '.join(manifest.members)}",
        )
    return Refused(
        "EPERM",
        f"{manifest.name} runs inside an agent alone, for the chat that calls it",
        source=source,
        suggestion="ask the agent for it in a chat",
    )


def _require_no_circle(
    path: tuple[Runnable, ...],
    seen: set[tuple[tuple[str, str], str]],
    host_services: HostServices,
) -> None:
    """Follow every call from the end of `path`; `seen` are the versions that were followed."""
    first = path[0]
    caller = path[-1]
    for text in declared_calls(caller.manifest):
        callee = _find_callee(caller, text, host_services)
        if callee is None:
            # It was not there when the caller was deployed. What it would be after a new deploy
            # counts, so that a circle is found early.
            callee = host_services.find_version(parse_call_rule(text), caller.namespace, first)
        if callee is None:
            continue
        if callee.manifest.lang in CODELESS:
            raise refuse_without_code(callee.manifest, caller.name)
        if callee.identity == first.identity:
            raise Refused(
                "ECYCLE",
                describe_circle([*(each.name for each in path), callee.name]),
                source=first.name,
                suggestion="let one of them work without the other",
            )
        if (callee.identity, callee.digest) in seen:
            continue
        seen.add((callee.identity, callee.digest))
        if len(seen) > CALLEES_MOST:
            raise Refused(
                "ELIMIT",
                f"it calls more than {CALLEES_MOST} capabilities, directly and through others",
                source=first.name,
            )
        _require_no_circle((*path, callee), seen, host_services)


def _find_longest_chain(
    capability: Runnable, host_services: HostServices, known: dict[str, tuple[Runnable, ...]]
) -> tuple[Runnable, ...]:
    """Return the longest chain of what requires what, from a capability on.

    `known` has the chains that were found so far, by digest.
    """
    if capability.digest in known:
        return known[capability.digest]
    # What an older release stored may require itself in a circle, which a run refuses.
    known[capability.digest] = ()
    longest: tuple[Runnable, ...] = ()
    for name in capability.manifest.requires:
        callee = _find_callee(capability, name, host_services)
        if callee:
            chain = _find_longest_chain(callee, host_services, known)
            longest = max(longest, chain, key=len)
    known[capability.digest] = (capability, *longest)
    return known[capability.digest]


def _find_callee(capability: Runnable, text: str, host_services: HostServices) -> Runnable | None:
    try:
        return host_services.load_callee(capability, text)
    except (UsageError, Refused):
        return None
