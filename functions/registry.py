"""Sigil's HTTP API as a function of its own; the first request opens the registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mangum import Mangum

from functions import log
from sigil.errors import BackendError, UsageError
from sigil.wiring import LazyOpener

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send


class LazyApp:
    """An ASGI app that `build` makes at the first request, with the registry to close at the end.

    While it cannot be made (an outside secret store does not answer), requests are answered 503.
    """

    def __init__(self, build: Callable[[], tuple[FastAPI, LazyOpener]]) -> None:
        self._build = build
        self._built: tuple[FastAPI, LazyOpener] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from functions.base_path import without_base_path

        scope = without_base_path(scope)
        try:
            self._built = self._built or self._build()
        except BackendError as problem:
            from sigil.http.response import failure_response

            return await failure_response(problem)(scope, receive, send)
        number = scope.get("aws.event", {}).get("requestContext", {}).get("requestId")
        if number:
            scope["request_number"] = number  # the id in the gateway's log
        return await self._built[0](scope, receive, send)

    def close(self) -> None:
        """Close the registry, if a request has opened it."""
        if self._built:
            self._built[1].close()


def build() -> tuple[FastAPI, LazyOpener]:
    """Return Sigil's app and registry from the settings.

    Without a token, and without a folder to keep one in, every request is refused.
    """
    from sigil import wiring
    from sigil.access.authentication import Authenticator
    from sigil.http.app import build_app
    from sigil.settings import Settings

    log.start()
    settings = Settings.read()
    try:
        token = wiring.admin_token(settings)
    except UsageError:
        token = ""
    registry = LazyOpener(lambda: wiring.local_registry(settings, wiring.open_stores(settings)))
    gate = Authenticator(token, lambda: registry().keys, settings.agent, settings.rate)
    return build_app(registry, gate), registry


handler = Mangum(LazyApp(build), lifespan="off")
