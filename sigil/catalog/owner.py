"""The checks that an owner asks in person, or somebody about what they deployed with a token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sigil.errors import Refused
from sigil.protocol import Caller

if TYPE_CHECKING:  # a server that only checks tokens loads no reader of manifests
    from sigil.catalog.deployments import Deployments
    from sigil.catalog.records import Record

ADMIN = "admin"
"""The id and the kind of the admin token; its id is the `token` of a caller who shows it."""
OWN_TOKENS = ("", ADMIN)
"""The `token` of a caller in this process, and of one who shows the admin token."""


def require_owner(caller: Caller, action: str = "may do this", source: str = "") -> None:
    """Raise `Refused` EPERM unless an owner asks in person: not a model, and no other token.

    `action` continues the sentence "only an owner …"; `source` is the part of the registry that
    refuses.
    """
    if not caller.owner or caller.author != "person" or caller.token not in OWN_TOKENS:
        raise Refused(
            "EPERM",
            f"only an owner {action}",
            source=source,
            suggestion="ask an owner of the agent",
        )


def has_access_token(caller: Caller) -> bool:
    """Return whether the caller shows an access token: not the admin's, and not none."""
    return caller.token not in OWN_TOKENS


def require_owner_or_deployer(
    caller: Caller, records: Iterable[Record], deployments: Deployments, action: str
) -> None:
    """Raise `Refused` EPERM unless an owner asks in person, or who deployed all of `records`.

    Who deployed something is known of those who used an access token, and is recorded with the
    deploy. `action` continues the sentence "only an owner …".
    """
    if not has_access_token(caller):
        require_owner(caller, action, "registry")
        return
    for record in records:
        deployer = deployments.find_deployer(record.namespace, record.name, record.digest)
        is_own = deployer == caller.deployer and record.namespace == caller.namespace
        if not caller.deployer or not is_own:
            raise Refused(
                "EPERM",
                f"version {record.version} was not deployed with this token, and only an owner"
                f" {action}",
                source=record.name,
                suggestion="ask an owner of the registry",
            )
