"""Grants: what a capability waits for is asked of an owner in the chat, and granted with a yes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from functions.agent.policy.proposals import Proposal
from functions.agent.policy.reach import list_hosts
from sigil.errors import Refused, UsageError
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Caller, GrantsPermissions, Offer, Registry

PROGRAM: Final = "mcp:"
"""The permission to start the program of an MCP server begins so."""


@dataclass(frozen=True, slots=True)
class Wanting:
    """The permissions that a capability of a namespace waits for, and the hosts among them.

    What a chat has of its own is granted nothing, a program is allowed at the machine alone, and no
    registry grants what it cannot.
    """

    namespace: str
    permissions: tuple[str, ...]
    hosts: tuple[str, ...]
    may_be_granted: bool


def find_wanting(registry: Registry, offer: Offer, caller: Caller) -> Wanting | None:
    """Return what a capability waits for; None for nothing."""
    try:
        row = as_mapping(registry.inspect(f"{offer.name}@{offer.digest}", caller))
    except UsageError:
        return None
    permissions = tuple(map(str, as_sequence(row.get("pending", []))))
    if not permissions:
        return None
    namespace = str(row.get("namespace", ""))
    asks_for_program = any(text.startswith(PROGRAM) for text in permissions)
    is_ours = namespace in caller.sees and namespace != caller.own
    return Wanting(
        namespace,
        permissions,
        tuple(dict.fromkeys(list_hosts(row, waiting=True))),
        is_ours and not asks_for_program and isinstance(registry, GrantsPermissions),
    )


def grant(registry: Registry, proposal: Proposal, wanting: Wanting, caller: Caller) -> None:
    """Grant what is wanting and an owner has approved, to the very version that they were shown.

    Doing it again changes nothing. `SigilError` where the registry does not do it.
    """
    offer = proposal.offer
    if offer is None:
        return
    if not isinstance(registry, GrantsPermissions):
        raise Refused(
            "EPERM",
            "an owner grants it at its registry alone",
            source=offer.name,
            suggestion=f"`sigil grant {offer.name}`",
            reason="not-granted",
        )
    if set(wanting.permissions) <= set(proposal.permissions):
        owner = Caller(caller.namespace, proposal.decided_by, owner=True, author="person")
        ref = f"{wanting.namespace}/{offer.name}@{offer.digest}"
        registry.granting.grant(ref, owner, offer.digest)
