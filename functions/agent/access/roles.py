"""Roles: owners change the agent, members talk to it, everybody else is a guest."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from functions.events import LOCAL_SENDERS, WEB, Event, find_web_person

Role = Literal["owner", "member", "guest"]
Access = Literal["open", "members", "owners"]
Deploy = Literal["members", "owners", "none"]
LOCAL_OWNERS = LOCAL_SENDERS
PERSON: Final = re.compile(r"[a-z][a-z0-9-]*:[!-~]{1,255}")
"""A person's id on a platform, or on one of several bots there (`slack-work:T1.U1`)."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The turns, and the tokens of the model, that somebody may use in a day; 0 is no limit."""

    turns: int = 0
    tokens: int = 0


NO_LIMIT: Final = Allowance()


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of who may talk and how much, and in whose chats the agent may deploy."""

    owners: Collection[str] = ()
    access: Access = "members"
    deploy: Deploy = "members"
    member: Allowance = NO_LIMIT
    guest: Allowance = NO_LIMIT

    def find_named_role(self, event: Event) -> Role | None:
        """Return the role of the person on whose behalf an event is, as far as the settings know
        it.

        None means that they may have been let in since. Work that nobody typed has never more than
        the rights of a member, whoever wanted it.
        """
        if event.has_principal:
            who = event.behalf
            if who in LOCAL_OWNERS or who in self.owners:
                return self.limit_role("owner")
            return None if PERSON.fullmatch(who) else "guest"
        who = event.sender.id
        if who in LOCAL_OWNERS:
            return "owner"
        if not PERSON.fullmatch(who):
            return "guest"
        if event.platform not in (who.partition(":")[0], WEB):
            return "guest"  # an id speaks for its own platform alone
        if event.platform == WEB and find_web_person(event.session) != who:
            return "guest"  # and for its own chats on the page
        return "owner" if who in self.owners else None

    def limit_role(self, role: Role) -> Role:
        """Return the role of work on behalf of somebody with this role: a member's at most, and a
        guest's where they may not talk themselves.
        """
        return "member" if role != "guest" and self.may_talk(role) else "guest"

    def may_work(self, role: Role) -> bool:
        """Return whether work that nobody typed is done with this role, as `limit_role` says."""
        return self.access == "open" or role != "guest"

    def may_talk(self, role: Role) -> bool:
        """Return whether this role's messages reach the model."""
        return {"open": True, "members": role != "guest", "owners": role == "owner"}[self.access]

    def may_deploy(self, role: Role) -> bool:
        """Return whether the agent may create capabilities in a chat with this role."""
        return {"members": role != "guest", "owners": role == "owner", "none": False}[self.deploy]

    def never_deploys(self, role: Role, *, private: bool) -> bool:
        """Return whether nobody who writes in a chat may have capabilities created there.

        The people of a group may have other roles than this one.
        """
        return self.deploy == "none" or (private and not self.may_deploy(role))

    def get_allowance(self, role: Role) -> Allowance:
        """Return what somebody with this role may use in a day."""
        return {"owner": NO_LIMIT, "member": self.member, "guest": self.guest}[role]
