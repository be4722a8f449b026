"""A bundle has the names of all capabilities that an agent below the root reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from functions.agent.agents.record import BUNDLE_MOST
from sigil.builtin_tools import DEPLOY
from sigil.errors import SigilError, UsageError
from sigil.protocol import Caller, Registry
from sigil.storage.kv import keys


def resolve_bundle(
    registry: Registry,
    agent: str,
    names: Iterable[str],
    require: Callable[[str, str], None] | None = None,
) -> tuple[str, ...]:
    """Return the capabilities that these names stand for, as NAMESPACE/NAME; a bundle comes before
    its members. DEPLOY stays as it is.

    They are chosen here once, as the agent (its full name) sees them. `require` raises for an act
    (its kind and target) that whoever asks may not do. `UsageError` for a capability that the agent
    does not reach.
    """
    caller = Caller(keys.root_of(agent), keys.join_session("own:main", agent), author="model")
    found: dict[str, None] = {}
    for name in names:
        if name == DEPLOY:
            if require:
                require("deploy", "*")
            found[name] = None
            continue
        row = registry.inspect(name, caller)
        members = row.get("members")
        listed = list(map(str, members)) if isinstance(members, list) else []
        for each in listed or [str(row["capability"])]:
            if require:
                require("call", each)
        for each in (str(row["capability"]), *listed):
            found[f"{row['namespace']}/{each}"] = None
    if len(found) > BUNDLE_MOST:
        raise UsageError("ETOOBIG", f"a bundle has at most {BUNDLE_MOST} capabilities")
    return tuple(found)


def collapse_bundle(registry: Registry, agent: str, bundle: Iterable[str]) -> tuple[str, ...]:
    """Return the shortest list of plain names that stands for the capabilities of a bundle: what
    all members of a bundle are in is named by that one alone.

    What the agent (its full name) does not reach any more keeps its name.
    """
    caller = Caller(keys.root_of(agent), keys.join_session("own:main", agent), author="model")
    names = shorten_names(bundle)
    covered: set[str] = set()
    for name in names:
        try:
            members = registry.inspect(name, caller).get("members")
        except SigilError:
            continue
        if isinstance(members, list) and set(members) <= set(names):
            covered.update(map(str, members))
    return tuple(name for name in names if name not in covered)


def shorten_names(bundle: Iterable[str]) -> tuple[str, ...]:
    """Return the plain names of the capabilities of a bundle."""
    return tuple(name.rpartition("/")[2] for name in bundle)
