"""Who is who: owners change the agent, members talk to it, everybody else is a guest."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from functions.events import Event

Role = Literal["owner", "member", "guest"]
Access = Literal["open", "members", "owners"]
Deploy = Literal["members", "owners", "none"]
KEEPERS = frozenset({"terminal:local", "http:admin"})
"""Senders that only the machine's own user and the bearer of the admin token can be."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may talk and in whose chats the agent may deploy."""

    owners: Collection[str] = ()
    access: Access = "members"
    deploy: Deploy = "members"

    def role(self, event: Event) -> Role:
        """The sender's role."""
        return "owner" if event.sender.id in KEEPERS or event.sender.id in self.owners else "guest"

    def may_talk(self, role: Role) -> bool:
        """Whether this role's messages reach the model."""
        return {"open": True, "members": role != "guest", "owners": role == "owner"}[self.access]

    def may_deploy(self, role: Role) -> bool:
        """Whether the agent may create capabilities in a chat with this role."""
        return {"members": role != "guest", "owners": role == "owner", "none": False}[self.deploy]
