"""The pages of a registry alone: its capabilities, for whoever signs in with a token.

Sign-ins are in the memory of this process, so that a new start asks for the token again. Each
request is admitted anew by it: a token that was revoked or has expired shows nothing any more.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from secrets import token_urlsafe
from typing import Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from sigil.access.authentication import Authenticator
from sigil.access.tokens import TokenHolder
from sigil.admin_protocol import AdminRegistry
from sigil.catalog.owner import ADMIN
from sigil.errors import Refused
from sigil.http.page import capabilities, frame
from sigil.http.page.capabilities import Asker, CapabilityPages
from sigil.http.page.frame import Site, SiteParts, redirect, render
from sigil.http.page.guard import Guard
from sigil.http.page.logins import (
    CLEARED,
    IDLE_SECONDS,
    LIFE_SECONDS,
    digest_token,
    drop_cookie,
    read_cookie,
    set_cookie,
)
from sigil.http.page.operations import words_of
from sigil.http.page.viewer import EVERYBODY, VIEWERS, Viewer
from sigil.protocol import Caller

LOGINS_MOST: Final = 1_000
"""So many sign-ins are kept; the one that was used longest ago makes room."""


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """A sign-in by a token: the header that shows it, and since when it is there and was last used
    (seconds of a monotonic clock).
    """

    authorization: str = field(repr=False)
    at: float
    seen: float


class TokenLogins:
    """The sign-ins of this process, by the SHA-256 of what is in the cookie. Thread-safe."""

    def __init__(self, gate: Authenticator, clock: Callable[[], float] = time.monotonic) -> None:
        self._gate = gate
        self._clock = clock
        self._known: OrderedDict[str, TokenLogin] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, typed: str, address: str) -> str:
        """Return what the cookie of a new sign-in has; `Refused` EAUTH or ERATE for a wrong
        token.
        """
        authorization = f"Bearer {typed}"
        self._gate.admit(authorization, address)
        token = token_urlsafe(32)
        now = self._clock()
        with self._lock:
            self._known[digest_token(token)] = TokenLogin(authorization, now, now)
            if len(self._known) > LOGINS_MOST:
                self._known.popitem(last=False)
        return token

    def end(self, digest: str) -> None:
        """End a sign-in."""
        with self._lock:
            self._known.pop(digest, None)

    def find_holder(self, digest: str, address: str) -> TokenHolder | None:
        """Return the holder of the token of a sign-in; None when it is over."""
        now = self._clock()
        with self._lock:
            login = self._known.get(digest)
            if login is None:
                return None
            if now - login.seen >= IDLE_SECONDS or now - login.at >= LIFE_SECONDS:
                del self._known[digest]
                return None
            self._known[digest] = replace(login, seen=now)
            self._known.move_to_end(digest)
        try:
            return self._gate.admit(login.authorization, address)
        except Refused as problem:
            if problem.code == "EAUTH":
                self.end(digest)
                return None
            raise

    def find_viewer(self, request: Request) -> Viewer | None:
        """Return who sent a request: the admin is an owner, the holder of any other token a
        member.
        """
        digest = read_cookie(request)
        holder = self.find_holder(digest, _find_address(request)) if digest else None
        if holder is None:
            return None
        role: Final = "owner" if holder.kind == ADMIN else "member"
        return Viewer(holder.id, role, holder.name, digest)


@dataclass(frozen=True, slots=True)
class RegistryDeps:
    """A registry, its sign-ins, and the agent whose capabilities it has."""

    registry: AdminRegistry
    logins: TokenLogins
    agent: str


PageRequest: TypeAlias = frame.PageRequest[RegistryDeps]
PageRoute: TypeAlias = frame.PageRoute[RegistryDeps]


def open_site(
    open_registry: Callable[[], AdminRegistry],
    gate: Authenticator,
    agent: str,
    names: Collection[str] = (),
) -> Site[RegistryDeps]:
    """Return the pages of a registry, which the first request opens; `names` are those under which
    the server is called beside its addresses.
    """
    logins = TokenLogins(gate)
    return Site(
        lambda: RegistryDeps(open_registry(), logins, agent),
        SiteParts(
            routes=ROUTES,
            pages=capabilities.PAGES,
            visitors=logins,
            guard=Guard(names),
            describe=_describe,
        ),
    )


def _describe(deps: RegistryDeps) -> Mapping[str, object]:
    return {"name": deps.agent, "model": "", "halted": False, "has_account": False}


def _find_address(request: Request) -> str:
    return request.client.host if request.client else ""


def _find_asker(page: PageRequest) -> Asker:
    """Return who asks: the admin changes everything, a token runs what it reaches."""
    deps = page.deps
    if page.viewer.role == "owner":
        caller = Caller(deps.agent, owner=True, token=ADMIN)
        return Asker(deps.registry, caller, may_change=True, sees_all=True)
    holder = deps.logins.find_holder(page.viewer.login, _find_address(page.request))
    if holder is None:
        raise Refused("EAUTH", "you are not signed in, or no longer", source="page")
    return Asker(deps.registry, holder.to_caller(), sees_all=True, runs_all=True)


def _show_form(page: PageRequest) -> Response:
    if page.viewer.login:
        return redirect(page, "/")
    return _render_form(page)


def _render_form(page: PageRequest, error: str = "", status: int = 200) -> Response:
    say = words_of(page)
    return render(page, "token.html", title=page.words.sign_in, status=status, say=say, error=error)


def _sign_in(page: PageRequest) -> Response:
    typed = page.form.get("code", "").strip()
    words = page.words
    try:
        token = page.deps.logins.open(typed, _find_address(page.request))
    except Refused as problem:
        told = words.tries if problem.code == "ERATE" else words.key_unknown
        status = 429 if problem.code == "ERATE" else 401
        return _render_form(page, told, status)
    if page.viewer.login:  # whoever signs in as somebody else has left
        page.deps.logins.end(page.viewer.login)
    response = redirect(page, "/")
    set_cookie(page.request, response, token)
    return response


def _sign_out(page: PageRequest) -> Response:
    page.deps.logins.end(page.viewer.login)
    response = redirect(page, "/login")
    drop_cookie(page.request, response)
    response.headers["Clear-Site-Data"] = CLEARED
    return response


def _show_first(page: PageRequest) -> Response:
    return redirect(page, "/capabilities")


_PAGES: Final = CapabilityPages[RegistryDeps](_find_asker)
ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/", "GET", _show_first, VIEWERS),
    PageRoute("/login", "GET", _show_form, EVERYBODY),
    PageRoute("/login", "POST", _sign_in, EVERYBODY, reads_form=True),
    PageRoute("/logout", "POST", _sign_out, VIEWERS),
    *_PAGES.routes,
)
