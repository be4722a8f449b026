"""A line of the log for each request that runs or changes something, or is turned away: which,
whose, how it ended; never its content.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from sigil.access.tokens import ADMIN, PREFIX
from sigil.errors import UsageError
from sigil.protocol import Ref

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEARD_BYTES = 1 << 20
TURNED_AWAY = (401, 429)
_ROUTES = ("run", "_api", "_health", "chat", "webhook")
_VERBS = (
    "deploy",
    "remove",
    "rollback",
    "yank",
    "publish",
    "export",
    "import",
    "grant",
    "revoke",
    "secrets",
    "keys",
)
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,39}", re.ASCII)


Note = Callable[..., None]
"""Takes the name of what happened, and the facts by name."""


class AccessLog:
    """An ASGI app, and the log of what it was asked, which goes to `note`."""

    def __init__(self, app: ASGIApp, note: Note) -> None:
        self._app = app
        self._note = note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        heard, began = _Heard(), time.perf_counter()

        async def listening(message: Message) -> None:
            heard.take(message)
            await send(message)

        try:
            await self._app(scope, receive, listening)
        finally:
            _tell(self._note, scope, heard, (time.perf_counter() - began) * 1000)
        return None


class _Heard:
    """What an answer says of itself: status, headers, and the beginning of a body that is read
    here, a deploy's or a failure's.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._body = bytearray()

    def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message.get("headers", ())
            }
        elif (
            message["type"] == "http.response.body"
            and len(self._body) < HEARD_BYTES
            and "x-sigil-digest" not in self.headers
        ):
            self._body += message.get("body", b"")

    def object(self) -> dict[str, Any]:
        try:
            found = orjson.loads(bytes(self._body))
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}


def _tell(note: Note, scope: Scope, heard: _Heard, took: float) -> None:
    parts = str(scope["path"]).split("/", 2)[1:]
    route = parts[0] if parts[0] in _ROUTES else "other"
    ended = {
        "status": heard.status,
        "ms": round(took, 1),
        "request": heard.headers.get("x-request-id", ""),
    }
    if heard.status in TURNED_AWAY:
        client = scope.get("client")
        note(
            "turned away",
            route=f"/{route}",
            **ended,
            **_code(heard),
            address=client[0] if client else "",
        )
    elif route == "run":
        ran = {
            name: heard.headers[f"x-sigil-{name}"]
            for name in ("version", "digest")
            if f"x-sigil-{name}" in heard.headers
        }
        note(
            "run", capability=_name(parts[-1]), **ran, **ended, **_code(heard), token=_token(scope)
        )
    elif route == "_api" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
        verb = parts[-1].partition("/")[0]
        note(
            verb if verb in _VERBS else "other",
            **_made(verb, heard),
            **ended,
            **_code(heard),
            token=_token(scope),
        )


def _made(verb: str, heard: _Heard) -> Mapping[str, Any]:
    """What a change was about, as far as its answer names it."""
    found = heard.object() if heard.status < 400 else {}
    if verb == "remove":
        found = {"capability": found.get("removed")}
    return {
        name: found[name]
        for name in ("capability", "version", "digest")
        if isinstance(found.get(name), str | int)
    }


def _code(heard: _Heard) -> Mapping[str, str]:
    """The code of a failure; one that a capability made up is told only if it is a word."""
    error = heard.object().get("error") if heard.status >= 400 else None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    return {"code": code} if _CODE.fullmatch(code) else {}


def _name(text: str) -> str:
    """The capability that was asked for; empty for what cannot be one, which a stranger may have
    written.
    """
    try:
        Ref.parse(text)
    except UsageError:
        return ""
    return text


def _token(scope: Scope) -> str:
    """The public id of the token that was let in."""
    shown = (
        next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        .partition(b" ")[2]
        .strip()
    )
    return hashlib.sha256(shown).hexdigest()[:12] if shown.startswith(PREFIX.encode()) else ADMIN
