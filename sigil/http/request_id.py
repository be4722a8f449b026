"""Number every request, in its answer and in the log, and answer a HEAD without a body."""

from __future__ import annotations

import logging
import re
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NUMBER = "request_number"
"""The key of the number in a request's scope. An entry point that knows the number from its own
log, as a deployed function does, puts it there first.
"""
_NUMBER = re.compile(r"[A-Za-z0-9._~=+/-]{1,64}", re.ASCII)
_log = logging.getLogger("uncaged.sigil")


class RequestIdMiddleware:
    """An ASGI app whose answers carry `X-Request-Id`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        number = str(scope.get(NUMBER, "")) or sent.decode("latin-1")
        if not _NUMBER.fullmatch(number):
            number = uuid.uuid4().hex
        scope[NUMBER] = number
        header = (b"x-request-id", number.encode())
        bodiless = scope["method"] == "HEAD"

        async def send_numbered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), header]}
            elif bodiless and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app(scope, receive, send_numbered)


def log_bug(number: str, kind: str) -> None:
    """Log a bug of ours with the request that met it; the server itself logs the traceback."""
    _log.error("broken", extra={"facts": {"request": number, "kind": kind}})
