"""Sign-ins to the pages, and the cookie in which a browser keeps one.

The store keeps the plain SHA-256 of the token: it is random, so there is nothing for a slow hash to
protect.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import Response

from sigil.http.page.guard import is_secure
from sigil.http.page.viewer import Role
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, KV, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import Shape, Stored, dumps

IDLE_SECONDS: Final = 12 * 3600.0
"""A sign-in ends when its browser asked for nothing for so long."""
LIFE_SECONDS: Final = 30 * 86_400.0
"""It ends in any case after so long."""
SEEN_SECONDS: Final = 600.0
"""How old the note of its last use may become: so one is written at most six times an hour."""
SEALED_COOKIE: Final = "__Host-uncaged"
"""Browsers take a cookie of such a name over TLS alone, and for this host alone (RFC 6265bis,
4.1.3).
"""
PLAIN_COOKIE: Final = "uncaged"
CLEARED: Final = '"cache", "storage"'
"""The `Clear-Site-Data` of signing out: what a browser has drawn or kept goes with the sign-in."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)

Way = Literal["code", "token", "key"]


@dataclass(frozen=True, slots=True)
class Login(Stored):
    """A sign-in of the person `who`, with the most that their role may be in it, since `at` and
    last used about `seen` (seconds since 1970).

    `by` says what opened it: a code, the admin token or an access key. `proof` is the SHA-256 of
    that token or key: without it the sign-in ends.
    """

    who: str
    role: Role
    by: Way
    at: float
    seen: float
    proof: str = ""


_LOGIN: Final = Shape[Login](Login)


class Logins:
    """The sign-ins to one agent's pages. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._now = now

    def open(self, who: str, role: Role, by: Way, proof: str = "") -> str:
        """Begin a sign-in, and return its token of 256 random bits."""
        now = self._now()
        token = secrets.token_urlsafe(32)
        login = Login(who, role, by, now, now, proof)
        key = keys.web_login(self._agent, digest_token(token))
        self._kv.put(key, dumps(login), expect=ABSENT, ttl=IDLE_SECONDS)
        return token

    def find(self, digest: str) -> Login | None:
        """Return the sign-in of a token's SHA-256, and note its use; None when it is over."""
        key = keys.web_login(self._agent, digest)
        item = self._kv.get(key)
        login = _read(item.value) if item else None
        now = self._now()
        if login is None or _is_over(login, now):
            return None
        if abs(now - login.seen) >= SEEN_SECONDS:
            left = login.at + LIFE_SECONDS - now

            def note(value: bytes | None) -> tuple[bytes | None, None]:
                known = _read(value) if value else None  # it may have ended in this moment
                return (dumps(evolve(known, seen=now)) if known else None), None

            update(self._kv, key, note, min(IDLE_SECONDS, left))
        return login

    def end(self, digest: str) -> None:
        """End one sign-in."""
        self._kv.delete(keys.web_login(self._agent, digest))

    def end_all(self, who: str) -> int:
        """End every sign-in of a person, and return how many there were."""
        ended = 0
        for digest, login in list(self.scan()):
            if login.who == who:
                self.end(digest)
                ended += 1
        return ended

    def scan(self) -> Iterator[tuple[str, Login]]:
        """Yield the SHA-256 and the sign-in of all that are not over."""
        now = self._now()
        for digest, item in scan_all(self._kv, keys.web_login(self._agent, "").partition):
            login = _read(item.value)
            if login and not _is_over(login, now):
                yield digest, login


def digest_token(token: str) -> str:
    """Return the SHA-256 of a token, in hexadecimal digits."""
    return hashlib.sha256(token.encode()).hexdigest()


def read_cookie(request: Request) -> str:
    """Return the SHA-256 of the token in a request's cookie; empty when it has none."""
    token = request.cookies.get(name_cookie(request), "")
    return digest_token(token) if _TOKEN.fullmatch(token) else ""


def name_cookie(request: Request) -> str:
    """Return the name of the cookie: browsers keep those of all ports of a host together, so that
    it has the port where TLS does not tell the host apart.
    """
    if is_secure(request):
        return SEALED_COOKIE
    port = request.url.port
    return f"{PLAIN_COOKIE}-{port}" if port else PLAIN_COOKIE


def set_cookie(request: Request, response: Response, token: str) -> None:
    """Let a browser keep a sign-in until it is closed, or `LIFE_SECONDS`."""
    response.set_cookie(
        name_cookie(request),
        token,
        max_age=int(LIFE_SECONDS),
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="strict",
    )


def drop_cookie(request: Request, response: Response) -> None:
    """Let a browser forget a sign-in."""
    response.delete_cookie(
        name_cookie(request),
        path="/",
        secure=is_secure(request),
        httponly=True,
        samesite="strict",
    )


def _is_over(login: Login, now: float) -> bool:
    # of a clock that was ahead it would last until that time has come, and longer
    return abs(now - login.seen) >= IDLE_SECONDS or abs(now - login.at) >= LIFE_SECONDS


def _read(value: bytes) -> Login | None:
    """Return a stored sign-in; None for one that is damaged."""
    try:
        return _LOGIN.read(value)
    except ValueError:
        return None
