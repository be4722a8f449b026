"""Every request has a number, which its answer and the log tell; and what answers a HEAD has no
body, wherever it is served.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from sigil.http.body import choose_request_id

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

NUMBER = "request_number"
"""Where a request's scope has it. A door that knows the number in its own log, as a deployed
function does, puts it there first.
"""
_log = logging.getLogger("uncaged.sigil")


class RequestIdMiddleware:
    """An ASGI app whose answers carry `X-Request-Id`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        given = next(
            (
                value.decode("latin-1")
                for name, value in scope["headers"]
                if name == b"x-request-id"
            ),
            "",
        )
        number = scope[NUMBER] = choose_request_id(str(scope.get(NUMBER, "")) or given)
        header = (b"x-request-id", number.encode())
        bodiless = scope["method"] == "HEAD"

        async def numbered(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), header]}
            elif bodiless and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        return await self._app(scope, receive, numbered)


def log_mistake(number: str, kind: str) -> None:
    """A mistake of ours, with the request that met it; what it was is told by whoever runs the
    server.
    """
    _log.error("broken", extra={"facts": {"request": number, "kind": kind}})
