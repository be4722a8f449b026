"""Write a line of the log for each request that runs or changes something, or is turned away.

The line tells which request it was, whose, and how it ended; never its content.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import orjson

from sigil.access.tokens import PREFIX
from sigil.catalog.owner import ADMIN
from sigil.errors import UsageError
from sigil.protocol import Json, Ref

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_BYTES = 1 << 20
TURNED_AWAY = (401, 429)
_ROUTES = ("run", "_api", "_health", "chat", "webhook", "ui")
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
    """An ASGI app that hands a line about each request to `note`."""

    def __init__(self, app: ASGIApp, note: Note) -> None:
        self._app = app
        self._note = note

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        answer = _Answer()

        async def send_and_remember(message: Message) -> None:
            answer.remember(message)
            await send(message)

        try:
            await self._app(scope, receive, send_and_remember)
        finally:
            milliseconds = (time.perf_counter() - began) * 1000
            self._note_request(scope, answer, round(milliseconds, 1))

    def _note_request(self, scope: Scope, answer: _Answer, milliseconds: float) -> None:
        parts = str(scope["path"]).split("/", 2)[1:]
        route = parts[0] if parts[0] in _ROUTES else "other"
        ended: dict[str, object] = {
            "status": answer.status,
            "ms": milliseconds,
            "request": answer.headers.get("x-request-id", ""),
        }
        code = answer.failure_code()
        if code:
            ended["code"] = code
        if answer.status in TURNED_AWAY:
            client = scope.get("client")
            address = client[0] if client else ""
            self._note("turned away", route=f"/{route}", **ended, address=address)
        elif route == "run":
            capability = parts[-1]
            try:
                Ref.parse(capability)
            except UsageError:
                capability = ""  # a stranger may have written any other text
            facts: dict[str, object] = {"capability": capability}
            for name in ("version", "digest"):
                if f"x-sigil-{name}" in answer.headers:
                    facts[name] = answer.headers[f"x-sigil-{name}"]
            self._note("run", **facts, **ended, token=_token_id(scope))
        elif route == "_api" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            verb = parts[-1].partition("/")[0]
            facts = answer.changed_capability(verb)
            self._note(
                verb if verb in _VERBS else "other", **facts, **ended, token=_token_id(scope)
            )


class _Answer:
    """The status and headers of an answer, and the beginning of its body unless it is a run's."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self._body = bytearray()

    def remember(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message.get("headers", ())
            }
        elif (
            message["type"] == "http.response.body"
            and len(self._body) < BODY_BYTES
            and "x-sigil-digest" not in self.headers
        ):
            self._body += message.get("body", b"")

    def failure_code(self) -> str:
        """Return the code of a failure; one that a capability made up only if it is a word."""
        if self.status < 400:
            return ""
        error = self._read_object().get("error")
        code = str(error.get("code")) if isinstance(error, dict) else ""
        return code if _CODE.fullmatch(code) else ""

    def changed_capability(self, verb: str) -> dict[str, object]:
        """Return the capability that a change was about, as far as its answer names it."""
        if self.status >= 400:
            return {}
        found = self._read_object()
        if verb == "remove":
            found = {"capability": found.get("removed")}
        return {
            name: found[name]
            for name in ("capability", "version", "digest")
            if isinstance(found.get(name), str | int)
        }

    def _read_object(self) -> dict[str, Json]:
        try:
            found = orjson.loads(bytes(self._body))
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}


def _token_id(scope: Scope) -> str:
    """Return the public id of the token that was accepted."""
    authorization = next(
        (value for name, value in scope["headers"] if name == b"authorization"), b""
    )
    token = authorization.partition(b" ")[2].strip()
    if not token.startswith(PREFIX.encode()):
        return ADMIN
    return hashlib.sha256(token).hexdigest()[:12]
