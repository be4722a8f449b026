"""The registry's door: Sigil's HTTP API as one deployable function, opened by the first request that needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from mangum import Mangum

from sigil.errors import BackendError, UsageError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import Receive, Scope, Send

    from sigil.registry import LocalRegistry


class Later:
    """A registry that is opened when it is first asked for, so that a start waits for nothing."""

    def __init__(self, open: Callable[[], LocalRegistry]) -> None:
        self._open = open
        self._lock = threading.Lock()
        self._registry: LocalRegistry | None = None

    def __call__(self) -> LocalRegistry:
        """The registry; `BackendError` when it cannot be opened, and the next call tries again."""
        with self._lock:
            try:
                self._registry = self._registry or self._open()
            except UsageError as problem:
                # A wrong setting is the server's mistake, not that of whoever asks.
                raise BackendError("EUNAVAILABLE", problem.message, source="registry", suggestion=problem.suggestion) from None
            return self._registry

    def close(self) -> None:
        with self._lock:
            if self._registry:
                self._registry.close()
            self._registry = None


class Door:
    """An ASGI app that `build` makes at the first request, with the registry to be closed at the end."""

    def __init__(self, build: Callable[[], tuple[FastAPI, Later]]) -> None:
        self._build = build
        self._built: tuple[FastAPI, Later] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._built = self._built or self._build()
        await self._built[0](scope, receive, send)

    def close(self) -> None:
        """End what the requests started."""
        if self._built:
            self._built[1].close()


def build() -> tuple[FastAPI, Later]:
    """Sigil's app and registry from the settings; without a token, and without a folder to keep one in, the API is closed."""
    from sigil import wiring
    from sigil.gate import Gate
    from sigil.http import app_of
    from sigil.settings import Settings

    settings = Settings.read()
    try:
        token = wiring.admin_token(settings)
    except UsageError:
        token = ""
    registry = Later(lambda: wiring.local_registry(settings, wiring.open_stores(settings)))
    gate = Gate(token, lambda: registry().keys, settings.agent, settings.rate)
    return app_of(registry, gate), registry


handler = Mangum(Door(build), lifespan="off")
