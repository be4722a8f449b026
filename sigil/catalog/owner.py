"""The one check that an owner asks in person."""

from __future__ import annotations

from sigil.errors import Refused
from sigil.protocol import Caller

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
