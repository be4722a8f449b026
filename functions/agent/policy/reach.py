"""The reach of a capability: the hosts that it was granted, and what it calls.

It is found before a call and not within it, so that a policy holds with a remote registry too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sigil.errors import UsageError
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Caller, Json, Registry

ANY: Final = "*"
"""Any host, or any capability: it may read every page, or nobody can tell what it reaches."""
LOOKS_MOST: Final = 32
"""So many capabilities are looked at for one call."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The hosts that a call of a capability may lead to, and the names of the others that it may
    call, directly or through one of them.
    """

    hosts: frozenset[str]
    calls: frozenset[str]


ANYTHING: Final = Reach(frozenset((ANY,)), frozenset((ANY,)))


def find_reach(registry: Registry, ref: str, caller: Caller) -> Reach:
    """Return the reach of a capability."""
    hosts: set[str] = set()
    calls: set[str] = set()
    waiting = [ref]
    seen: set[str] = set()
    while waiting:
        ref = waiting.pop()
        if ref in seen:
            continue
        seen.add(ref)
        if len(seen) > LOOKS_MOST:
            return ANYTHING
        try:
            row = as_mapping(registry.inspect(ref, caller))
        except UsageError:
            return ANYTHING
        hosts.update(list_hosts(row))
        if "pins" not in row and _list_calls(row):
            # what another namespace's capability calls is not told
            return ANYTHING
        for pin in map(as_mapping, as_sequence(row.get("pins", []))):
            calls.add(str(pin["call"]).partition("@")[0].rpartition("/")[2])
            if pin.get("digest"):
                waiting.append(f"{str(pin['call']).partition('@')[0]}@{pin['digest']}")
    return Reach(frozenset((ANY,)) if ANY in hosts else frozenset(hosts), frozenset(calls))


def list_hosts(row: Mapping[str, Json], *, waiting: bool = False) -> Iterator[str]:
    """Yield the hosts that a capability was granted, by its row; `waiting` are those that it was
    not.
    """
    permissions = as_mapping(row.get("permissions", {}))
    pending = set(map(str, as_sequence(row.get("pending", []))))
    if permissions.get("web") and ("web" in pending) is waiting:
        yield ANY
    for server in as_sequence(permissions.get("mcp", [])):
        if (f"mcp:{server}" in pending) is waiting:
            yield ANY
    for rule in map(str, as_sequence(permissions.get("http", []))):
        if (f"http:{rule}" in pending) is waiting:
            yield _host_of(rule.partition(" ")[2])


def _list_calls(row: Mapping[str, Json]) -> bool:
    permissions = as_mapping(row.get("permissions", {}))
    return bool(row.get("requires") or permissions.get("call"))


def _host_of(place: str) -> str:
    """Return the host in `HOST[:PORT][/PATH]`."""
    host = place.partition("/")[0]
    if host.startswith("["):
        return host.partition("]")[0][1:]
    return host.partition(":")[0].casefold()
