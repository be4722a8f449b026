"""The one check that an owner asks with their own hands."""

from __future__ import annotations

from sigil.errors import Refused
from sigil.protocol import Caller

ADMIN = "admin"
"""The id of the admin token, as a caller's `token`."""


def require_owner(caller: Caller, action: str = "may do this", source: str = "") -> None:
    """Raise `Refused` EPERM unless an owner asks in person: not a model, and no other token.

    `action` goes on the sentence "only an owner …"; `source` is the part of the registry that says
    so.
    """
    if not caller.owner or caller.author != "person" or caller.token not in ("", ADMIN):
        raise Refused(
            "EPERM",
            f"only an owner {action}",
            source=source,
            suggestion="ask an owner of the agent",
        )
