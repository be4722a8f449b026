"""The people who have signed in to the agent's pages, as they are known now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.requests import Request

from functions.agent.access.members import People
from functions.page.access.viewer import Role, Viewer, limit_role
from functions.page.frame import PageDeps
from sigil.access.tokens import Tokens
from sigil.http.page.logins import Login, Logins, read_cookie

ADMIN: Final = "http:admin"
"""Whoever has the admin token."""


def open_logins(deps: PageDeps) -> Logins:
    """Return the sign-ins to the pages of an agent."""
    return Logins(deps.kv, deps.app.root, deps.app.clock.now)


def find_person_role(people: People, who: str) -> Role:
    """Return the role of a person by their id; a guest is a stranger here."""
    if people.is_owner(who):
        return "owner"
    member = people.find_member(who)
    return "member" if member and member.role == "member" else "stranger"


class AgentVisitors:
    """Finds who sent a request. A sign-in lasts as long as what opened it, and its person's role is
    the one that they have now.
    """

    def __init__(self, open_deps: Callable[[], PageDeps]) -> None:
        self._open_deps = open_deps

    def find_viewer(self, request: Request) -> Viewer | None:
        """Return who sent a request, by its cookie; None for somebody who has not signed in."""
        digest = read_cookie(request)
        if not digest:
            return None
        deps = self._open_deps()
        login = open_logins(deps).find(digest)
        role = _find_role(login, deps) if login else "stranger"
        if login is None or role == "stranger":
            return None
        member = deps.app.people.find_member(login.who) if login.by == "code" else None
        return Viewer(login.who, role, member.name if member else "", digest)


def _find_role(login: Login, deps: PageDeps) -> Role:
    """Return what the person of a sign-in may do now; a stranger's role where it is over."""
    if login.by == "token":
        role: Role = "owner" if deps.gate.is_admin_proof(login.proof) else "stranger"
    elif login.by == "key":
        role = "reader" if Tokens(deps.kv).find_by_digest(login.proof) else "stranger"
    else:
        role = find_person_role(deps.app.people, login.who)
    return limit_role(role, login.role)
